// The lock that guards all of a host. A thread that waits for another process releases it, unless
// it is making progress: others must not find that half done.
#pragma once

#include <mutex>

namespace tulle::live {

struct Lock {
    std::mutex mutex;
    bool is_amid_progress = false;

    template <class Wait>
    void without(Wait&& wait) {
        if (is_amid_progress) return wait();
        mutex.unlock();
        wait();
        mutex.lock();
    }
};

}  // namespace tulle::live
