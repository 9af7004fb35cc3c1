// Ctrl-C as a question that a long command asks itself: it stops and gives what is known so far.
#pragma once

namespace tulle::cli {

// From here on SIGINT and SIGTERM do not end the program; a second one does.
void catch_interrupts();
bool is_interrupted();

}  // namespace tulle::cli
