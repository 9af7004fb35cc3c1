// `tulle subnet`: routes, checks or brings up an InfiniBand subnet.
#pragma once

namespace tulle::cli {

class Command;

void add_subnet(Command& program);

}  // namespace tulle::cli
