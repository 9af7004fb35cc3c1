// What comes before a run: files are read, graphs and programs are made. That takes seconds where a
// cluster is large, so a terminal shows it, and Ctrl-C ends it at once: nothing is known yet that
// would be worth keeping.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>

namespace tulle::cli {

// While it lives, a thread of its own watches. Ends with end() or the object.
class SetUp {
public:
    // `command` is whose complaint an interrupt is: "tulle sim".
    explicit SetUp(std::string command);
    ~SetUp() { end(); }
    SetUp(const SetUp&) = delete;
    SetUp& operator=(const SetUp&) = delete;

    // "reading the scenario".
    void say(std::string step);
    // From here on somebody else asks about interrupts. Can be called from any thread, and again.
    void end();

private:
    void watch();
    std::string step();

    const std::string command_;
    std::mutex mutex_;
    std::string step_;
    std::atomic<bool> is_over_{false};
    std::mutex ending_;
    std::thread watcher_;
};

// "setting up: reading the scenario, 12 s, 1.2 GiB".
std::string set_up_text(const std::string& step, uint64_t seconds, uint64_t memory_bytes);

}  // namespace tulle::cli
