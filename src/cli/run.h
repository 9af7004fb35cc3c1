// `tulle run`: runs RDMA programs on this machine, as if it had an adapter.
#pragma once

namespace tulle::cli {

class Command;

void add_run(Command& program);

}  // namespace tulle::cli
