// Who makes progress, and when: whoever calls verbs, inline; whoever waits for an event, before it
// sleeps; and where nobody does, a thread that sleeps in the kernel and is woken by peers
// (watch.h).
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
    // Does what there is to do.
    class Worker {
    public:
        virtual ~Worker() = default;
        virtual void work(bool by_program) = 0;
        virtual void tell_events() = 0;
        virtual base::Instant next_deadline() const = 0;
        // Peers have written to rings since; whoever sleeps after this is rung for.
        virtual bool has_arrivals() = 0;
        virtual bool took_writes() = 0;
    };

    Progress(Lock& lock, World& world, const DirectPath& direct, Worker& worker)
        : lock_(lock), world_(world), direct_(direct), worker_(worker) {}
    // Whoever sleeps for the bell wakes for these files too.
    void hear_also(const std::vector<int>& files) { watch_.hear_also(files); }
    // Starts the thread.
    bool start(Door door);
    void stop() { watch_.stop(); }
    void abandon() { watch_.abandon(); }
    Watch& watch() { return watch_; }

    // `by_program`: a thread of the program, which will come again.
    void make(bool by_program);
    // A program that has looked some times and does not ask to be told is taken to be polling, and
    // peers no longer ring. Nothing came of it; true if that was so for long: the CPU may be of use
    // to others, the peer that it waits for among them.
    bool on_empty_poll();
    void on_full_poll();
    // The program has asked to be told of completions, and will sleep until it is.
    void on_armed();
    // It has posted something, and waits for what comes of it; something has come.
    void on_posted();
    void on_received();
    // A program that spins and has answered each message at once will do so again: what goes to
    // other machines may wait for its answer, and goes with it in one call. It goes when the
    // program looks again, whatever it has posted, and otherwise with the next look of the thread.
    bool will_answer() const {
        return sleeps_until_ == kOftenAwake && quick_answers_ >= kAnswersToTrust;
    }
    // A set of descriptors that the program sleeps on shows the bell from now on, so that a peer
    // wakes the program itself and not first the thread. There is room for one such set.
    bool show_bell_in(int epoll) { return watch_.show_bell_in(epoll); }
    void hide_bell_in(int epoll) { watch_.hide_bell_in(epoll); }
    // The program has woken, or looks whether there is a reason to.
    void answer_bell();
    // Before the program sleeps: it has posted something, and an answer often comes soon. Looks for
    // a while, unless that was in vain the last times. Gives up the lock now and then.
    bool look_before_sleep(std::unique_lock<std::mutex>& guard,
                           const std::function<bool()>& is_there);
    // For a thread of the program that has nothing else to do. Looks whether that is there, and
    // makes progress, for a while: an answer that comes soon is found before anybody is woken.
    bool look_awhile(const std::function<bool()>& is_there);
    // Returns when it is there, or the file can be read. False, and errno, if a signal came that
    // ends such waits.
    bool sleep(const std::function<bool()>& is_there, int file);
    // The thread sleeps no longer than until the next deadline.
    void wake_thread_in_time();

private:
    friend class Watch;
    void on_poll();
    void trust_program();  // to look again soon
    void stop_trusting_program();
    static constexpr uint32_t kAnswersToTrust = 64;  // chosen
    // The thread looks again and again, as long as there is something to look at.
    static constexpr base::Instant kOftenAwake{0};

    Lock& lock_;
    World& world_;
    const DirectPath& direct_;
    Worker& worker_;
    base::Instant sleeps_until_ = base::Instant::never();  // the thread
    std::atomic<bool> is_polled_{false};                   // by the program, again and again
    std::atomic<uint64_t> polls_{0};
    uint32_t empty_polls_ = 0;  // in a row
    uint32_t unarmed_polls_ = 0;
    uint32_t quick_finds_ = 0;      // of look_awhile(), in a row
    bool sleeps_in_verbs_ = false;  // the program, in sleep(); otherwise in poll() and the like
    bool awaits_answer_ = false;    // something was posted and nothing has come since
    uint32_t vain_looks_ = 0;       // of look_before_sleep(), in a row
    bool owes_answer_ = false;      // something has come, and the program has not called since
    uint32_t quick_answers_ = 0;    // to what has come, in a row
    Watch watch_{*this};
};

}  // namespace tulle::live
