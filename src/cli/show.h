// `tulle show`: a profile or an example as it is built in.
#pragma once

namespace tulle::cli {

class Command;

void add_show(Command& program);

}  // namespace tulle::cli
