#include "live/fault_guard.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <mutex>

#include "base/guarded_copy.h"

namespace tulle::live {
namespace {

struct Signal {
    int number;
    bool is_ours = false;
    struct sigaction first {};  // the handler before our first installation
    struct sigaction last {};   // the handler that ours replaced most recently
};

std::array<Signal, 2> signals{{{SIGSEGV}, {SIGBUS}}};
std::mutex installing;
__attribute__((tls_model("initial-exec"))) thread_local bool is_passing_on = false;

Signal& entry_of(int number) {
    return signals[number == SIGSEGV ? 0 : 1];
}

bool is_function(const struct sigaction& action) {
    return (action.sa_flags & SA_SIGINFO) != 0 ||
           (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

// When the handler returns, the instruction is repeated and ends the program at its place. A signal
// that another process has sent is sent again.
void end_as_without_handler(int number, const siginfo_t* info, const struct sigaction& action) {
    const bool was_sent = info->si_code <= 0;
    if (was_sent && action.sa_handler == SIG_IGN) return;
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    sigaction(number, &usual, nullptr);
    if (was_sent) raise(number);
}

// A handler that was installed over ours may call the one before it, which is ours.
void pass_on(int number, siginfo_t* info, void* context) {
    const Signal& entry = entry_of(number);
    const struct sigaction& action = is_passing_on ? entry.first : entry.last;
    if (!is_function(action)) return end_as_without_handler(number, info, action);
    const bool was_passing_on = is_passing_on;
    is_passing_on = true;
    if ((action.sa_flags & SA_SIGINFO) != 0)
        action.sa_sigaction(number, info, context);
    else
        action.sa_handler(number);
    is_passing_on = was_passing_on;
}

void on_fault(int number, siginfo_t* info, void* context) {
    if (info->si_code > 0) base::land_copy();
    pass_on(number, info, context);
}

void install(Signal& entry) {
    struct sigaction now {};
    if (sigaction(entry.number, nullptr, &now) != 0) return;
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_fault) return;
    entry.last = now;
    if (!entry.is_ours) entry.first = now;
    entry.is_ours = true;
    struct sigaction ours {};
    ours.sa_sigaction = on_fault;
    // The copy leaves the handler by a jump, so the signal must not stay blocked.
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&ours.sa_mask);
    sigaction(entry.number, &ours, nullptr);
}

}  // namespace

void guard_against_faults() {
    const std::lock_guard guard(installing);
    for (Signal& entry : signals) install(entry);
}

}  // namespace tulle::live
