#include "live/udp_neighbours.h"

#include <algorithm>
#include <cstring>

#include "live/management_layout.h"
#include "live/record.h"
#include "wire/mad/ip_cm.h"

namespace tulle::live {
namespace {

using base::Instant;

constexpr base::Duration kLookAgain{100'000'000'000};  // 100 ms, chosen
constexpr base::Duration kAnswersTake{2'000'000'000};  // 2 ms, chosen
constexpr base::Duration kSteerAgain{20'000'000'000};  // 20 ms, chosen
constexpr base::Duration kHoldFor{200'000'000'000};    // 200 ms, chosen
constexpr base::Duration kLookAtHeld{5'000'000'000};   // 5 ms, chosen
constexpr size_t kMostHeld = 64;  // chosen: beyond that requests are answered at once

// The head of a datagram that is handed over.
struct Handed {
    RecordHead head{RecordKind::datagram, 0, 0};
    wire::Gid source;
    wire::Gid destination;
    uint16_t source_port = 0;
    uint16_t place = 0;
    uint32_t traffic_class = 0;
};

uint64_t number_at(std::span<const std::byte> bytes, size_t at, size_t size) {
    uint64_t number = 0;
    for (size_t i = 0; i < size; ++i)
        number = number << 8 | std::to_integer<uint8_t>(bytes[at + i]);
    return number;
}

bool listens(const Board& board, uint32_t port) {
    return std::ranges::any_of(board.ports,
                               [&](const PortNote& note) { return note.number.load() == port; });
}

bool hears(const PortNote& note, const UdpAddress& address) {
    const bool hears_all =
        note.address == wire::Gid{} || note.address == wire::gid_of(wire::Ipv4Address{});
    return hears_all || note.address == address.gid;
}

}  // namespace

bool UdpNeighbours::is_neighbour(const Peer& peer) const {
    return !peer.is_gone && !peer.is_remote && peer.has_board() &&
           world_.own().realm().is_own(peer.who);
}

// A process that has just begun is known by its call, and may not have taken ours yet.
bool UdpNeighbours::takes_what_is_handed(uint32_t index) {
    Peer& peer = world_.at(index);
    return is_neighbour(peer) && (peer.can_send() || world_.call_peer(peer));
}

// A probe: a datagram of our own kind that names the place to which it was given.
bool UdpNeighbours::take_probe(const UdpArrival& arrival) {
    const auto place = UdpSockets::place_in_probe(arrival);
    if (!place) return false;
    const Identity& who = world_.own().identity();
    for (size_t i = 0; i < std::min<size_t>(who.gids.size(), kGids); ++i)
        if (who.gids[i] == arrival.destination)
            world_.own().board().udp_places[i].store(*place + 1u);
    return true;
}

UdpNeighbours::Handling UdpNeighbours::judge(Instant now, const UdpArrival& arrival) {
    if (arrival.body.size() < wire::Bth::kSize + wire::kIcrcSize) {  // shorter than any packet
        if (UdpSockets::greeting_in(arrival)) return judge_greeting(now, arrival);
        return {take_probe(arrival) ? Whose::nobodys : Whose::ours};
    }
    const wire::Qpn qpn{static_cast<uint32_t>(number_at(arrival.body, 5, 3))};
    if (qpn.value <= 1 || qpn.value == kMulticastQpn) return {};
    const uint32_t slot = slot_of(qpn);
    if (world_.own().board().blocks[slot].load(std::memory_order_relaxed) != 0) return {};
    const auto peer = neighbour_in(now, slot);
    if (peer) return hand_over(now, *peer, arrival);
    ++nobodys_;
    return {Whose::nobodys};
}

void UdpNeighbours::greet(Instant now, Peer& peer) {
    if (peer.is_ours || now < peer.greet_again_at) return;
    peer.greet_again_at = now + kLookAgain;
    const Identity& who = world_.own().identity();
    UdpSockets::Greeting greeting{.slot = static_cast<uint8_t>(world_.own().slot())};
    for (size_t i = 0; i < std::min<size_t>(who.gids.size(), kGids); ++i)
        if (const uint32_t place = world_.own().board().udp_places[i].load();
            who.gids[i] == peer.own_address && place != 0)
            greeting.place = static_cast<uint8_t>(place - 1);
    udp_.sockets().greet(peer.own_address, peer.facts.gids[0], greeting);
}

// Anybody may ask. An answer counts only from an address that we talk to.
UdpNeighbours::Handling UdpNeighbours::judge_greeting(Instant now, const UdpArrival& arrival) {
    auto greeting = *UdpSockets::greeting_in(arrival);
    if (!greeting.is_answer) {
        greeting.is_answer = true;
        if (world_.own().is_elsewhere(arrival.source))
            udp_.sockets().greet(arrival.destination, arrival.source, greeting);
        return {Whose::nobodys};
    }
    if (world_.own().board().blocks[greeting.slot].load(std::memory_order_relaxed) == 0) {
        const auto peer = neighbour_in(now, greeting.slot);
        return peer ? hand_over(now, *peer, arrival) : Handling{Whose::nobodys};
    }
    const auto found = world_.find_remote(arrival.source, arrival.destination);
    if (found == World::kNowhere || std::exchange(world_.at(found.value).is_ours, true))
        return {Whose::nobodys};
    ours_.push_back(found.value);
    return {Whose::nobodys};
}

UdpNeighbours::Handling UdpNeighbours::judge_management(Instant now, const UdpArrival& arrival,
                                                        std::span<const std::byte> message) {
    using namespace management;
    if (message.size() < kServiceAt + 8) return {};
    const auto attribute = number_at(message, kAttributeAt, 2);
    std::optional<uint32_t> peer;
    if (attribute == kConnectRequest || attribute == kServiceRequest) {
        const auto service = wire::ip_cm_service(wire::Key64{number_at(message, kServiceAt, 8)});
        if (!service) return {};
        const uint32_t port = uint32_t{service->protocol} << 16 | service->port;
        if (listens(world_.own().board(), port)) return {};
        peer = neighbour_listening(now, port);
        if (!peer && hold(now, arrival, {.port = port})) return {Whose::nobodys};
    } else {
        const size_t at = attribute == kServiceReply ? kFirstIdAt : kSecondIdAt;
        const auto slot = static_cast<uint32_t>(number_at(message, at, 1));
        if (world_.own().board().blocks[slot].load(std::memory_order_relaxed) != 0) return {};
        peer = neighbour_in(now, slot);
        // Somebody has the slot and we do not know him yet. Only he knows his connections, so his
        // messages are lost rather than answered by us.
        if (!peer && is_marked(world_.own().realm(), slot)) {
            (void)hold(now, arrival, {.slot = slot});
            return {Whose::nobodys};
        }
    }
    return peer ? hand_over(now, *peer, arrival) : Handling{};
}

bool UdpNeighbours::hold(Instant now, const UdpArrival& arrival, Addressee whom) {
    // A released arrival is not held again: it lies in `released_`.
    const bool was_held = arrival.body.data() == released_.body.data();
    if (was_held || held_.size() >= kMostHeld) return false;
    Held& one = held_.emplace_back();
    one.arrival = arrival;
    one.body.assign(arrival.body.begin(), arrival.body.end());
    one.whom = whom;
    one.until = now + kHoldFor;
    look_at_held_ = std::min(look_at_held_, now + kLookAtHeld);
    ++held_count_;
    return true;
}

std::optional<UdpArrival> UdpNeighbours::take_held(Instant now) {
    if (now < look_at_held_) return std::nullopt;
    const auto is_due = [&](const Held& one) {
        if (now >= one.until) return true;
        if (one.whom.slot) return neighbour_in(now, *one.whom.slot).has_value();
        return listens(world_.own().board(), one.whom.port) ||
               neighbour_listening(now, one.whom.port);
    };
    const auto due = std::ranges::find_if(held_, is_due);
    if (due == held_.end()) {
        look_at_held_ = held_.empty() ? Instant::never() : now + kLookAtHeld;
        return std::nullopt;
    }
    released_ = std::move(*due);
    held_.erase(due);
    released_.arrival.body = released_.body;
    return released_.arrival;
}

std::optional<uint32_t> UdpNeighbours::neighbour_in(Instant now, uint32_t slot) {
    // A stranger may name any slot. A slot that no process had is not looked up each time, unless
    // it has been marked as taken since.
    LastLook& last = last_looks_[slot];
    if (now < last.until && last.was_marked) return std::nullopt;
    const bool is_taken = is_marked(world_.own().realm(), slot);
    if (now < last.until && !is_taken) return std::nullopt;
    const auto found = world_.resolve_slot(slot);
    if (found != World::kNowhere && found.value != 0 && takes_what_is_handed(found.value))
        return found.value;
    last = {now + kLookAgain, is_taken};
    return std::nullopt;
}

std::optional<uint32_t> UdpNeighbours::neighbour_listening(Instant now, uint32_t port) {
    for (int looks = 0; looks < 2; ++looks) {
        for (uint32_t index = 1; index < world_.size(); ++index)
            if (is_neighbour(world_.at(index)) && listens(world_.at(index).board(), port) &&
                takes_what_is_handed(index))
                return index;
        if (now < meet_again_) return std::nullopt;
        meet_again_ = now + kLookAgain;
        world_.meet_slots(marked_slots(world_.own().realm()));
    }
    return std::nullopt;
}

UdpNeighbours::Handling UdpNeighbours::hand_over(Instant now, uint32_t index,
                                                 const UdpArrival& arrival) {
    Peer& peer = world_.at(index);
    Handed handed;
    handed.source = arrival.source;
    handed.destination = arrival.destination;
    handed.source_port = arrival.source_port;
    handed.place = arrival.place;
    handed.traffic_class = arrival.traffic_class;
    std::byte* place = peer.reserve(sizeof handed + arrival.body.size());
    std::memcpy(place, static_cast<const void*>(&handed), sizeof handed);
    std::memcpy(place + sizeof handed, arrival.body.data(), arrival.body.size());
    ++handed_over_;
    if (work_at_ == Instant::never()) {
        work_at_ = std::max(now, not_before_);
        has_asked_ = false;
    }
    return {Whose::others, index};
}

std::optional<UdpArrival> UdpNeighbours::read_handed(std::span<const std::byte> record) {
    Handed handed;
    if (record.size() < sizeof handed) return std::nullopt;
    std::memcpy(static_cast<void*>(&handed), record.data(), sizeof handed);
    UdpArrival arrival;
    arrival.source = handed.source;
    arrival.destination = handed.destination;
    arrival.source_port = handed.source_port;
    arrival.place = handed.place;
    arrival.traffic_class = static_cast<uint8_t>(handed.traffic_class);
    arrival.body = record.subspan(sizeof handed);
    return arrival;
}

// ---- steering -----------------------------------------------------------------------------------

void UdpNeighbours::begin(Instant now) {
    work_at_ = now;
}

void UdpNeighbours::work(Instant now) {
    if (now < work_at_) return;
    if (!has_asked_) {
        world_.meet_slots(marked_slots(world_.own().realm()));
        has_asked_ = true;
        work_at_ = ask() == 0 ? Instant::never() : now + kAnswersTake;
        if (work_at_ == Instant::never()) has_asked_ = false;
        return;
    }
    steer();
    has_asked_ = false;
    work_at_ = Instant::never();
    not_before_ = now + kSteerAgain;
}

// Probes the places and returns the number of neighbours. A process without neighbours gets all
// datagrams anyway.
uint32_t UdpNeighbours::ask() {
    uint32_t neighbours = 0;
    for (uint32_t index = 1; index < world_.size(); ++index)
        if (is_neighbour(world_.at(index))) ++neighbours;
    if (neighbours != 0) udp_.sockets().probe(neighbours + 1);
    return neighbours;
}

// A place that two processes show is given to neither: one of them has not noticed a change yet.
void UdpNeighbours::steer() {
    for (const UdpAddress& address : world_.own().identity().listens) {
        std::vector<UdpSockets::Steering> slots;
        std::vector<UdpSockets::PortSteering> ports;
        const auto add = [&](const Facts& facts, const Board& board) {
            for (uint32_t gid = 0; gid < facts.gid_count; ++gid) {
                const uint32_t place = board.udp_places[gid].load();
                if (facts.gids[gid] != address.gid || place == 0) continue;
                for (uint32_t slot = 0; slot < kSlots; ++slot)
                    if (board.blocks[slot].load() != 0) slots.push_back({slot, place - 1});
                for (const PortNote& note : board.ports)
                    if (const uint32_t port = note.number.load(); port != 0 && hears(note, address))
                        ports.push_back({port, place - 1});
                return;
            }
        };
        add(world_.at(0).facts, world_.own().board());
        for (uint32_t index = 1; index < world_.size(); ++index)
            if (is_neighbour(world_.at(index)))
                add(world_.at(index).facts, world_.at(index).board());
        udp_.sockets().steer(address.gid, slots, ports);
    }
}

}  // namespace tulle::live
