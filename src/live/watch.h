// The thread that makes progress while the program does not. It sleeps in the kernel until a bell
// rings, a caller comes, a peer dies or a timer is due.
//
// While the program polls, the bell is off, and the thread only checks now and then whether the
// program still polls. If the program itself sleeps until something comes, the bell wakes it
// instead of the thread. The thread admits callers without the host's lock, so two processes that
// call each other at once do not wait for each other.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "base/time.h"
#include "live/meeting.h"

namespace tulle::live {

class Progress;

class Watch {
public:
    explicit Watch(Progress& progress) : progress_(progress) {}
    ~Watch();

    // Files that wake the thread as the bell does. Call it before start().
    void hear_also(const std::vector<int>& files);
    // Adds a file after start(), if hear_also() had files. A closed file drops out by itself.
    void hear_more(int file);
    // Switches wake-ups by the files of hear_also(). They are off while the program looks by
    // itself: each listener costs the sender of a datagram a call. With the host's lock.
    void hear_sockets(bool shall_hear);
    // `door`: that of the process's first slot.
    bool start(Door door);
    // Returns when the thread has ended.
    void stop();
    // For the host, with its lock: callers that have come and sockets that have closed.
    bool has_news() const { return has_news_.load(std::memory_order_acquire); }
    void take_news(std::vector<Introduction>& callers, std::vector<int>& closed);
    // One more slot of this process.
    bool add_door(Door door);
    // Watches for the end of a socket.
    void attend(int socket);
    // Closes a watched socket that is no longer needed. The thread closes it, so that its number is
    // not reused while the thread may still look at it.
    void bury(Descriptor socket);
    void wake();

    // A thread of the program waits for the bell in sleep_for_bell(), and this thread does not.
    // With the host's lock.
    void lend_bell();
    void take_bell_back();
    // See Progress::show_bell_in() and answer_bell(). A program that answers again and again gets
    // the bell alone; the thread checks now and then whether it still answers.
    bool show_bell_in(int epoll);
    void hide_bell_in(int epoll);
    void on_answer();
    void clear_bell();
    void ring_bell();
    enum class Waker { bell, file, signal };
    Waker sleep_for_bell(int file);

    // Drops the thread without ending it: in the child of a fork it does not exist.
    void abandon();

private:
    void run();
    // Returns how long to sleep; negative: forever.
    int64_t look();
    void sleep(int64_t ns);
    // True if it was a caller.
    bool on_ready(int socket);
    void let_in(Door& door);
    void tell_of_closed();
    void stop_trusting_answers();
    // The file to wait for: the bell, or a set that contains the bell.
    int ear() const;
    bool open_ear();
    void be_deaf(bool is_deaf);

    Progress& progress_;
    Door* door_at(int socket);
    std::mutex doors_lock_;
    std::deque<Door> doors_;  // the door of the process's first slot is in front
    Descriptor epoll_;
    Descriptor ear_;  // a set of the bell and other files; empty: only the bell is heard
    std::vector<int> heard_;
    bool hears_sockets_ = true;
    bool is_deaf_ = false;  // the thread does not wait for the set
    Descriptor alarm_;      // wakes the thread, from this process
    int borrowers_ = 0;     // threads of the program that wait for the bell
    int shown_in_ = -1;     // the program's epoll set that contains the bell
    uint32_t answers_ = 0;  // in a row
    std::atomic<bool> is_answered_{false};
    std::thread thread_;
    std::atomic<bool> stop_{false};
    std::atomic<bool> has_news_{false};
    std::mutex news_lock_;
    std::vector<Introduction> callers_;
    std::vector<int> closed_;
    std::vector<Descriptor> buried_;
    std::vector<Descriptor> strangers_;  // callers without a card yet; only the thread uses them
    std::vector<int> closing_;           // sockets that ended, not reported yet; likewise
    uint32_t rounds_ = 0;                // since then
    uint64_t polls_seen_ = 0;
    base::Instant lingers_until_{};
};

}  // namespace tulle::live
