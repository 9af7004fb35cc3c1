#include "cli/interrupt.h"

#include <csignal>

namespace tulle::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // else a signal handler must not set it

extern "C" void on_interrupt(int) {
    interrupted.store(true, std::memory_order_relaxed);
}

}  // namespace

void catch_interrupts() {
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    // Without SA_RESTART a blocked read returns. SA_RESETHAND lets the second signal end the
    // program.
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

bool is_interrupted() {
    return interrupted.load(std::memory_order_relaxed);
}

const std::atomic<bool>& interrupt_flag() {
    return interrupted;
}

}  // namespace tulle::cli
