// The drawing of a topology on a page: nodes with their tiers, cables with their loads. In a large
// fabric the hosts of a switch become one node; a very large fabric is not drawn.
#pragma once

#include "report/json_values.h"

namespace tulle::report {

Json drawing_of(const Facts& facts);

}  // namespace tulle::report
