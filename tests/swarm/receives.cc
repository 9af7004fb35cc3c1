// Receive queues, and what the network shows.
#include <algorithm>
#include <cstring>

#include "model.h"
#include "wire/syndrome.h"

namespace tulle::swarm {
namespace {

using namespace transport;
using wire::psn_before;
using wire::psn_plus;

uint32_t posted_in(const Pool& pool) {
    return static_cast<uint32_t>(std::count_if(pool.buffers.begin(), pool.buffers.end(),
                                               [](const Buffer& b) { return b.is_posted; }));
}

bool had(const Side& side, Qpn qpn) {
    return side.qpn == qpn ||
           std::find(side.old_qpns.begin(), side.old_qpns.end(), qpn) != side.old_qpns.end();
}

// The name of the message that this packet begins, where it has one.
std::optional<uint64_t> name_in(const wire::Packet& packet, const wire::OpcodeInfo& info) {
    uint64_t name = 0;
    if (packet.payload_length >= 8)
        std::memcpy(&name, packet.payload.address(), sizeof name);
    else if ((info.headers & wire::kImmDt) == 0)
        return std::nullopt;
    else if ((info.headers & wire::kReth) != 0)
        name = packet.extended.rdma.immediate_or_flush;
    else
        name = packet.extended.send.immediate_or_rkey;
    return name;
}

bool begins(const wire::OpcodeInfo& info) {
    return info.position == wire::Position::first || info.position == wire::Position::only;
}

bool ends(const wire::OpcodeInfo& info) {
    return info.position == wire::Position::last || info.position == wire::Position::only;
}

}  // namespace

std::vector<std::byte> Model::grh_bytes() {
    std::vector<std::byte> bytes(kGrhBytes);
    for (uint32_t i = 0; i < kGrhBytes; ++i) bytes[i] = static_cast<std::byte>(0x60 + i * 3);
    return bytes;
}

Pool& Model::pool_named(uint32_t index, const Completion& completion) {
    const Side& side = world_.sides[index];
    const auto number = static_cast<uint32_t>(completion.id >> 32 & 0x7fff'ffff);
    require(number < world_.pools.size(), "a completion names a receive of no queue");
    Pool& pool = world_.pools[number];
    const bool fits = side.type == QpType::xrc_target
                          ? pool.type == QpType::xrc_target && pool.adapter == side.adapter &&
                                pool.domain == side.domain
                          : number == side.pool;
    require(fits, "a completion names a receive of another queue");
    return pool;
}

// Those of a queue pair of RD may be taken over several EE contexts at a time.
void Model::take_buffer(Pool& pool, uint32_t number) {
    require(number < pool.buffers.size() && pool.buffers[number].is_posted,
            "a receive completed that was not posted");
    pool.buffers[number].is_posted = false;
    if (pool.shared || pool.type == QpType::rd || world_.is_unordered(pool.type)) return;
    require(pool.posted[pool.first_posted++] == number, "receives completed out of order");
}

void Model::on_receive_completion(uint32_t index, const Completion& completion) {
    const Side& side = world_.sides[index];
    Pool& pool = pool_named(index, completion);
    const auto number = static_cast<uint32_t>(completion.id);
    take_buffer(pool, number);
    const Buffer& buffer = pool.buffers[number];
    if (completion.status == Status::flushed) return check_flushed(index, pool, buffer);
    if (side.type == QpType::rd && completion.status != Status::success)
        return check_given_up(index, pool, buffer, completion);
    if (completion.status == Status::local_access_error) return check_refused(index, pool);
    require(completion.status == Status::success, "a receive failed");
    require(side.first_flush, "a receive succeeded behind a flushed one");
    if (pool.shared && pool.limit != 0 && posted_in(pool) < pool.limit) pool.is_low = true;
    const bool in_order = side.is_reliable() && side.type != QpType::rd;
    const auto [from, message] =
        world_.is_unordered(side.type) ? any_message(index, buffer, completion)
        : in_order ? next_message(index, static_cast<uint32_t>(&pool - world_.pools.data()))
                   : named_message(index, buffer, completion);
    Operation& operation = world_.sides[from].operations[message];
    check_times(index, from, operation);
    check_received(index, pool, buffer, completion, operation, from);
}

// A message that was under way may have left something in the first buffer that is flushed; on a
// queue pair of RD there may be one for each EE context.
void Model::check_flushed(uint32_t index, Pool& pool, const Buffer& buffer) {
    Side& side = world_.sides[index];
    Station& station = world_.stations[pool.adapter];
    if (side.type == QpType::uc || side.type == QpType::rd || pool.torn ||
        world_.is_unordered(side.type)) {
        accept(station, buffer.pieces);
    } else if (side.type != QpType::ud && side.first_flush) {
        const Side& peer = world_.sides[side.peer];
        const auto pool_number = static_cast<uint32_t>(&pool - world_.pools.data());
        for (const uint32_t message : peer.messages) {
            const Operation& operation = peer.operations[message];
            if (operation.received != 0 || operation.aborted ||
                world_.pool_of(operation) != pool_number)
                continue;
            check_partly(station, buffer.pieces, content(side.peer, operation));
            break;
        }
    } else if (side.type == QpType::xrc_target) {
        throw Failure("a target flushed more than the one receive that it had taken");
    }
    side.first_flush = false;
}

// RD: the sender gave up the message, after a part of it may have come; or the EE context is gone.
void Model::check_given_up(uint32_t index, Pool& pool, const Buffer& buffer,
                           const Completion& completion) {
    const bool by_sender = completion.status == Status::remote_aborted;
    require(by_sender || completion.status == Status::local_eec_operation_error,
            "a receive of RD failed");
    Station& station = world_.stations[pool.adapter];
    station.ee_said_dead = station.ee_said_dead || !by_sender;
    std::vector<Operation*> candidates;
    for (uint32_t from = 0; from < world_.sides.size(); ++from) {
        Side& sender = world_.sides[from];
        if (sender.type != QpType::rd || !had(sender, completion.source_qp)) continue;
        if (station_of(from).config.endpoint != completion.source) continue;
        for (Operation& operation : sender.operations) {
            const bool fits = takes_receive(operation.work) && operation.to_side == index &&
                              operation.received == 0 && !operation.aborted &&
                              operation.outcome != Outcome::unposted &&
                              operation.outcome != Outcome::success;
            if (fits && fits_partly(station, buffer.pieces, content(from, operation)))
                candidates.push_back(&operation);
        }
    }
    require(pool.torn || !candidates.empty(), "a receive was given up for no message");
    // One that was only suspended, by a late word that the receiver was not ready, comes again.
    if (candidates.size() == 1 && candidates[0]->outcome == Outcome::failed)
        candidates[0]->aborted = true;
    accept(station, buffer.pieces);
    ++tally.aborted;
}

// A WRITE with immediate data that may not write ends the receive that it would have had.
void Model::check_refused(uint32_t index, const Pool& pool) {
    Side& peer = world_.sides[world_.sides[index].peer];
    const auto number = static_cast<uint32_t>(&pool - world_.pools.data());
    const auto next = std::find_if(peer.messages.begin(), peer.messages.end(), [&](uint32_t i) {
        const Operation& operation = peer.operations[i];
        return operation.received == 0 && !operation.aborted && world_.pool_of(operation) == number;
    });
    require(world_.sides[index].is_reliable() && next != peer.messages.end() &&
                *next < peer.posted && peer.operations[*next].bad == Bad::key &&
                peer.operations[*next].work == Work::write_with_immediate,
            "a receive was refused where nothing was wrong");
    peer.operations[*next].aborted = true;
    ++tally.refused;
}

// RC and XRC: every message of the peer, in order; with XRC on each queue.
std::pair<uint32_t, uint32_t> Model::next_message(uint32_t index, uint32_t pool) {
    const Side& side = world_.sides[index];
    const Side& peer = world_.sides[side.peer];
    for (const uint32_t message : peer.messages) {
        const Operation& operation = peer.operations[message];
        if (operation.received != 0 || operation.aborted || world_.pool_of(operation) != pool)
            continue;
        require(message < peer.posted, "a message was received before it was sent");
        require(operation.bad == Bad::none, "a message that is wrong was received");
        return {side.peer, message};
    }
    throw Failure("more was received than was sent");
}

// RC in any order: one that is posted and was not received, with these bytes or this name.
std::pair<uint32_t, uint32_t> Model::any_message(uint32_t index, const Buffer& buffer,
                                                 const Completion& completion) {
    const Side& side = world_.sides[index];
    const Side& peer = world_.sides[side.peer];
    const bool has_name = (completion.flags & kWithImmediate) != 0;
    auto there = bytes_of(station_of(index).memory, buffer.pieces);
    there.resize(std::min<size_t>(there.size(), completion.byte_count));
    for (const uint32_t message : peer.messages) {
        const Operation& operation = peer.operations[message];
        if (operation.received != 0 || operation.aborted || message >= peer.posted ||
            operation.bad != Bad::none || operation.length != completion.byte_count)
            continue;
        const bool is_it = has_name ? completion.immediate_or_rkey ==
                                          static_cast<uint32_t>(name_of(side.peer, message))
                                    : operation.work != Work::write_with_immediate &&
                                          operation.work != Work::send_with_immediate &&
                                          content(side.peer, operation) == there;
        if (is_it) return {side.peer, message};
    }
    throw Failure("a message was received that nobody sent, or twice");
}

// The others: the message says which it is.
std::pair<uint32_t, uint32_t> Model::named_message(uint32_t index, const Buffer& buffer,
                                                   const Completion& completion) {
    const uint32_t header = world_.sides[index].type == QpType::ud ? kGrhBytes : 0;
    uint64_t name = completion.immediate_or_rkey;
    if ((completion.flags & kWithImmediate) == 0) {
        const auto bytes = bytes_of(station_of(index).memory, buffer.pieces);
        require(completion.byte_count >= header + 8 && bytes.size() >= header + 8,
                "a message without a name was received");
        std::memcpy(&name, bytes.data() + header, sizeof name);
        name &= 0xffff'ffff;
    }
    const auto from = static_cast<uint32_t>(name >> 16);
    const auto message = static_cast<uint32_t>(name & 0xffff);
    require(from < world_.sides.size() && message < world_.sides[from].posted,
            "a message was received that nobody sent");
    check_named(index, from, message, completion);
    return {from, message};
}

void Model::check_named(uint32_t index, uint32_t from, uint32_t message,
                        const Completion& completion) {
    Side& side = world_.sides[index];
    const Side& sender = world_.sides[from];
    const Operation& operation = sender.operations[message];
    require(takes_receive(operation.work), "work was received that is no message");
    require(operation.bad == Bad::none, "a message that is wrong was received");
    if (operation.to_group != kNone) {
        const Group& group = world_.groups[operation.to_group];
        const auto& members = group.members;
        require(std::find(members.begin(), members.end(), index) != members.end(),
                "a message was received from a group by one who is no member");
        require(side.attributes.qkey == group.qkey, "a group was received with another Q_Key");
    } else {
        require(operation.to_side == index, "a message was received that was not for here");
    }
    if (side.type == QpType::uc) {
        if (!world_.faults.keeps_order()) return;
        require(message >= side.received, "messages were received out of order");
        side.received = message + 1;
        return;
    }
    require(had(sender, completion.source_qp), "a datagram names another source");
    require(completion.source == station_of(from).config.endpoint,
            "a datagram names another source");
}

void Model::check_times(uint32_t index, uint32_t from, Operation& operation) {
    ++operation.received;
    const Side& side = world_.sides[index];
    if (side.type == QpType::rd) return check_rd_times(from, operation);
    if (side.is_reliable()) return;
    if (operation.to_group == kNone)
        return require(operation.received <= operation.brought,
                       "a message was received more often than it came");
    ++tally.received_from_groups;
    require(++operation.received_by[index] <= operation.brought_to[side.adapter],
            "a message to a group was received more often than it came");
}

void Model::check_rd_times(uint32_t from, const Operation& operation) {
    require(operation.received == 1, "a message of RD was received twice");
    require(!operation.aborted, "a message of RD was received after it was aborted");
    const auto& all = world_.sides[from].operations;
    for (const Operation& later : std::span(all).subspan(&operation - all.data() + 1))
        require(later.ee != operation.ee || later.received == 0,
                "messages of RD were received out of order");
}

void Model::check_received(uint32_t index, Pool& pool, const Buffer& buffer,
                           const Completion& completion, const Operation& operation,
                           uint32_t from) {
    const bool datagram = world_.sides[index].type == QpType::ud;
    const bool is_write = operation.work == Work::write_with_immediate;
    ++tally.received;
    require(completion.byte_count == operation.length + (datagram ? kGrhBytes : 0),
            "a message of another length was received");
    require(completion.kind ==
                (is_write ? CompletionKind::receive_write_with_immediate : CompletionKind::receive),
            "a receive completed as another kind");
    const bool with_immediate = is_write || operation.work == Work::send_with_immediate;
    require(((completion.flags & kWithImmediate) != 0) == with_immediate,
            "immediate data was lost or made up");
    const uint64_t name =
        name_of(from, static_cast<uint32_t>(&operation - world_.sides[from].operations.data()));
    require(!with_immediate || completion.immediate_or_rkey == static_cast<uint32_t>(name),
            "other immediate data was received");
    const bool invalidates = operation.work == Work::send_with_invalidate;
    require(((completion.flags & kWithInvalidate) != 0) == invalidates,
            "an invalidation was lost or made up");
    if (is_write)
        check_written(from, operation);
    else
        check_bytes(index, pool, buffer, completion, content(from, operation));
    // Messages that were lost on the way may have left something behind the end.
    if (pool.type == QpType::uc || pool.torn) accept(world_.stations[pool.adapter], buffer.pieces);
}

void Model::check_bytes(uint32_t index, Pool& pool, const Buffer& buffer,
                        const Completion& completion, std::vector<std::byte> bytes) {
    Station& station = world_.stations[pool.adapter];
    if (world_.sides[index].type == QpType::ud) {
        const bool has_grh = (completion.flags & kHasGrh) != 0;
        const auto before = bytes_of(station.shadow, buffer.pieces);
        const auto grh = has_grh ? grh_bytes() : before;
        bytes.insert(bytes.begin(), grh.begin(), grh.begin() + kGrhBytes);
    }
    auto there = bytes_of(station.memory, buffer.pieces);
    require(there.size() >= bytes.size(), "a message is longer than the receive");
    there.resize(bytes.size());
    require(there == bytes, "a message was received with other bytes");
    put_bytes(station.shadow, buffer.pieces, bytes);
}

// ---------------------------------------------------------------------------------------------
// Shared queues

// The engine counts those that wait; some more were taken by messages under way.
void Model::on_limit(Pool& pool) {
    require(pool.limit != 0, "the limit of a shared queue was told though nobody asked");
    const size_t under_way =
        pool.users + (pool.type == QpType::rd ? pool.users * world_.ees.size() : 0);
    require(posted_in(pool) < pool.limit + under_way,
            "the limit of a shared queue was told while enough wait");
    pool.limit = 0;
    pool.is_low = false;
    ++tally.limits;
}

void Model::check_limits(uint32_t adapter) {
    for (const Pool& pool : world_.pools)
        require(pool.adapter != adapter || !pool.is_low,
                "a shared queue fell below its limit and nobody was told");
}

// ---------------------------------------------------------------------------------------------
// What the network shows

// UC and UD: a message can be received as often as its first packet comes.
void Model::note_brought(uint32_t adapter, const wire::Packet& packet) {
    const auto name = name_in(packet, wire::opcode_info(static_cast<uint8_t>(packet.opcode)));
    if (!name) return;
    const auto from = static_cast<uint32_t>(*name >> 16 & 0xffff);
    const auto number = static_cast<uint32_t>(*name & 0xffff);
    require(from < world_.sides.size() && number < world_.sides[from].posted,
            "a packet was sent that belongs to no work");
    Operation& operation = world_.sides[from].operations[number];
    ++operation.brought;
    if (operation.to_group != kNone) ++operation.brought_to[adapter];
}

// RD: the wire shows whether one message at a time is under way on an EE context. One ends when its
// last packet is acknowledged, or when RESYNC gives it up. What goes to a group has come to the
// members beside the sender when it leaves.
void Model::on_departure(const wire::Packet& packet) {
    if (packet.destination >= kFirstGroup) note_brought(packet.source - 1, packet);
    const auto opcode = static_cast<uint8_t>(packet.opcode);
    const wire::OpcodeInfo& info = wire::opcode_info(opcode);
    if (wire::service_of(opcode) != wire::Service::rd || info.response) return;
    const uint32_t far = world_.find_ee(packet.destination - 1, packet.srq_or_ee);
    require(far != kNone, "a packet names an EE context that there is not");
    EeEnd& end = world_.ees[far ^ 1];
    if (end.has_sent && !psn_before(end.last, packet.psn())) return;  // it goes again
    const wire::Operation operation = wire::operation_of(opcode);
    const bool is_resync = operation == wire::Operation::resync;
    tally.resyncs += is_resync ? 1 : 0;
    if (begins(info) && !is_resync)
        require(!end.is_open, "two messages are under way on an EE context");
    end.has_sent = end.is_open = true;
    end.is_whole = ends(info);
    end.last = packet.psn();
    if (operation != wire::Operation::read_request) return;
    const uint32_t mtu = end.attributes.path_mtu;
    const uint32_t answers = (packet.extended.rdma.dma_length + mtu - 1) / mtu;
    end.last = psn_plus(packet.psn(), std::max(1u, answers) - 1);
}

void Model::on_arrival(uint32_t adapter, const wire::Packet& packet) {
    const auto opcode = static_cast<uint8_t>(packet.opcode);
    const wire::OpcodeInfo& info = wire::opcode_info(opcode);
    const wire::Service service = wire::service_of(opcode);
    if (service == wire::Service::rd && info.response) {
        const uint32_t near = world_.find_ee(adapter, packet.srq_or_ee);
        require(near != kNone, "a response names an EE context that there is not");
        EeEnd& end = world_.ees[near];
        const bool objects = (info.headers & wire::kAeth) != 0 &&
                             wire::ack_kind(packet.extended.ack.syndrome) != wire::AckKind::ack;
        if (!objects && end.is_whole && !psn_before(packet.psn(), end.last)) end.is_open = false;
        return;
    }
    if ((service == wire::Service::uc || service == wire::Service::ud) && begins(info))
        note_brought(adapter, packet);
}

}  // namespace tulle::swarm
