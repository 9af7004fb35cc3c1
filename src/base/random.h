// Random streams with an owner. A stream is a pure function of the run's seed and of the entity
// that owns it, so adding link 8 does not change what link 7 draws, and neither does the order in
// which entities draw. Integers only: every compiler gives the same numbers.
//
// The generator is xoshiro256** (Blackman and Vigna, 2018). SplitMix64 alone would do with 8 bytes,
// but all its streams are parts of one cycle of 2^64 numbers: among a million entities that draw a
// million numbers each, two would overlap in one run of twenty.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/int128.h"

namespace tulle::base {

// The owner of a stream. `kind` is the caller's enumeration of owners: links, hosts, workloads.
struct StreamOwner {
    uint64_t seed = 0;
    uint32_t kind = 0;
    uint64_t index = 0;
};

class RandomStream {
public:
    explicit constexpr RandomStream(StreamOwner owner) {
        uint64_t key = Hash().add(owner.seed).add(owner.kind).add(owner.index).value();
        for (uint64_t& word : state_) word = mix64(key += kGoldenRatio);
    }

    constexpr uint64_t next();

    // Uniform in [0, bound), without bias.
    constexpr uint64_t below(uint64_t bound);

    // True with the probability numerator / denominator.
    constexpr bool chance(uint64_t numerator, uint64_t denominator) {
        return below(denominator) < numerator;
    }

    template <class T>
    constexpr void shuffle(std::span<T> items) {
        for (size_t left = items.size(); left > 1; --left)
            std::swap(items[left - 1], items[below(left)]);
    }

private:
    std::array<uint64_t, 4> state_{};
};
static_assert(sizeof(RandomStream) == 32);

constexpr uint64_t RandomStream::next() {
    auto& s = state_;
    const uint64_t result = std::rotl(s[1] * 5, 7) * 9;
    const uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = std::rotl(s[3], 45);
    return result;
}

// Multiplies instead of dividing (Lemire, 2019): the high half of draw * bound is the result. Draws
// whose low half would bias the result are rejected.
constexpr uint64_t RandomStream::below(uint64_t bound) {
    TULLE_CHECK(bound != 0);
    uint128_t product = uint128_t{next()} * bound;
    if (static_cast<uint64_t>(product) < bound) {
        const uint64_t unfair = (0 - bound) % bound;  // 2^64 mod bound
        while (static_cast<uint64_t>(product) < unfair) product = uint128_t{next()} * bound;
    }
    return static_cast<uint64_t>(product >> 64);
}

}  // namespace tulle::base
