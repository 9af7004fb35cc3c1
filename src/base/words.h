// Words in sentences, and what to answer to a word that is none of the known ones.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tulle::base {

// The known word that is most similar to the given one, or the only one that begins with it; empty
// if there is none.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

// "did you mean 'x'?", or `otherwise` if no known word is similar.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known,
                         std::string_view otherwise);

// "'adaptve' is unknown here; did you mean 'adaptive'?", or a list of the known words.
std::string unknown_word(std::string_view word, std::span<const std::string_view> known);

// "1 packet", "2 packets"
std::string counted(uint64_t count, std::string_view thing);

// "a, b, c"
std::string joined(std::span<const std::string_view> words);

}  // namespace tulle::base
