// A barrier for threads that meet several thousand times per second. A thread that arrives early
// spins, because the others are about to arrive. If they do not, because there are more threads
// than idle cores, it sleeps in the kernel, and spins less the next time.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace tulle::drive {

class Barrier {
public:
    explicit Barrier(uint32_t threads) : threads_(threads) {}

    // How long a thread spins; each has its own value. Chosen: 20,000 polls take about as long as
    // two system calls, so that spinning in vain costs no more than sleeping.
    class Patience {
    public:
        uint32_t looks() const { return looks_; }
        void was_rewarded() { looks_ = std::min(2 * looks_, kMost); }
        void was_in_vain() { looks_ = std::max(looks_ / 2, kLeast); }

    private:
        static constexpr uint32_t kMost = 20'000;
        static constexpr uint32_t kLeast = 32;
        uint32_t looks_ = kMost;
    };

    // The last thread to arrive runs `work`; then all continue.
    template <class Work>
    void meet(Patience& patience, Work&& work) {
        const uint32_t round = round_.load(std::memory_order_acquire);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
            work();
            arrived_.store(0, std::memory_order_relaxed);
            // Release order is not enough: a thread counts itself before it sleeps, and either is
            // seen here or sees the new round.
            round_.store(round + 1, std::memory_order_seq_cst);
            if (sleepers_.load(std::memory_order_seq_cst) != 0) ask_kernel(FUTEX_WAKE, kAll);
            return;
        }
        for (uint32_t look = 0; look < patience.looks(); ++look)
            if (round_.load(std::memory_order_acquire) != round) return patience.was_rewarded();
        patience.was_in_vain();
        sleepers_.fetch_add(1, std::memory_order_seq_cst);
        while (round_.load(std::memory_order_seq_cst) == round) ask_kernel(FUTEX_WAIT, round);
        sleepers_.fetch_sub(1, std::memory_order_relaxed);
    }

private:
    static constexpr uint32_t kAll = INT32_MAX;

    // Not std::atomic's wait(): it yields before it sleeps, and on a busy machine a yielding thread
    // runs again only after all others.
    void ask_kernel(int what, uint32_t value) {
        ::syscall(SYS_futex, &round_, what | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
    }

    const uint32_t threads_;
    alignas(64) std::atomic<uint32_t> arrived_{0};
    alignas(64) std::atomic<uint32_t> round_{0};
    std::atomic<uint32_t> sleepers_{0};
};
static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

}  // namespace tulle::drive
