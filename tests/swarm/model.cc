#include "model.h"

#include <algorithm>
#include <cstring>

namespace tulle::swarm {
namespace {

using namespace transport;

void require(bool holds, const char* rule) {
    if (!holds) throw Failure(rule);
}

CompletionKind kind_of(Work work) {
    switch (work) {
        case Work::write:
        case Work::write_with_immediate: return CompletionKind::write;
        case Work::read: return CompletionKind::read;
        case Work::compare_swap: return CompletionKind::compare_swap;
        case Work::fetch_add: return CompletionKind::fetch_add;
        case Work::local_invalidate: return CompletionKind::local_invalidate;
        case Work::bind_window: return CompletionKind::bind_window;
        case Work::flush: return CompletionKind::flush;
        case Work::atomic_write: return CompletionKind::atomic_write;
        default: return CompletionKind::send;
    }
}

bool is_signalled(const Side& side, const Operation& operation) {
    return side.signal_all || (operation.flags & kSignalled) != 0;
}

bool writes_remote(Work work) {
    return work == Work::write || work == Work::write_with_immediate || work == Work::atomic_write;
}

uint64_t word_at(const std::vector<std::byte>& memory, const Pieces& pieces) {
    const auto bytes = bytes_of(memory, pieces);
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    return word;
}

Pieces remote_range(const Operation& operation) {
    return {{operation.remote_offset, operation.length}};
}

}  // namespace

Tally& Tally::operator+=(const Tally& other) {
    rc_operations += other.rc_operations;
    rc_successes += other.rc_successes;
    received += other.received;
    packets += other.packets;
    through_bytes += other.through_bytes;
    damaged += other.damaged;
    return *this;
}

std::vector<std::byte> Model::grh_bytes() {
    std::vector<std::byte> bytes(kGrhBytes);
    for (uint32_t i = 0; i < kGrhBytes; ++i) bytes[i] = static_cast<std::byte>(0x60 + i * 3);
    return bytes;
}

// What an operation brings along. Nothing ever writes there.
std::vector<std::byte> Model::content(uint32_t side, const Operation& operation) {
    return bytes_of(station_of(side).shadow, operation.local);
}

// ---------------------------------------------------------------------------------------------
// The send queue

void Model::on_post(Side& side, Refusal refusal) {
    if (refusal == Refusal::queue_full) {
        require(side.posted - side.settled >= side.send.requests,
                "a send queue says that it is full while it has room");
        return;
    }
    require(refusal == Refusal::none, "a send request was refused");
    Operation& operation = side.operations[side.posted++];
    operation.outcome = Outcome::unknown;
    if (operation.counter != kNone) ++world_.counters[operation.counter].attempts;
    if (side.type == QpType::rc) ++tally.rc_operations;
}

void Model::on_send_completion(uint32_t index, const Completion& completion) {
    Side& side = world_.sides[index];
    const auto number = static_cast<uint32_t>(completion.id);
    require(completion.id >> 32 == index, "a completion names work of another queue pair");
    require(number < side.posted, "work completed that was not posted");
    require(number >= side.settled, "work completed twice or out of order");
    // Those before it said nothing: they were not asked to, and have not failed.
    while (side.settled < number) {
        require(!is_signalled(side, side.operations[side.settled]),
                "signalled work has no completion");
        succeed(index, side.settled++);
    }
    ++side.settled;
    Operation& operation = side.operations[number];
    if (completion.status != Status::success) {
        check_failure(index, operation, completion);
        operation.outcome = Outcome::failed;
        side.has_failed = true;
        return;
    }
    side.troubles_then = world_.troubles(index);
    require(is_signalled(side, operation), "unsignalled work that succeeded has a completion");
    require(completion.kind == kind_of(operation.work), "a completion of the wrong kind");
    const bool local =
        operation.work == Work::bind_window || operation.work == Work::local_invalidate;
    require(local || completion.byte_count == operation.length,
            "a completion with the wrong byte count");
    succeed(index, number);
}

void Model::check_failure(uint32_t index, const Operation& operation,
                          const Completion& completion) {
    Side& side = world_.sides[index];
    if (side.is_dead()) {
        require(completion.status == Status::flushed, "behind a failure, work was not flushed");
        require(completion.vendor_error == kVendorFlushed, "flushed with another vendor error");
        return;
    }
    require(side.type == QpType::rc, "work of an unreliable service failed");
    switch (completion.status) {
        case Status::flushed:
            // The responder's half of the queue pair has objected, so that all of it is at an end.
            require(completion.vendor_error == kVendorFlushed, "flushed with another vendor error");
            for (const Operation& other : world_.sides[side.peer].operations)
                if (other.bad_key && other.outcome != Outcome::unposted) return;
            throw Failure("work was flushed before any failure");
        case Status::retry_exceeded:
            require(completion.vendor_error == kVendorRetryExceeded,
                    "retries exceeded with another vendor error");
            return check_retries(index);
        case Status::rnr_retry_exceeded:
            require(completion.vendor_error == kVendorRnrExceeded,
                    "RNR retries exceeded with another vendor error");
            require(side.attributes.rnr_retry != 7, "RNR retries exceeded, though without limit");
            require(takes_receive(operation.work), "RNR for work that takes no receive");
            return;
        case Status::remote_access_error:
            require(operation.bad_key, "a remote access error for a good key");
            return;
        default:
            throw Failure("work failed with status " +
                          std::to_string(static_cast<int>(completion.status)));
    }
}

// Each retry has a cause: a packet of this connection that the network did not bring as it was
// sent, or a peer that is gone. Only a timer that is short may run out without.
void Model::check_retries(uint32_t index) {
    constexpr uint8_t kLongTimer = 8;  // 1 ms, longer than any delay
    const Side& side = world_.sides[index];
    const Side& peer = world_.sides[side.peer];
    require(!world_.faults.none() || peer.is_dead(),
            "retries exceeded where the network loses nothing");
    // A peer that has objected to a bad key says so once, and that may be lost.
    const bool may_have_objected =
        std::any_of(side.operations.begin() + side.settled - 1,
                    side.operations.begin() + side.posted, [](const auto& o) { return o.bad_key; });
    const bool peer_is_gone = peer.is_dead() || !peer.first_flush || may_have_objected;
    if (peer_is_gone || side.attributes.address.ack_timeout < kLongTimer) return;
    // Two that were under way when work completed last may have done their harm since.
    require(world_.troubles(index) - side.troubles_then + 2 > side.attributes.retry_count,
            "retries exceeded without as many faults of the network");
}

void Model::succeed(uint32_t index, uint32_t number) {
    Side& side = world_.sides[index];
    Operation& operation = side.operations[number];
    require(!side.has_failed, "work succeeded behind a failure");
    require(!operation.bad_key, "work with a bad key succeeded");
    operation.outcome = Outcome::success;
    if (side.type != QpType::rc) return;  // it has gone, more is not known
    ++tally.rc_successes;
    if (writes_remote(operation.work)) check_written(index, operation);
    if (operation.work == Work::read) check_read(index, operation);
    if (operation.counter != kNone) check_original(index, operation);
    if (takes_receive(operation.work)) check_message_arrived(index, number);
}

void Model::check_written(uint32_t index, const Operation& operation) {
    Station& station = station_of(operation.to_side);
    const auto bytes = content(index, operation);
    require(bytes_of(station.memory, remote_range(operation)) == bytes,
            "a WRITE that succeeded is not there");
    put_bytes(station.shadow, remote_range(operation), bytes);
}

void Model::check_read(uint32_t index, const Operation& operation) {
    const auto bytes = bytes_of(station_of(operation.to_side).shadow, remote_range(operation));
    require(bytes_of(station_of(index).memory, operation.local) == bytes,
            "a READ brought something else than what was there");
    put_bytes(station_of(index).shadow, operation.local, bytes);
}

void Model::check_original(uint32_t index, const Operation& operation) {
    Counter& counter = world_.counters[operation.counter];
    const uint64_t original = word_at(station_of(index).memory, operation.local);
    if (counter.shared)
        counter.originals.push_back(original);
    else
        require(original == counter.states[counter.successes],
                "an atomic brought another value than it must have found");
    ++counter.successes;
    put_bytes(station_of(index).shadow, operation.local, std::as_bytes(std::span(&original, 1)));
}

void Model::check_message_arrived(uint32_t index, uint32_t number) {
    const Side& side = world_.sides[index];
    const auto place = std::lower_bound(side.messages.begin(), side.messages.end(), number);
    const auto before = static_cast<uint32_t>(place - side.messages.begin());
    require(world_.sides[side.peer].received > before,
            "a message is acknowledged that was not received");
}

// ---------------------------------------------------------------------------------------------
// Receive queues

void Model::take_buffer(Pool& pool, uint32_t number) {
    require(number < pool.buffers.size() && pool.buffers[number].is_posted,
            "a receive completed that was not posted");
    pool.buffers[number].is_posted = false;
    if (pool.shared) return;
    require(pool.posted[pool.first_posted++] == number, "receives completed out of order");
}

void Model::on_receive_completion(uint32_t index, const Completion& completion) {
    Side& side = world_.sides[index];
    Pool& pool = world_.pools[side.pool];
    require(completion.id >> 32 == (uint64_t{1} << 31 | side.pool),
            "a completion names a receive of another queue");
    const auto number = static_cast<uint32_t>(completion.id);
    take_buffer(pool, number);
    const Buffer& buffer = pool.buffers[number];
    if (completion.status == Status::flushed) return check_flushed(index, pool, buffer);
    require(completion.status == Status::success, "a receive failed");
    require(side.first_flush, "a receive succeeded behind a flushed one");
    if (side.type == QpType::rc) {
        const uint32_t message = next_message(index, world_.sides[side.peer]);
        check_received(index, pool, buffer, completion, world_.sides[side.peer].operations[message],
                       side.peer);
        return;
    }
    const auto [from, message] = named_message(index, buffer, completion);
    Operation& operation = world_.sides[from].operations[message];
    ++operation.received;
    require(operation.received <= operation.brought,
            "a message was received more often than it came");
    check_received(index, pool, buffer, completion, operation, from);
}

// A message that was under way may have left something in the first buffer that is flushed.
void Model::check_flushed(uint32_t index, Pool& pool, const Buffer& buffer) {
    Side& side = world_.sides[index];
    Station& station = world_.stations[pool.adapter];
    const Side& peer = world_.sides[side.peer];
    if (side.type == QpType::uc) {
        put_bytes(station.shadow, buffer.pieces, bytes_of(station.memory, buffer.pieces));
    } else if (side.type == QpType::rc && side.first_flush &&
               side.received < peer.messages.size()) {
        const auto bytes = content(side.peer, peer.operations[peer.messages[side.received]]);
        check_partly(station, buffer.pieces, bytes);
    }
    side.first_flush = false;
}

// RC: every message of the peer, in order.
uint32_t Model::next_message(uint32_t index, const Side& peer) {
    Side& side = world_.sides[index];
    require(side.received < peer.messages.size(), "more was received than was sent");
    const uint32_t message = peer.messages[side.received++];
    require(message < peer.posted, "a message was received before it was sent");
    return message;
}

// UC and UD: the message says which it is.
std::pair<uint32_t, uint32_t> Model::named_message(uint32_t index, const Buffer& buffer,
                                                   const Completion& completion) {
    const Side& side = world_.sides[index];
    const uint32_t header = side.type == QpType::ud ? kGrhBytes : 0;
    const auto name_in = [&]() -> uint64_t {
        if ((completion.flags & kWithImmediate) != 0) return completion.immediate_or_rkey;
        const auto bytes = bytes_of(station_of(index).memory, buffer.pieces);
        require(completion.byte_count >= header + 8 && bytes.size() >= header + 8,
                "a message without a name was received");
        uint64_t name = 0;
        std::memcpy(&name, bytes.data() + header, sizeof name);
        return name & 0xffff'ffff;
    };
    const uint64_t name = name_in();
    const auto from = static_cast<uint32_t>(name >> 16);
    const auto message = static_cast<uint32_t>(name & 0xffff);
    require(from < world_.sides.size() && message < world_.sides[from].posted,
            "a message was received that nobody sent");
    Side& sender = world_.sides[from];
    const Operation& operation = sender.operations[message];
    require(takes_receive(operation.work) && operation.to_side == index,
            "a message was received that was not for here");
    if (side.type == QpType::ud) {
        require(completion.source_qp == sender.qpn, "a datagram names another source");
        require(completion.source == station_of(from).config.endpoint,
                "a datagram names another source");
    } else if (world_.faults.keeps_order()) {
        require(message >= world_.sides[index].received, "messages were received out of order");
        world_.sides[index].received = message + 1;
    }
    return {from, message};
}

void Model::check_received(uint32_t index, Pool& pool, const Buffer& buffer,
                           const Completion& completion, const Operation& operation,
                           uint32_t from) {
    Station& station = world_.stations[pool.adapter];
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
    if (is_write) {
        check_written(from, operation);
    } else {
        auto bytes = content(from, operation);
        if (datagram) {
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
    // Messages that were lost on the way may have left something behind the end.
    if (pool.type == QpType::uc)
        put_bytes(station.shadow, buffer.pieces, bytes_of(station.memory, buffer.pieces));
}

// UC and UD: a message can be received as often as its first packet comes.
void Model::on_arrival(const wire::Packet& packet) {
    const auto opcode = static_cast<uint8_t>(packet.opcode);
    const wire::OpcodeInfo& info = wire::opcode_info(opcode);
    const wire::Service service = wire::service_of(opcode);
    if (service != wire::Service::uc && service != wire::Service::ud) return;
    if (info.position != wire::Position::first && info.position != wire::Position::only) return;
    uint64_t name = 0;
    if (packet.payload_length >= 8)
        std::memcpy(&name, packet.payload.address(), sizeof name);
    else if ((info.headers & wire::kReth) != 0)
        name = packet.extended.rdma.immediate_or_flush;
    else
        name = packet.extended.send.immediate_or_rkey;
    if (packet.payload_length < 8 && (info.headers & wire::kImmDt) == 0) return;
    const auto from = static_cast<uint32_t>(name >> 16 & 0xffff);
    const auto number = static_cast<uint32_t>(name & 0xffff);
    require(from < world_.sides.size() && number < world_.sides[from].posted,
            "a packet was sent that belongs to no work");
    ++world_.sides[from].operations[number].brought;
}

// ---------------------------------------------------------------------------------------------
// The end

void Model::check_end() {
    for (uint32_t i = 0; i < world_.sides.size(); ++i) settle_rest(i);
    for (const Pool& pool : world_.pools)
        for (const Buffer& buffer : pool.buffers) {
            require(pool.shared || !buffer.is_posted, "a receive was never completed");
            // Shared ones stay; of UC they may have been begun.
            Station& station = world_.stations[pool.adapter];
            if (pool.type == QpType::uc)
                put_bytes(station.shadow, buffer.pieces, bytes_of(station.memory, buffer.pieces));
        }
    for (uint32_t i = 0; i < world_.sides.size(); ++i)
        for (Operation& operation : world_.sides[i].operations) check_unknown(i, operation);
    for (Counter& counter : world_.counters) check_counter(counter);
    for (const Station& station : world_.stations) {
        const auto [is, should] =
            std::mismatch(station.memory.begin(), station.memory.end(), station.shadow.begin());
        if (is == station.memory.end()) continue;
        throw Failure("memory of adapter " + std::to_string(station.config.endpoint.value) +
                      " changed where nothing was to change, at offset " +
                      std::to_string(is - station.memory.begin()));
    }
}

void Model::settle_rest(uint32_t index) {
    Side& side = world_.sides[index];
    for (; side.settled < side.posted; ++side.settled) {
        require(!is_signalled(side, side.operations[side.settled]),
                "signalled work has no completion at the end");
        require(!side.has_failed, "work behind a failure has no completion at the end");
        succeed(index, side.settled);
    }
}

// Each byte is what it was or what it should become.
void Model::check_partly(Station& station, const Pieces& pieces, std::span<const std::byte> full) {
    const auto is = bytes_of(station.memory, pieces);
    const auto was = bytes_of(station.shadow, pieces);
    for (size_t i = 0; i < is.size(); ++i) {
        const bool fits = is[i] == was[i] || (i < full.size() && is[i] == full[i]);
        require(fits, "work that failed left bytes that are neither old nor new");
    }
    put_bytes(station.shadow, pieces, is);
}

// What failed, and what an unreliable connection wrote, may be there in part.
void Model::check_unknown(uint32_t index, Operation& operation) {
    const bool unreliable = world_.sides[index].type != QpType::rc;
    const bool open = operation.outcome == Outcome::failed ||
                      (unreliable && operation.outcome != Outcome::unposted);
    if (!open || operation.bad_key) return;
    Station& station = station_of(operation.to_side);
    if (operation.counter != kNone) {
        ++world_.counters[operation.counter].unknown;
        return check_partly(station_of(index), operation.local, {});
    }
    if (writes_remote(operation.work))
        check_partly(station, remote_range(operation), content(index, operation));
    if (operation.work == Work::read)
        check_partly(station_of(index), operation.local,
                     bytes_of(station.shadow, remote_range(operation)));
}

void Model::check_counter(Counter& counter) {
    Station& station = world_.stations[counter.adapter];
    const Pieces place{{counter.offset, 8}};
    const uint64_t value = word_at(station.memory, place);
    put_bytes(station.shadow, place, bytes_of(station.memory, place));
    if (counter.shared) {
        const uint64_t happened = value - counter.initial;
        require(happened >= counter.successes, "an atomic that succeeded is not there");
        require(happened <= counter.successes + counter.unknown,
                "more atomics were carried out than were asked for");
        std::vector<uint64_t> steps;
        for (const uint64_t original : counter.originals)
            steps.push_back(original - counter.initial);
        std::sort(steps.begin(), steps.end());
        require(std::adjacent_find(steps.begin(), steps.end()) == steps.end(),
                "two atomics found the same value");
        require(steps.empty() || steps.back() < happened, "an atomic found a value of the future");
        return;
    }
    const auto first = counter.states.begin() + counter.successes;
    const auto last = first + counter.unknown + 1;
    require(std::find(first, last, value) != last,
            "a word has a value that its atomics cannot have left");
}

}  // namespace tulle::swarm
