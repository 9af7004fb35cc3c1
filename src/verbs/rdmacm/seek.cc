#include "verbs/rdmacm/seek.h"

#include <pthread.h>

#include <algorithm>
#include <ctime>
#include <exception>
#include <thread>

#include "live/without_signals.h"
#include "verbs/rdmacm/connect.h"
#include "verbs/rdmacm/manager.h"

namespace tulle::verbs {
namespace {

constexpr base::Duration kSeekFor{100'000'000'000};  // 100 ms, chosen
constexpr timespec kBetweenLooks{0, 5'000'000};

}  // namespace

void Seeker::seek(Id& id, const rdma_conn_param* param) {
    Sought sought{next_ticket_++, &id, manager_.now() + kSeekFor, std::nullopt, {}};
    if (param != nullptr) {
        sought.param = *param;
        if (param->private_data == nullptr) sought.param->private_data_len = 0;
        std::copy_n(static_cast<const std::byte*>(param->private_data),
                    sought.param->private_data_len, sought.private_data.begin());
    }
    sought_.push_back(sought);
    id.is_sought = true;
    if (is_looking_) return;
    try {
        start();
    } catch (...) {
        sought_.pop_back();
        id.is_sought = false;
        throw;  // becomes the errno of the program's call
    }
}

void Seeker::start() {
    const live::WithoutSignals guard;
    std::thread thread([this] { keep_looking(); });
    pthread_setname_np(thread.native_handle(), "tulle-seek");
    thread.detach();  // managers are never destroyed
    is_looking_ = true;
}

void Seeker::keep_looking() noexcept {
    for (;; nanosleep(&kBetweenLooks, nullptr)) {
        const Manager::Guard guard(manager_);
        for (uint64_t ticket = 0; Sought* next = sought_from(ticket);) {
            ticket = next->ticket + 1;
            look_for(*next);
        }
        if (!sought_.empty()) continue;
        is_looking_ = false;
        return;
    }
}

// In order of arrival.
Seeker::Sought* Seeker::sought_from(uint64_t ticket) {
    const auto found = std::ranges::lower_bound(sought_, ticket, {}, &Sought::ticket);
    return found == sought_.end() ? nullptr : &*found;
}

// Meeting processes releases the lock: an id that is destroyed in between takes its ticket with it.
// What finds no memory is retried at the next look.
void Seeker::look_for(const Sought& what) noexcept {
    const uint64_t ticket = what.ticket;
    try {
        const uint32_t peer = find_listener(manager_, *what.id);
        Sought* sought = sought_from(ticket);
        if (sought == nullptr || sought->ticket != ticket) return;
        const bool is_over = manager_.now() >= sought->until;
        if (peer == kNobody && !is_over) return;
        finish(*sought, peer);
        sought->id->is_sought = false;
        std::erase_if(sought_, [&](const Sought& s) { return s.ticket == ticket; });
    } catch (const std::exception&) {
        return;
    }
}

void Seeker::finish(Sought& sought, uint32_t peer) {
    Id& id = *sought.id;
    if (!take_peer(manager_, id, peer)) return tell_nobody_listens(manager_, id);
    rdma_conn_param* param = sought.param ? &*sought.param : nullptr;
    if (param != nullptr) param->private_data = sought.private_data.data();
    if (const int error = ask_peer(manager_, id, param))
        manager_.events().tell(id, RDMA_CM_EVENT_CONNECT_ERROR, -error);
}

void Seeker::forget(const Id& id) {
    std::erase_if(sought_, [&](const Sought& sought) { return sought.id == &id; });
}

void Seeker::abandon() {
    sought_.clear();
    is_looking_ = false;
}

}  // namespace tulle::verbs
