#include "live/presence.h"

#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>

#include <algorithm>

namespace tulle::live {
namespace {

uint64_t random_word() {
    uint64_t word = 0;
    while (getrandom(&word, sizeof word, 0) != sizeof word) continue;
    return word | 1;
}

}  // namespace

std::optional<Door> Presence::open() {
    board_ = SharedMemory::create(sizeof(Board), SharedMemory::Peers::read);
    grants_ = SharedMemory::create(sizeof(Grants), SharedMemory::Peers::read);
    bell_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    auto door = Door::open(realm_);
    if (!board_ || !grants_ || !bell_ || !door) return std::nullopt;
    slot_ = door->slot();
    add_slot(slot_);
    variant_ = door->variant();
    secret_ = {random_word(), random_word(), random_word()};
    // Lets peers of this user reach our memory even if a security module restricts that.
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    return door;
}

void Presence::show_facts(bool has_counters, bool cuts_packets, uint64_t capture) {
    Board& shown = board();
    shown.instance = secret_.instance;
    shown.secret_place = reinterpret_cast<uint64_t>(&secret_);
    shown.rank = who_.rank;
    shown.device = who_.device;
    shown.gid_count = static_cast<uint32_t>(std::min<size_t>(who_.gids.size(), kGids));
    std::copy_n(who_.gids.begin(), shown.gid_count, shown.gids);
    shown.lid = who_.lid;
    shown.is_ethernet = who_.is_ethernet;
    shown.port_count = who_.port_count();
    for (size_t i = 0; i < who_.more_ports.size(); ++i) {
        const PortIdentity& port = who_.more_ports[i];
        shown.more_ports[i].lid = port.lid;
        shown.more_ports[i].gid_count = static_cast<uint32_t>(port.gids.size());
        std::ranges::copy(port.gids, shown.more_ports[i].gids);
    }
    if (has_counters && who_.counters_file.size() < kPathRoom)
        std::ranges::copy(who_.counters_file, shown.counters_file);
    shown.cuts_packets = cuts_packets;
    shown.capture = capture;
    grants().magic = kGrantsMagic;
    shown.magic = kBoardMagic;
}

Card Presence::card() const {
    return {secret_.instance, slot_, board_.file(), -1, bell_.get(), grants_.file()};
}

void Presence::abandon() {
    bell_.reset();
    board_ = {};
    grants_ = {};
}

void Presence::add_slot(uint32_t slot) {
    slots_.push_back(slot);
    board().blocks[slot].store(static_cast<uint8_t>(slots_.size()));
}

bool Presence::is_elsewhere(const wire::Gid& address) const {
    const auto& b = address.bytes;
    const bool is_four = wire::is_ipv4(address);
    const bool is_nobodys = is_multicast(address) || (is_four && b[12] >= 240);
    const bool is_loopback = is_four && b[12] == 127;
    if (who_.listens.empty() || is_nobodys || is_loopback || address == wire::Gid{} ||
        (is_four && b[12] == 0))
        return false;
    if (std::ranges::find(who_.gids, address) != who_.gids.end()) return false;
    return std::ranges::any_of(
        who_.listens, [&](const UdpAddress& own) { return wire::is_ipv4(own.gid) == is_four; });
}

}  // namespace tulle::live
