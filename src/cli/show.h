// `tulle show`: prints a built-in profile or example.
#pragma once

namespace tulle::cli {

class Command;

void add_show(Command& program);

}  // namespace tulle::cli
