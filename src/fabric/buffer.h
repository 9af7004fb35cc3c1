// The buffer of a node, shared by its ports: which packets may be stored, and which inputs must be
// paused.
//
// A lossless priority of an input port fills its reserve first, then the shared part up to a
// threshold. What does not fit there goes to headroom, which is for packets that were on the cable
// when the pause was sent. Packets that leave are taken from headroom first. A lossy queue uses
// only the shared part. Thresholds are fixed, or a fraction of the free space (Choudhury and Hahne,
// 1998).
#pragma once

#include <algorithm>

#include "fabric/port.h"
#include "fabric/settings.h"

namespace tulle::fabric {

class Buffer {
public:
    Buffer(const Settings& settings, uint64_t shared_bytes)
        : shared_bytes_(shared_bytes),
          reserve_bytes_(settings.pfc.reserve_bytes),
          xoff_bytes_(settings.pfc.xoff_bytes),
          xon_offset_bytes_(settings.pfc.xon_offset_bytes),
          queue_limit_(settings.node.port_buffer_bytes),
          alpha_(uint64_t{settings.pfc.alpha_numerator} * kAlphaUnit /
                 settings.pfc.alpha_denominator),
          is_dynamic_(settings.pfc.dynamic_threshold),
          is_lossy_dynamic_(settings.node.lossy_dynamic_threshold) {}

    // `doublings`: how often alpha is doubled, for an input that is faster than others.
    bool admit_lossless(LaneIn& lane, uint32_t bytes, uint32_t headroom_limit,
                        uint8_t doublings = 0) {
        if (!takes(lane.used_bytes, lane.used_bytes + bytes, doublings)) {
            if (lane.headroom_bytes + bytes > headroom_limit) return false;
            lane.headroom_bytes += bytes;
            return true;
        }
        lane.used_bytes += bytes;
        return true;
    }

    void release_lossless(LaneIn& lane, uint32_t bytes) {
        if (lane.headroom_bytes != 0) [[unlikely]] {
            const uint32_t from_headroom = std::min(bytes, lane.headroom_bytes);
            lane.headroom_bytes -= from_headroom;
            bytes -= from_headroom;
        }
        const uint64_t before = lane.used_bytes;
        lane.used_bytes -= bytes;
        if (before > reserve_bytes_)
            shared_used_ -= before - std::max<uint64_t>(lane.used_bytes, reserve_bytes_);
    }

    bool wants_pause(const LaneIn& lane, uint8_t doublings = 0) const {
        if (lane.headroom_bytes > 0) return true;
        return lane.used_bytes > reserve_bytes_ &&
               shared_part(lane.used_bytes) >= threshold(doublings);
    }
    bool wants_resume(const LaneIn& lane, uint8_t doublings = 0) const {
        const uint64_t part = shared_part(lane.used_bytes);
        return lane.headroom_bytes == 0 &&
               (part == 0 || part + xon_offset_bytes_ <= threshold(doublings));
    }

    bool admit_lossy(uint32_t queue_bytes, uint32_t bytes) {
        const uint64_t after = uint64_t{queue_bytes} + bytes;
        if (shared_used_ + bytes > shared_bytes_) return false;
        if (queue_limit_ != 0 && after > queue_limit_) return false;
        if (is_lossy_dynamic_ && after > share_of_free()) return false;
        shared_used_ += bytes;
        return true;
    }
    void release_lossy(uint32_t bytes) { shared_used_ -= bytes; }

    uint64_t shared_used() const { return shared_used_; }
    uint64_t shared_bytes() const { return shared_bytes_; }

private:
    static constexpr uint64_t kAlphaUnit = 1 << 16;

    // Grows a lossless input from `before` to `after` bytes if reserve and shared part allow it.
    bool takes(uint64_t before, uint64_t after, uint8_t doublings) {
        if (after <= reserve_bytes_) return true;
        const uint64_t shared = shared_used_ + after - std::max(before, reserve_bytes_);
        if (after - reserve_bytes_ > threshold(doublings) || shared > shared_bytes_) return false;
        shared_used_ = shared;
        return true;
    }
    uint64_t share_of_free() const { return (shared_bytes_ - shared_used_) * alpha_ / kAlphaUnit; }
    uint64_t threshold(uint8_t doublings) const {
        return is_dynamic_ ? share_of_free() << doublings : xoff_bytes_;
    }
    uint64_t shared_part(uint64_t used) const {
        return used > reserve_bytes_ ? used - reserve_bytes_ : 0;
    }

    uint64_t shared_used_ = 0;
    uint64_t shared_bytes_;
    uint64_t reserve_bytes_;
    uint64_t xoff_bytes_;
    uint64_t xon_offset_bytes_;
    uint64_t queue_limit_;
    uint64_t alpha_;
    bool is_dynamic_;
    bool is_lossy_dynamic_;
};

}  // namespace tulle::fabric
