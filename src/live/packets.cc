// How the host's packets travel: from the engine into rings, and back.
#include <algorithm>

#include "base/guarded_copy.h"
#include "live/carrier.h"
#include "live/clock.h"
#include "live/grh.h"
#include "live/mapped.h"
#include "wire/ip.h"
#include "wire/mad/mad.h"
#include "wire/syndrome.h"

namespace tulle::live {
namespace {

using base::Instant;
using wire::Packet;

constexpr uint32_t kRecordsATime = 64;
constexpr size_t kMostBacklog = 64 << 20;
constexpr size_t kMostForStuckPeer = 16 << 20;  // chosen: beyond this packets are lost
constexpr uint64_t kLeastPage = 4096;

// Says only that requests have arrived.
bool is_plain_ack(const Packet& packet) {
    return packet.opcode == wire::opcode_of(wire::Service::rc, wire::Operation::acknowledge) &&
           wire::ack_kind(packet.extended.ack.syndrome) == wire::AckKind::ack;
}

// The destination of a datagram, from its route header.
wire::Gid destination_of(std::span<const std::byte> grh) {
    wire::Gid gid;
    if (grh.size() == kGrhBytes) std::memcpy(gid.bytes.data(), grh.data() + 24, 16);
    return gid;
}

bool is_there(const std::byte* place, size_t length, bool writes) {
    if (base::is_foreign(place)) return base::foreign_memory.load()->allows(place, length, writes);
    return writes ? is_writable(place, length) : is_readable(place, length);
}

// If a request is for registered memory that the program has unmapped or protected, this replaces
// its key with one that nobody has, so it is refused. A real adapter would have held the pages;
// here a peer's request would end the program. The short way comes here when the kernel refuses its
// copy.
void refuse_what_is_gone(transport::Adapter& adapter, Packet& packet) {
    const uint16_t headers = wire::opcode_info(static_cast<uint8_t>(packet.opcode)).headers;
    const bool is_atomic = (headers & wire::kAtomicEth) != 0;
    if (!is_atomic && (headers & wire::kReth) == 0) return;
    const transport::QueuePair* qp = adapter.queue_pairs().find(packet.dest_qp());
    if (qp == nullptr) return;
    wire::RKey& key = is_atomic ? packet.extended.atomic.rkey : packet.extended.rdma.rkey;
    const uint64_t address =
        is_atomic ? packet.extended.atomic.virtual_address : packet.extended.rdma.virtual_address;
    const uint32_t length = is_atomic ? 8 : packet.extended.rdma.dma_length;
    const auto grant = adapter.memory().check(key.value, qp->asker(), address, length, 0);
    if (!grant || length == 0) return;
    const bool is_read =
        (headers & wire::kFeth) != 0 ||
        wire::operation_of(static_cast<uint8_t>(packet.opcode)) == wire::Operation::read_request;
    if (!is_there(grant->host, length, !is_read)) key = {};
}

// Turns a record whose payload could not be read into a damaged frame: it is lost, and its
// retransmission is checked first.
void spoil(std::byte* record, size_t headers) {
    const RecordHead head{RecordKind::frame, 0, 0};
    std::memset(record, 0, headers);
    std::memcpy(record, &head, sizeof head);
}

// False for a WRITE that its initiator has taken back and will put into place itself. Later records
// must not be seen before that.
bool is_for_us_to_read(Peer& peer, std::span<const std::byte> record) {
    if (peer.incoming().taking_back.load() == 0) [[likely]]
        return true;
    RecordHead head{};
    if (record.size() < sizeof head) return true;
    std::memcpy(&head, record.data(), sizeof head);
    if (head.kind != RecordKind::write) return true;
    return peer.incoming().claimed.load() <= peer.reader.position();
}

}  // namespace

Carrier::Carrier(World& world, Connections& connections, transport::Adapter& adapter, Owner& owner,
                 const WireSettings& settings)
    : world_(world),
      connections_(connections),
      adapter_(adapter),
      owner_(owner),
      who_(world.own().identity()),
      lender_(world, adapter, *this),
      borrower_(world, adapter, *this),
      has_ports_(who_.port_count() > 1) {
    if (settings.is_on) wire_ = std::make_unique<WirePath>(who_, settings);
}

void Carrier::transmit_all() {
    static const transport::Lanes lanes = transport::Lanes::open();
    Packet packet;
    while (backlog_bytes_ < kMostBacklog && (!udp_ || udp_->has_room()) &&
           adapter_.poll_transmit(time_, lanes, packet))
        send(packet);
}

// The ports between which a packet travels. A packet that is not a datagram names its destination
// queue pair, which knows its peer.
Ends Carrier::ends_of_sent(const Packet& packet) {
    if (packet.dest_qp() == transport::kGeneralServices) return {};
    if (is_datagram(packet)) {
        const bool is_single = packet.dest_qp().value != kMulticastQpn;
        const Ends own = connections_.of(packet.extended.send.source_qp).ends;
        const Ends there =
            is_single ? world_.ends_of({packet.destination}, packet.dest_qp()) : Ends{};
        return {own.kind, own.port, there.port};
    }
    const Ends there = world_.ends_of({packet.destination}, packet.dest_qp());
    return {there.kind, there.peer_port, there.port};
}

void Carrier::send(const Packet& packet) {
    const uint32_t to = packet.destination;
    const Ends ends = has_ports_ ? ends_of_sent(packet) : Ends{};
    if (has_ports_) traffic_.count_sent(ends.port, packet);
    if (!is_datagram(packet)) {
        if (udp_ && to < world_.size() && world_.at(to).is_remote) return send_remote(to, packet);
        if (to != 0 && wire_) return send_over_wire(to, packet, nullptr, ends);
        return send_to(to, packet, {});
    }
    Packet datagram = packet;
    if (packet.extended.send.source_qp != transport::kGeneralServices)
        datagram.extended.send.source_qp = world_.own().outside_of(packet.extended.send.source_qp);
    const wire::Gid& own = who_.gids_of(ends.port).back();
    if (packet.dest_qp().value == kMulticastQpn) {
        // A group's address is a full GID; an IPv4 address could not be turned back into it.
        const wire::Gid* const known = world_.groups().at(to);
        if (known == nullptr) return;
        const wire::Gid& group = *known;
        const auto grh = grh_of(packet, who_.gids_of(ends.port).front(), group);
        for (uint32_t index = 1; index < world_.size(); ++index) {
            if (world_.at(index).is_remote) continue;
            if (wire_)
                send_over_wire(index, datagram, &group, ends);
            else
                send_to(index, datagram, grh);
        }
        if (udp_) udp_->send_to_group(datagram, group);
        return;
    }
    if (to >= world_.size()) return;
    if (world_.at(to).is_remote) return send_remote(to, datagram);
    if (to != 0 && wire_) return send_over_wire(to, datagram, nullptr, ends);
    const Facts& there = world_.facts_of({to});
    const uint32_t its_port = ends.peer_port <= there.port_count ? ends.peer_port : 1;
    send_to(to, datagram, grh_of(packet, own, there.gids_of(its_port).back()));
}

void Carrier::send_to(uint32_t index, const Packet& packet, std::span<const std::byte> grh) {
    const std::byte* payload = packet.payload_length == 0 ? nullptr : packet.payload.address();
    if (index == 0) {
        LocalPacket& local = local_.emplace_back();
        local.packet = packet;
        local.grh.assign(grh.begin(), grh.end());
        local.payload.resize(packet.payload_length);
        if (payload != nullptr &&
            !base::guarded_copy(local.payload.data(), payload, packet.payload_length))
            local_.pop_back();  // lost: its retransmission is checked first
        return;
    }
    if (index >= world_.size() || world_.at(index).is_gone) return;
    Peer& peer = world_.at(index);
    if ((!peer.can_send() && !world_.call_peer(peer)) || is_overrun(peer)) return;
    const RecordHead head{RecordKind::packet, 0, static_cast<uint32_t>(grh.size())};
    const size_t bytes = sizeof head + sizeof packet + grh.size() + packet.payload_length;
    std::byte* place = is_plain_ack(packet) ? peer.reserve_quietly(bytes) : peer.reserve(bytes);
    std::byte* const begin = place;
    std::memcpy(place, &head, sizeof head);
    place += sizeof head;
    std::memcpy(place, static_cast<const void*>(&packet), sizeof packet);
    place += sizeof packet;
    if (!grh.empty()) std::memcpy(place, grh.data(), grh.size());
    place += grh.size();
    // The data of a region without memory is zeros.
    if (payload == nullptr)
        std::memset(place, 0, packet.payload_length);
    else if (!base::guarded_copy(place, payload, packet.payload_length)) [[unlikely]]
        spoil(begin, static_cast<size_t>(place - begin));
    if (sending_.empty() || sending_.back() != index) sending_.push_back(index);
}

// Whether a peer has not read for long and has a large backlog. We do not wait for it, because
// others would wait too.
bool Carrier::is_overrun(Peer& peer) {
    return peer.backlog_bytes() > kMostForStuckPeer && peer.is_stuck(time_);
}

// A peer that wants packets in their form on the wire also accepts packets that were only cut.
void Carrier::send_over_wire(uint32_t index, const Packet& packet, const wire::Gid* group,
                             const Ends& ends) {
    if (index >= world_.size() || world_.at(index).is_gone) return;
    // Encoding cannot fail as a guarded copy can, so the payload is copied first.
    Packet copy = packet;
    std::vector<std::byte> payload;
    if (packet.payload_length != 0 && !packet.payload.is_modelled()) {
        payload.resize(packet.payload_length);
        if (!base::guarded_copy(payload.data(), packet.payload.address(), payload.size())) return;
        copy.payload = wire::Payload::memory(payload.data());
    }
    wire_->send(time_, index, world_.at(index).facts, copy, group, ends);
    if (wire_->was_down()) world_.own().board().link_was_down.store(1, std::memory_order_relaxed);
}

void Carrier::deliver_wire(Instant time) {
    while (auto sent = wire_->poll(time)) {
        Peer& peer = world_.at(sent->peer);
        if (peer.is_remote) {
            if (udp_) udp_->path().send_frame(peer.own_address, peer.facts.gids[0], sent->bytes);
            continue;
        }
        if (peer.is_gone || (!peer.can_send() && !world_.call_peer(peer)) || is_overrun(peer))
            continue;
        const RecordHead head{RecordKind::frame, sent->refusal, 0};
        std::byte* place = peer.reserve(sizeof head + sent->bytes.size());
        std::memcpy(place, &head, sizeof head);
        std::memcpy(place + sizeof head, sent->bytes.data(), sent->bytes.size());
        sending_.push_back(sent->peer);
    }
}

void Carrier::receive_frame(uint32_t index, Instant time, std::span<const std::byte> bytes,
                            uint8_t refusal) {
    // A process without a wire path of its own reads with default settings.
    if (!wire_ && !wire_reader_) wire_reader_ = std::make_unique<WirePath>(who_, WireSettings{});
    const WirePath& reader = wire_ ? *wire_ : *wire_reader_;
    if (wire_) wire_->overhear(world_.facts_of({index}), bytes);
    const auto received = reader.receive(bytes);
    if (!received) return adapter_.on_damaged_packet();
    if (wire_ && wire_->loses_arrival(time, received->packet)) return;
    deliver(index, time, received->packet, received->grh, refusal, &received->destination);
}

void Carrier::flush_all(bool holds_back) {
    is_held_back_ = udp_ && holds_back && !udp_->sockets().is_empty();
    if (udp_ && !is_held_back_) udp_->sockets().flush();
    backlog_bytes_ = 0;
    has_stuck_peers_ = false;
    size_t kept = 0;
    for (size_t i = 0; i < sending_.size(); ++i) {
        const uint32_t index = sending_[i];
        Peer& peer = world_.at(index);
        peer.flush();
        if (peer.backlog_bytes() == 0 || peer.is_gone) continue;
        if (std::find(sending_.begin(), sending_.begin() + static_cast<ptrdiff_t>(kept), index) !=
            sending_.begin() + static_cast<ptrdiff_t>(kept))
            continue;
        const bool is_stuck = peer.is_stuck(now());
        has_stuck_peers_ = has_stuck_peers_ || is_stuck;
        if (!is_stuck) backlog_bytes_ += peer.backlog_bytes();
        sending_[kept++] = index;
    }
    sending_.resize(kept);
}

// The number of records is bounded, because the peer may go on writing.
void Carrier::drain(uint32_t index, Instant time) {
    Peer& peer = world_.at(index);
    constexpr size_t kMostRecords = kRingBytes / kRecordAlignment;
    for (size_t records = 0; records < kMostRecords && peer.can_receive(); ++records)
        if (peer.reader.is_broken() || !receive_from(index, time)) return;
}

void Carrier::receive_all(Instant time) {
    if (has_local()) receive_local(time);
    if (udp_) {
        udp_->receive(time);
        for (const uint32_t peer : udp_->take_handed()) sending_.push_back(peer);
    }
    if (borrower_.next_look() <= time) borrower_.look(time);
    for (size_t i = 0; i < world_.receiving().size(); ++i) {
        const uint32_t index = world_.receiving()[i];
        (void)receive_from(index, time);
        if (!world_.at(index).reader.is_broken()) [[likely]]
            continue;
        world_.lose_peer(index);  // its records are malformed
        --i;
    }
}

// Takes some of the records that have come. True if there were any.
bool Carrier::receive_from(uint32_t index, Instant time) {
    Peer& peer = world_.at(index);
    page_there_ = 0;
    uint32_t count = 0;
    for (; count < kRecordsATime; ++count) {
        const auto record = peer.reader.front();
        if (record.empty()) break;
        if (!is_for_us_to_read(peer, record)) break;
        receive_record(index, time, record);
        peer.reader.pop();
    }
    return count != 0;
}

// The writer may change a record while it is read, so headers are parsed in a copy. Payloads are
// not copied.
void Carrier::receive_record(uint32_t index, Instant time, std::span<const std::byte> record) {
    RecordHead head{};
    if (record.size() < sizeof head) return world_.at(index).reader.give_up();
    std::memcpy(&head, record.data(), sizeof head);
    if (head.kind == RecordKind::write) return receive_write(world_.at(index), record);
    if (head.kind == RecordKind::datagram) {
        parsed_.assign(record.begin(), record.end());
        if (!udp_ || !udp_->receive_handed(index, time, parsed_)) world_.at(index).reader.give_up();
        return;
    }
    if (head.kind >= RecordKind::ask_receives && head.kind <= RecordKind::give_back_lent) {
        parsed_.assign(record.begin(), record.end());
        if (!receive_xrc_record(index, time, head.kind, parsed_)) world_.at(index).reader.give_up();
        return;
    }
    record = record.subspan(sizeof head);
    if (head.kind == RecordKind::packet) return receive_packet(index, time, head, record);
    if (head.kind != RecordKind::frame) return world_.at(index).reader.give_up();
    parsed_.assign(record.begin(), record.end());
    receive_frame(index, time, parsed_, static_cast<uint8_t>(head.refusal));
}

void Carrier::receive_packet(uint32_t index, Instant time, const RecordHead& head,
                             std::span<const std::byte> record) {
    Packet packet;
    std::array<std::byte, kGrhBytes> grh;
    const bool has_grh = head.grh_bytes == grh.size();
    const size_t headers = sizeof packet + head.grh_bytes;
    if ((head.grh_bytes != 0 && !has_grh) || record.size() < headers)
        return world_.at(index).reader.give_up();
    std::memcpy(static_cast<void*>(&packet), record.data(), sizeof packet);
    if (has_grh) std::memcpy(grh.data(), record.data() + sizeof packet, grh.size());
    record = record.subspan(headers);
    if (packet.payload_length != record.size() || packet.kind != wire::PacketKind::transport)
        return world_.at(index).reader.give_up();
    packet.payload = wire::Payload::memory(record.data());
    if (wire_ && world_.at(index).has_grants()) wire_->overhear(world_.facts_of({index}), packet);
    deliver(index, time, packet, std::span(grh).first(head.grh_bytes), 0, nullptr);
}

// Does a WRITE only for a peer that could write there by itself.
void Carrier::receive_write(Peer& peer, std::span<const std::byte> record) {
    WriteRecord write{};
    if (record.size() < sizeof write || !peer.has_proven(world_.own().secret().word))
        return peer.reader.give_up();
    if (!claim_write(peer.incoming(), peer.reader.position(), peer.reader.end())) return;
    std::memcpy(&write, record.data(), sizeof write);
    const auto bytes = record.subspan(sizeof write);
    took_writes_ = true;
    if (bytes.empty()) return;
    // If the program has unmapped or protected the pages meanwhile, the initiator is told.
    void* place = reinterpret_cast<void*>(write.place);
    const uint64_t page = write.place / kLeastPage;
    if (page != page_there_ || (write.place + bytes.size() - 1) / kLeastPage != page) {
        if (!is_writable(place, bytes.size()))
            return refuse_write(peer.incoming(), peer.reader.end());
        page_there_ = page;
    }
    if (!base::guarded_copy(place, bytes.data(), bytes.size()))
        refuse_write(peer.incoming(), peer.reader.end());
}

base::Result<bool> Carrier::open_udp() {
    auto opened = UdpCarrier::open({world_, connections_, adapter_, owner_, *this, wire_.get()});
    if (!opened) return opened.error();
    udp_ = std::move(*opened);
    return true;
}

void Carrier::send_remote(uint32_t index, const Packet& packet) {
    const Peer& peer = world_.at(index);
    if (peer.is_gone) return;
    if (wire_) return send_over_wire(index, packet, nullptr);
    udp_->path().send(peer.own_address, peer.facts.gids[0], packet);
}

void Carrier::receive_local(Instant time) {
    for (size_t left = local_.size(); left > 0; --left) {
        LocalPacket local = std::move(local_.front());
        local_.pop_front();
        local.packet.payload = wire::Payload::memory(local.payload.data());
        deliver(0, time, local.packet, local.grh, 0, nullptr);
    }
}

// What a rule for faults asks of the packet's receiver.
void Carrier::meet_fault(Instant time, const Packet& packet, uint8_t refusal) {
    const transport::QueuePair* qp = adapter_.queue_pairs().find(packet.dest_qp());
    switch (transport::Breakage{refusal}) {
        case transport::Breakage::queue_pair:
            return (void)adapter_.queue_pairs().fail(packet.dest_qp());
        case transport::Breakage::shared_queue:
            if (qp != nullptr) (void)adapter_.shared_receives().fail(qp->srq);
            return;
        case transport::Breakage::adapter: return adapter_.fail_device();
    }
    adapter_.refuse_packet(time, packet, refusal);
}

void Carrier::deliver(uint32_t source, Instant time, Packet packet, std::span<const std::byte> grh,
                      uint8_t refusal, const wire::Gid* to) {
    packet.source = source & 0xff'ffff;
    if (packet.dest_qp().value == kMulticastQpn) {
        const uint32_t group = world_.groups().find(to != nullptr ? *to : destination_of(grh));
        if (group == Groups::kNone) return;
        packet.destination = group & 0xff'ffff;
    } else if (packet.dest_qp() != transport::kGeneralServices) {
        const auto inner = world_.own().inside_of(packet.dest_qp());
        if (!inner) return;
        packet.set_dest_qp(*inner);
        if (!connections_.agrees(connections_.of(*inner)))
            return;  // lost: at a real adapter no queue pair would accept it
        if (packet.srq_or_ee != 0 && !name_xrc_queue(time, packet)) return;
        refuse_what_is_gone(adapter_, packet);
        if (has_ports_)
            traffic_.count_received(connections_.of(packet.dest_qp()).ends.port, packet);
    }
    if (refusal != 0) [[unlikely]]
        meet_fault(time, packet, refusal);
    else
        adapter_.on_packet(time, packet, grh);
    if (packet.dest_qp() == transport::kGeneralServices) [[unlikely]]
        owner_.on_management();
    if (packet.srq_or_ee != 0 && borrower_.has_proxies()) borrower_.report();
    if (adapter_.has_objection()) [[unlikely]]
        owner_.on_objection();
}

}  // namespace tulle::live
