#include "base/words.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tulle::base {
namespace {

constexpr size_t kMostBytes = 60;   // of a word that is compared
constexpr size_t kShownBytes = 40;  // of a word in a sentence
constexpr size_t kLeastBeginning = 3;

// The number of letters to insert, remove, replace or swap with their neighbour to turn one word
// into the other.
size_t distance(std::string_view a, std::string_view b) {
    std::vector<size_t> before(b.size() + 1);
    std::vector<size_t> row(b.size() + 1);
    std::vector<size_t> next(b.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (size_t i = 1; i <= a.size(); ++i) {
        next[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                next[j] = std::min(next[j], before[j - 2] + 1);
        }
        before.swap(row);
        row.swap(next);
    }
    return row[b.size()];
}

// The only known word that begins with the given one; empty if there is none, or more than one.
std::string_view only_one_that_begins(std::string_view word,
                                      std::span<const std::string_view> known) {
    const auto begins = [word](std::string_view candidate) { return candidate.starts_with(word); };
    if (word.size() < kLeastBeginning || std::ranges::count_if(known, begins) != 1) return {};
    return *std::ranges::find_if(known, begins);
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
    if (word.size() > kMostBytes) return {};
    std::string_view best = only_one_that_begins(word, known);
    size_t least = std::max<size_t>(1, (word.size() + 1) / 3) + 1;
    for (const std::string_view candidate : known) {
        const size_t d = distance(word, candidate);
        if (d < least && d < candidate.size()) {
            least = d;
            best = candidate;
        }
    }
    return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known,
                         std::string_view otherwise) {
    const std::string_view like = nearest(word, known);
    if (like.empty()) return std::string(otherwise);
    return std::string("did you mean '").append(like).append("'?");
}

std::string unknown_word(std::string_view word, std::span<const std::string_view> known) {
    std::string text("'");
    text.append(word.substr(0, kShownBytes)).append("' is unknown here; ");
    return text.append(
        did_you_mean(word, known, std::string("write one of ").append(joined(known))));
}

std::string counted(uint64_t count, std::string_view thing) {
    return std::to_string(count).append(" ").append(thing).append(count == 1 ? "" : "s");
}

std::string joined(std::span<const std::string_view> words) {
    std::string text;
    for (const std::string_view word : words) text.append(text.empty() ? "" : ", ").append(word);
    return text;
}

}  // namespace tulle::base
