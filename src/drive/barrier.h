// Threads that meet several thousand times a second: waiting is spinning, with a word to the
// scheduler once it takes longer than a window should.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace tulle::drive {

class Barrier {
public:
    explicit Barrier(uint32_t threads) : threads_(threads) {}

    // The last to come runs `work`, then all go on.
    template <class Work>
    void meet(Work&& work) {
        const uint32_t round = round_.load(std::memory_order_acquire);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
            work();
            arrived_.store(0, std::memory_order_relaxed);
            round_.store(round + 1, std::memory_order_release);
            return;
        }
        constexpr uint32_t kPatience = 20'000;
        for (uint32_t spins = 0; round_.load(std::memory_order_acquire) == round; ++spins)
            if (spins > kPatience) std::this_thread::yield();
    }

private:
    const uint32_t threads_;
    alignas(64) std::atomic<uint32_t> arrived_{0};
    alignas(64) std::atomic<uint32_t> round_{0};
};

}  // namespace tulle::drive
