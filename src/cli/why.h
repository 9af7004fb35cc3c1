// `tulle why`: what held a run up, proved by running without it.
#pragma once

namespace tulle::cli {

class Command;

void add_why(Command& program);

}  // namespace tulle::cli
