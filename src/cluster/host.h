// A host: an RDMA adapter behind a port, and the actions of its user. The adapter's packets leave
// when line, lane and pace allow. Packets that arrive go to the adapter.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "base/hot.h"
#include "cluster/framing.h"
#include "cluster/host_account.h"
#include "cluster/host_recorder.h"
#include "cluster/host_user.h"
#include "cluster/toll.h"
#include "fabric/intake.h"
#include "fabric/switch.h"
#include "transport/adapter.h"

namespace tulle::cluster {

using base::Duration;
using base::Instant;

struct HostChange {
    enum class Kind : uint8_t {
        port_down,
        port_up,
        pause_storm,
        pause_storm_end,
        slow_receiver,
        management  // packets of a control plane leave
    };
    Instant at{};
    Kind kind = Kind::port_down;
    uint32_t bytes = 0;  // of management packets
    std::optional<base::Rate> rate;
};

// Fixed paths: the one that packets with this entropy take to an endpoint.
struct FixedPath {
    uint32_t endpoint = 0;
    uint16_t entropy = 0;
    uint32_t path = 0;  // index of fabric::FixedPaths
};

class HostWays {
public:
    void add(const FixedPath& path) { paths_.push_back(path); }
    // What switches hash to choose a way, or the packet's fixed path; then `flags` says so.
    uint32_t flow_of(const wire::Packet& packet, uint8_t& flags) const;

private:
    std::vector<FixedPath> paths_;
};

struct HostPlan {
    uint32_t node = 0;  // of the graph
    uint32_t port = 0;  // of the cabling
    uint64_t receive_buffer_bytes = 1 << 20;
    Duration send_latency{};  // from the doorbell to the first bit, or to the fetch of payload
    Duration receive_latency{};
    uint32_t mtu = 4096;
    bool completes_when_sent = false;  // its queue pairs do not wait for answers
    bool answers_pass_pauses = false;  // a paused lane still sends acknowledgements
    bool has_window = false;           // of packets in flight, besides that of congestion control
    TollPlan send_toll;                // paid for payload
    TollPlan receive_toll;
    std::vector<HostChange> changes;  // by time
    std::vector<fabric::TraceSample>* trace = nullptr;
    bool has_tenants = false;  // packets of other tenants are counted by sender
    // The lane of each service level, written by a subnet manager; null: as the settings say.
    const std::array<uint8_t, 16>* lane_of_level = nullptr;

    // The lane, by what switches trust: the DSCP or the service level.
    uint8_t lane_of(const fabric::QosSettings& qos, uint8_t traffic_class,
                    uint8_t service_level) const {
        if (lane_of_level != nullptr) return (*lane_of_level)[service_level];
        return qos.trust == fabric::Trust::dscp ? qos.lane_of_dscp[traffic_class >> 2]
                                                : qos.lane_of_level[service_level];
    }
};

class HostNode {
public:
    HostNode(const fabric::Settings& settings, const Framing& framing, fabric::Cabling& cabling,
             HostPlan plan, const transport::AdapterConfig& adapter);

    transport::Adapter& adapter() { return adapter_; }
    const transport::Adapter& adapter() const { return adapter_; }
    HostUser& user() { return user_; }
    HostWays& ways() { return ways_; }
    const HostPlan& plan() const { return plan_; }
    uint32_t endpoint() const { return endpoint_; }
    // Hands over what the user posts.
    Instant add(const Posting& posting);
    void begin();

    Instant advance(Instant until, Ends& ends);

    // Prefetches what the object points to, what that points to, and so on; see Partition.
    void prefetch(uint32_t depth) const;

    uint64_t events() const { return events_; }
    uint64_t delivered() const { return delivered_; }
    const fabric::Intake& intake() const { return intake_; }
    // Where the time of its queue pairs goes; created by the first call.
    HostAccount& account();
    const HostAccount* find_account() const { return account_.get(); }
    void finish(Instant now);

private:
    // The next instant of each source: four, checked one by one. kRare is the first of the rare
    // ones.
    enum Source : uint32_t { kRare, kPackets, kLine, kDeadline, kSources };
    enum Rare : uint32_t {
        kControl,
        kReceived,   // a slow receiver has taken a packet
        kProcessed,  // the adapter's latency is over
        kPosting,
        kTimer,
        kChange,
        kRares
    };
    void set(Rare source, Instant at) {
        rare_[source] = at;
        next_[kRare] = *std::ranges::min_element(rare_);
    }
    void on_rare(Instant now, Ends& ends);
    template <bool kHasAccount>
    Instant act(Instant until, Ends& ends);

    TULLE_HOT void on_packet(Instant now, Ends& ends);
    void on_control(Instant now);
    void on_line_free(Instant now, Ends& ends);
    void on_received(Instant now, Ends& ends);
    void on_processed(Instant now, Ends& ends);
    TULLE_HOT void process(Instant now, uint32_t index, Ends& ends);
    void on_posting(Instant now);
    void on_timer(Instant now);
    void on_change(Instant now);

    TULLE_HOT void hand_to_adapter(Instant now, uint32_t index, Ends& ends);
    // These run only if something is observed.
    void receive_observed(Instant now, uint32_t index);
    Instant transmit_observed(Instant now, uint32_t index);
    void store(Instant now, uint32_t index);
    Instant pay(Instant now, uint32_t index);
    void start(Instant now);
    void await_line() {
        port_->is_awaited = true;
        next_[kLine] = port_->busy_until;
    }
    TULLE_HOT void transmit(Instant now, uint32_t index);
    // The adapter's deadline may have moved, and it may have something to send.
    void attend(Instant now) {
        if (!port_->is_awaited) start(now);
        next_[kDeadline] = adapter_.next_deadline();
    }
    void update_room(uint32_t lane);
    void hold_full_lanes(Instant now);

    const fabric::Settings& settings_;
    const Framing& framing_;
    fabric::Cabling& cabling_;
    HostPlan plan_;
    std::array<Instant, kSources> next_;
    std::array<Instant, kRares> rare_;
    fabric::Port* port_ = nullptr;  // of the cabling
    fabric::NodeTimers timers_;
    fabric::Intake intake_;
    transport::Adapter adapter_;
    transport::MemoryAccess memory_;
    uint32_t endpoint_;
    HostUser user_;
    HostWays ways_;
    std::unique_ptr<HostRecorder> recorder_;  // if something is recorded
    transport::Lanes room_;
    uint32_t answer_bytes_;  // what the adapter assumes for an acknowledgement
    size_t next_change_ = 0;
    std::optional<Toll> sender_;    // only if slower than the line
    std::optional<Toll> receiver_;  // the same, or for a slow receiver
    bool is_slow_receiver_ = false;
    fabric::Fifo waiting_;    // packets for the receiver
    fabric::Fifo processed_;  // packets in the adapter, or on their way into memory
    Instant last_stored_{};
    bool is_storming_ = false;
    bool receives_at_once_ = false;  // the adapter and memory take no time
    bool is_observed_ = false;       // by a recorder or an account
    std::unique_ptr<HostAccount> account_;
    uint64_t events_ = 0;
    uint64_t delivered_ = 0;
};

}  // namespace tulle::cluster
