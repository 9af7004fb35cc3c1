// One bit for each PSN of a moving range: a ring of words, as long as the range needs. Owners
// reserve() the range that they use, and clear the bits behind it.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "wire/ids.h"

namespace tulle::transport {

class PsnBits {
public:
    bool test(wire::Psn psn) const {
        return !words_.empty() && (words_[word_of(psn)] >> (psn.value % 64) & 1) != 0;
    }
    void set(wire::Psn psn) { words_[word_of(psn)] |= bit_of(psn); }
    void clear(wire::Psn psn) {
        if (!words_.empty()) words_[word_of(psn)] &= ~bit_of(psn);
    }
    void clear() { std::ranges::fill(words_, 0); }

    // Makes room for this many PSNs from `first` on; keeps their bits.
    void reserve(wire::Psn first, uint32_t psns) {
        const size_t old = 64 * words_.size();
        if (psns <= old) return;
        PsnBits larger;
        larger.words_.resize(std::bit_ceil(psns / 64 + size_t{1}));
        for (uint32_t i = 0; i < old; ++i)
            if (test(wire::psn_plus(first, i))) larger.set(wire::psn_plus(first, i));
        *this = std::move(larger);
    }

    // The bits of 64 PSNs from `first` on. Those outside the range are undefined.
    uint64_t bits_from(wire::Psn first) const {
        if (words_.empty()) return 0;
        const uint32_t shift = first.value % 64;
        const uint64_t low = words_[word_of(first)] >> shift;
        return shift == 0 ? low : low | words_[word_of(wire::psn_plus(first, 64))] << (64 - shift);
    }

    // The first PSN of [from, end) whose bit has this value; `end` if there is none.
    wire::Psn find(wire::Psn from, wire::Psn end, bool is_set = true) const {
        while (wire::psn_before(from, end)) {
            const uint64_t word = words_.empty() ? 0 : words_[word_of(from)];
            const uint64_t rest = (is_set ? word : ~word) >> (from.value % 64);
            if (rest == 0) {
                from = wire::psn_plus(from, 64 - from.value % 64);
                continue;
            }
            from = wire::psn_plus(from, static_cast<uint32_t>(std::countr_zero(rest)));
            break;
        }
        return wire::psn_before(from, end) ? from : end;
    }

    // Clears the bits of [from, end); returns the number that were set.
    uint32_t take(wire::Psn from, wire::Psn end) {
        uint32_t count = 0;
        for (wire::Psn psn = find(from, end); psn != end; psn = find(psn, end)) {
            clear(psn);
            ++count;
        }
        return count;
    }

private:
    size_t word_of(wire::Psn psn) const { return psn.value / 64 & (words_.size() - 1); }
    static uint64_t bit_of(wire::Psn psn) { return uint64_t{1} << (psn.value % 64); }

    std::vector<uint64_t> words_;
};

}  // namespace tulle::transport
