// Skips repeated parts of a generated phase, or of several phases that are alike (pace.h). Once the
// pace of all streams has settled, their state jumps ahead by a time in which nothing else can
// happen. Every known message, under way or waited for, becomes the message some periods later. The
// network does not notice; the program's clock runs ahead of the network's from then on.
//
// Streams of a ring have one pace. Those of chains and trees are in groups: the jump is a multiple
// of the period of the group that ends last, and each other group jumps by the nearest number of
// its own periods.
#pragma once

#include <vector>

#include "sim/result.h"
#include "sim/stream_part.h"

namespace tulle::sim {

class StreamSkipping {
public:
    // `parts`: the streams of each partition, there from before the first note.
    StreamSkipping(const RankGround& ground, std::vector<StreamPart>& parts);

    bool is_on() const { return is_on_; }
    // What was skipped so far.
    const Skipping& found() const { return skipping_; }

    // Notes the progress of a stream when one of its messages has ended.
    void note_progress(StreamPart& part, const Playing& playing, OpenStream& stream, Instant at);
    // Jumps if there is a settled pace. No partition advances meanwhile.
    void look_for_settled_pace();

private:
    bool find_phase(uint32_t& phase) const;
    struct Settling {
        Playing* playing = nullptr;
        OpenStream* stream = nullptr;
    };
    bool find_streams(uint32_t phase, std::vector<Settling>& streams);
    // A stream that another stream waits for and that has another pace.
    struct Backlog {
        uint32_t source = 0;  // numbers of streams
        uint32_t user = 0;
        uint64_t messages = 0;  // that have arrived and are not used yet
    };
    PaceGroups find_groups(const std::vector<Settling>& streams, std::vector<Backlog>& backlogs);
    void look_at_needs(const Settling& user, PaceGroups& groups, std::vector<Backlog>& backlogs);
    struct Leap {
        Duration time{};
        Duration doubt{};
    };
    bool plan_leap(const std::vector<Settling>& streams, const PaceGroups& groups,
                   const std::vector<Backlog>& backlogs, Leap& leap) const;
    bool is_checked(const std::vector<Settling>& streams, const PaceGroups& groups);
    void jump(const std::vector<Settling>& streams, const Leap& leap);
    uint64_t jump_member(Playing& playing);
    const OpenStream* stream_at(uint32_t phase, uint32_t member, uint32_t index) const;
    const workload::Schedule& schedule_of(const Playing& playing) const {
        return *program_.generated[playing.phase].schedule;
    }

    const RankGround& ground_;
    const workload::Program& program_;
    std::vector<StreamPart>& parts_;
    bool is_on_ = false;
    uint64_t next_look_ = 0;  // when this many periods have ended
    Skipping skipping_;
    // Found in the last look.
    uint32_t settling_phase_ = 0;
    size_t settling_streams_ = 0;
    // A settled pace may be sampled for longer: until this many periods of all streams have ended.
    uint64_t sample_until_ = 0;
};

}  // namespace tulle::sim
