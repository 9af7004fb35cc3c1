#include "live/progress.h"

#include <sched.h>

#include "live/clock.h"

namespace tulle::live {
namespace {

using base::Instant;

constexpr uint32_t kPollsToTrust = 64;
constexpr uint32_t kPollsToYield = 256;
constexpr uint32_t kLooksToYield = 16;
constexpr uint32_t kFindsToTrust = 8;
constexpr uint32_t kLooksAnswering = 4;
constexpr uint32_t kVainLooks = 4;  // in a row, before it looks only now and then
constexpr uint32_t kVainLooksToTry = 16;
constexpr base::Duration kPatience{50'000'000};  // 50 us

}  // namespace

bool Progress::start(Door door) {
    world_.set_watch(watch_);
    return watch_.start(std::move(door));
}

void Progress::on_posted() {
    awaits_answer_ = true;
    if (std::exchange(owes_answer_, false)) ++quick_answers_;
}

// Another thread of the program may be asleep.
void Progress::on_sent() {
    if (renew_announcement()) watch_.wake();
    wake_thread_in_time();
}

void Progress::on_received() {
    awaits_answer_ = false;
    owes_answer_ = true;
}

void Progress::make(bool by_program) {
    if (by_program) {
        polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        if (std::exchange(owes_answer_, false)) quick_answers_ = 0;
    }
    worker_.work(by_program);
    if (renew_announcement()) worker_.work(by_program);
    if (by_program) wake_thread_in_time();
}

void Progress::stay_awake() {
    world_.own().board().sleep.store(Sleep::awake);
}

void Progress::announce_sleep() {
    world_.own().board().sleep.store(worker_.needs_answers() ? Sleep::light : Sleep::undisturbed);
}

bool Progress::renew_announcement() {
    const Sleep told = world_.own().board().sleep.load(std::memory_order_relaxed);
    if (told == Sleep::awake) return false;
    announce_sleep();
    const Sleep is_told = world_.own().board().sleep.load(std::memory_order_relaxed);
    return told == Sleep::undisturbed && is_told == Sleep::light && worker_.has_arrivals();
}

void Progress::wake_thread_in_time() {
    if (sleeps_until_ == kOftenAwake) return;
    const Instant deadline = worker_.next_deadline();
    if (deadline >= sleeps_until_) return;
    sleeps_until_ = deadline;
    watch_.wake();
}

// A program that was silent for a while because others had its CPU is trusted again just as soon.
// Most looks of a program that answers each message at once find something.
void Progress::on_poll() {
    if (is_polled_ || ++unarmed_polls_ < kPollsToTrust) return;
    unarmed_polls_ = 0;
    trust_program();
}

bool Progress::on_empty_poll() {
    on_poll();
    // WRITEs in rings are soon done or taken back.
    return ++empty_polls_ >= kPollsToYield && !direct_.is_awaiting();
}

void Progress::on_full_poll() {
    on_poll();
    empty_polls_ = 0;
}

void Progress::trust_program() {
    if (is_polled_) return;
    is_polled_ = true;
    sleeps_until_ = kOftenAwake;  // as soon as it has woken
    stay_awake();
    watch_.wake();
}

void Progress::stop_trusting_program() {
    is_polled_ = sleeps_in_verbs_ = false;
    watch_.hear_sockets(true);
}

void Progress::on_armed() {
    // A program that will wait in sleep() turns the bell on there, and only if it must wait.
    if (is_polled_ && sleeps_in_verbs_) return worker_.tell_events();
    empty_polls_ = unarmed_polls_ = 0;
    is_polled_ = false;
    watch_.hear_sockets(true);
    announce_sleep();
    if (worker_.has_arrivals()) return make(true);
    worker_.tell_events();
}

void Progress::answer_bell() {
    watch_.clear_bell();
    stop_trusting_program();
    announce_sleep();
    make(true);
    for (uint32_t looks = 0; worker_.has_arrivals() && looks < kLooksAnswering; ++looks) make(true);
    if (worker_.has_arrivals()) watch_.ring_bell();
    watch_.on_answer();
}

bool Progress::look_before_sleep(std::unique_lock<std::mutex>& guard,
                                 const std::function<bool()>& is_there) {
    if (!std::exchange(awaits_answer_, false)) return false;
    if (vain_looks_ >= kVainLooks && ++vain_looks_ % kVainLooksToTry != 0) return false;
    const Instant end = now() + kPatience;
    stay_awake();
    bool is_found = false;
    for (uint32_t looks = 1; !is_found && now() < end; ++looks) {
        make(true);
        is_found = is_there();
        if (is_found || looks % kLooksToYield != 0) continue;
        guard.unlock();
        sched_yield();
        guard.lock();
    }
    vain_looks_ = is_found ? 0 : vain_looks_ + 1;
    announce_sleep();
    if (worker_.has_arrivals()) make(true);
    return is_found || is_there();
}

bool Progress::look_awhile(const std::function<bool()>& is_there) {
    const Instant end = now() + kPatience;
    bool is_found = is_there();
    for (uint32_t looks = 1; !is_found && now() < end; ++looks) {
        {
            const std::lock_guard guard(lock_.mutex);
            stay_awake();
            make(true);
        }
        is_found = is_there();
        if (!is_found && looks % kLooksToYield == 0) sched_yield();
    }
    const std::lock_guard guard(lock_.mutex);
    sleeps_in_verbs_ = true;
    quick_finds_ = is_found ? quick_finds_ + 1 : 0;
    if (quick_finds_ >= kFindsToTrust) trust_program();
    if (is_polled_) return is_found;
    announce_sleep();
    if (worker_.has_arrivals()) watch_.wake();
    return is_found;
}

bool Progress::sleep(const std::function<bool()>& is_there, int file) {
    std::unique_lock guard(lock_.mutex);
    is_polled_ = false;
    watch_.hear_sockets(true);
    announce_sleep();
    watch_.lend_bell();
    auto woken_by = Watch::Waker::bell;
    while (woken_by == Watch::Waker::bell) {
        const bool has_more = worker_.has_arrivals();
        if (has_more) make(true);
        if (is_there()) break;
        if (has_more) continue;
        guard.unlock();
        woken_by = watch_.sleep_for_bell(file);
        guard.lock();
        make(true);
    }
    watch_.take_bell_back();
    return woken_by != Watch::Waker::signal;
}

}  // namespace tulle::live
