#include "drive/crew.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace tulle::drive {

uint32_t usable_cores() {
    return std::max(1u, std::thread::hardware_concurrency());
}

uint32_t work_together(uint32_t wanted, const std::function<void(uint32_t, uint32_t)>& work) {
    std::atomic<uint32_t> size{0};  // not known yet
    std::vector<std::jthread> others;
    const auto begin = [&](uint32_t mine) {
        size.wait(0);
        work(mine, size.load());
    };
    try {
        for (uint32_t i = 1; i < wanted; ++i) others.emplace_back(begin, i);
    } catch (const std::system_error&) {
        // Continue with the threads created so far.
    }
    size.store(static_cast<uint32_t>(others.size()) + 1);
    size.notify_all();
    work(0, size.load());
    others.clear();
    return size.load();
}

}  // namespace tulle::drive
