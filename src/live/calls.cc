#include "live/calls.h"

#include <algorithm>
#include <utility>

#include "live/clock.h"
#include "live/watch.h"
#include "live/world.h"

namespace tulle::live {
namespace {

using base::Instant;

constexpr base::Duration kPatience{2'000'000'000'000};     // 2 s, chosen: a process without CPU
constexpr base::Duration kShortPatience{100'000'000'000};  // 100 ms, chosen: with the lock held
constexpr base::Duration kMuteFor{2'000'000'000'000};      // 2 s, chosen
constexpr base::Duration kCallAgain{1'000'000'000};        // 1 ms, chosen
constexpr uint32_t kAllVariants = UINT32_MAX;

}  // namespace

// A process with many queue pairs has several slots. It is called in only one of them, because a
// call hands over a ring and it takes only one. Its board then tells its other slots.
void Calls::to_slots(std::span<const uint32_t> slots) {
    const uint32_t variants = slots.size() == 1 ? kAllVariants : world_.own().variant() + 2;
    std::vector<uint32_t> left(slots.begin(), slots.end());
    for (uint32_t rounds = 0; rounds < kSlots && !left.empty(); ++rounds) {
        std::vector<uint32_t> later;
        const bool has_called = call_all(left, variants, later);
        if (!being_called_.empty()) await_other_callers(left, later);
        if (!has_called && lock_.is_amid_progress) return;
        left = std::move(later);
    }
}

// Calls all slots at once, so that several silent processes cost no more time than one. `later`:
// slots of processes that are being called. True if any was called.
bool Calls::call_all(std::span<const uint32_t> slots, uint32_t variants,
                     std::vector<uint32_t>& later) {
    std::vector<Call> calls;
    std::vector<int> sockets;
    for (const uint32_t slot : slots) {
        if (being_called_.contains(slot) || world_.is_known(slot)) continue;
        auto call = next_call(slot, variants, later);
        if (!call) continue;
        being_called_.emplace(slot, call->line.who);
        sockets.push_back(call->line.socket.get());
        calls.push_back(std::move(*call));
    }
    if (calls.empty()) return false;
    const auto patience = lock_.is_amid_progress ? kShortPatience : kPatience;
    lock_.without([&] { await_answers(sockets, patience); });
    for (Call& call : calls) {
        being_called_.erase(call.slot);
        end_call(std::move(call));
    }
    called_.notify_all();
    return true;
}

// Waits for another thread of the program that is calling these slots already, or is calling a
// process that may have the slots of `later`.
void Calls::await_other_callers(std::span<const uint32_t> slots, std::span<const uint32_t> later) {
    if (lock_.is_amid_progress) return;
    std::unique_lock guard(lock_.mutex, std::adopt_lock);
    called_.wait_for(guard, std::chrono::nanoseconds(kPatience.ps / 1000), [&] {
        if (!later.empty()) return being_called_.empty();
        return std::ranges::none_of(slots, [&](uint32_t s) { return being_called_.contains(s); });
    });
    (void)guard.release();
}

bool Calls::is_being_called(const Credentials& who) const {
    return std::ranges::any_of(being_called_, [&](const auto& one) { return one.second == who; });
}

std::optional<Calls::Call> Calls::begin_call(uint32_t slot, uint32_t variants,
                                             std::vector<uint32_t>& later) {
    std::optional<Line> line;
    if (variants == kAllVariants) line = reach(world_.own().realm(), slot);
    for (uint32_t variant = 0; !line && variants != kAllVariants && variant < variants; ++variant)
        line = reach(world_.own().realm(), slot, variant);
    if (!line) return std::nullopt;
    if (const auto mute = mute_.find(slot);
        mute != mute_.end() && mute->second.who == line->who && now() < mute->second.until)
        return std::nullopt;
    if (world_.is_of_known_peer(slot, line->who)) return std::nullopt;
    if (is_being_called(line->who)) {
        later.push_back(slot);
        return std::nullopt;
    }
    return introduce(slot, std::move(*line));
}

// Introduces us, and hands over the ring that we will write.
std::optional<Calls::Call> Calls::introduce(uint32_t slot, Line line) {
    Call call{slot, std::move(line),
              SharedMemory::create(sizeof(RingMemory), SharedMemory::Peers::write)};
    if (!call.ring) return std::nullopt;
    Card mine = world_.own().card();
    mine.ring = call.ring.file();
    const bool is_own = world_.own().realm().is_own(call.line.who);
    if (!send_card(call.line.socket.get(), mine, is_own)) return std::nullopt;
    return call;
}

// It takes what we write from now on.
void Calls::settle_call(Peer& peer, Call call) {
    world_.watch_->attend(call.line.socket.get());
    peer.take_outgoing(std::move(call.line.socket), std::move(call.ring));
}

// The next call to a slot. A process that has not answered yet is not called again. Nothing if it
// is too early to wait for it again.
std::optional<Calls::Call> Calls::next_call(uint32_t slot, uint32_t variants,
                                            std::vector<uint32_t>& later) {
    const auto mute = mute_.find(slot);
    if (mute == mute_.end() || !mute->second.call) return begin_call(slot, variants, later);
    std::optional<Call>& open = mute->second.call;
    const int socket = open->line.socket.get();
    if (has_left(socket)) {
        mute_.erase(mute);
        return begin_call(slot, variants, later);
    }
    if (now() < mute->second.until && !has_spoken(socket)) return std::nullopt;
    return std::exchange(open, std::nullopt);
}

// It knows us by this call, or will when it comes to it.
std::optional<Calls::Call> Calls::open_call_to(const Peer& peer) {
    const auto mute = std::ranges::find_if(mute_, [&](const auto& one) {
        const auto& [slot, its] = one;
        return its.call && its.who == peer.who && (slot == peer.slot || peer.has_slot(slot));
    });
    if (mute == mute_.end()) return std::nullopt;
    auto call = std::exchange(mute->second.call, std::nullopt);
    // A program may close its adapter and open it again: the call was for the first one.
    return has_left(call->line.socket.get()) ? std::nullopt : std::move(call);
}

void Calls::end_call(Call call) {
    Mute mute{call.line.who, now() + kMuteFor};
    if (!has_spoken(call.line.socket.get())) {
        mute.call = std::move(call);
        mute_.insert_or_assign(mute.call->slot, std::move(mute));
        return;
    }
    auto found = read_answer(std::move(call.line.socket));
    if (!found || found->slot != call.slot || found->who != call.line.who) {
        mute_.insert_or_assign(call.slot, std::move(mute));
        return;
    }
    mute_.erase(call.slot);
    const auto index = world_.index_for(*found);
    if (!index || world_.at(*index).can_send()) return;
    call.line.socket = std::move(found->socket);
    settle_call(world_.at(*index), std::move(call));
}

bool Calls::to_peer(Peer& peer) {
    const Instant time = now();
    const auto is_its = [&](const auto& one) {
        return one.first == peer.slot || (one.second == peer.who && peer.has_slot(one.first));
    };
    if (peer.is_gone || time < peer.call_again_at || std::ranges::any_of(being_called_, is_its))
        return false;
    peer.call_again_at = time + kCallAgain;
    auto call = open_call_to(peer);
    if (!call) {
        auto line = reach(world_.own().realm(), peer.slot);
        if (!line || line->who != peer.who) return false;
        call = introduce(peer.slot, std::move(*line));
    }
    if (!call) return false;
    settle_call(peer, std::move(*call));
    return true;
}

}  // namespace tulle::live
