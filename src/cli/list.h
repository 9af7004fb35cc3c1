// `tulle list`: lists what is built in.
#pragma once

namespace tulle::cli {

class Command;

void add_list(Command& program);

}  // namespace tulle::cli
