// The messages of generated phases: which of them may go, and when each is posted (stream_part.h
// has what is known of them).
//
// A stream lists its next messages as far as its window could let them go: all up to `window`
// behind the last one that is known to have arrived. So every message that could start is listed,
// and messages start exactly when they would if the whole graph were stored. Where messages arrive
// in order, all behind one that waits for an arrival wait for later ones: they are not listed yet.
// A ring begins with the next part of its data while the end of the last one waits, so messages may
// be sent, and arrive, in another order. What waits for one that overtook others is listed at once.
#pragma once

#include <array>
#include <map>
#include <unordered_map>
#include <vector>

#include "sim/stream_part.h"
#include "sim/stream_skipping.h"

namespace tulle::sim {

class RankStreams {
public:
    using Tier = workload::Tier;

    // Counters and events are kept in the parts of `ground`.
    explicit RankStreams(RankGround& ground);

    // One for each kind of connection that is opened on first use. Only its levels matter.
    std::array<std::vector<Connection>, kTiers> opened_later;

    // Begins all members that wait for nothing. Follows the generated tasks of `chain`.
    void begin(const std::vector<ChainLink>& chain);
    // Clears the announcements of the last window, which have been taken.
    void clear_announcements(size_t partition);
    // As in Ranks.
    void exchange(size_t partition);
    void settle();

    // Puts the event of a generated phase's message into the part.
    void take(size_t partition, const cluster::Sighting& sighting);
    void see(size_t partition, const RankEvent& event);
    const Flight& flight_of(size_t partition, const RankEvent& event) const {
        return parts_[partition].events[event.flight];
    }

    // What was skipped so far.
    const Skipping& skipping() const { return skipping_.found(); }

    // The chain that ends with the last task, which is one of this partition. Empty if no trails
    // are kept.
    std::vector<ChainLink> chain(size_t partition, bool has_arrived) const;
    // A task of the chain that is followed.
    ChainTask task_of(const ChainLink& link) const;

private:
    using Span = cluster::Span;

    Playing& playing(StreamPart& part, uint32_t phase, uint32_t member);
    void enter(StreamPart& part, Playing& playing, Instant at);
    void start_sending(StreamPart& part, Playing& playing, Instant at);
    void open_stream(Playing& playing, uint32_t index, Instant at);
    void end_turn(StreamPart& part, Playing& playing, uint32_t turn, Instant at);
    void list_messages(const Playing& playing, OpenStream& stream, Instant at, uint32_t cause,
                       bool all = false);
    bool is_held_up(const Playing& playing, const OpenStream& stream, uint64_t end) const;
    void see_arrival(StreamPart& part, Playing& playing, const Flight& flight, Instant at);
    void see_completion(StreamPart& part, Playing& playing, const Flight& flight, Instant at);
    void end_if_done(StreamPart& part, Playing& playing, Instant at);

    void post_ready(StreamPart& part, const Playing& playing);
    void post(StreamPart& part, const Playing& playing, const StreamPart::Ready& ready);
    Instant time_to_post(StreamPart& part, const Playing& playing, const StreamPart::Ready& ready);
    void post_on(const OpenConnection& open, Tier tier, cluster::Posting posting);
    void announce(StreamPart& part, uint32_t id, const Flight& sent, const workload::Stream& on);
    OpenConnection& connection_of(StreamPart& part, const Playing& playing, OpenStream& stream);
    void open_connections(std::vector<StreamPart::Opening*>& openings);
    void close_idle();

    void watch(const ChainLink& link, Instant until);
    void follow(const ConnectionKey& key, const Connection& connection);
    void note_ready(uint64_t number, Instant at);

    const workload::GeneratedPhase& generated(const Playing& playing) const {
        return program_.generated[playing.phase];
    }
    ConnectionKey key_of(uint32_t phase, uint32_t rank, const workload::Stream& stream) const;
    Duration computing_of(const workload::GeneratedPhase& phase, uint32_t rank) const;
    Connection connection_at(const ConnectionKey& key) const;

    RankGround& ground_;
    const Setup& setup_;
    const workload::Program& program_;
    std::vector<std::vector<uint32_t>> followers_;  // of each generated phase
    // Members by rank, for each placement of a generated phase.
    std::map<const workload::Placement*, std::unordered_map<uint32_t, uint32_t>> member_of_;
    std::vector<uint32_t> queue_depth_;  // by job: messages of a connection under way at most
    bool arrives_in_order_ = true;
    bool keeps_trails_ = false;
    std::vector<StreamPart> parts_;
    StreamSkipping skipping_;
    // Of the chain that is followed: when the last wait of each task ended, and when each
    // connection is watched.
    std::unordered_map<uint64_t, Instant> ready_;
    std::map<ConnectionKey, std::vector<Span>> watches_;
};

}  // namespace tulle::sim
