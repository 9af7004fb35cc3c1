// `tulle doctor`: checks what `tulle run` needs on this machine.
#pragma once

namespace tulle::cli {

class Command;

void add_doctor(Command& program);

}  // namespace tulle::cli
