// Ctrl-C as a flag that long commands poll: they stop and report what is known so far.
#pragma once

#include <atomic>

namespace tulle::cli {

// From now on SIGINT, SIGTERM and SIGHUP end the program without leaving unfinished files behind.
// Signals that the caller ignores stay ignored.
void end_cleanly_by_signals();

// From now on the first SIGINT or SIGTERM only sets the flag; the second ends the program.
void catch_interrupts();
bool is_interrupted();
// The flag itself, for code that polls it from other threads.
const std::atomic<bool>& interrupt_flag();

}  // namespace tulle::cli
