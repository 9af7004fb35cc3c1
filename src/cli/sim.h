// `tulle sim`: one run of a scenario in virtual time, in detail.
#pragma once

namespace tulle::cli {

class Command;

void add_sim(Command& program);

}  // namespace tulle::cli
