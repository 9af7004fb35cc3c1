// A sender's choice of paths: the entropy value of the next packet. Switches hash it (ECMP), so
// each value is a path, but an unknown one. A sender learns about it only from answers, which echo
// the value of the packet that they answer.
//
// Oblivious, bitmap and REPS are those of the Ultra Ethernet simulator (uet-htsim, uec_mp.cpp);
// REPS also Bonato et al., "REPS: Recycled Entropy Packet Spraying" (arXiv 2407.21625). The choice
// by round trip stands in for SRD, whose algorithm is not published: sets of packets with one path
// each, moved to better paths (US patent application 2023/0006934). Its constants are chosen.
#pragma once

#include <array>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "transport/paths/path_settings.h"

namespace tulle::transport {

class PathChooser {
public:
    // `base` is the entropy value of path 0; `owner` names the queue pair.
    PathChooser(const PathSettings& settings, uint16_t base, base::StreamOwner owner);

    // The entropy value of the next packet.
    uint16_t next(base::Instant now);

    // A packet with this value arrived, marked or not; its round trip, if known.
    void on_arrived(uint16_t entropy, bool is_marked, base::Duration round_trip);
    // A packet with this value was trimmed, or lost.
    void on_trimmed(uint16_t entropy) { punish(entropy, kTrimPenalty); }
    void on_lost(base::Instant now, uint16_t entropy);

    uint32_t penalty_of(uint16_t entropy) const;

private:
    // uet-htsim, uec_mp.cpp.
    static constexpr uint8_t kMarkPenalty = 1;
    static constexpr uint8_t kTrimPenalty = 4;
    static constexpr uint8_t kMostPenalty = 15;  // also after a timeout
    static constexpr uint32_t kRecycled = 8;
    static constexpr base::Duration kFrozen{10'000'000'000};
    // Chosen.
    static constexpr uint32_t kFlowletPackets = 8;
    static constexpr uint32_t kAverageOver = 8;  // round trips of a path

    uint16_t place_of(uint16_t entropy) const {
        return static_cast<uint16_t>((entropy - base_) & (count_ - 1));
    }
    uint16_t next_in_turn();
    uint16_t next_without_penalty();
    uint16_t next_recycled(base::Instant now);
    uint16_t next_by_round_trip();
    uint16_t any() { return static_cast<uint16_t>(random_.next() >> 32 & (count_ - 1)); }
    void punish(uint16_t entropy, uint8_t penalty);
    void recycle(uint16_t place);

    PathPolicy policy_;
    uint16_t base_;
    uint16_t count_;
    uint16_t turn_ = 0;      // places used in this round
    uint16_t order_ = 0;     // place = turn xor order
    uint16_t place_ = 0;     // of the flowlet
    uint32_t left_ = 0;      // packets left in the flowlet
    uint32_t recycled_ = 0;  // values in the ring
    uint32_t oldest_ = 0;    // of the ring
    uint32_t filled_ = 0;    // places of the ring that ever held a value
    base::Instant frozen_until_{};
    std::array<uint16_t, kRecycled> ring_{};
    std::vector<uint8_t> penalties_;
    std::vector<uint32_t> round_trips_;  // nanoseconds, averaged; 0: not known
    base::RandomStream random_;
};

}  // namespace tulle::transport
