// Events behind a file descriptor that a program may poll, read from with or without waiting, and
// hand to others. The descriptor counts events and carries none of them, so that those of an object
// that is destroyed can be taken out again.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <mutex>
#include <optional>

#include "live/descriptor.h"

namespace tulle::verbs {

template <class Event>
class EventQueue {
public:
    EventQueue() : file_(eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC)) {}

    bool is_open() const { return static_cast<bool>(file_); }
    int file() const { return file_.get(); }

    void push(const Event& event) {
        {
            const std::lock_guard guard(lock_);
            events_.push_back(event);
        }
        eventfd_write(file_.get(), 1);
    }

    // The oldest event; waits for one unless the descriptor is set not to. Nothing, and errno, if
    // there is none.
    std::optional<Event> pop() {
        for (;;) {
            eventfd_t one = 0;
            if (eventfd_read(file_.get(), &one) != 0) return std::nullopt;
            const std::lock_guard guard(lock_);
            if (events_.empty()) continue;  // it was taken out meanwhile
            const Event event = events_.front();
            events_.pop_front();
            return event;
        }
    }

    bool is_empty() {
        const std::lock_guard guard(lock_);
        return events_.empty();
    }

    template <class Predicate>
    void remove_if(Predicate&& is_unwanted) {
        const std::lock_guard guard(lock_);
        for (size_t left = std::erase_if(events_, is_unwanted); left > 0; --left) take_one();
    }

private:
    // One less on the descriptor, whichever way it is set.
    void take_one() {
        pollfd look{file_.get(), POLLIN, 0};
        eventfd_t one = 0;
        if (poll(&look, 1, 0) == 1) eventfd_read(file_.get(), &one);
    }

    live::Descriptor file_;
    std::mutex lock_;
    std::deque<Event> events_;
};

}  // namespace tulle::verbs
