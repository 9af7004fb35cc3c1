// A queue of events with a file descriptor that a program may poll, read from with or without
// waiting, and hand to others. The descriptor counts events but does not carry them, so events of
// an object that is destroyed can be taken out again.
//
// An event that must not be lost has a place before it occurs: its owner asks for the place at a
// time when a lack of memory can still be reported.
//
// While a thread looks for events by itself, new ones are not counted on the descriptor: the thread
// takes them without a call of the kernel. What it leaves is counted when it stops looking.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/ring.h"
#include "live/descriptor.h"

namespace tulle::live {

template <class Event>
class EventQueue {
public:
    EventQueue() : file_(eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC)) {}

    bool is_open() const { return static_cast<bool>(file_); }
    int file() const { return file_.get(); }

    void push(const Event& event) {
        const std::lock_guard guard(lock_);
        make_room(1);
        put(event);
    }

    // Keeps room for one more event, for push_into_place(). Only this call allocates memory.
    void add_place() {
        const std::lock_guard guard(lock_);
        make_room(1);
        ++kept_places_;
    }
    void remove_place() {
        const std::lock_guard guard(lock_);
        --kept_places_;
    }
    void push_into_place(const Event& event) {
        const std::lock_guard guard(lock_);
        --kept_places_;
        put(event);
    }

    // The oldest event, if there is one.
    std::optional<Event> take() {
        return take_and([this] { discount(); });
    }

    // The same without a call of the kernel: the descriptor stays readable, until the next event
    // has its count or forget_taken() is called.
    std::optional<Event> take_counted() {
        return take_and([this] {
            if (uncounted_ > 0)
                --uncounted_;
            else
                ++taken_;
        });
    }
    void forget_taken() {
        const std::lock_guard guard(lock_);
        for (; taken_ > 0; --taken_) read_one();
    }

    // The oldest event. Waits for one unless the descriptor does not block. Nothing, and errno, if
    // there is none.
    std::optional<Event> pop() {
        for (;;) {
            eventfd_t one = 0;
            if (eventfd_read(file_.get(), &one) != 0) return std::nullopt;
            const std::lock_guard guard(lock_);
            if (events_.empty()) continue;  // it was taken out meanwhile
            return events_.pop_front();
        }
    }

    void begin_looking() {
        const std::lock_guard guard(lock_);
        ++lookers_;
    }
    void end_looking() {
        const std::lock_guard guard(lock_);
        if (--lookers_ == 0 && uncounted_ > 0) eventfd_write(file_.get(), uncounted_);
        if (lookers_ == 0) uncounted_ = 0;
    }

    // Adds the descriptor to an epoll set, which may contain others.
    bool add_to(int epoll) const {
        epoll_event event{};
        event.events = EPOLLIN;
        return epoll_ctl(epoll, EPOLL_CTL_ADD, file_.get(), &event) == 0;
    }

    bool is_empty() {
        const std::lock_guard guard(lock_);
        return events_.empty();
    }

    template <class Predicate>
    void remove_if(Predicate&& is_unwanted) {
        const std::lock_guard guard(lock_);
        for (size_t left = events_.size(); left > 0; --left) {
            const Event event = events_.pop_front();
            if (is_unwanted(event))
                discount();
            else
                events_.push_back(event);
        }
    }

private:
    void make_room(size_t count) {
        while (events_.size() + kept_places_ + count > events_.capacity()) events_.grow();
    }
    void put(const Event& event) {
        events_.push_back(event);
        if (lookers_ > 0)
            ++uncounted_;
        else
            count_one();
    }

    // Each event is an edge for those who sleep on edges, also one that needs no count of its own.
    void count_one() {
        const bool has_count = taken_ > 0;
        if (has_count) --taken_;
        eventfd_write(file_.get(), has_count ? 0 : 1);
    }

    template <class Discount>
    std::optional<Event> take_and(Discount&& discount) {
        const std::lock_guard guard(lock_);
        if (events_.empty()) return std::nullopt;
        const Event event = events_.pop_front();
        discount();
        return event;
    }

    // Takes one event off the descriptor's count.
    void discount() {
        if (uncounted_ > 0)
            --uncounted_;
        else
            read_one();
    }

    // Whether the descriptor blocks or not.
    void read_one() {
        pollfd look{file_.get(), POLLIN, 0};
        eventfd_t one = 0;
        if (poll(&look, 1, 0) == 1) eventfd_read(file_.get(), &one);
    }

    Descriptor file_;
    std::mutex lock_;
    base::Ring<Event> events_{8};
    size_t kept_places_ = 0;  // free places that are kept for push_into_place()
    uint32_t lookers_ = 0;
    uint32_t uncounted_ = 0;
    uint32_t taken_ = 0;  // events that are still counted
};

}  // namespace tulle::live
