// How packets travel: out of the engine into rings, and back (packets.cc); as they would be on the
// wire where a capture or faults are asked for (wire_path.h); as datagrams to other machines
// (udp_path.h); and messages of the connection manager beside them (management.cc).
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "live/connections.h"
#include "live/record.h"
#include "live/udp_neighbours.h"
#include "live/wire_path.h"
#include "live/xrc_borrower.h"

namespace tulle::live {

// A message of the connection manager. `peer` is an end point.
struct ManagementMessage {
    transport::EndpointIndex peer;
    std::span<const std::byte> bytes;
};

// A datagram to queue pair 1.
bool is_management(const wire::Packet& packet);

class Carrier final : Outbox {
public:
    // Is told of what is not for the engine.
    class Owner {
    public:
        virtual ~Owner() = default;
        virtual void on_management(const ManagementMessage& message) = 0;
        // The responder has refused a request.
        virtual void on_objection() = 0;
    };

    Carrier(World& world, Connections& connections, transport::Adapter& adapter, Owner& owner,
            const WireSettings& settings);

    // Takes the port at the addresses that the host listens on; a sentence says why it cannot.
    base::Result<bool> open_udp();

    // A queue pair hears a group, or no longer: the file that shows it (udp_sockets.h), or -1.
    int join(const wire::Gid& group);
    void leave(const wire::Gid& group);

    // Packets of the engine go on their way; flush() lets peers see them.
    void transmit(base::Instant now);
    // ... or some of them wait for what is sent next (Progress::will_answer()).
    void flush(bool holds_back = false);
    void send_held_back() {
        if (is_held_back_) udp_->sockets().flush();
        is_held_back_ = false;
    }
    void send_management(transport::EndpointIndex to, std::span<const std::byte> bytes);
    // Packets and their data that went through a port beyond the first.
    const transport::Counters& traffic_of(uint32_t port) const { return traffic_[port - 1]; }
    // What has arrived at the other end of the wire by now.
    void deliver_wire(base::Instant now);

    void receive_all(base::Instant now);
    // All that a peer has sent that will send no more, or whose memory becomes its own.
    void drain(uint32_t peer, base::Instant now);
    void on_left(uint32_t peer);

    // XRC across processes.
    XrcLender& lender() { return lender_; }
    XrcBorrower& borrower() { return borrower_; }
    const XrcBorrower& borrower() const { return borrower_; }

    bool has_local() const { return !local_.empty(); }
    bool has_backlog() const {
        return backlog_bytes_ != 0 || (udp_ && !is_held_back_ && !udp_->sockets().is_empty());
    }
    bool has_stuck_peers() const { return has_stuck_peers_; }
    // Out of rings, since this was last asked.
    bool took_writes() { return std::exchange(took_writes_, false); }
    // Packets as they are on the wire; nullptr where that is not asked for.
    const WirePath* wire() const { return wire_.get(); }
    // Other machines; nullptr where none may reach us.
    const UdpPath* udp() const { return udp_.get(); }
    // A queue pair is connected to a machine that may be one of ours.
    void greet(Peer& peer) {
        if (neighbours_) neighbours_->greet(time_, peer);
    }
    WireCounters wire_counters() const;
    uint64_t datagrams_in() const { return udp_ ? udp_->sockets().counts().received : 0; }
    base::Instant udp_deadline() const {
        return neighbours_ ? neighbours_->next_deadline() : base::Instant::never();
    }

private:
    struct LocalPacket {
        wire::Packet packet;
        std::vector<std::byte> grh;
        std::vector<std::byte> payload;
        bool is_management = false;
    };

    bool receive_from(uint32_t index, base::Instant now);
    void receive_record(uint32_t index, base::Instant now, std::span<const std::byte> record);
    void receive_packet(uint32_t index, base::Instant now, const RecordHead& head,
                        std::span<const std::byte> record);
    static bool is_for_us_to_read(Peer& peer, std::span<const std::byte> record);
    void receive_write(Peer& peer, std::span<const std::byte> record);
    void receive_local(base::Instant now);
    void receive_frame(uint32_t index, base::Instant now, std::span<const std::byte> bytes,
                       uint8_t refusal);
    void deliver(uint32_t source, base::Instant now, wire::Packet packet,
                 std::span<const std::byte> grh, uint8_t refusal = 0,
                 const wire::Gid* to = nullptr);
    bool name_xrc_queue(base::Instant now, wire::Packet& packet);
    bool receive_xrc_record(uint32_t index, base::Instant now, RecordKind kind,
                            std::span<const std::byte> record);
    void send_record(uint32_t peer, std::span<const std::byte> record) override;
    void meet_fault(base::Instant now, const wire::Packet& packet, uint8_t refusal);
    void send(const wire::Packet& packet);
    void send_to(uint32_t index, const wire::Packet& packet, std::span<const std::byte> grh);
    void send_remote(uint32_t index, const wire::Packet& packet);
    void send_to_group(const wire::Packet& packet, const wire::Gid& group);
    const UdpAddress* address_for(const wire::Gid& peer) const;
    void receive_udp(base::Instant now);
    bool is_wanted(const wire::Packet& packet, const wire::Gid& to);
    void receive_datagram(base::Instant now, const UdpArrival& arrival);
    void take_datagram(base::Instant now, const UdpArrival& arrival, bool may_hand_over);
    void receive_handed(uint32_t index, base::Instant now, std::span<const std::byte> record);
    void send_over_wire(uint32_t index, const wire::Packet& packet, const wire::Gid* group,
                        const Ends& ends = {});
    Ends ends_of_sent(const wire::Packet& packet);
    void count_sent(const wire::Packet& packet, uint32_t port);
    void count_received(const wire::Packet& packet);
    void send_management_datagram(uint32_t index, std::span<const std::byte> bytes);
    bool is_overrun(Peer& peer);
    bool udp_has_room();

    World& world_;
    Connections& connections_;
    transport::Adapter& adapter_;
    Owner& owner_;
    const Identity& who_;
    XrcLender lender_;
    XrcBorrower borrower_;
    std::vector<uint32_t> sending_;  // peers that something was written for
    std::vector<std::byte> parsed_;  // a record that is taken apart: a copy, which nobody changes
    std::deque<LocalPacket> local_;
    size_t backlog_bytes_ = 0;  // of all peers, when they were last looked at
    bool has_stuck_peers_ = false;
    bool took_writes_ = false;
    bool is_held_back_ = false;       // what goes to other machines, for a moment
    uint64_t page_there_ = 0;         // was mapped when the ring's reader came to it
    base::Instant time_{};            // of the progress that is being made
    std::unique_ptr<WirePath> wire_;  // where a capture or faults are asked for
    std::unique_ptr<WirePath> wire_reader_;
    std::unique_ptr<UdpPath> udp_;
    std::unique_ptr<UdpNeighbours> neighbours_;
    std::map<std::array<uint8_t, 16>, uint32_t> joined_;  // groups, and how many queue pairs
    uint64_t strangers_ = 0;  // packets from addresses that nobody is connected to
    uint32_t management_psn_ = 0;
    const bool has_ports_;  // more than one
    std::array<transport::Counters, kMaxPorts> traffic_;
};

}  // namespace tulle::live
