// `tulle subnet`: routes a subnet of InfiniBand and checks one.
#pragma once

namespace tulle::cli {

class Command;

void add_subnet(Command& program);

}  // namespace tulle::cli
