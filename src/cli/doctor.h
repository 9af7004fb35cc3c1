// `tulle doctor`: looks at the machine and says what of `tulle run` will work on it.
#pragma once

namespace tulle::cli {

class Command;

void add_doctor(Command& program);

}  // namespace tulle::cli
