#include "fabric/ways.h"

namespace tulle::fabric {
namespace {

// The most switches of its own group that a dragonfly's packet passes before it leaves.
constexpr uint32_t kHopsInGroup = 2;

}  // namespace

Ways::Ways(const Settings& settings, Cabling& cabling, SwitchPlan& plan, uint64_t seed)
    : cabling_(cabling),
      routes_(plan.routes),
      paths_(plan.paths),
      lanes_(plan.lanes),
      node_(plan.node),
      port_count_(plan.port_count),
      chooser_(settings.route, plan.node, plan.port_count, seed, std::move(plan.dragonfly),
               std::move(plan.neighbours)) {}

void Ways::begin(uint32_t first_port) {
    row_ = routes_->row(node_);
    chooser_.begin(cabling_, first_port, &cabling_.port(first_port));
}

uint16_t Ways::choose_for_any(Instant now, const Port& from, uint32_t index) {
    const Transit& transit = cabling_.store[index];
    if ((transit.flags & Transit::kFixedPath) != 0) return fixed_port(transit);
    if (from.offers_detours && transit.hops <= kHopsInGroup)
        return chooser_.choose_ugal(ask(now, ports_to(transit.destination), index));
    uint16_t to = kNoPort;
    return choose(now, transit, index, to) ? to : kNoPort;
}

uint16_t Ways::fixed_port(const Transit& transit) const {
    const auto& path = (*paths_)[transit.flow];
    return transit.hops <= path.size() ? path[transit.hops - 1u] : kNoPort;
}

uint16_t Ways::choose_otherwise(Instant now, PortList ports, uint32_t index) {
    return chooser_.choose(ask(now, ports, index));
}

uint8_t Ways::mapped_lane(uint32_t in, uint16_t out, uint32_t index) const {
    const uint32_t ports = port_count_ + 1u;
    const uint64_t map = lanes_[(in + 1) * ports + out + 1];
    return static_cast<uint8_t>(map >> (4 * cabling_.store.packet(index).service_level) & 15);
}

void Ways::take(const Routes& routes) {
    routes_ = &routes;
    row_ = routes.row(node_);
}

void Ways::write(std::span<const RouteEntry> entries) {
    if (own_row_.empty()) {
        own_row_.assign(row_, row_ + routes_->target_count());
        row_ = own_row_.data();
    }
    for (const RouteEntry& entry : entries) own_row_[entry.target] = entry.list;
}

}  // namespace tulle::fabric
