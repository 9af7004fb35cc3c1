// The send queue.
#include "model.h"

#include <algorithm>
#include <cstring>

namespace tulle::swarm {
namespace {

using namespace transport;

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

bool contains(const std::vector<uint64_t>& values, uint64_t value) {
    return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

Share& Share::operator+=(const Share& other) {
    operations += other.operations;
    successes += other.successes;
    return *this;
}

Tally& Tally::operator+=(const Tally& other) {
    rc += other.rc;
    xrc += other.xrc;
    rd += other.rd;
    received += other.received;
    received_from_groups += other.received_from_groups;
    packets += other.packets;
    through_bytes += other.through_bytes;
    damaged += other.damaged;
    resyncs += other.resyncs;
    aborted += other.aborted;
    made_again += other.made_again;
    numbers_reused += other.numbers_reused;
    migrated += other.migrated;
    not_migrated += other.not_migrated;
    notified += other.notified;
    trimmed += other.trimmed;
    too_early += other.too_early;
    refused += other.refused;
    limits += other.limits;
    too_late += other.too_late;
    return *this;
}

// What an operation brings along. Nothing ever writes there.
std::vector<std::byte> Model::content(uint32_t side, const Operation& operation) {
    return bytes_of(station_of(side).shadow, operation.local);
}

// Nothing for services that promise nothing.
Share* Model::share_of(QpType type) {
    switch (type) {
        case QpType::rc: return &tally.rc;
        case QpType::xrc_initiator: return &tally.xrc;
        case QpType::rd: return &tally.rd;
        default: return nullptr;
    }
}

void Model::on_post(Side& side, Refusal refusal) {
    if (refusal == Refusal::queue_full) {
        require(side.posted - side.settled >= side.send.requests,
                "a send queue says that it is full while it has room");
        return;
    }
    require(refusal == Refusal::none, "a send request was refused");
    Operation& operation = side.operations[side.posted++];
    operation.outcome = Outcome::unknown;
    if (operation.ee != kNone) operation.troubles_then = world_.ee_troubles(operation.ee);
    if (Share* share = share_of(side.type)) ++share->operations;
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
        fail(operation);
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

// It may have been carried out or not, but not before those before it.
void Model::fail(Operation& operation) {
    operation.outcome = Outcome::failed;
    if (operation.counter == kNone || operation.bad != Bad::none) return;
    Counter& counter = world_.counters[operation.counter];
    ++counter.unknown;
    if (counter.shared) return;
    for (uint64_t& value : counter.furthest) {
        value = value_after(operation, value);
        counter.possible.push_back(value);
    }
}

// The responder's half of the queue pair has objected to something of its peer's, so that all of it
// is at an end.
bool Model::has_objected(const Side& side) const {
    const Side& peer = world_.sides[side.peer];
    return std::any_of(peer.operations.begin(), peer.operations.end(), [&](const Operation& other) {
        const bool too_late = other.far_passing && world_.stations[side.adapter].passing_gone;
        return (other.bad != Bad::none || too_late) && other.outcome != Outcome::unposted;
    });
}

void Model::check_failure(uint32_t index, const Operation& operation,
                          const Completion& completion) {
    Side& side = world_.sides[index];
    if (side.is_dead()) {
        require(completion.status == Status::flushed, "behind a failure, work was not flushed");
        require(completion.vendor_error == kVendorFlushed, "flushed with another vendor error");
        return;
    }
    require(side.is_reliable(), "work of an unreliable service failed");
    switch (completion.status) {
        case Status::flushed:
            require(completion.vendor_error == kVendorFlushed, "flushed with another vendor error");
            return require(side.type != QpType::rd && has_objected(side),
                           "work was flushed before any failure");
        case Status::retry_exceeded:
            require(completion.vendor_error == kVendorRetryExceeded,
                    "retries exceeded with another vendor error");
            return side.type == QpType::rd ? check_ee_retries(operation) : check_retries(index);
        case Status::rnr_retry_exceeded: {
            require(completion.vendor_error == kVendorRnrExceeded,
                    "RNR retries exceeded with another vendor error");
            const QpAttributes& way =
                operation.ee != kNone ? world_.ees[operation.ee].attributes : side.attributes;
            require(way.rnr_retry != 7, "RNR retries exceeded, though without limit");
            return require(takes_receive(operation.work), "RNR for work that takes no receive");
        }
        case Status::remote_access_error: {
            const bool too_late =
                operation.far_passing && station_of(operation.to_side).passing_gone;
            tally.too_late += too_late ? 1 : 0;
            return require(operation.bad == Bad::key || operation.bad == Bad::rights || too_late,
                           "a remote access error for a good key");
        }
        case Status::local_protection_error:
            ++tally.too_late;
            return require(operation.near_passing && station_of(index).passing_gone,
                           "a local protection error for memory that is there");
        case Status::remote_invalid_request:
            // A destination of RD that was made again knows nothing of how the message began.
            return require(
                (side.type == QpType::xrc_initiator && operation.bad == Bad::domain) ||
                    (side.type == QpType::rd && world_.sides[operation.to_side].was_reborn),
                "an invalid request where nothing was wrong");
        default:
            if (side.type == QpType::rd) return check_rd_failure(operation, completion.status);
            throw Failure("work failed with status " +
                          std::to_string(static_cast<int>(completion.status)));
    }
}

void Model::check_rd_failure(const Operation& operation, Status status) {
    EeEnd& end = world_.ees[operation.ee];
    const Side& target = world_.sides[operation.to_side];
    switch (status) {
        case Status::remote_invalid_rd_request: {
            const bool is_gone = target.is_dead() || target.is_absent || target.was_reborn;
            return require(operation.bad == Bad::qkey || operation.bad == Bad::domain || is_gone,
                           "an invalid RD request where nothing was wrong");
        }
        case Status::local_rdd_violation:
            return require(operation.bad == Bad::context,
                           "an RD domain was violated where nothing was wrong");
        case Status::local_eec_operation_error:
            return require(end.gave_up, "work failed with an EE context that nobody stopped");
        // The event that says so is polled later.
        case Status::response_timeout:
        case Status::invalid_ee_state: end.said_dead = true; return;
        default:
            throw Failure("work of RD failed with status " +
                          std::to_string(static_cast<int>(status)));
    }
}

// Each retry has a cause: a packet of this connection that the network did not bring as it was
// sent, or a peer that is gone. Only a timer that is short may run out without.
void Model::check_retries(uint32_t index) {
    constexpr uint8_t kLongTimer = 8;  // 1 ms, longer than any delay
    const Side& side = world_.sides[index];
    const Side& peer = world_.sides[side.peer];
    // A peer that has objected says so once, and that may be lost.
    const bool may_have_objected = std::any_of(
        side.operations.begin() + side.settled - 1, side.operations.begin() + side.posted,
        [](const auto& o) { return o.bad != Bad::none || o.far_passing; });
    const bool peer_is_gone =
        peer.is_dead() || peer.is_absent || !peer.first_flush || may_have_objected;
    // Where the way is cut the side itself has another one, if it was told.
    const bool way_is_cut = (side.is_cut && !side.has_detour) || peer.is_cut;
    if (peer_is_gone || way_is_cut) return;
    require(!world_.faults.none(), "retries exceeded where the network loses nothing");
    const bool is_patient = side.attributes.address.ack_timeout >= kLongTimer &&
                            world_.stations[side.adapter].config.timeouts.high.ps == 0;
    if (!is_patient || side.was_armed || peer.was_armed) return;
    // Two that were under way when work completed last may have done their harm since.
    require(world_.troubles(index) - side.troubles_then + 2 > side.attributes.retry_count,
            "retries exceeded without as many faults of the network");
}

// The same with RD, where it is the EE context that loses packets.
void Model::check_ee_retries(const Operation& operation) {
    if (world_.ees[operation.ee ^ 1].is_dead()) return;
    require(!world_.faults.none(), "retries exceeded on an EE context that loses nothing");
    const uint32_t since = world_.ee_troubles(operation.ee) - operation.troubles_then;
    const EeEnd& end = world_.ees[operation.ee];
    const bool has_long_timer = end.attributes.address.ack_timeout >= 8 &&
                                world_.stations[end.adapter].config.timeouts.high.ps == 0;
    require(!has_long_timer || since + 2 > world_.ees[operation.ee].attributes.retry_count,
            "retries exceeded without as many faults of the EE context");
}

void Model::succeed(uint32_t index, uint32_t number) {
    Side& side = world_.sides[index];
    Operation& operation = side.operations[number];
    require(!side.has_failed, "work succeeded behind a failure");
    operation.outcome = Outcome::success;
    Share* share = share_of(side.type);
    if (share == nullptr) return;  // it has gone, more is not known
    require(operation.bad == Bad::none, "work that is wrong succeeded");
    ++share->successes;
    if (writes_remote(operation.work)) check_written(index, operation);
    if (operation.work == Work::read) check_read(index, operation);
    if (operation.counter != kNone) check_original(index, operation);
    if (takes_receive(operation.work))
        require(operation.received == 1, "a message is acknowledged that was not received");
}

void Model::check_written(uint32_t index, const Operation& operation) {
    Station& station = station_of(operation.to_side);
    const auto bytes = content(index, operation);
    require(bytes_of(station.memory, remote_range(operation)) == bytes,
            "a WRITE that succeeded is not there");
    put_bytes(station.shadow, remote_range(operation), bytes);
}

void Model::check_read(uint32_t index, const Operation& operation) {
    Station& remote = station_of(operation.to_side);
    // A WRITE that has failed in an earlier life may have been carried out or not.
    if (operation.read_back != kNone) {
        const Operation& write = world_.sides[index].operations[operation.read_back];
        if (write.outcome == Outcome::failed)
            check_partly(remote, remote_range(write), content(index, write));
    }
    const auto bytes = bytes_of(remote.shadow, remote_range(operation));
    require(bytes_of(station_of(index).memory, operation.local) == bytes,
            "a READ brought something else than what was there");
    put_bytes(station_of(index).shadow, operation.local, bytes);
}

void Model::check_original(uint32_t index, const Operation& operation) {
    Counter& counter = world_.counters[operation.counter];
    const uint64_t original = word_at(station_of(index).memory, operation.local);
    if (counter.shared) {
        counter.originals.push_back(original);
    } else {
        require(contains(counter.possible, original),
                "an atomic brought another value than it can have found");
        counter.possible = counter.furthest = {value_after(operation, original)};
    }
    ++counter.successes;
    put_bytes(station_of(index).shadow, operation.local, std::as_bytes(std::span(&original, 1)));
}

// What is in the queue is gone without a word.
void Model::on_destroy(uint32_t index) {
    Side& side = world_.sides[index];
    for (; side.settled < side.posted; ++side.settled) {
        side.operations[side.settled].lost = true;
        fail(side.operations[side.settled]);
    }
    for (const Operation& operation : side.operations) {
        if (operation.counter == kNone || world_.counters[operation.counter].shared) continue;
        Counter& counter = world_.counters[operation.counter];
        counter.furthest = counter.possible;
    }
    side.is_absent = true;
    if (side.type == QpType::xrc_target)
        for (Pool& pool : world_.pools)
            if (pool.type == QpType::xrc_target && pool.adapter == side.adapter) pool.torn = true;
    if (side.pool == kNone) return;
    Pool& pool = world_.pools[side.pool];
    pool.torn = pool.shared;
    if (pool.shared) return;
    for (Buffer& buffer : pool.buffers) {
        if (buffer.is_posted) accept(world_.stations[pool.adapter], buffer.pieces);
        buffer.is_posted = false;
    }
    pool.posted.clear();
    pool.first_posted = 0;
}

void Model::on_migrated(const Side& side) {
    require(side.was_armed, "a path migrated that was not armed");
    ++tally.migrated;
}

// Packets come from the first port of the peer; only who agreed upon the other one refuses them.
void Model::on_migration_error(const Side& side) {
    require(side.was_armed && side.has_detour, "a migration was refused that was agreed upon");
    ++tally.not_migrated;
}

void Model::on_create(uint32_t index) {
    Side& side = world_.sides[index];
    side.is_absent = side.has_failed = side.gave_up = false;
    side.was_armed = side.has_detour = side.is_cut = false;
    side.was_reborn = side.first_flush = true;
    side.posts_left = kNone;
    side.troubles_then = world_.troubles(index);
    ++tally.made_again;
    if (!side.is_reliable() || side.type == QpType::rd) return;
    // Both ends were gone: no message of before comes any more.
    for (uint32_t i = 0; i < side.posted; ++i) {
        Operation& operation = side.operations[i];
        operation.aborted = operation.aborted || operation.received == 0;
    }
}

// ---------------------------------------------------------------------------------------------
// The end

void Model::on_deregister(Station& station) {
    station.passing_gone = true;
    station.passing_then = bytes_of(station.memory, {station.passing});
}

void Model::check_end() {
    for (uint32_t i = 0; i < world_.sides.size(); ++i) settle_rest(i);
    for (const Pool& pool : world_.pools)
        for (const Buffer& buffer : pool.buffers) {
            require(pool.shared || !buffer.is_posted, "a receive was never completed");
            // Shared ones stay; some may have been begun.
            if (pool.type == QpType::uc || pool.torn)
                accept(world_.stations[pool.adapter], buffer.pieces);
        }
    for (uint32_t i = 0; i < world_.sides.size(); ++i)
        for (Operation& operation : world_.sides[i].operations) check_unknown(i, operation);
    for (Counter& counter : world_.counters) check_counter(counter);
    for (const EeEnd& end : world_.ees)
        require(!end.said_dead || end.is_dead(), "an EE context refuses work while it serves");
    for (const Station& station : world_.stations) check_memory(station);
    for (uint32_t i = 0; i < world_.stations.size(); ++i) {
        const bool any_dead =
            std::any_of(world_.ees.begin(), world_.ees.end(),
                        [&](const EeEnd& end) { return end.adapter == i && end.is_dead(); });
        require(!world_.stations[i].ee_said_dead || any_dead,
                "a receive ended with an EE context that serves");
    }
}

void Model::check_memory(const Station& station) {
    const auto [is, should] =
        std::mismatch(station.memory.begin(), station.memory.end(), station.shadow.begin());
    if (is != station.memory.end())
        throw Failure("memory of adapter " + std::to_string(station.config.endpoint.value) +
                      " changed where nothing was to change, at offset " +
                      std::to_string(is - station.memory.begin()));
    require(!station.passing_gone ||
                station.passing_then == bytes_of(station.memory, {station.passing}),
            "memory changed after it was deregistered");
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
bool Model::fits_partly(const Station& station, const Pieces& pieces,
                        std::span<const std::byte> full) {
    const auto is = bytes_of(station.memory, pieces);
    const auto was = bytes_of(station.shadow, pieces);
    for (size_t i = 0; i < is.size(); ++i)
        if (is[i] != was[i] && (i >= full.size() || is[i] != full[i])) return false;
    return true;
}

void Model::check_partly(Station& station, const Pieces& pieces, std::span<const std::byte> full) {
    require(fits_partly(station, pieces, full),
            "work that failed left bytes that are neither old nor new");
    accept(station, pieces);
}

// These bytes are as they may be.
void Model::accept(Station& station, const Pieces& pieces) {
    put_bytes(station.shadow, pieces, bytes_of(station.memory, pieces));
}

// What failed, and what an unreliable connection wrote, may be there in part.
void Model::check_unknown(uint32_t index, Operation& operation) {
    const bool unreliable = !world_.sides[index].is_reliable();
    const bool open = operation.outcome == Outcome::failed ||
                      (unreliable && operation.outcome != Outcome::unposted);
    if (!open || operation.bad != Bad::none) return;
    Station& station = station_of(operation.to_side);
    if (operation.counter != kNone) {
        // It may have succeeded without a word, and then brought something.
        if (operation.lost) accept(station_of(index), operation.local);
        return check_partly(station_of(index), operation.local, {});
    }
    if (writes_remote(operation.work))
        check_partly(station, remote_range(operation), content(index, operation));
    if (operation.work != Work::read) return;
    auto bytes = bytes_of(station.shadow, remote_range(operation));
    check_partly(station_of(index), operation.local, bytes);
}

void Model::check_counter(Counter& counter) {
    Station& station = world_.stations[counter.adapter];
    const Pieces place{{counter.offset, 8}};
    const uint64_t value = word_at(station.memory, place);
    accept(station, place);
    if (!counter.shared)
        return require(contains(counter.possible, value),
                       "a word has a value that its atomics cannot have left");
    const uint64_t happened = value - counter.initial;
    require(happened >= counter.successes, "an atomic that succeeded is not there");
    require(happened <= counter.successes + counter.unknown,
            "more atomics were carried out than were asked for");
    std::vector<uint64_t> steps;
    for (const uint64_t original : counter.originals) steps.push_back(original - counter.initial);
    std::sort(steps.begin(), steps.end());
    require(std::adjacent_find(steps.begin(), steps.end()) == steps.end(),
            "two atomics found the same value");
    require(steps.empty() || steps.back() < happened, "an atomic found a value of the future");
}

}  // namespace tulle::swarm
