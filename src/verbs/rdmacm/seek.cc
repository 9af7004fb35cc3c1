// Connecting before the peer listens. A server that has told its client over a socket that it is
// ready may still be about to listen. On a network, resolving addresses and routes takes long
// enough; here the server gets a moment.
//
// rdma_connect() waits neither for it nor for the answer of a process that is not known yet, which
// may be stopped. A thread looks for the listener, and lives as long as an id waits for one. It is
// not the thread of the host: meeting a process means waiting for its answer, and that thread must
// answer others.
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

void Manager::seek(Id& id, const rdma_conn_param* param) {
    Sought sought{next_ticket_++, &id, now() + kSeekFor, std::nullopt, {}};
    if (param != nullptr) {
        sought.param = *param;
        if (param->private_data == nullptr) sought.param->private_data_len = 0;
        std::copy_n(static_cast<const std::byte*>(param->private_data),
                    sought.param->private_data_len, sought.private_data.begin());
    }
    sought_.push_back(sought);
    id.is_sought = true;
    if (is_seeking_) return;
    try {
        start_seeking();
    } catch (...) {
        sought_.pop_back();
        id.is_sought = false;
        throw;  // becomes the errno of the program's call
    }
}

void Manager::start_seeking() {
    const live::WithoutSignals guard;
    std::thread thread([this] { keep_seeking(); });
    pthread_setname_np(thread.native_handle(), "tulle-seek");
    thread.detach();  // managers are never destroyed
    is_seeking_ = true;
}

void Manager::keep_seeking() noexcept {
    for (;; nanosleep(&kBetweenLooks, nullptr)) {
        const Guard guard(*this);
        for (uint64_t ticket = 0; Sought* next = sought_from(ticket);) {
            ticket = next->ticket + 1;
            look_for(*next);
        }
        if (!sought_.empty()) continue;
        is_seeking_ = false;
        return;
    }
}

// In order of arrival.
Manager::Sought* Manager::sought_from(uint64_t ticket) {
    const auto found = std::ranges::lower_bound(sought_, ticket, {}, &Sought::ticket);
    return found == sought_.end() ? nullptr : &*found;
}

// Meeting processes releases the lock: an id that is destroyed in between takes its ticket with it.
// What finds no memory is retried at the next look.
void Manager::look_for(const Sought& what) noexcept {
    const uint64_t ticket = what.ticket;
    try {
        const uint32_t peer = find_listener(*this, *what.id);
        Sought* sought = sought_from(ticket);
        if (sought == nullptr || sought->ticket != ticket) return;
        const bool is_over = now() >= sought->until;
        if (peer == kNobody && !is_over) return;
        finish_seeking(*sought, peer);
        sought->id->is_sought = false;
        std::erase_if(sought_, [&](const Sought& s) { return s.ticket == ticket; });
    } catch (const std::exception&) {
        return;
    }
}

void Manager::finish_seeking(Sought& sought, uint32_t peer) {
    Id& id = *sought.id;
    if (!take_peer(*this, id, peer)) return tell_nobody_listens(*this, id);
    rdma_conn_param* param = sought.param ? &*sought.param : nullptr;
    if (param != nullptr) param->private_data = sought.private_data.data();
    if (const int error = ask_peer(*this, id, param)) tell(id, RDMA_CM_EVENT_CONNECT_ERROR, -error);
}

}  // namespace tulle::verbs
