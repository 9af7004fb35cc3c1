#include "fabric/journal.h"

#include <algorithm>

#include "base/hash.h"

namespace tulle::fabric {

PacketAccount& Journal::open(uint32_t index) {
    std::unique_ptr<PacketAccount>& place = place_for(index);
    if (place == nullptr && !spare_.empty()) {
        place = std::move(spare_.back());
        spare_.pop_back();
    }
    if (place == nullptr) place = std::make_unique<PacketAccount>();
    Shares journey = std::move(place->journey);  // with its memory
    journey.clear();
    *place = {};
    place->journey = std::move(journey);
    return *place;
}

void Journal::put(uint32_t index, std::unique_ptr<PacketAccount> account) {
    std::unique_ptr<PacketAccount>& place = place_for(index);
    if (place != nullptr) give_back(std::move(place));
    place = std::move(account);
}

void Journal::copy(uint32_t from, uint32_t to, bool is_watched) {
    if (from == to) return;
    mark(to, marked_at(from));
    if (!is_watched) return;
    PacketAccount& copied = open(to);
    copied = account(from);
}

void Journal::leave(uint32_t index, const Hop& hop) {
    PacketAccount* account = accounts_[index].get();
    if (account->at < hop.begin) wait(*account, hop);
    Shares& journey = account->journey;
    journey.add(ShareKind::serialization, hop.place, hop.end - hop.begin - hop.retries - hop.tail);
    journey.add(ShareKind::loss, hop.place, hop.retries);
    journey.add(ShareKind::propagation, hop.place, hop.cable);
    journey.add(ShareKind::switching, kNowhere, hop.pipeline);
    account->at = hop.end - hop.tail + hop.cable + hop.pipeline;
}

// The wait between a packet's arrival and its first bit on the line: its lane was held, or others
// were before it. Packets of its own connection are not others if the line is slower than the
// sender's: they would have to wait for each other on an empty fabric too.
void Journal::wait(PacketAccount& account, const Hop& hop) {
    Duration left = hop.begin - account.at;
    account.at = hop.begin;
    const Duration held{std::min(left.ps, static_cast<int64_t>(hop.held_ps - account.held_ps))};
    account.journey.add(ShareKind::held, hop.root, held);
    left = left - held;
    Duration own{};
    if (account.found_idle)
        own = left;  // a faster line waits until enough of the packet is here
    else if (hop.rate < account.first_rate)
        own = std::min(left, hop.rate.time_for(account.own_bytes_ahead));
    account.journey.add(ShareKind::serialization, hop.place, own);
    account.journey.add(ShareKind::queue, hop.place, left - own);
}

void Journal::leave_buffer(uint32_t lane, const Leaving& leaving) {
    if (leaving.port >= last_left_.size()) last_left_.resize(leaving.port + 1);
    LastLeft& last = last_left_[leaving.port];
    const auto since = static_cast<uint64_t>((leaving.now - last.at).ps);
    const bool was_held = kPassedOn * (leaving.held_ps - last.held_ps) >= since;
    last = {leaving.now, leaving.held_ps};
    set_credit_root(lane, was_held && leaving.root != kNowhere ? leaving.root : leaving.place);
}

void Journal::cross(Place place, uint32_t source, uint32_t destination) {
    const CrossingRecord record{place, source, destination};
    const uint64_t hash = base::mix64(uint64_t{source} << 32 ^ uint64_t{destination} << 16 ^ place);
    CrossingRecord& recent = recent_[hash % recent_.size()];
    if (recent == record) return;
    recent = record;
    crossings_.insert(record);
}

void Journal::lose(const wire::Packet& packet, Place place, Drop cause) {
    ++losses_[{place, cause, packet.destination, packet.dest_qp().value}];
}

}  // namespace tulle::fabric
