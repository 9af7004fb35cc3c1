#include "sim/rank_streams.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace tulle::sim {
namespace {

using workload::GeneratedPhase;
using workload::Schedule;
using workload::Stream;

// How long an unused connection stays open. Late packets, such as an acknowledgement or a
// notification of congestion, have arrived by then. Chosen.
constexpr Duration kIdle{100'000'000};

uint32_t id_of(uint64_t number) {
    return kGeneratedBit | static_cast<uint32_t>(number & (kGeneratedBit - 1));
}

// The total number of messages of the member.
uint64_t sends_of(const Schedule& schedule, uint32_t member) {
    uint64_t sends = 0;
    for (uint32_t i = 0; i < schedule.stream_count(); ++i)
        sends += schedule.stream(member, i).messages;
    return sends;
}

// Takes the messages that no longer wait for anything out of the stream.
void collect_ready(OpenStream& stream, std::vector<StreamPart::Ready>& ready) {
    for (auto message = stream.pending.begin(); message != stream.pending.end();) {
        if (!message->is_ready()) {
            ++message;
            continue;
        }
        ready.push_back({message->message.number, &stream, *message});
        message = stream.pending.erase(message);
    }
}

// Whether messages of a stream are posted in the order of their numbers: software takes turns, or
// takes the same time before each.
bool keeps_order(const workload::Software& software) {
    for (size_t tier = 0; tier < kTiers; ++tier)
        if (!software.is_in_turn[tier] && (software.passes_on_lines || software.copy_fs[tier] != 0))
            return false;
    return true;
}

// Removes an arrival from the needs of a message. Returns whether the message waited for it.
bool satisfy(PendingMessage& pending, uint32_t inlet, uint64_t k) {
    workload::StreamMessage& message = pending.message;
    for (uint32_t i = 0; i < message.need_count; ++i) {
        if (message.needs[i].inlet != inlet || message.needs[i].message != k) continue;
        pending.cause = Trail::kFirstNeed + message.needs[i].place;
        message.needs[i] = message.needs[--message.need_count];
        return true;
    }
    return false;
}

}  // namespace

void drop_what_has_come(const Schedule& schedule, const Playing& playing, uint32_t stream,
                        PendingMessage& pending) {
    workload::StreamMessage& message = pending.message;
    for (;;) {
        for (uint32_t i = 0; i < message.need_count;) {
            const auto need = message.needs[i];
            if (playing.inlets[need.inlet].has(need.message))
                message.needs[i] = message.needs[--message.need_count];
            else
                ++i;
        }
        if (message.need_count != 0 || message.later_needs == 0) return;
        schedule.list_needs(playing.member, stream, pending.k, message.later_needs, message);
    }
}

uint32_t StreamPart::keep(const Flight& flight) {
    if (free_events.empty()) {
        events.push_back(flight);
        return static_cast<uint32_t>(events.size() - 1);
    }
    const uint32_t index = free_events.back();
    free_events.pop_back();
    events[index] = flight;
    return index;
}

RankStreams::RankStreams(RankGround& ground)
    : ground_(ground),
      setup_(ground.setup),
      program_(ground.program),
      followers_(program_.generated.size()),
      queue_depth_(program_.jobs.size()),
      arrives_in_order_(setup_.host.delivery == transport::Delivery::ordered),
      keeps_trails_(!setup_.skips && has_room_for_trails(program_)),
      skipping_(ground, parts_) {
    for (uint32_t i = 0; i < program_.generated.size(); ++i) {
        const GeneratedPhase& phase = program_.generated[i];
        for (const uint32_t before : phase.after) followers_[before].push_back(i);
        auto& members = member_of_[phase.placement.get()];
        if (members.empty())
            for (uint32_t m = 0; m < phase.placement->size(); ++m)
                members[(*phase.placement)[m].rank] = m;
        if (!phase.schedule) continue;
        const uint32_t job_number = program_.phases[phase.phase].job;
        queue_depth_[job_number] = std::max(
            queue_depth_[job_number], static_cast<uint32_t>(phase.schedule->most_under_way()));
        const workload::Job& job = program_.jobs[job_number];
        Connection out;
        out.service_level = job.service_level;
        out.traffic_class = job.traffic_class;
        opened_later[index_of(Tier::scale_out)].push_back(out);
        opened_later[index_of(Tier::scale_up)].emplace_back();
    }
}

void RankStreams::begin(const std::vector<ChainLink>& chain) {
    parts_ = std::vector<StreamPart>(ground_.parts.size());
    for (size_t p = 0; p < parts_.size(); ++p) {
        parts_[p].ranks = &ground_.parts[p];
        parts_[p].announcements.resize(parts_.size());
        parts_[p].members_ended.resize(program_.generated.size());
    }
    for (size_t i = 0; i < chain.size(); ++i)
        if (chain[i].is_task && chain[i].id >= workload::Program::kFirstGenerated)
            watch(chain[i], i + 1 < chain.size() ? chain[i + 1].begin : Instant::never());
    for (uint32_t i = 0; i < program_.generated.size(); ++i) {
        const GeneratedPhase& phase = program_.generated[i];
        const Instant start = program_.jobs[program_.phases[phase.phase].job].start;
        for (uint32_t member = 0; member < phase.placement->size(); ++member) {
            const uint32_t rank = (*phase.placement)[member].rank;
            const auto takes_part = [&](uint32_t before) {
                return member_of_[program_.generated[before].placement.get()].contains(rank);
            };
            if (std::ranges::any_of(phase.after, takes_part)) continue;
            StreamPart& part = parts_[ground_.part_of(rank)];
            enter(part, playing(part, i, member), start);
        }
    }
    for (size_t p = 0; p < parts_.size(); ++p) exchange(p);
    settle();
}

// The member's state. It is made when the member begins, or earlier when a message comes for it.
Playing& RankStreams::playing(StreamPart& part, uint32_t number, uint32_t member) {
    const auto [entry, is_new] = part.playing.try_emplace(place_of(number, member));
    Playing& playing = entry->second;
    if (!is_new) return playing;
    const GeneratedPhase& phase = program_.generated[number];
    playing.phase = number;
    playing.member = member;
    playing.rank = (*phase.placement)[member].rank;
    for (const uint32_t before : phase.after) {
        const auto& members = member_of_.at(program_.generated[before].placement.get());
        if (members.contains(playing.rank)) ++playing.phases_before;
    }
    if (keeps_trails_) {
        const uint64_t place = place_of(number, member);
        const Trail trail = make_trail(phase.schedule.get(), member, playing.rank);
        playing.trail = &part.trails.emplace(place, trail).first->second;
    }
    if (!phase.schedule) return playing;
    playing.sends_left = sends_of(*phase.schedule, member);
    playing.arrivals_left = phase.schedule->arrivals(member);
    playing.inlets.resize(phase.schedule->inlet_count());
    return playing;
}

Duration RankStreams::computing_of(const GeneratedPhase& phase, uint32_t rank) const {
    const RankPlace& place = setup_.ranks[rank];
    return phase.computing * (phase.is_launch ? place.reaction_permille : place.compute_permille) /
           1000;
}

void RankStreams::enter(StreamPart& part, Playing& playing, Instant at) {
    const GeneratedPhase& phase = generated(playing);
    if (playing.trail != nullptr) playing.trail->entered = at;
    // A phase begins with its first task, and a phase without tasks when it ends.
    const bool does_nothing = playing.sends_left + playing.arrivals_left == 0;
    if (phase.computing.ps > 0 || does_nothing) part.ranks->begin_phase(phase.phase, at);
    if (phase.computing.ps == 0) {
        start_sending(part, playing, at);
        return end_if_done(part, playing, at);
    }
    Flight flight;
    flight.number = phase.first_number + playing.member;
    flight.task = {playing.phase, playing.member, GeneratedTask::kComputing, 0};
    flight.member = playing.member;
    note_ready(flight.number, at);
    part.ranks->push({at + computing_of(phase, playing.rank), flight.number, playing.rank,
                      part.keep(flight), false});
}

// Opens all streams that wait for no other stream.
void RankStreams::start_sending(StreamPart& part, Playing& playing, Instant at) {
    playing.may_send = true;
    if (!generated(playing).schedule) return;
    const Schedule& schedule = *generated(playing).schedule;
    for (uint32_t i = 0; i < schedule.stream_count(); ++i) {
        const Stream stream = schedule.stream(playing.member, i);
        if (stream.gate != Stream::kNoTurn) break;
        if (stream.messages != 0) open_stream(playing, i, at);
    }
    playing.streams_left = static_cast<uint32_t>(playing.streams.size());
    for (OpenStream& stream : playing.streams) collect_ready(stream, part.ready);
    post_ready(part, playing);
}

void RankStreams::open_stream(Playing& playing, uint32_t index, Instant at) {
    OpenStream& opened = playing.streams.emplace_back();
    opened.index = index;
    opened.stream = generated(playing).schedule->stream(playing.member, index);
    list_messages(playing, opened, at, Trail::kOpening);
}

// Opens streams that have waited for the end of this turn.
void RankStreams::end_turn(StreamPart& part, Playing& playing, uint32_t turn, Instant at) {
    const auto [first, end] = generated(playing).schedule->opened_by(playing.member, turn);
    const size_t before = playing.streams.size();
    for (uint32_t i = first; i < end; ++i) open_stream(playing, i, at);
    for (size_t i = before; i < playing.streams.size(); ++i)
        collect_ready(playing.streams[i], part.ready);
    post_ready(part, playing);
}

// `cause`: what lets the stream go further. `all`: also those that seem to be held up.
void RankStreams::list_messages(const Playing& playing, OpenStream& open, Instant at,
                                uint32_t cause, bool all) {
    const Schedule& schedule = *generated(playing).schedule;
    const uint64_t window = open.stream.window;
    const uint64_t end =
        window == 0 ? open.stream.messages : std::min(open.stream.messages, open.top + window);
    for (; open.listed < end && (all || !is_held_up(playing, open, end)); ++open.listed) {
        PendingMessage& pending = open.pending.emplace_back();
        pending.k = open.listed;
        pending.message = schedule.message(playing.member, open.index, open.listed);
        pending.at = at;
        pending.cause = cause;
        pending.awaits_window =
            window != 0 && open.listed >= window && !open.done.has(open.listed - window);
        drop_what_has_come(schedule, playing, open.index, pending);
    }
}

// Whether all unlisted messages up to `end` wait for arrivals: the last listed one does, they are
// alike, and nothing has overtaken what it waits for.
bool RankStreams::is_held_up(const Playing& playing, const OpenStream& open, uint64_t end) const {
    if (open.pending.empty()) return false;
    const PendingMessage& last = open.pending.back();
    if (last.message.need_count == 0 || !arrives_in_order_) return false;
    const Schedule& schedule = *generated(playing).schedule;
    const workload::StreamMessage::Need need = last.message.needs[0];
    return keeps_order(schedule.options().software) &&
           !playing.inlets[need.inlet].has_beyond(need.message) &&
           schedule.repetition(open.index, last.k).end >= end;
}

// Posts in the order of the stored graph, because software and copies take turns.
void RankStreams::post_ready(StreamPart& part, const Playing& playing) {
    std::vector<StreamPart::Ready>& ready = part.ready;
    std::ranges::sort(ready, {}, &StreamPart::Ready::number);
    for (const StreamPart::Ready& one : ready) post(part, playing, one);
    ready.clear();
}

ConnectionKey RankStreams::key_of(uint32_t number, uint32_t rank, const Stream& stream) const {
    const GeneratedPhase& phase = program_.generated[number];
    return {rank, (*phase.placement)[stream.peer].rank, program_.phases[phase.phase].job,
            static_cast<uint16_t>(phase.first_channel + stream.channel), stream.tier};
}

Connection RankStreams::connection_at(const ConnectionKey& key) const {
    const bool is_up = key.tier == Tier::scale_up;
    const RankPlace& from = ground_.places[key.source];
    const RankPlace& to = ground_.places[key.destination];
    const workload::Job& job = program_.jobs[key.job];
    Connection connection;
    connection.source = is_up ? from.scale_up : from.endpoint;
    connection.destination = is_up ? to.scale_up : to.endpoint;
    connection.messages = queue_depth_[key.job];
    connection.service_level = is_up ? uint8_t{0} : job.service_level;
    connection.traffic_class = is_up ? uint8_t{0} : job.traffic_class;
    connection.number = key.hash();
    return connection;
}

OpenConnection& RankStreams::connection_of(StreamPart& part, const Playing& playing,
                                           OpenStream& stream) {
    if (stream.connection != nullptr) return *stream.connection;
    const ConnectionKey key = key_of(playing.phase, playing.rank, stream.stream);
    const auto [entry, is_new] = part.connections.try_emplace(key);
    stream.connection = &entry->second;
    if (is_new) entry->second.connection = connection_at(key);
    return entry->second;
}

// When a message is posted: after its copy and its software, which take turns.
Instant RankStreams::time_to_post(StreamPart& part, const Playing& playing,
                                  const StreamPart::Ready& ready) {
    const Schedule& schedule = *generated(playing).schedule;
    const Tier tier = ready.stream->stream.tier;
    const HostSettings& host = ground_.host(tier);
    Instant at = ready.message.at;
    if (tier == Tier::scale_out && host.staging.is_on)
        at = ground_.copy(*part.ranks, ground_.copies[playing.rank].out_free, at,
                          schedule.wire_bytes(ready.message.message.bytes));
    OpenConnection& open = connection_of(part, playing, *ready.stream);
    if (schedule.options().software.is_in_turn[index_of(tier)]) at = std::max(at, open.turn);
    const Duration software = schedule.software(tier, ready.message.message);
    at += (software.ps > 0 ? software : host.reaction) *
          setup_.ranks[playing.rank].reaction_permille / 1000;
    open.turn = at;
    return at;
}

void RankStreams::post(StreamPart& part, const Playing& playing, const StreamPart::Ready& ready) {
    const GeneratedPhase& phase = generated(playing);
    const Stream& stream = ready.stream->stream;
    const workload::StreamMessage& message = ready.message.message;
    Flight flight;
    flight.number = phase.first_number + phase.placement->size() + message.number;
    flight.bytes = phase.schedule->wire_bytes(message.bytes);
    flight.task = {playing.phase, playing.member, ready.stream->index, ready.message.k};
    flight.member = playing.member;
    flight.peer = (*phase.placement)[stream.peer].rank;
    flight.tier = stream.tier;
    flight.posted = time_to_post(part, playing, ready);
    note_ready(flight.number, ready.message.at);
    if (playing.trail != nullptr)
        playing.trail->note(flight.task, flight.posted, ready.message.cause);
    part.ranks->begin_phase(phase.phase, ready.message.at);
    ++part.ranks->phases[phase.phase].messages;

    cluster::Posting posting;
    posting.at = flight.posted;
    posting.id = id_of(flight.number);
    posting.work = transport::Work::write_with_immediate;
    posting.is_task = true;
    posting.bytes = flight.bytes;
    part.outgoing.emplace(posting.id, flight);
    announce(part, posting.id, flight, stream);
    OpenConnection& open = *ready.stream->connection;
    ++open.under_way;
    if (open.is_connected) return post_on(open, stream.tier, posting);
    part.openings.push_back(
        {flight.number, &open, key_of(playing.phase, playing.rank, stream), posting});
}

void RankStreams::post_on(const OpenConnection& open, Tier tier, cluster::Posting posting) {
    posting.qpn = open.connection.qpn;
    posting.lkey = open.connection.lkey;
    posting.rkey = open.connection.rkey;
    ground_.networks[index_of(tier)]->post(open.connection.source, posting);
}

// Tells the receiver's partition which message this is.
void RankStreams::announce(StreamPart& part, uint32_t id, const Flight& sent, const Stream& on) {
    Flight flight = sent;
    flight.member = on.peer;
    flight.inlet = on.inlet;
    flight.peer = (*program_.generated[sent.task.phase].placement)[sent.member].rank;
    const size_t there = ground_.part_of(sent.peer);
    if (&parts_[there] == &part)
        part.incoming.emplace(id, flight);
    else
        part.announcements[there].push_back({id, flight});
}

void RankStreams::clear_announcements(size_t partition) {
    for (auto& others : parts_[partition].announcements) others.clear();
}

void RankStreams::exchange(size_t partition) {
    auto& incoming = parts_[partition].incoming;
    for (StreamPart& other : parts_)
        for (const StreamPart::Announcement& one : other.announcements[partition])
            incoming.emplace(one.id, one.flight);
}

void RankStreams::settle() {
    std::vector<StreamPart::Opening*> openings;
    for (StreamPart& part : parts_)
        for (StreamPart::Opening& opening : part.openings) openings.push_back(&opening);
    if (!openings.empty()) open_connections(openings);
    // Messages of a host keep their order.
    for (StreamPart& part : parts_) {
        for (const StreamPart::Opening& opening : part.openings)
            post_on(*opening.connection, opening.key.tier, opening.posting);
        part.openings.clear();
    }
    close_idle();
    if (skipping_.is_on()) skipping_.look_for_settled_pace();
}

void RankStreams::open_connections(std::vector<StreamPart::Opening*>& openings) {
    std::ranges::sort(openings, {}, [](const StreamPart::Opening* one) { return one->number; });
    for (const StreamPart::Opening* opening : openings) {
        OpenConnection& open = *opening->connection;
        if (open.is_connected) continue;
        ground_.networks[index_of(opening->key.tier)]->open(open.connection);
        open.is_connected = true;
        follow(opening->key, open.connection);
    }
}

void RankStreams::close_idle() {
    using Closing = std::tuple<Instant, ConnectionKey, StreamPart*>;
    std::vector<Closing> closings;
    for (StreamPart& part : parts_) {
        std::deque<StreamPart::Idle>& idle = part.idle;
        for (; !idle.empty() && idle.front().since + kIdle <= part.ranks->until; idle.pop_front())
            closings.emplace_back(idle.front().since, idle.front().key, &part);
    }
    std::ranges::sort(closings, [](const Closing& a, const Closing& b) {
        return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
    });
    for (const auto& [since, key, part] : closings) {
        const auto found = part->connections.find(key);
        if (found == part->connections.end()) continue;
        if (found->second.under_way != 0 || found->second.turn > since) continue;
        ground_.networks[index_of(key.tier)]->close(found->second.connection);
        part->connections.erase(found);
    }
}

// Events that ranks see.

void RankStreams::take(size_t partition, const cluster::Sighting& sighting) {
    StreamPart& part = parts_[partition];
    auto& flights = sighting.has_arrived ? part.incoming : part.outgoing;
    const auto found = flights.find(sighting.task);
    TULLE_CHECK(found != flights.end());
    const Flight flight = found->second;
    const GeneratedPhase& phase = program_.generated[flight.task.phase];
    const uint32_t rank = (*phase.placement)[flight.member].rank;
    if (sighting.status != transport::Status::success) {
        if (!sighting.has_arrived)
            part.ranks->failed.push_back({flight.number, rank, flight.peer, phase.phase});
        return;
    }
    flights.erase(found);
    part.ranks->events.push_back(
        {sighting.at, flight.number, rank, part.keep(flight), sighting.has_arrived});
}

void RankStreams::see(size_t partition, const RankEvent& event) {
    StreamPart& part = parts_[partition];
    const Flight flight = part.events[event.flight];
    part.free_events.push_back(event.flight);
    Playing& its = playing(part, flight.task.phase, flight.member);
    const bool has_computed = flight.task.stream == GeneratedTask::kComputing;
    if (has_computed || event.has_arrived) {
        const uint32_t phase = program_.generated[flight.task.phase].phase;
        part.ranks->count_end(phase);
        if (part.ranks->note_end(phase, event)) part.last = flight.task;
    }
    if (its.trail != nullptr) {
        its.trail->has_last = true;
        its.trail->last_arrived = event.has_arrived;
        its.trail->last = flight.task;
    }
    if (has_computed)
        start_sending(part, its, event.at);
    else if (event.has_arrived)
        see_arrival(part, its, flight, event.at);
    else
        see_completion(part, its, flight, event.at);
    end_if_done(part, its, event.at);
}

void RankStreams::see_arrival(StreamPart& part, Playing& playing, const Flight& flight,
                              Instant at) {
    part.ranks->latency[index_of(flight.tier)].record(
        static_cast<uint64_t>((at - flight.posted).ps));
    --playing.arrivals_left;
    if (playing.inlets.empty()) return;
    const Schedule& schedule = *generated(playing).schedule;
    Marks& inlet = playing.inlets[flight.inlet];
    if (flight.task.message != inlet.below)
        for (OpenStream& stream : playing.streams)
            if (schedule.may_feed(flight.inlet, stream.index))
                list_messages(playing, stream, at, Trail::kWindow, true);
    inlet.add(flight.task.message);
    for (OpenStream& stream : playing.streams) {
        if (!schedule.may_feed(flight.inlet, stream.index)) continue;
        bool is_woken = false;
        for (PendingMessage& pending : stream.pending) {
            if (!satisfy(pending, flight.inlet, flight.task.message)) continue;
            if (pending.message.need_count == 0 && pending.message.later_needs != 0)
                drop_what_has_come(schedule, playing, stream.index, pending);
            pending.at = std::max(pending.at, at);
            is_woken |= pending.is_ready();
        }
        list_messages(playing, stream, at, Trail::kWindow);
        if (is_woken) collect_ready(stream, part.ready);
    }
    post_ready(part, playing);
}

void RankStreams::see_completion(StreamPart& part, Playing& playing, const Flight& flight,
                                 Instant at) {
    const auto found = std::ranges::find(playing.streams, flight.task.stream, &OpenStream::index);
    TULLE_CHECK(found != playing.streams.end());
    OpenStream& stream = *found;
    const uint64_t k = flight.task.message;
    --playing.sends_left;
    --stream.connection->under_way;
    stream.done.add(k);
    stream.top = std::max(stream.top, k + 1);
    if (skipping_.is_on()) skipping_.note_progress(part, playing, stream, at);
    for (PendingMessage& pending : stream.pending) {
        if (!pending.awaits_window || pending.k != k + stream.stream.window) continue;
        pending.awaits_window = false;
        pending.at = std::max(pending.at, at);
        pending.cause = Trail::kWindow;
    }
    list_messages(playing, stream, at, Trail::kWindow);
    collect_ready(stream, part.ready);
    post_ready(part, playing);
    const Stream its = stream.stream;
    const bool ends_turn = k + 1 == its.messages && its.turn != Stream::kNoTurn;
    if (stream.done.below == its.messages) {
        if (followers_[playing.phase].empty())
            part.idle.push_back({at, key_of(playing.phase, playing.rank, its)});
        playing.streams.erase(found);
    }
    if (ends_turn) end_turn(part, playing, its.turn, at);
}

void RankStreams::end_if_done(StreamPart& part, Playing& playing, Instant at) {
    if (!playing.may_send || playing.sends_left != 0 || playing.arrivals_left != 0) return;
    const uint32_t phase = playing.phase;
    const uint32_t rank = playing.rank;
    part.playing.erase(place_of(phase, playing.member));
    ++part.members_ended[phase];
    for (const uint32_t next : followers_[phase]) {
        const auto& members = member_of_.at(program_.generated[next].placement.get());
        const auto member = members.find(rank);
        if (member == members.end()) continue;
        Playing& there = this->playing(part, next, member->second);
        if (--there.phases_before != 0) continue;
        if (there.trail != nullptr) there.trail->phase_before = phase;
        enter(part, there, at);
    }
}

// The chain of waits.

std::vector<ChainLink> RankStreams::chain(size_t partition, bool has_arrived) const {
    if (!keeps_trails_) return {};
    return walk_back(
        program_, parts_[partition].last, has_arrived,
        [&](uint32_t phase, uint32_t rank) -> const Trail& {
            const auto& members = member_of_.at(program_.generated[phase].placement.get());
            return parts_[ground_.part_of(rank)].trails.at(place_of(phase, members.at(rank)));
        });
}

void RankStreams::note_ready(uint64_t number, Instant at) {
    if (ready_.empty()) return;
    if (const auto found = ready_.find(number); found != ready_.end()) found->second = at;
}

// The connection of the link is watched from when it opens.
void RankStreams::watch(const ChainLink& link, Instant until) {
    ready_.try_emplace(link.id);
    const GeneratedTask& task = link.generated;
    if (task.stream == GeneratedTask::kComputing) return;
    const GeneratedPhase& phase = program_.generated[task.phase];
    const Stream stream = phase.schedule->stream(task.member, task.stream);
    const ConnectionKey key = key_of(task.phase, (*phase.placement)[task.member].rank, stream);
    watches_[key].push_back({link.begin, until});
    const Connection connection = connection_at(key);
    Network& network = *ground_.networks[index_of(stream.tier)];
    network.want(connection.source, id_of(link.id), true);
    network.want(connection.destination, id_of(link.id), true);
}

void RankStreams::follow(const ConnectionKey& key, const Connection& connection) {
    const auto found = watches_.find(key);
    if (found == watches_.end()) return;
    for (const Span& span : found->second)
        ground_.networks[index_of(key.tier)]->watch(connection.source, connection.qpn, span);
}

ChainTask RankStreams::task_of(const ChainLink& link) const {
    const GeneratedPhase& phase = program_.generated[link.generated.phase];
    ChainTask task;
    task.rank = (*phase.placement)[link.generated.member].rank;
    task.ready = ready_.at(link.id);
    task.computes = link.generated.stream == GeneratedTask::kComputing;
    task.is_launch = phase.is_launch;
    if (task.computes) {
        task.computing = computing_of(phase, task.rank);
        return task;
    }
    task.tier = phase.schedule->stream(link.generated.member, link.generated.stream).tier;
    task.id = id_of(link.id);
    return task;
}

}  // namespace tulle::sim
