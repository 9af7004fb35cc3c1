#include <bit>

#include "workload/collectives/algorithms.h"

namespace tulle::workload {
namespace {

class HalvingDoubling {
public:
    HalvingDoubling(Exchange& exchange, std::span<const uint32_t> members, Range range,
                    uint16_t channel)
        : exchange_(exchange), range_(range), channel_(channel) {
        const auto count = static_cast<uint32_t>(members.size());
        const uint32_t most = std::bit_floor(count);
        for (uint32_t i = 0; i < count;) {
            const bool is_pair = folded_.size() < count - most;
            if (is_pair) folded_.push_back({members[i], members[i + 1]});
            core_.push_back(members[is_pair ? i + 1 : i]);
            i += is_pair ? 2 : 1;
        }
    }

    void run() {
        for (const auto& [extra, core] : folded_) send(extra, core, range_, true);
        std::vector<Range> held(core_.size(), range_);
        const auto count = static_cast<uint32_t>(core_.size());
        for (uint32_t bit = 1; bit < count; bit <<= 1)
            for (uint32_t i = 0; i < count; ++i) {
                const bool keeps_upper = (i & bit) != 0;
                send(core_[i], core_[i ^ bit], part(held[i], 2, keeps_upper ? 0 : 1), true);
                held[i] = part(held[i], 2, keeps_upper ? 1 : 0);
            }
        for (uint32_t bit = count >> 1; bit > 0; bit >>= 1) {
            for (uint32_t i = 0; i < count; ++i) send(core_[i], core_[i ^ bit], held[i], false);
            for (uint32_t i = 0; i < count; ++i)
                if ((i & bit) == 0) held[i] = held[i ^ bit] = {held[i].begin, held[i ^ bit].end};
        }
        for (const auto& [extra, core] : folded_) send(core, extra, range_, false);
    }

private:
    struct Fold {
        uint32_t extra;
        uint32_t core;
    };

    void send(uint32_t from, uint32_t to, Range range, bool reduces) {
        const uint64_t pieces = exchange_.piece_count(range);
        for (uint64_t piece = 0; piece < pieces; ++piece) {
            const Range data = part(range, pieces, piece);
            if (reduces)
                exchange_.reduce(from, to, data, channel_);
            else
                exchange_.copy(from, to, data, channel_);
        }
    }

    Exchange& exchange_;
    Range range_;
    uint16_t channel_;
    std::vector<Fold> folded_;
    std::vector<uint32_t> core_;  // members, a power of two
};

}  // namespace

void halving_doubling(Exchange& exchange, std::span<const uint32_t> members, Range range,
                      uint16_t channel) {
    HalvingDoubling(exchange, members, range, channel).run();
}

}  // namespace tulle::workload
