// `tulle compare`: the same work on several fabrics, side by side.
#pragma once

namespace tulle::cli {

class Command;

void add_compare(Command& program);

}  // namespace tulle::cli
