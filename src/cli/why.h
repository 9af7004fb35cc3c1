// `tulle why`: finds what held a run up, and proves it by running without it.
#pragma once

namespace tulle::cli {

class Command;

void add_why(Command& program);

}  // namespace tulle::cli
