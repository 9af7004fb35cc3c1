// The thread that makes progress while the program does not: asleep in the kernel until a bell
// rings, a caller comes, a peer dies or a timer is due.
//
// While the program polls, the bell is off and the thread only looks now and then whether it still
// does. Where the program itself has gone to sleep for something to come, the bell wakes it instead
// of the thread. Bringing a caller in needs no lock of the host, so that two processes that call
// each other at once do not wait for each other.
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

    // Before it is started: what wakes as the bell does.
    void hear_also(const std::vector<int>& files);
    // Later; where something was heard before. A file that is closed is heard no more.
    void hear_more(int file);
    // What was heard from the start wakes nobody while the program looks by itself: whoever is
    // listed there costs the sender of each datagram a call. With the host's lock.
    void hear_sockets(bool shall_hear);
    // This is the door of the process's first slot.
    bool start(Door door);
    // Returns when the thread is no more.
    void stop();
    // For the host, with its lock: who has come and which sockets have closed since.
    bool has_news() const { return has_news_.load(std::memory_order_acquire); }
    void take_news(std::vector<Introduction>& callers, std::vector<int>& closed);
    // One more slot of this process.
    bool add_door(Door door);
    // A socket whose end shall be noticed.
    void attend(int socket);
    // One that was attended and is no longer needed. The thread closes it: until then nobody else
    // has its number, which the thread may be about to look at.
    void bury(Descriptor socket);
    void wake();

    // The bell is heard by a thread of the program, in sleep_for_bell(), and not by this one. With
    // the host's lock.
    void lend_bell();
    void take_bell_back();
    // See Progress::show_bell_in() and answer_bell(). A program that answers again and again has
    // the bell for itself; the thread looks now and then whether it still does.
    bool show_bell_in(int epoll);
    void hide_bell_in(int epoll);
    void on_answer();
    void clear_bell();
    void ring_bell();
    enum class Waker { bell, file, signal };
    Waker sleep_for_bell(int file);

    // Gives up the thread without ending it: in the child of a fork it does not exist.
    void abandon();

private:
    void run();
    // Returns how long to sleep; negative for ever.
    int64_t look();
    void sleep(int64_t ns);
    // True if it was a caller.
    bool on_ready(int socket);
    void let_in(Door& door);
    void tell_of_closed();
    void stop_trusting_answers();
    // What is waited for: the bell, or a set with the bell in it.
    int ear() const;
    bool open_ear();
    void be_deaf(bool is_deaf);

    Progress& progress_;
    Door* door_at(int socket);
    std::mutex doors_lock_;
    std::deque<Door> doors_;  // that of the process's first slot in front
    Descriptor epoll_;
    Descriptor ear_;  // the bell and what else is heard; empty: the bell alone
    std::vector<int> heard_;
    bool hears_sockets_ = true;
    bool is_deaf_ = false;  // the thread, to the set
    Descriptor alarm_;      // wakes the thread, from this process
    int borrowers_ = 0;     // of the bell
    int shown_in_ = -1;     // the program's set of descriptors that has the bell
    uint32_t answers_ = 0;  // in a row
    std::atomic<bool> is_answered_{false};
    std::thread thread_;
    std::atomic<bool> stop_{false};
    std::atomic<bool> has_news_{false};
    std::mutex news_lock_;
    std::vector<Introduction> callers_;
    std::vector<int> closed_;
    std::vector<Descriptor> buried_;
    std::vector<Descriptor> strangers_;  // callers whose card has not come yet; the thread's own
    std::vector<int> closing_;           // have ended, and nobody was told yet; likewise
    uint32_t rounds_ = 0;                // since then
    uint64_t polls_seen_ = 0;
    base::Instant lingers_until_{};
};

}  // namespace tulle::live
