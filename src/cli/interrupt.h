// Ctrl-C as a question that a long command asks itself: it stops and gives what is known so far.
#pragma once

#include <atomic>

namespace tulle::cli {

// From here on SIGINT and SIGTERM do not end the program; a second one does.
void catch_interrupts();
bool is_interrupted();
// The same for those who look at it from their own threads.
const std::atomic<bool>& interrupt_flag();

}  // namespace tulle::cli
