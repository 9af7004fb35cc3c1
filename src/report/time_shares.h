// Where the time of a run went, with names: rows of kind and place, the largest first.
#pragma once

#include <string>
#include <vector>

#include "report/facts.h"

namespace tulle::report {

struct ShareRow {
    fabric::ShareKind kind = fabric::ShareKind::unexplained;
    std::string where;  // name of a link, a host or a rank; empty: no place
    Duration time{};
};

// The name of the place of a share: a link, a host or a rank; empty: no place.
std::string share_place(const Facts& facts, const sim::TimeShare& share);

// One row per kind and place. Kinds that occur on every link are one row each.
std::vector<ShareRow> share_rows(const Facts& facts);

const char* share_name(fabric::ShareKind kind);  // "serialization": also the key in JSON
std::string share_text(const ShareRow& row);     // "held by leaf0[8] -> h8"
// The end of a cable at a place, and the name of the link that it sends on.
topology::CableEnd end_at(const sim::Setup& setup, fabric::Place place);
std::string place_name(const Facts& facts, workload::Tier tier, fabric::Place place);

std::string time_shares_text(const Facts& facts);

}  // namespace tulle::report
