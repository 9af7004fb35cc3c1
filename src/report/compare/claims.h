// What a comparison says in plain words: who is fastest, who is behind, by how much and why. Each
// claim names the fields of the JSON that it rests on, as JSON pointers.
#pragma once

#include <string>
#include <vector>

#include "report/compare/gap.h"

namespace tulle::report {

enum class ClaimKind : uint8_t { fastest, alike, behind, failed };

struct Claim {
    ClaimKind kind = ClaimKind::fastest;
    size_t run = 0;
    std::string sentence;
    std::vector<std::string> evidence;  // "/runs/2/totals/retransmitted"
    std::vector<GapPart> parts;         // of the gap to the fastest, which they add up to
};

// In the order of the ranking, for the runs of one value.
std::vector<Claim> claims_of(const Comparison& comparison, const std::string& value);

const char* claim_name(ClaimKind kind);

}  // namespace tulle::report
