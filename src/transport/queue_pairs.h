// The queue pairs of an adapter: their life, their states and attributes, and their settings.
#pragma once

#include <optional>

#include "transport/core.h"
#include "transport/requester.h"
#include "transport/retry.h"

namespace tulle::transport {

// The queue pair of general services (GSI), through which connection managers speak.
inline constexpr Qpn kGeneralServices{1};

class QueuePairs {
public:
    explicit QueuePairs(Core& core) : core_(core) {}

    std::optional<Qpn> create(const QpSetup& setup);
    // The queue pair of general services: otherwise as any of type UD. Nothing if it exists.
    std::optional<Qpn> create_gsi(QpSetup setup);
    Refusal modify(Qpn qpn, const QpAttributes& attributes, uint32_t mask);
    Refusal destroy(Qpn qpn);
    // A failure that only the owner knows. The oldest request in progress ends with general_error,
    // the rest is flushed. The queue pair can only be destroyed.
    Refusal fail(Qpn qpn);

    const QueuePair* find(Qpn qpn) { return core_.find(qpn); }
    size_t count() const;
    // What its next request packet waits for, as far as the adapter knows (requester.h).
    Standing standing(const QueuePair& qp, Instant now) const {
        return standing_of(core_, qp, now);
    }
    // How long silence lasts before it counts as loss; zero: for ever.
    Duration silence_time(const QueuePair& qp) const { return transport::silence_time(core_, qp); }

    // Removes the queue pair's completions from its completion queues: for owners whose programs
    // expect none after a reset or a destroy.
    void forget_completions(Qpn qpn);

    void set_congestion_control(Qpn qpn, const CongestionControl& control);
    // From now on it tells nobody that the network marked its packets: its peer is a group of a
    // switch, where a notification would look like one more part of a sum.
    void keep_marks_to_itself(Qpn qpn);
    // The flow whose plug-in failed first; nullptr if none did. Checks all flows.
    const PluginFlow* failed_plugin();
    // Sets this queue pair's loss policy, if it differs from the adapter's configuration; its peer
    // must support it. Selective repeat may begin at any time.
    void set_loss_policy(Qpn qpn, LossPolicy policy);
    // Turns on or off that its packets share rooms with those of others (room_budget.h), from its
    // next reset or from the beginning.
    void set_sharing_rooms(Qpn qpn, bool is_on);
    // Changes the ACK timeout in any state; 0: no timeout. For owners that know by other means that
    // a peer is alive.
    void set_ack_timeout(Instant now, Qpn qpn, uint8_t code);

private:
    std::optional<Qpn> set_up(QueuePair* qp, const QpSetup& setup);
    bool is_sane(const QpSetup& setup);
    bool has_queues(const QpSetup& setup);
    void release(const QueuePair& qp);
    void begin_plugin(QueuePair& qp);
    void change_state(QueuePair& qp, QpState state);
    void reset(QueuePair& qp);

    Core& core_;
};

}  // namespace tulle::transport
