// Skips what repeats of a generated phase, or of several that are alike (pace.h): once all streams
// go at one pace that has settled, their state is moved on by as many periods as nothing else can
// happen in.
// Every message that is known, under way or waited for, becomes the one so many periods later. The
// network does not notice; the time of the program is later from then on.
#include <algorithm>

#include "base/check.h"
#include "sim/rank_streams.h"

namespace tulle::sim {
namespace {

using workload::GeneratedPhase;
using workload::Repetition;
using workload::Schedule;

constexpr uint64_t kLeastJump = 4;  // periods; fewer are simulated. Chosen.
constexpr uint64_t kLooks = 16;     // looks until twice as much is known; chosen
// A check lasts until so many times as much is known, and takes half of what is left at most.
// Chosen.
constexpr int64_t kSampleStretch = 3;

// What else may happen would come at the wrong time.
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

void RankStreams::prepare_skipping() {
    if (!setup_.skips) return;
    skipping_.why_not = why_not_skipped(setup_);
    skips_ = skipping_.why_not.empty();
    if (skips_) skipping_.why_not = "no pace settled";
}

// Of a stream one of whose messages has ended.
void RankStreams::note_progress(StreamPart& part, const Playing& playing, OpenStream& stream,
                                Instant at) {
    if (!stream.progress) stream.progress = std::make_unique<OpenStream::Progress>();
    OpenStream::Progress& progress = *stream.progress;
    const uint64_t ended = stream.done.below;
    if (ended >= progress.repetition.end) {
        if (ended >= stream.stream.messages) return;
        progress.repetition = generated(playing).schedule->repetition(stream.index, ended);
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

void RankStreams::look_for_settled_pace() {
    uint64_t ended = 0;
    for (const StreamPart& part : parts_) ended += part.periods_ended;
    if (ended < next_look_) return;
    next_look_ = ended + ended / kLooks + 1;
    uint32_t phase = 0;
    uint64_t periods = 0;
    Pace pace;
    if (!find_phase(phase) || !find_pace(phase, pace, periods)) return;
    if (periods < kLeastJump || !pace.has_settled()) return;
    if (setup_.checks_skipping && !is_checked(pace, periods)) return;
    jump(pace, periods);
}

// Whether all that goes on is one phase, or phases that repeat in the same way, and all their
// members are in it. `phase` is one of them.
bool RankStreams::find_phase(uint32_t& phase) const {
    uint64_t playing = 0;
    uint64_t members = 0;
    std::vector<bool> is_counted(program_.generated.size());
    for (const StreamPart& part : parts_)
        for (const auto& [place, one] : part.playing) {
            const GeneratedPhase& its = generated(one);
            if (!one.may_send || !its.schedule) return false;
            if (playing++ == 0) phase = one.phase;
            if (!is_counted[one.phase]) {
                members += its.placement->size();
                if (!its.schedule->repeats_like(*program_.generated[phase].schedule)) return false;
            }
            is_counted[one.phase] = true;
        }
    return playing != 0 && playing == members;
}

// Whether all streams are within what repeats, and for how many periods more they will be.
bool RankStreams::find_pace(uint32_t phase, Pace& pace, uint64_t& periods) const {
    const Schedule& schedule = *program_.generated[phase].schedule;
    periods = UINT64_MAX;
    std::vector<uint64_t> ends(schedule.stream_count());  // all members are in the same part
    for (const StreamPart& part : parts_)
        for (const auto& [place, playing] : part.playing) {
            if (playing.streams.size() != playing.streams_left) return false;
            for (const OpenStream& stream : playing.streams) {
                if (!stream.progress || !stream.progress->history.is_long_enough()) return false;
                const Repetition& repetition = stream.progress->repetition;
                uint64_t& end = ends[stream.index];
                if (end == 0) end = repetition.end;
                if (end != repetition.end) return false;
                if (schedule.repetition(stream.index, stream.listed - 1).end != end) return false;
                periods = std::min(periods, (repetition.end - stream.listed) / repetition.period);
                pace.add(stream.progress->history);
            }
        }
    return pace.streams() != 0;
}

// What was found is tried first: some more is simulated and compared with it.
bool RankStreams::is_checked(const Pace& pace, uint64_t left) {
    const auto streams = static_cast<int64_t>(pace.streams());
    int64_t instants = 0;
    int64_t periods = 0;
    for (const StreamPart& part : parts_)
        for (const auto& [place, playing] : part.playing)
            for (const OpenStream& stream : playing.streams) {
                instants += stream.progress->history.last().ps;
                periods += static_cast<int64_t>(stream.progress->history.periods());
            }
    if (!sample_.is_open) {
        const int64_t half_left = streams * static_cast<int64_t>(left / 2);
        const int64_t until = std::min(kSampleStretch * periods, periods + half_left);
        sample_ = {true, pace.mean(), instants, periods, until};
        return false;
    }
    if (periods < sample_.until) return false;
    skipping_.taken += Duration{(instants - sample_.instants) / streams};
    skipping_.expected += sample_.predicted * ((periods - sample_.periods) / streams);
    sample_ = {};
    return true;
}

void RankStreams::jump(const Pace& pace, uint64_t periods) {
    std::vector<bool> is_playing(program_.generated.size());
    for (const StreamPart& part : parts_)
        for (const auto& [place, playing] : part.playing) is_playing[playing.phase] = true;
    const auto move = [&](Flight& flight) {
        if (!is_playing[flight.task.phase] || flight.task.stream == GeneratedTask::kComputing)
            return;
        const Schedule& schedule = *program_.generated[flight.task.phase].schedule;
        flight.task.message +=
            periods * schedule.repetition(flight.task.stream, flight.task.message).period;
    };
    for (StreamPart& part : parts_) {
        for (auto& [place, playing] : part.playing) {
            const uint64_t messages = jump_member(playing, periods);
            const uint32_t number = generated(playing).phase;
            part.ranks->done[number] += messages;
            part.ranks->all_done += messages;
            part.ranks->phases[number].messages += messages;
            skipping_.messages += messages;
        }
        for (auto& [id, flight] : part.outgoing) move(flight);
        for (auto& [id, flight] : part.incoming) move(flight);
        for (Flight& flight : part.events) move(flight);
        part.ranks->skipped += pace.mean() * static_cast<int64_t>(periods);
    }
    skipping_.time += pace.mean() * static_cast<int64_t>(periods);
    skipping_.doubt += pace.doubt() * static_cast<int64_t>(periods);
    ++skipping_.jumps;
    skipping_.why_not.clear();
}

// Returns how many messages it will not receive.
uint64_t RankStreams::jump_member(Playing& playing, uint64_t periods) const {
    const Schedule& schedule = *generated(playing).schedule;
    for (OpenStream& stream : playing.streams) {
        const uint64_t by = periods * stream.progress->repetition.period;
        stream.listed += by;
        stream.top += by;
        stream.done.shift(by);
        stream.progress->next += by;
        stream.progress->history.clear();
        playing.sends_left -= by;
        for (PendingMessage& pending : stream.pending) {
            const workload::StreamMessage was = pending.message;
            pending.k += by;
            pending.message = schedule.message(playing.member, stream.index, pending.k);
            pending.message.need_count = was.need_count;
            pending.message.needs = was.needs;
            for (uint32_t i = 0; i < was.need_count; ++i) {
                auto& need = pending.message.needs[i];
                need.message += periods * schedule.repetition(need.inlet, need.message).period;
            }
        }
    }
    uint64_t messages = 0;
    for (uint32_t inlet = 0; inlet < playing.inlets.size(); ++inlet) {
        Marks& marks = playing.inlets[inlet];
        if (marks.below == 0 && marks.beyond.empty()) continue;
        const uint64_t last = std::max<uint64_t>(marks.below, 1) - 1;
        const uint64_t by = periods * schedule.repetition(inlet, last).period;
        marks.shift(by);
        messages += by;
    }
    playing.arrivals_left -= messages;
    return messages;
}

}  // namespace tulle::sim
