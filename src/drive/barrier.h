// Threads that meet several thousand times a second. Whoever comes first spins, since the others
// are about to come; if they do not, because there are more threads than idle cores, it sleeps in
// the kernel and is woken, and spins less the next time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace tulle::drive {

class Barrier {
public:
    explicit Barrier(uint32_t threads) : threads_(threads) {}

    // How long a thread spins; each has its own. Chosen: 20,000 looks take about as long as two
    // trips into the kernel, so that spinning in vain costs no more than sleeping did.
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

    // The last to come runs `work`, then all go on.
    template <class Work>
    void meet(Patience& patience, Work&& work) {
        const uint32_t round = round_.load(std::memory_order_acquire);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
            work();
            arrived_.store(0, std::memory_order_relaxed);
            // Not only released: notify_all() looks whether anybody waits, and must not look before
            // this can be seen, or who goes to sleep meanwhile is never woken.
            round_.store(round + 1, std::memory_order_seq_cst);
            round_.notify_all();
            return;
        }
        for (uint32_t look = 0; look < patience.looks(); ++look)
            if (round_.load(std::memory_order_acquire) != round) return patience.was_rewarded();
        patience.was_in_vain();
        round_.wait(round, std::memory_order_acquire);
    }

private:
    const uint32_t threads_;
    alignas(64) std::atomic<uint32_t> arrived_{0};
    alignas(64) std::atomic<uint32_t> round_{0};
};

}  // namespace tulle::drive
