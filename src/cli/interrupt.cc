#include "cli/interrupt.h"

#include <csignal>

#include "cli/output.h"

namespace tulle::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // else a signal handler must not set it

extern "C" void end_by_signal(int number) {
    remove_unfinished_files();
    std::signal(number, SIG_DFL);
    ::raise(number);
}

extern "C" void on_interrupt(int number) {
    if (interrupted.exchange(true, std::memory_order_relaxed)) end_by_signal(number);
}

void handle(int number, void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;  // without SA_RESTART a blocked read returns
    sigaction(number, &action, nullptr);
}

bool is_ignored(int number) {
    struct sigaction action {};
    return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

void end_cleanly_by_signals() {
    for (const int number : {SIGINT, SIGTERM, SIGHUP})
        if (!is_ignored(number)) handle(number, end_by_signal);
}

void catch_interrupts() {
    for (const int number : {SIGINT, SIGTERM}) handle(number, on_interrupt);
}

bool is_interrupted() {
    return interrupted.load(std::memory_order_relaxed);
}

const std::atomic<bool>& interrupt_flag() {
    return interrupted;
}

}  // namespace tulle::cli
