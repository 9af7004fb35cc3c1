#include "live/watch.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <exception>

#include "live/clock.h"
#include "live/progress.h"
#include "live/without_signals.h"

namespace tulle::live {
namespace {

constexpr int64_t kTickNs = 1'000'000;  // how often to see whether the program still polls
constexpr int64_t kBusyNs = 20'000;     // while the program has the lock
constexpr int64_t kForEver = -1;
constexpr uint32_t kMostRounds = 64;     // chosen: how long callers may hold up that news
constexpr size_t kMostStrangers = 64;    // chosen: beyond that the longest silent one is dropped
constexpr uint32_t kAnswersToTrust = 8;  // of a program that the bell wakes directly
// A peer that sends WRITEs through the ring often sends more of them.
constexpr base::Duration kLinger{50'000'000};  // 50 us

bool set_in(int epoll, int operation, int file, uint32_t events = EPOLLIN | EPOLLRDHUP) {
    epoll_event event{};
    event.events = events;
    event.data.fd = file;
    return epoll_ctl(epoll, operation, file, &event) == 0;
}

bool add_to(int epoll, int file) {
    return set_in(epoll, EPOLL_CTL_ADD, file);
}

void clear(int bell) {
    eventfd_t rings = 0;
    eventfd_read(bell, &rings);
}

// Whether a waiting call goes on after a signal, as handlers ask for with SA_RESTART. We do not
// know which signal came, so the answer is no if some handler lacks it.
bool are_waits_restarted() {
    for (int number = 1; number < NSIG; ++number) {
        struct sigaction action {};
        if (sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_DFL ||
            action.sa_handler == SIG_IGN)
            continue;
        if ((action.sa_flags & SA_RESTART) == 0) return false;
    }
    return true;
}

}  // namespace

Watch::~Watch() {
    stop();
}

void Watch::stop() {
    if (!thread_.joinable()) return;
    stop_ = true;
    wake();
    thread_.join();
}

bool Watch::start(Door door) {
    doors_.push_back(std::move(door));
    epoll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
    alarm_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!epoll_ || !alarm_ || !add_to(epoll_.get(), alarm_.get()) ||
        !add_to(epoll_.get(), doors_.front().socket()) || !open_ear() ||
        !add_to(epoll_.get(), ear()))
        return false;
    const WithoutSignals guard;
    thread_ = std::thread([this] { run(); });  // throws the errno of the program's call
    pthread_setname_np(thread_.native_handle(), "tulle");
    return true;
}

void Watch::wake() {
    eventfd_write(alarm_.get(), 1);
}

int Watch::ear() const {
    return ear_ ? ear_.get() : progress_.world_.own().bell();
}

void Watch::hear_also(const std::vector<int>& files) {
    heard_ = files;
}

void Watch::hear_more(int file) {
    if (ear_) set_in(ear_.get(), EPOLL_CTL_ADD, file, EPOLLIN);
}

void Watch::hear_sockets(bool shall_hear) {
    if (!ear_ || std::exchange(hears_sockets_, shall_hear) == shall_hear) return;
    for (const int file : heard_)
        set_in(ear_.get(), shall_hear ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, file, EPOLLIN);
}

bool Watch::open_ear() {
    if (heard_.empty()) return true;
    ear_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
    if (!ear_ || !set_in(ear_.get(), EPOLL_CTL_ADD, progress_.world_.own().bell(), EPOLLIN))
        return false;
    return std::ranges::all_of(
        heard_, [&](int file) { return set_in(ear_.get(), EPOLL_CTL_ADD, file, EPOLLIN); });
}

// Peers do not ring while the program looks by itself. The kernel's files cannot be switched off,
// so the thread does not listen to them.
void Watch::be_deaf(bool is_deaf) {
    if (!ear_ || std::exchange(is_deaf_, is_deaf) == is_deaf) return;
    set_in(epoll_.get(), EPOLL_CTL_MOD, ear(), is_deaf ? 0u : uint32_t{EPOLLIN});
}

void Watch::lend_bell() {
    if (borrowers_++ == 0) set_in(epoll_.get(), EPOLL_CTL_MOD, ear(), 0);
}

void Watch::take_bell_back() {
    if (--borrowers_ == 0) set_in(epoll_.get(), EPOLL_CTL_MOD, ear());
}

bool Watch::show_bell_in(int epoll) {
    if (shown_in_ >= 0 || !set_in(epoll, EPOLL_CTL_ADD, ear(), EPOLLIN)) return false;
    shown_in_ = epoll;
    return true;
}

void Watch::hide_bell_in(int epoll) {
    if (shown_in_ != epoll) return;
    epoll_ctl(epoll, EPOLL_CTL_DEL, ear(), nullptr);
    shown_in_ = -1;
    stop_trusting_answers();
}

void Watch::on_answer() {
    if (shown_in_ < 0 || is_answered_ || ++answers_ < kAnswersToTrust) return;
    is_answered_ = true;
    lend_bell();
    wake();
}

void Watch::stop_trusting_answers() {
    answers_ = 0;
    if (is_answered_.exchange(false)) take_bell_back();
}

void Watch::clear_bell() {
    clear(progress_.world_.own().bell());
}

void Watch::ring_bell() {
    eventfd_write(progress_.world_.own().bell(), 1);
}

Watch::Waker Watch::sleep_for_bell(int file) {
    std::array<pollfd, 2> waits{{{ear(), POLLIN, 0}, {file, POLLIN, 0}}};
    while (poll(waits.data(), waits.size(), -1) < 0)
        if (!are_waits_restarted()) return Waker::signal;
    if (waits[0].revents != 0) clear(progress_.world_.own().bell());
    return waits[1].revents != 0 ? Waker::file : Waker::bell;
}

bool Watch::add_door(Door door) {
    const int socket = door.socket();
    const std::lock_guard guard(doors_lock_);
    doors_.push_back(std::move(door));
    if (add_to(epoll_.get(), socket)) return true;
    doors_.pop_back();
    return false;
}

Door* Watch::door_at(int socket) {
    const std::lock_guard guard(doors_lock_);
    const auto found = std::ranges::find(doors_, socket, &Door::socket);
    return found == doors_.end() ? nullptr : &*found;
}

void Watch::attend(int socket) {
    add_to(epoll_.get(), socket);
}

void Watch::bury(Descriptor socket) {
    if (!socket) return;
    {
        const std::lock_guard guard(news_lock_);
        buried_.push_back(std::move(socket));
    }
    wake();
}

void Watch::abandon() {
    if (thread_.joinable()) thread_.detach();
    for (Door& door : doors_) door.close();
    buried_.clear();
    strangers_.clear();
    callers_.clear();
    epoll_.reset();
    ear_.reset();
    alarm_.reset();
}

void Watch::take_news(std::vector<Introduction>& callers, std::vector<int>& closed) {
    const std::lock_guard guard(news_lock_);
    callers.swap(callers_);
    closed.swap(closed_);
    has_news_.store(false, std::memory_order_release);
}

void Watch::run() {
    while (!stop_) {
        try {
            sleep(look());
        } catch (const std::exception&) {
            const timespec tick{0, kTickNs};  // memory may be available later
            ppoll(nullptr, 0, &tick, nullptr);
        }
    }
}

int64_t Watch::look() {
    // A program that polls has the lock most of the time, and does this work itself. Another thread
    // may hold it while it calls a process that calls us, so the door must not wait for it.
    const std::unique_lock guard(progress_.lock_.mutex, std::try_to_lock);
    if (!guard) {
        const int64_t ns = progress_.is_polled_ || is_answered_ ? kTickNs : kBusyNs;
        if (!ear_) return ns;
        // The event would keep us awake; the thread that has the lock takes it.
        const timespec time{0, ns};
        nanosleep(&time, nullptr);
        return 0;
    }
    progress_.make(false);
    const uint64_t polls = progress_.polls_.load(std::memory_order_relaxed);
    if (polls == std::exchange(polls_seen_, polls)) {
        progress_.stop_trusting_program();
        stop_trusting_answers();
    }
    be_deaf(borrowers_ != 0 || progress_.is_polled_);
    hear_sockets(!progress_.is_polled_);
    const base::Instant time = now();
    if (progress_.worker_.took_writes()) lingers_until_ = time + kLinger;
    if (progress_.is_polled_ || time < lingers_until_) {
        progress_.sleeps_until_ = Progress::kOftenAwake;
        progress_.stay_awake();
        return progress_.is_polled_ ? kTickNs : 0;
    }
    progress_.announce_sleep();
    if (progress_.worker_.has_arrivals()) return 0;
    const base::Instant deadline = progress_.worker_.next_deadline();
    if (is_answered_) {
        progress_.sleeps_until_ = Progress::kOftenAwake;
        return std::clamp<int64_t>((deadline - now()).ps / 1000, 0, kTickNs);
    }
    progress_.sleeps_until_ = deadline;
    if (deadline == base::Instant::never()) return kForEver;
    return std::max<int64_t>(0, (deadline - now()).ps / 1000);
}

void Watch::sleep(int64_t ns) {
    if (ns != 0 && closing_.empty()) {
        pollfd wait{epoll_.get(), POLLIN, 0};
        const timespec time{ns / 1'000'000'000, ns % 1'000'000'000};
        ppoll(&wait, 1, ns < 0 ? nullptr : &time, nullptr);
    }
    std::array<epoll_event, 16> events;
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
    std::vector<Descriptor> dead;  // so far: sockets buried later may be among the events
    {
        const std::lock_guard guard(news_lock_);
        dead.swap(buried_);
    }
    bool has_callers = false;
    for (int i = 0; i < count; ++i) has_callers |= on_ready(events[static_cast<size_t>(i)].data.fd);
    if (!closing_.empty() && (!has_callers || ++rounds_ == kMostRounds)) tell_of_closed();
}

// A process that has ended may have called before, and its call is taken first: its end is not
// reported while there are callers at the door.
void Watch::tell_of_closed() {
    const std::lock_guard guard(news_lock_);
    closed_.insert(closed_.end(), closing_.begin(), closing_.end());
    closing_.clear();
    rounds_ = 0;
    has_news_.store(true, std::memory_order_release);
}

bool Watch::on_ready(int socket) {
    if (socket == alarm_.get()) return clear(socket), false;
    if (socket == ear()) return clear_bell(), false;
    if (Door* door = door_at(socket)) return let_in(*door), true;
    const auto stranger = std::ranges::find(strangers_, socket, &Descriptor::get);
    if (stranger != strangers_.end()) {
        epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket, nullptr);
        auto caller = doors_.front().read_caller(std::move(*stranger));
        strangers_.erase(stranger);
        if (!caller) return true;
        const std::lock_guard guard(news_lock_);
        callers_.push_back(std::move(*caller));
        has_news_.store(true, std::memory_order_release);
        return true;
    }
    // A message stands for a ring of the bell by a peer that has no bell of ours.
    if (hear(socket)) {
        eventfd_write(progress_.world_.own().bell(), 1);
        return false;
    }
    closing_.push_back(socket);
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket, nullptr);
    return false;
}

void Watch::let_in(Door& door) {
    Card card = progress_.world_.own().card();
    card.slot = door.slot();
    Descriptor caller = door.accept(card);
    if (!caller) return;
    attend(caller.get());
    if (strangers_.size() == kMostStrangers) {
        bury(std::move(strangers_.front()));
        strangers_.erase(strangers_.begin());
    }
    strangers_.push_back(std::move(caller));
}

}  // namespace tulle::live
