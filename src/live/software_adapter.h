// The software adapter of a process: the adapter that its program uses, and what carries its work.
//
// One lock guards all of it. The engine below is transport's, unchanged. Around it are the known
// processes (world.h), the peers of queue pairs (connections.h), what is posted (posting.h), the
// travel of packets (carrier.h), the short way of WRITEs and READs (direct.h), the memory that
// peers reach (open_memory.h), who makes progress (progress.h), and why work failed (diagnosis.h).
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "live/diagnosis.h"
#include "live/direct.h"
#include "live/general_services.h"
#include "live/imports.h"
#include "live/open_memory.h"
#include "live/pacing.h"
#include "live/ports.h"
#include "live/posting.h"
#include "live/progress.h"
#include "live/tally.h"

namespace tulle::live {

// Calls to the owner while the host makes progress. The lock is held.
class Listener {
public:
    virtual ~Listener() = default;
    virtual void on_event(const transport::AdapterEvent& event) = 0;
    // False if no program here uses the connection manager.
    virtual bool on_management(const ManagementMessage& message) = 0;
    virtual void on_gone(transport::EndpointIndex peer) = 0;
    // Datagrams to this machine do not arrive; `is_refused`: it says that nobody takes them.
    // `quoted`: the message of the connection manager to which it says so, if the report has it.
    virtual void on_unreachable(transport::EndpointIndex peer, bool is_refused,
                                std::span<const std::byte> quoted) = 0;
    // The deadline that the owner set has come.
    virtual void on_progress() = 0;
};

class SoftwareAdapter final : World::Owner, Carrier::Owner, Progress::Worker {
public:
    static constexpr transport::EndpointIndex kNowhere = World::kNowhere;
    static constexpr uint32_t kLastGid = UINT32_MAX;

    // Takes a slot of the world and starts the thread. Null if the world or memory is full.
    static std::unique_ptr<SoftwareAdapter> open(const Identity& who, Listener& listener);
    ~SoftwareAdapter() override;

    std::mutex& lock() { return lock_.mutex; }
    const Identity& identity() const { return world_.own().identity(); }
    // Callers of all that follows hold the lock.
    transport::Adapter& adapter() { return adapter_; }
    World& world() { return world_; }
    Ports& ports() { return ports_; }
    OpenMemory& memory() { return memory_; }
    Posting& posting() { return posting_; }
    Progress& progress() { return progress_; }
    Diagnosis& diagnosis() { return diagnosis_; }
    Imports& imports() { return imports_; }
    XrcLender& xrc_lender() { return carrier_.lender(); }
    XrcBorrower& xrc_borrower() { return carrier_.borrower(); }

    // Queue pairs. Numbers are the adapter's; World::outside_of() gives those in the world.
    std::optional<wire::Qpn> create_qp(const transport::QpSetup& setup);
    // The own port and address, and the peer's, where the mask has them.
    struct Addressing {
        uint32_t gid_index = kLastGid;
        uint8_t port = 1;
        uint8_t peer_port = 1;
        wire::Gid peer_address{};
    };
    transport::Refusal modify_qp(wire::Qpn qpn, transport::QpAttributes attributes, uint32_t mask,
                                 const Addressing& addressing);
    transport::Refusal modify_qp(wire::Qpn qpn, const transport::QpAttributes& attributes,
                                 uint32_t mask) {
        return modify_qp(qpn, attributes, mask, Addressing{});
    }
    transport::Refusal destroy_qp(wire::Qpn qpn);

    // Multicast: by rings to programs of this machine, and by IP multicast to others.
    transport::Refusal attach_multicast(wire::Qpn qpn, const wire::Gid& group);
    transport::Refusal detach_multicast(wire::Qpn qpn, const wire::Gid& group);

    // Sends a message of the connection manager. False if it has to wait for room.
    bool send_management(transport::EndpointIndex to, std::span<const std::byte> bytes);
    void flush_management();

    base::Instant next_deadline() const override;
    // Another time for on_progress(), for the owner's own timers.
    void set_extra_deadline(base::Instant at) { extra_deadline_ = at; }

    // Before the process ends: sends what was held back, and publishes the last values of the
    // port's counters.
    void finish();

    // In the child of a fork: releases everything that it shares with the parent.
    void abandon();

private:
    SoftwareAdapter(const Identity& who, Listener& listener, const WireSettings& settings);
    bool set_up();
    // Calls from the parts.
    void on_leaving(uint32_t peer, base::Instant now) override;
    void on_left(uint32_t peer, base::Instant now) override;
    void on_management() override;
    void on_objection() override { diagnosis_.note_objection(); }
    void on_unreachable(uint32_t peer, int error, std::span<const std::byte> quoted) override;
    void work(bool by_program) override;
    void tell_events() override;
    bool has_arrivals() override;
    bool took_writes() override { return carrier_.took_writes(); }
    bool needs_answers() override { return posting_.needs_answers(); }

    void prepare_for_wire(wire::Qpn qpn, transport::EndpointIndex endpoint);
    void take_news();

    Listener& listener_;
    Lock lock_;
    transport::Adapter adapter_;
    GeneralServices services_;
    World world_;
    Ports ports_;
    Connections connections_;
    Carrier carrier_;
    Diagnosis diagnosis_;
    DirectPath direct_;
    Imports imports_;
    const Pacing pacing_;
    OpenMemory memory_;
    Tally tally_;
    base::Instant extra_deadline_ = base::Instant::never();
    Posting posting_;
    Progress progress_;
};

}  // namespace tulle::live
