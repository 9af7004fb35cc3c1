// Blocks signals while a thread of ours is started, which keeps the mask for its life: signals
// belong to the program, and no thread that it does not know may handle them. The signals of our
// own copies stay unblocked (fault_guard.h).
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
