#include "sim/rank_streams.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "sim/ranks.h"

namespace tulle::sim {
namespace {

using workload::GeneratedPhase;
using workload::Schedule;
using workload::Stream;

// A connection that nobody will use again is closed after so long: what its packets may have left
// behind, an acknowledgement or a notification of congestion, has arrived by then. Chosen.
constexpr Duration kIdle{100'000'000};

size_t index_of(workload::Tier tier) {
    return static_cast<size_t>(tier);
}

uint64_t place_of(uint32_t phase, uint32_t member) {
    return uint64_t{phase} << 32 | member;
}

uint32_t id_of(uint64_t number) {
    return kGeneratedBit | static_cast<uint32_t>(number & (kGeneratedBit - 1));
}

// Messages of the member in all.
uint64_t sends_of(const Schedule& schedule, uint32_t member) {
    uint64_t sends = 0;
    for (uint32_t i = 0; i < schedule.stream_count(); ++i)
        sends += schedule.stream(member, i).messages;
    return sends;
}

// Takes those that wait for nothing any more out of the stream.
void collect_ready(OpenStream& stream, std::vector<StreamPart::Ready>& ready) {
    auto kept = stream.pending.begin();
    for (PendingMessage& message : stream.pending) {
        if (message.is_ready())
            ready.push_back({message.message.number, &stream, message});
        else
            *kept++ = message;
    }
    stream.pending.erase(kept, stream.pending.end());
}

// Whether the message waited for it.
bool satisfy(PendingMessage& pending, uint32_t inlet, uint64_t k) {
    workload::StreamMessage& message = pending.message;
    for (uint32_t i = 0; i < message.need_count; ++i) {
        if (message.needs[i].inlet != inlet || message.needs[i].message != k) continue;
        message.needs[i] = message.needs[--message.need_count];
        return true;
    }
    return false;
}

}  // namespace

void Ranks::prepare_streams() {
    task_count_ = program_.task_count();
    followers_.resize(program_.generated.size());
    queue_depth_.resize(program_.jobs.size());
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

const GeneratedPhase& Ranks::generated(const Playing& playing) const {
    return program_.generated[playing.phase];
}

Ranks::Part& Ranks::part_of(uint32_t rank) {
    return parts_[networks_[0]->partition_of(setup_.ranks[rank].endpoint)];
}

void Ranks::begin_streams() {
    for (Part& part : parts_) part.streams.announcements.resize(parts_.size());
    for (uint32_t i = 0; i < program_.generated.size(); ++i) {
        const GeneratedPhase& phase = program_.generated[i];
        const Instant start = program_.jobs[program_.phases[phase.phase].job].start;
        for (uint32_t member = 0; member < phase.placement->size(); ++member) {
            const uint32_t rank = (*phase.placement)[member].rank;
            const auto takes_part = [&](uint32_t before) {
                return member_of_[program_.generated[before].placement.get()].contains(rank);
            };
            if (std::ranges::any_of(phase.after, takes_part)) continue;
            Part& part = part_of(rank);
            enter(part, playing(part, i, member), start);
        }
    }
    for (size_t p = 0; p < parts_.size(); ++p) exchange(p);
    settle();
}

// The member's state, made when it begins or when a message comes for it before.
Playing& Ranks::playing(Part& part, uint32_t number, uint32_t member) {
    const auto [entry, is_new] = part.streams.playing.try_emplace(place_of(number, member));
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
    if (!phase.schedule) return playing;
    playing.sends_left = sends_of(*phase.schedule, member);
    playing.arrivals_left = phase.schedule->arrivals(member);
    playing.inlets.resize(phase.schedule->inlet_count());
    return playing;
}

void Ranks::enter(Part& part, Playing& playing, Instant at) {
    const GeneratedPhase& phase = generated(playing);
    // A phase begins with the first thing that is done in it, and one without any when it ends.
    const bool does_nothing = playing.sends_left + playing.arrivals_left == 0;
    if (phase.computing.ps > 0 || does_nothing) begin_phase(part, phase.phase, at);
    if (phase.computing.ps == 0) {
        start_sending(part, playing, at);
        return end_if_done(part, playing, at);
    }
    const RankPlace& place = setup_.ranks[playing.rank];
    const uint32_t permille = phase.is_launch ? place.reaction_permille : place.compute_permille;
    Flight flight;
    flight.number = phase.first_number + playing.member;
    flight.phase = playing.phase;
    flight.member = playing.member;
    flight.message = Flight::kComputing;
    push(part, flight,
         {at + phase.computing * permille / 1000, flight.number, playing.rank, 0, false});
}

void Ranks::begin_phase(Part& part, uint32_t phase, Instant at) {
    part.phases[phase].begin = std::min(part.phases[phase].begin, at);
}

// Puts it among what happens later.
void Ranks::push(Part& part, const Flight& flight, const Event& event) {
    StreamPart& streams = part.streams;
    Event later = event;
    if (streams.free_events.empty()) {
        later.flight = static_cast<uint32_t>(streams.events.size());
        streams.events.push_back(flight);
    } else {
        later.flight = streams.free_events.back();
        streams.free_events.pop_back();
        streams.events[later.flight] = flight;
    }
    part.later.push_back(later);
    std::ranges::push_heap(part.later, is_later);
}

// Whatever waits for no other stream opens.
void Ranks::start_sending(Part& part, Playing& playing, Instant at) {
    playing.may_send = true;
    if (!generated(playing).schedule) return;
    const Schedule& schedule = *generated(playing).schedule;
    for (uint32_t i = 0; i < schedule.stream_count(); ++i) {
        const Stream stream = schedule.stream(playing.member, i);
        if (stream.gate != Stream::kNoTurn) break;
        if (stream.messages != 0) open_stream(playing, i, at);
    }
    for (OpenStream& stream : playing.streams) collect_ready(stream, part.streams.ready);
    post_ready(part, playing);
}

void Ranks::open_stream(Playing& playing, uint32_t index, Instant at) {
    OpenStream& opened = playing.streams.emplace_back();
    opened.index = index;
    opened.stream = generated(playing).schedule->stream(playing.member, index);
    list_messages(playing, opened, at);
}

// Other streams may have waited for it.
void Ranks::end_turn(Part& part, Playing& playing, uint32_t turn, Instant at) {
    const auto [first, end] = generated(playing).schedule->opened_by(playing.member, turn);
    const size_t before = playing.streams.size();
    for (uint32_t i = first; i < end; ++i) open_stream(playing, i, at);
    for (size_t i = before; i < playing.streams.size(); ++i)
        collect_ready(playing.streams[i], part.streams.ready);
    post_ready(part, playing);
}

void Ranks::list_messages(const Playing& playing, OpenStream& open, Instant at) {
    const Schedule& schedule = *generated(playing).schedule;
    const uint64_t window = open.stream.window;
    const uint64_t end =
        window == 0 ? open.stream.messages : std::min(open.stream.messages, open.top + window);
    for (; open.listed < end; ++open.listed) {
        PendingMessage& pending = open.pending.emplace_back();
        pending.k = open.listed;
        pending.message = schedule.message(playing.member, open.index, open.listed);
        pending.at = at;
        pending.awaits_window =
            window != 0 && open.listed >= window && !open.done.has(open.listed - window);
        workload::StreamMessage& message = pending.message;
        for (uint32_t i = 0; i < message.need_count;) {
            const auto need = message.needs[i];
            if (playing.inlets[need.inlet].has(need.message))
                message.needs[i] = message.needs[--message.need_count];
            else
                ++i;
        }
    }
}

// In the order of the stored graph: software and copies take turns.
void Ranks::post_ready(Part& part, const Playing& playing) {
    std::vector<StreamPart::Ready>& ready = part.streams.ready;
    std::ranges::sort(ready, {}, &StreamPart::Ready::number);
    for (const StreamPart::Ready& one : ready) post(part, playing, one);
    ready.clear();
}

ConnectionKey Ranks::key_of(const Playing& playing, const Stream& stream) const {
    const GeneratedPhase& phase = generated(playing);
    return {playing.rank, (*phase.placement)[stream.peer].rank, program_.phases[phase.phase].job,
            static_cast<uint16_t>(phase.first_channel + stream.channel), stream.tier};
}

OpenConnection& Ranks::connection_of(Part& part, const Playing& playing, OpenStream& stream) {
    if (stream.connection != nullptr) return *stream.connection;
    const ConnectionKey key = key_of(playing, stream.stream);
    const auto [entry, is_new] = part.streams.connections.try_emplace(key);
    stream.connection = &entry->second;
    if (!is_new) return entry->second;
    const bool is_up = key.tier == Tier::scale_up;
    const RankPlace& from = setup_.ranks[key.source];
    const RankPlace& to = setup_.ranks[key.destination];
    const workload::Job& job = program_.jobs[key.job];
    Connection& connection = entry->second.connection;
    connection.source = is_up ? from.scale_up : from.endpoint;
    connection.destination = is_up ? to.scale_up : to.endpoint;
    connection.messages = queue_depth_[key.job];
    connection.service_level = is_up ? uint8_t{0} : job.service_level;
    connection.traffic_class = is_up ? uint8_t{0} : job.traffic_class;
    return entry->second;
}

void Ranks::post(Part& part, const Playing& playing, const StreamPart::Ready& ready) {
    const GeneratedPhase& phase = generated(playing);
    const Schedule& schedule = *phase.schedule;
    const Stream& stream = ready.stream->stream;
    const workload::StreamMessage& message = ready.message.message;
    const HostSettings& host = host_settings(stream.tier);
    Flight flight;
    flight.number = phase.first_number + phase.placement->size() + message.number;
    flight.bytes = schedule.wire_bytes(message.bytes);
    flight.phase = playing.phase;
    flight.member = playing.member;
    flight.place = ready.stream->index;
    flight.peer = (*phase.placement)[stream.peer].rank;
    flight.message = ready.message.k;
    flight.tier = stream.tier;

    Instant at = ready.message.at;
    begin_phase(part, phase.phase, at);
    if (stream.tier == Tier::scale_out && host.staging.is_on)
        at = copy(part, copies_[playing.rank].out_free, at, flight.bytes);
    OpenConnection& open = connection_of(part, playing, *ready.stream);
    if (schedule.options().software.is_in_turn[index_of(stream.tier)]) at = std::max(at, open.turn);
    const Duration software = schedule.software(stream.tier, message);
    at += (software.ps > 0 ? software : host.reaction) *
          setup_.ranks[playing.rank].reaction_permille / 1000;
    open.turn = at;
    ++open.under_way;
    flight.posted = at;
    ++part.phases[phase.phase].messages;

    cluster::Posting posting;
    posting.at = at;
    posting.id = posting.arrives_as = id_of(flight.number);
    posting.work = transport::Work::write_with_immediate;
    posting.is_task = true;
    posting.bytes = flight.bytes;
    part.streams.outgoing.emplace(posting.id, flight);
    announce(part, posting.id, flight);
    if (!open.is_connected)
        return part.streams.openings.push_back(
            {flight.number, &open, key_of(playing, stream), posting});
    post_on(open, stream.tier, posting);
}

void Ranks::post_on(const OpenConnection& open, Tier tier, cluster::Posting posting) {
    posting.qpn = open.connection.qpn;
    posting.lkey = open.connection.lkey;
    posting.rkey = open.connection.rkey;
    networks_[index_of(tier)]->post(open.connection.source, posting);
}

// Whoever receives it has to know what it is.
void Ranks::announce(Part& part, uint32_t id, const Flight& sent) {
    const GeneratedPhase& phase = program_.generated[sent.phase];
    const Stream stream = phase.schedule->stream(sent.member, sent.place);
    Flight flight = sent;
    flight.member = stream.peer;
    flight.place = stream.inlet;
    flight.peer = (*phase.placement)[sent.member].rank;
    const uint32_t there = networks_[0]->partition_of(setup_.ranks[sent.peer].endpoint);
    if (&parts_[there] == &part)
        part.streams.incoming.emplace(id, flight);
    else
        part.streams.announcements[there].push_back({id, flight});
}

void Ranks::exchange(size_t partition) {
    auto& incoming = parts_[partition].streams.incoming;
    for (Part& other : parts_) {
        if (other.streams.announcements.empty()) continue;
        for (const StreamPart::Announcement& one : other.streams.announcements[partition])
            incoming.emplace(one.id, one.flight);
    }
}

void Ranks::settle() {
    std::vector<StreamPart::Opening*> openings;
    for (Part& part : parts_)
        for (StreamPart::Opening& opening : part.streams.openings) openings.push_back(&opening);
    if (!openings.empty()) open_connections(openings);
    // Messages of a host stay in the order in which it had them.
    for (Part& part : parts_) {
        for (const StreamPart::Opening& opening : part.streams.openings)
            post_on(*opening.connection, opening.key.tier, opening.posting);
        part.streams.openings.clear();
    }
    close_idle();
}

void Ranks::open_connections(std::vector<StreamPart::Opening*>& openings) {
    std::ranges::sort(openings, {}, [](const StreamPart::Opening* one) { return one->number; });
    for (const StreamPart::Opening* opening : openings) {
        OpenConnection& open = *opening->connection;
        if (open.is_connected) continue;
        networks_[index_of(opening->key.tier)]->open(open.connection, opening->key.hash());
        open.is_connected = true;
    }
}

void Ranks::close_idle() {
    using Closing = std::tuple<Instant, ConnectionKey, Part*>;
    std::vector<Closing> closings;
    for (Part& part : parts_) {
        std::deque<StreamPart::Idle>& idle = part.streams.idle;
        for (; !idle.empty() && idle.front().since + kIdle <= part.until; idle.pop_front())
            closings.emplace_back(idle.front().since, idle.front().key, &part);
    }
    std::ranges::sort(closings, [](const Closing& a, const Closing& b) {
        return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
    });
    for (const auto& [since, key, part] : closings) {
        const auto found = part->streams.connections.find(key);
        if (found == part->streams.connections.end()) continue;
        if (found->second.under_way != 0 || found->second.turn > since) continue;
        networks_[index_of(key.tier)]->close(found->second.connection);
        part->streams.connections.erase(found);
    }
}

// What is seen.

void Ranks::take_flight(Part& part, const cluster::Sighting& sighting) {
    auto& flights = sighting.has_arrived ? part.streams.incoming : part.streams.outgoing;
    const auto found = flights.find(sighting.task);
    TULLE_CHECK(found != flights.end());
    const Flight flight = found->second;
    const GeneratedPhase& phase = program_.generated[flight.phase];
    const uint32_t rank = (*phase.placement)[flight.member].rank;
    if (sighting.status != transport::Status::success) {
        if (!sighting.has_arrived)
            part.failed.push_back({flight.number, rank, flight.peer, phase.phase});
        return;
    }
    flights.erase(found);
    StreamPart& streams = part.streams;
    if (streams.free_events.empty()) {
        streams.free_events.push_back(static_cast<uint32_t>(streams.events.size()));
        streams.events.emplace_back();
    }
    const uint32_t index = streams.free_events.back();
    streams.free_events.pop_back();
    streams.events[index] = flight;
    part.events.push_back({sighting.at, flight.number, rank, index, sighting.has_arrived});
}

uint64_t Ranks::bytes_of(const Part& part, const Event& event) const {
    return event.is_generated() ? part.streams.events[event.flight].bytes
                                : program_[event.stored()].bytes;
}

Ranks::Tier Ranks::tier_of(const Part& part, const Event& event) const {
    return event.is_generated() ? part.streams.events[event.flight].tier
                                : program_[event.stored()].tier;
}

void Ranks::see_generated(Part& part, const Event& event) {
    const Flight flight = part.streams.events[event.flight];
    part.streams.free_events.push_back(event.flight);
    Playing& its = playing(part, flight.phase, flight.member);
    const bool has_computed = flight.message == Flight::kComputing;
    if (has_computed || event.has_arrived) {
        PhaseResult& result = part.phases[program_.generated[flight.phase].phase];
        ++part.done[program_.generated[flight.phase].phase];
        result.end = std::max(result.end, event.at);
        if (is_later(event, part.last)) part.last = event;
    }
    if (has_computed)
        start_sending(part, its, event.at);
    else if (event.has_arrived)
        see_arrival(part, its, flight, event.at);
    else
        see_completion(part, its, flight, event.at);
    end_if_done(part, its, event.at);
}

void Ranks::see_arrival(Part& part, Playing& playing, const Flight& flight, Instant at) {
    part.latency[index_of(flight.tier)].record(static_cast<uint64_t>((at - flight.posted).ps));
    --playing.arrivals_left;
    if (playing.inlets.empty()) return;
    playing.inlets[flight.place].add(flight.message);
    for (OpenStream& stream : playing.streams) {
        bool is_woken = false;
        for (PendingMessage& pending : stream.pending) {
            if (!satisfy(pending, flight.place, flight.message)) continue;
            pending.at = std::max(pending.at, at);
            is_woken |= pending.is_ready();
        }
        if (is_woken) collect_ready(stream, part.streams.ready);
    }
    post_ready(part, playing);
}

void Ranks::see_completion(Part& part, Playing& playing, const Flight& flight, Instant at) {
    const auto found = std::ranges::find(playing.streams, flight.place, &OpenStream::index);
    TULLE_CHECK(found != playing.streams.end());
    OpenStream& stream = *found;
    --playing.sends_left;
    --stream.connection->under_way;
    stream.done.add(flight.message);
    stream.top = std::max(stream.top, flight.message + 1);
    for (PendingMessage& pending : stream.pending) {
        if (!pending.awaits_window || pending.k != flight.message + stream.stream.window) continue;
        pending.awaits_window = false;
        pending.at = std::max(pending.at, at);
    }
    list_messages(playing, stream, at);
    collect_ready(stream, part.streams.ready);
    post_ready(part, playing);
    const Stream its = stream.stream;
    const bool ends_turn = flight.message + 1 == its.messages && its.turn != Stream::kNoTurn;
    if (stream.done.below == its.messages) {
        if (followers_[playing.phase].empty())
            part.streams.idle.push_back({at, key_of(playing, its)});
        playing.streams.erase(found);
    }
    if (ends_turn) end_turn(part, playing, its.turn, at);
}

void Ranks::end_if_done(Part& part, Playing& playing, Instant at) {
    if (!playing.may_send || playing.sends_left != 0 || playing.arrivals_left != 0) return;
    const uint32_t phase = playing.phase;
    const uint32_t rank = playing.rank;
    part.streams.playing.erase(place_of(phase, playing.member));
    for (const uint32_t next : followers_[phase]) {
        const auto& members = member_of_.at(program_.generated[next].placement.get());
        const auto member = members.find(rank);
        if (member == members.end()) continue;
        Playing& there = this->playing(part, next, member->second);
        if (--there.phases_before == 0) enter(part, there, at);
    }
}

}  // namespace tulle::sim
