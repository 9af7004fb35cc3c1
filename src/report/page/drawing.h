// A topology as a page draws it: nodes with their tiers, cables with their loads. Of a large fabric
// the hosts of a switch become one node, and of a very large one nothing is drawn.
#pragma once

#include "report/json_values.h"

namespace tulle::report {

Json drawing_of(const Facts& facts);

}  // namespace tulle::report
