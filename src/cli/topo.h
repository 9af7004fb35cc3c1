// `tulle topo`: builds, checks and converts descriptions of fabrics.
#pragma once

namespace tulle::cli {

class Command;

void add_topo(Command& program);

}  // namespace tulle::cli
