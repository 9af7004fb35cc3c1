// The lock that guards all of a host, and how whoever holds it waits for another process: without
// it, unless progress is being made, which others must not find half done.
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
