// A small hash of a stream of numbers, the same on every platform. The report prints the hash of a
// run, so two runs can be compared by one number. It does not resist an adversary.
#pragma once

#include <cstdint>

namespace tulle::base {

// The golden ratio in 64 bits, the step of SplitMix64.
inline constexpr uint64_t kGoldenRatio = 0x9e37'79b9'7f4a'7c15;

// The output function of SplitMix64 (Steele, Lea and Flood, 2014): a bijection in which every bit
// of the input changes each bit of the output half of the time.
constexpr uint64_t mix64(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9;
    x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11eb;
    return x ^ (x >> 31);
}

class Hash {
public:
    constexpr Hash& add(uint64_t number) {
        state_ = mix64((state_ ^ number) + kGoldenRatio);
        return *this;
    }
    constexpr uint64_t value() const { return state_; }

private:
    uint64_t state_ = 0;
};

}  // namespace tulle::base
