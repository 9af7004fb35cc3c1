// The phase before a run: reading files, building graphs and programs. It takes seconds for a large
// cluster, so a terminal shows its progress. Ctrl-C ends it at once, because there is nothing to
// report yet.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>

namespace tulle::cli {

// A thread watches for interrupts until end() or the destructor.
class SetUp {
public:
    // `command` is the prefix of the message about an interrupt: "tulle sim".
    explicit SetUp(std::string command);
    ~SetUp() { end(); }
    SetUp(const SetUp&) = delete;
    SetUp& operator=(const SetUp&) = delete;

    // Names the current step: "reading the scenario".
    void say(std::string step);
    // The caller handles interrupts from here on. May be called from any thread, and repeatedly.
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
