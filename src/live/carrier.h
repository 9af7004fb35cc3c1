// How packets travel: from the engine into rings, and back (packets.cc); in their form on the wire
// if a capture or faults are requested (wire_path.h); and as datagrams to other machines
// (udp_carrier.h).
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "live/connections.h"
#include "live/record.h"
#include "live/udp_carrier.h"
#include "live/wire_path.h"
#include "live/xrc_borrower.h"

namespace tulle::live {

// Packets and bytes of each port, counted for ports beyond the first.
class PortTraffic {
public:
    void count_sent(uint32_t port, const wire::Packet& packet) {
        if (port < 2 || port > kMaxPorts) return;
        ++counted_[port - 1].port_xmit_packets;
        counted_[port - 1].port_xmit_data_bytes += packet.payload_length;
    }
    void count_received(uint32_t port, const wire::Packet& packet) {
        if (port < 2 || port > kMaxPorts) return;
        ++counted_[port - 1].port_rcv_packets;
        counted_[port - 1].port_rcv_data_bytes += packet.payload_length;
    }
    const transport::Counters& of(uint32_t port) const { return counted_[port - 1]; }

private:
    std::array<transport::Counters, kMaxPorts> counted_;
};

class Carrier final : Outbox, UdpCarrier::Owner {
public:
    // Is told of events that are not for the engine.
    class Owner : public UdpCarrier::Reports {
    public:
        // A packet to queue pair 1 was delivered.
        virtual void on_management() = 0;
        // The responder has refused a request.
        virtual void on_objection() = 0;
    };

    Carrier(World& world, Connections& connections, transport::Adapter& adapter, Owner& owner,
            const WireSettings& settings);

    // Takes the UDP port at the addresses on which the host listens; an error says why it cannot.
    base::Result<bool> open_udp();

    // Sends the packets of the engine; flush() shows them to peers. A program that spins calls both
    // each time, mostly in vain.
    void transmit(base::Instant now) {
        time_ = now;
        if (adapter_.has_work()) transmit_all();
    }
    // `holds_back`: some packets wait for what is sent next (Progress::will_answer()).
    void flush(bool holds_back = false) {
        if (!sending_.empty() || (udp_ && !udp_->sockets().is_empty()))
            return flush_all(holds_back);
        is_held_back_ = has_stuck_peers_ = false;
        backlog_bytes_ = 0;
    }
    void send_held_back() {
        if (is_held_back_) udp_->sockets().flush();
        is_held_back_ = false;
    }
    // Packets and bytes that went through a port beyond the first.
    const transport::Counters& traffic_of(uint32_t port) const { return traffic_.of(port); }
    // Delivers what has arrived at the other end of the wire by now.
    void deliver_wire(base::Instant now);

    void receive_all(base::Instant now);
    // Takes all that a peer has sent: it will send no more, or memory that it reaches is withdrawn.
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
    // Whether WRITEs were taken out of rings since the last call.
    bool took_writes() { return std::exchange(took_writes_, false); }
    // The path for packets in their form on the wire; nullptr if that is not requested.
    const WirePath* wire() const { return wire_.get(); }
    // What talks to other machines; nullptr if none may reach us.
    UdpCarrier* udp() { return udp_.get(); }
    const UdpCarrier* udp() const { return udp_.get(); }

private:
    struct LocalPacket {
        wire::Packet packet;
        std::vector<std::byte> grh;
        std::vector<std::byte> payload;
    };

    void transmit_all();
    void flush_all(bool holds_back);
    bool receive_from(uint32_t index, base::Instant now);
    void receive_record(uint32_t index, base::Instant now, std::span<const std::byte> record);
    void receive_packet(uint32_t index, base::Instant now, const RecordHead& head,
                        std::span<const std::byte> record);
    void receive_write(Peer& peer, std::span<const std::byte> record);
    void receive_local(base::Instant now);
    void receive_frame(uint32_t index, base::Instant now, std::span<const std::byte> bytes,
                       uint8_t refusal);
    void deliver(uint32_t source, base::Instant now, wire::Packet packet,
                 std::span<const std::byte> grh, uint8_t refusal, const wire::Gid* to) override;
    void answer(base::Instant now) override { transmit(now); }
    bool name_xrc_queue(base::Instant now, wire::Packet& packet);
    bool receive_xrc_record(uint32_t index, base::Instant now, RecordKind kind,
                            std::span<const std::byte> record);
    void send_record(uint32_t peer, std::span<const std::byte> record) override;
    void meet_fault(base::Instant now, const wire::Packet& packet, uint8_t refusal);
    void send(const wire::Packet& packet);
    void send_to(uint32_t index, const wire::Packet& packet, std::span<const std::byte> grh);
    void send_remote(uint32_t index, const wire::Packet& packet);
    void send_over_wire(uint32_t index, const wire::Packet& packet, const wire::Gid* group,
                        const Ends& ends = {});
    Ends ends_of_sent(const wire::Packet& packet);
    bool is_overrun(Peer& peer);

    World& world_;
    Connections& connections_;
    transport::Adapter& adapter_;
    Owner& owner_;
    const Identity& who_;
    XrcLender lender_;
    XrcBorrower borrower_;
    std::vector<uint32_t> sending_;  // peers for which something was written
    std::vector<std::byte> parsed_;  // a private copy of the record that is being parsed
    std::deque<LocalPacket> local_;
    size_t backlog_bytes_ = 0;  // of all peers, at the last look
    bool has_stuck_peers_ = false;
    bool took_writes_ = false;
    bool is_held_back_ = false;       // datagrams to other machines wait for a moment
    uint64_t page_there_ = 0;         // a page that was mapped when the ring's reader came to it
    base::Instant time_{};            // of the current round of progress
    std::unique_ptr<WirePath> wire_;  // if a capture or faults are requested
    std::unique_ptr<WirePath> wire_reader_;
    std::unique_ptr<UdpCarrier> udp_;
    const bool has_ports_;  // the host has more than one port
    PortTraffic traffic_;
};

}  // namespace tulle::live
