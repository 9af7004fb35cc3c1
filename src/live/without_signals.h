// Signals are the program's; none is handled by a thread that it does not know. Such a thread is
// started while this stands, and has the mask for its life. Those of our own copies stay
// (fault_guard.h).
#pragma once

#include <pthread.h>

#include <csignal>

namespace tulle::live {

class WithoutSignals {
public:
    WithoutSignals() {
        sigset_t all;
        sigfillset(&all);
        sigdelset(&all, SIGSEGV);
        sigdelset(&all, SIGBUS);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    WithoutSignals(const WithoutSignals&) = delete;
    WithoutSignals& operator=(const WithoutSignals&) = delete;

private:
    sigset_t before_;
};

}  // namespace tulle::live
