#include "sim/stream_skipping.h"

#include <algorithm>
#include <utility>

#include "workload/training/step.h"

namespace tulle::sim {
namespace {

using workload::GeneratedPhase;
using workload::Repetition;
using workload::Schedule;

constexpr uint64_t kLeastJump = 4;  // periods; fewer are simulated. Chosen.
constexpr uint64_t kLooks = 16;     // looks until twice as many periods are known; chosen
// A check lasts until this many times as many periods are known, but takes at most half of what is
// left. Chosen.
constexpr uint64_t kSampleStretch = 3;
// The least number of messages that a shrinking backlog between two groups keeps after a jump; more
// than a stream lists. Chosen.
constexpr uint64_t kSpare = 16;
// The error bound of a jump times this must not exceed the program's time at its end. Chosen: half
// a percent.
constexpr int64_t kMostDoubt = 200;

// Why nothing can be skipped: other events would come at the wrong time.
std::string why_not_skipped(const Setup& setup) {
    if (!setup.flows.empty()) return "flows are simulated in full";
    if (!setup.faults.empty() || (setup.scale_up && !setup.scale_up->faults.empty()))
        return "faults are to come";
    if (setup.trace || !setup.taps.empty()) return "packets are written down";
    if (setup.stop != Instant::never()) return "the run has a time to stop";
    if (setup.program.size() != 0)
        return setup.program.jobs.size() == 1 && setup.program.jobs[0].training
                   ? "a step of training has its collectives and messages simulated once each, by "
                     "themselves, and repeated"
                   : "only rings, chains and trees are skipped";
    if (setup.program.jobs.size() != 1) return "several jobs run at the same time";
    return "";
}

}  // namespace

StreamSkipping::StreamSkipping(const RankGround& ground, std::vector<StreamPart>& parts)
    : ground_(ground), program_(ground.program), parts_(parts) {
    if (!ground.setup.skips) return;
    skipping_.why_not = why_not_skipped(ground.setup);
    is_on_ = skipping_.why_not.empty();
    if (is_on_) skipping_.why_not = "no pace settled";
    for (const workload::Job& job : program_.jobs) {
        if (!job.training) continue;
        skipping_.doubt += job.training->doubt;
        skipping_.expected += job.training->expected;
        skipping_.taken += job.training->taken;
    }
}

void StreamSkipping::note_progress(StreamPart& part, const Playing& playing, OpenStream& stream,
                                   Instant at) {
    if (!stream.progress) stream.progress = std::make_unique<OpenStream::Progress>();
    OpenStream::Progress& progress = *stream.progress;
    const uint64_t ended = stream.done.below;
    if (ended >= progress.repetition.end) {
        if (ended >= stream.stream.messages) return;
        progress.repetition = schedule_of(playing).repetition(stream.index, ended);
        if (progress.repetition.period == 0) progress.repetition.end = stream.stream.messages;
        progress.next = std::max(ended, progress.repetition.first) + progress.repetition.period;
        progress.history.clear();
    }
    if (progress.repetition.period == 0) return;
    for (; progress.next <= ended; progress.next += progress.repetition.period) {
        progress.history.add(at);
        ++part.periods_ended;
    }
}

void StreamSkipping::look_for_settled_pace() {
    uint64_t ended = 0;
    for (const StreamPart& part : parts_) ended += part.periods_ended;
    if (ended < next_look_) return;
    next_look_ = ended + ended / kLooks + 1;
    uint32_t phase = 0;
    std::vector<Settling> streams;
    if (!find_phase(phase) || !find_streams(phase, streams)) return;
    PaceGroups groups;
    std::vector<Backlog> backlogs;
    for (const Settling& one : streams) groups.add(one.stream->progress->history);
    groups.join_all();
    groups.add_up();
    if (!groups.paces()[0].has_settled()) {
        const Schedule& schedule = *program_.generated[phase].schedule;
        if (!schedule.repeats_throughout()) return;
        groups = find_groups(streams, backlogs);
        if (!std::ranges::all_of(groups.paces(), &Pace::is_one_group)) return;
    }
    Leap leap;
    if (!plan_leap(streams, groups, backlogs, leap)) return;
    if (ground_.setup.checks_skipping && !is_checked(streams, groups)) return;
    jump(streams, leap);
}

// Whether only one phase is active, or only phases that repeat in the same way, and all their
// members are in it or have ended it. `phase` is one of them.
bool StreamSkipping::find_phase(uint32_t& phase) const {
    uint64_t playing = 0;
    uint64_t members = 0;
    std::vector<bool> is_counted(program_.generated.size());
    for (const StreamPart& part : parts_)
        for (const auto& [place, one] : part.playing) {
            const GeneratedPhase& its = program_.generated[one.phase];
            if (!one.may_send || !its.schedule) return false;
            if (playing++ == 0) phase = one.phase;
            if (!is_counted[one.phase]) {
                members += its.placement->size();
                for (const StreamPart& other : parts_) members -= other.members_ended[one.phase];
                if (!its.schedule->repeats_like(*program_.generated[phase].schedule)) return false;
            }
            is_counted[one.phase] = true;
        }
    return playing != 0 && playing == members;
}

// Whether all open streams have been in their repetition for long enough to know their paces.
bool StreamSkipping::find_streams(uint32_t phase, std::vector<Settling>& streams) {
    const Schedule& schedule = *program_.generated[phase].schedule;
    std::vector<uint64_t> ends(schedule.stream_count());  // the same for all members
    bool is_known = true;
    for (StreamPart& part : parts_)
        for (auto& [place, playing] : part.playing)
            for (OpenStream& stream : playing.streams) {
                streams.push_back({&playing, &stream});
                if (!stream.progress) return false;
                OpenStream::Progress& progress = *stream.progress;
                progress.number = static_cast<uint32_t>(streams.size() - 1);
                is_known = is_known && progress.history.is_long_enough();
                uint64_t& end = ends[stream.index];
                if (end == 0) end = progress.repetition.end;
                if (end != progress.repetition.end) return false;
                if (schedule.repetition(stream.index, stream.listed - 1).end != end) return false;
            }
    // Streams that have ended leave more of the network to the others.
    const bool some_ended = settling_phase_ == phase && streams.size() < settling_streams_;
    settling_phase_ = phase;
    settling_streams_ = streams.size();
    if (some_ended) {
        for (const Settling& one : streams) one.stream->progress->history.clear();
        sample_until_ = 0;
    }
    return is_known && !some_ended && !streams.empty();
}

const OpenStream* StreamSkipping::stream_at(uint32_t phase, uint32_t member, uint32_t index) const {
    const StreamPart& part =
        parts_[ground_.part_of((*program_.generated[phase].placement)[member].rank)];
    const auto found = part.playing.find(place_of(phase, member));
    if (found == part.playing.end()) return nullptr;
    for (const OpenStream& stream : found->second.streams)
        if (stream.index == index) return &stream;
    return nullptr;
}

PaceGroups StreamSkipping::find_groups(const std::vector<Settling>& streams,
                                       std::vector<Backlog>& backlogs) {
    PaceGroups groups;
    for (const Settling& one : streams) groups.add(one.stream->progress->history);
    for (const Settling& one : streams) look_at_needs(one, groups, backlogs);
    groups.add_up();
    return groups;
}

// The needs of a stream's next message either arrive at the stream's own pace, or faster, so that a
// backlog grows.
void StreamSkipping::look_at_needs(const Settling& user, PaceGroups& groups,
                                   std::vector<Backlog>& backlogs) {
    const Playing& playing = *user.playing;
    const OpenStream& stream = *user.stream;
    const uint64_t next = stream.pending.empty() ? stream.listed : stream.pending.front().k;
    if (next >= stream.stream.messages) return;
    const Schedule& schedule = schedule_of(playing);
    const workload::StreamMessage message = schedule.message(playing.member, stream.index, next);
    for (uint32_t i = 0; i < message.need_count; ++i) {
        const auto& need = message.needs[i];
        const Schedule::Source from = schedule.source(playing.member, need.inlet);
        const OpenStream* source = stream_at(playing.phase, from.member, from.stream);
        if (source == nullptr) continue;
        const uint64_t arrived = playing.inlets[need.inlet].below;
        const OpenStream::Progress& its = *source->progress;
        const bool is_held_up = arrived <= need.message + 1;
        if (is_held_up || PaceGroups::are_alike(stream.progress->history, its.history))
            groups.join(stream.progress->number, its.number);
        else
            backlogs.push_back({its.number, stream.progress->number, arrived - need.message});
    }
}

// Decides how far each stream jumps. The group that ends last decides when the phase ends, so the
// time is a multiple of its period.
bool StreamSkipping::plan_leap(const std::vector<Settling>& streams, const PaceGroups& groups,
                               const std::vector<Backlog>& backlogs, Leap& leap) const {
    std::vector<uint64_t> left(groups.paces().size(), UINT64_MAX);  // periods that can be skipped
    std::vector<uint64_t> rest(left.size());                        // periods until the end
    for (const auto& [playing, stream] : streams) {
        const OpenStream::Progress& progress = *stream->progress;
        const uint64_t period = progress.repetition.period;
        const uint32_t group = groups.of(progress.number);
        left[group] = std::min(left[group], (progress.repetition.end - stream->listed) / period);
        rest[group] =
            std::max(rest[group], (stream->stream.messages - stream->done.below) / period);
    }
    const auto lasting = [&](size_t group, uint64_t periods) {
        return groups.period(group) * static_cast<int64_t>(periods);
    };
    size_t longest = 0;
    Duration most = lasting(0, left[0]);
    for (size_t group = 1; group < left.size(); ++group) {
        const auto order = [&](size_t one) {
            return std::pair(lasting(one, rest[one]), groups.period(one));
        };
        if (order(group) > order(longest)) longest = group;
        most = std::min(most, lasting(group, left[group]));
    }
    const auto periods = static_cast<uint64_t>(most / groups.period(longest));
    if (periods < kLeastJump) return false;
    leap.time = lasting(longest, periods);
    leap.doubt = groups.doubt(longest) * static_cast<int64_t>(periods);
    const Duration passed = parts_[0].ranks->until - Instant{};
    if (leap.doubt * kMostDoubt > passed + parts_[0].ranks->skipped + leap.time) return false;
    std::vector<uint64_t> leaps(left.size());
    Duration apart{};  // how far a group's time is from the time that is jumped, at most
    for (size_t group = 0; group < left.size(); ++group) {
        const Duration period = groups.period(group);
        leaps[group] =
            std::min(left[group], static_cast<uint64_t>((leap.time + period / 2) / period));
        const Duration beyond = lasting(group, leaps[group]) - leap.time;
        apart = std::max({apart, beyond, Duration{} - beyond});
    }
    leap.doubt += apart;
    for (const auto& [playing, stream] : streams)
        stream->progress->leap =
            leaps[groups.of(stream->progress->number)] * stream->progress->repetition.period;
    return std::ranges::all_of(backlogs, [&](const Backlog& backlog) {
        const uint64_t more = streams[backlog.source].stream->progress->leap;
        const uint64_t less = streams[backlog.user].stream->progress->leap;
        return more >= less || backlog.messages + more >= less + kSpare;
    });
}

// Checks the pace before a jump: simulates some more periods and compares.
bool StreamSkipping::is_checked(const std::vector<Settling>& streams, const PaceGroups& groups) {
    uint64_t periods = 0;
    uint64_t left = 0;
    for (const auto& [playing, stream] : streams) {
        periods += stream->progress->history.periods();
        left += stream->progress->leap / stream->progress->repetition.period;
    }
    if (sample_until_ == 0) {
        sample_until_ = std::min(kSampleStretch * periods, periods + left / 2);
        for (const auto& [playing, stream] : streams) {
            OpenStream::Progress& progress = *stream->progress;
            progress.predicted = groups.period(groups.of(progress.number));
            progress.sampled_at = progress.history.last();
            progress.sampled_periods = progress.history.periods();
        }
        return false;
    }
    if (periods < sample_until_) return false;
    Duration taken{};
    Duration expected{};
    for (const auto& [playing, stream] : streams) {
        const OpenStream::Progress& progress = *stream->progress;
        taken += progress.history.last() - progress.sampled_at;
        expected += progress.predicted *
                    static_cast<int64_t>(progress.history.periods() - progress.sampled_periods);
    }
    skipping_.taken += taken / static_cast<int64_t>(streams.size());
    skipping_.expected += expected / static_cast<int64_t>(streams.size());
    sample_until_ = 0;
    return true;
}

void StreamSkipping::jump(const std::vector<Settling>& streams, const Leap& leap) {
    const auto move = [&](Flight& flight) {
        const GeneratedTask& task = flight.task;
        if (task.stream == GeneratedTask::kComputing) return;
        const OpenStream* stream = stream_at(task.phase, task.member, task.stream);
        if (stream != nullptr) flight.task.message += stream->progress->leap;
    };
    for (StreamPart& part : parts_) {
        for (auto& [id, flight] : part.outgoing) move(flight);
        for (auto& [id, flight] : part.incoming) move(flight);
        for (Flight& flight : part.events) move(flight);
        for (auto& [place, playing] : part.playing) {
            const uint64_t messages = jump_member(playing);
            const uint32_t number = program_.generated[playing.phase].phase;
            part.ranks->done[number] += messages;
            part.ranks->all_done += messages;
            part.ranks->phases[number].messages += messages;
            skipping_.messages += messages;
        }
        part.ranks->skipped += leap.time;
    }
    for (const auto& [playing, stream] : streams) {
        stream->progress->next += stream->progress->leap;
        stream->progress->leap = 0;
        stream->progress->history.clear();
    }
    skipping_.time += leap.time;
    skipping_.doubt += leap.doubt;
    ++skipping_.jumps;
    skipping_.why_not.clear();
}

// Returns how many messages the member will not receive.
uint64_t StreamSkipping::jump_member(Playing& playing) {
    const Schedule& schedule = schedule_of(playing);
    uint64_t messages = 0;
    for (uint32_t inlet = 0; inlet < playing.inlets.size(); ++inlet) {
        Marks& marks = playing.inlets[inlet];
        if (marks.below == 0 && marks.beyond.empty()) continue;
        const Schedule::Source from = schedule.source(playing.member, inlet);
        const OpenStream* source = stream_at(playing.phase, from.member, from.stream);
        if (source == nullptr) continue;
        marks.shift(source->progress->leap);
        messages += source->progress->leap;
    }
    playing.arrivals_left -= messages;
    for (OpenStream& stream : playing.streams) {
        const uint64_t by = stream.progress->leap;
        stream.listed += by;
        stream.top += by;
        stream.done.shift(by);
        playing.sends_left -= by;
        for (PendingMessage& pending : stream.pending) {
            pending.k += by;
            pending.message = schedule.message(playing.member, stream.index, pending.k);
            drop_what_has_come(schedule, playing, stream.index, pending);
        }
    }
    return messages;
}

}  // namespace tulle::sim
