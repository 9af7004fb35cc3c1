// Who makes progress, and when: a thread of the program that calls verbs, inline; one that waits
// for an event, before it sleeps; and otherwise a thread of ours that sleeps in the kernel and is
// woken by peers (watch.h).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "live/direct.h"
#include "live/watch.h"
#include "live/world.h"

namespace tulle::live {

class Progress {
public:
    // Does the work that is to be done.
    class Worker {
    public:
        virtual ~Worker() = default;
        virtual void work(bool by_program) = 0;
        virtual void tell_events() = 0;
        virtual base::Instant next_deadline() const = 0;
        // Whether peers have written to rings. If not, later records ring the bell, so that the
        // caller may sleep.
        virtual bool has_arrivals() = 0;
        virtual bool took_writes() = 0;
        // Whether acknowledgements alone let the program go on (outstanding.h).
        virtual bool needs_answers() = 0;
    };

    Progress(Lock& lock, World& world, const DirectPath& direct, Worker& worker)
        : lock_(lock), world_(world), direct_(direct), worker_(worker) {}
    // Threads that sleep for the bell also wake for these files.
    void hear_also(const std::vector<int>& files) { watch_.hear_also(files); }
    // Starts the thread.
    bool start(Door door);
    void stop() { watch_.stop(); }
    void abandon() { watch_.abandon(); }
    Watch& watch() { return watch_; }

    // Makes progress. `by_program`: the caller is a thread of the program, which will call again.
    void make(bool by_program);
    // The program has looked for completions in vain. One that does so several times without asking
    // for events is taken to be polling, and peers no longer ring. True after many empty polls:
    // others may need the CPU, among them the peer that the program waits for.
    bool on_empty_poll();
    void on_full_poll();
    // See Posting::arm_cq().
    void on_armed();
    // The program has posted something and waits for the outcome; something has come.
    void on_posted();
    void on_sent();
    void on_received();
    // Whether the program will answer at once: it spins and has answered each message so far.
    // Datagrams to other machines may then wait and go with the answer in one call. They go when
    // the program looks again, whatever it has posted, or with the next look of the thread.
    bool will_answer() const {
        return sleeps_until_ == kOftenAwake && quick_answers_ >= kAnswersToTrust;
    }
    // Adds the bell to an epoll set on which the program sleeps, so that a peer wakes the program
    // directly and not the thread first. Only one set can have it.
    bool show_bell_in(int epoll) { return watch_.show_bell_in(epoll); }
    void hide_bell_in(int epoll) { watch_.hide_bell_in(epoll); }
    // The program has woken, or looks whether it should.
    void answer_bell();
    // Before the program sleeps: if it has posted something, an answer often comes soon. Looks for
    // a while, unless the last looks were in vain. Releases the lock now and then.
    bool look_before_sleep(std::unique_lock<std::mutex>& guard,
                           const std::function<bool()>& is_there);
    // For a thread of the program that has nothing else to do. Makes progress for a while and
    // checks `is_there`, so that an answer that comes soon needs no wake-up.
    bool look_awhile(const std::function<bool()>& is_there);
    // Returns when `is_there` is true, or the file can be read. False, with errno, if a signal
    // ended the wait.
    bool sleep(const std::function<bool()>& is_there, int file);
    // Makes the thread wake at the next deadline at the latest.
    void wake_thread_in_time();

private:
    friend class Watch;
    void stay_awake();
    void announce_sleep();
    // The same, if the process has announced that it sleeps and what it asked of peers has changed.
    // True if something may have come that the bell was not rung for.
    bool renew_announcement();
    void on_poll();
    void trust_program();  // that it will look again soon
    void stop_trusting_program();
    static constexpr uint32_t kAnswersToTrust = 64;  // chosen
    // For `sleeps_until_`: the thread looks again and again while there is something to look at.
    static constexpr base::Instant kOftenAwake{0};

    Lock& lock_;
    World& world_;
    const DirectPath& direct_;
    Worker& worker_;
    base::Instant sleeps_until_ = base::Instant::never();  // of the thread
    std::atomic<bool> is_polled_{false};                   // the program polls again and again
    std::atomic<uint64_t> polls_{0};
    uint32_t empty_polls_ = 0;  // in a row
    uint32_t unarmed_polls_ = 0;
    uint32_t quick_finds_ = 0;      // of look_awhile(), in a row
    bool sleeps_in_verbs_ = false;  // the program sleeps in sleep(), not in poll() or the like
    bool awaits_answer_ = false;    // something was posted and nothing has come since
    uint32_t vain_looks_ = 0;       // of look_before_sleep(), in a row
    bool owes_answer_ = false;      // something has come, and the program has not called since
    uint32_t quick_answers_ = 0;    // to messages, in a row
    Watch watch_{*this};
};

}  // namespace tulle::live
