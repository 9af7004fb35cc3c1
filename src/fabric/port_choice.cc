#include "fabric/port_choice.h"

#include "base/hash.h"

namespace tulle::fabric {
namespace {

constexpr uint64_t kKib = 1024;
// Added to the load of a port whose neighbour has no free way on: more than any queue can be.
constexpr uint64_t kWarned = uint64_t{1} << 60;

}  // namespace

PortChooser::PortChooser(const RouteSettings& settings, uint32_t node, uint16_t ports,
                         uint64_t seed, GroupPlan dragonfly, std::vector<uint32_t> neighbours)
    : settings_(settings),
      node_(node),
      seed_(seed),
      dragonfly_(std::move(dragonfly)),
      neighbours_(std::move(neighbours)),
      warnings_(neighbours_.empty() ? 0 : settings.warn_above_bytes, ports),
      flowlets_(settings.flowlet_gap),
      has_exact_loads_(settings.load_step_bytes == 0 && settings.load_period.ps == 0 &&
                       !warnings_.is_used()),
      is_by_hash_(settings.choice == PathChoice::ecmp) {
    if (settings.load_period.ps != 0) grades_.resize(ports);
    kib_ps_.resize(ports);
}

void PortChooser::begin(const Cabling& cabling, uint32_t first_port, const Port* ports) {
    ports_ = ports;
    for (uint32_t port = 0; port < kib_ps_.size(); ++port)
        kib_ps_[port] = static_cast<uint64_t>(cabling.rate(first_port + port).time_for(kKib).ps);
}

uint16_t PortChooser::choose(const Question& asked) {
    if (asked.ports.empty()) return kNoPort;
    switch (settings_.choice) {
        case PathChoice::ecmp: return by_hash(asked.ports, asked.transit.flow);
        case PathChoice::destination:
            return asked.routes.port_of(node_, asked.transit.destination, asked.ports);
        case PathChoice::adaptive: return shortest(asked);
        case PathChoice::ugal: return has_gap() ? by_flowlet(asked) : shortest(asked);
        case PathChoice::flowlet: return by_flowlet(asked);
        case PathChoice::spray: return sprayed(asked);
    }
    return kNoPort;
}

// Loads.

// How long a packet would wait at a port, in picoseconds.
uint64_t PortChooser::wait_of(Instant now, uint16_t port) const {
    const Port& to = ports_[port];
    const int64_t rest = std::max<int64_t>((to.busy_until - now).ps, 0);
    const uint64_t queued = to.ps_per_byte != 0 ? uint64_t{to.queued_bytes} * to.ps_per_byte
                                                : to.queued_bytes * kib_ps_[port] / kKib;
    return static_cast<uint64_t>(rest) + queued;
}

// The load in steps, as it was when first read in this period.
uint64_t PortChooser::graded(Instant now, uint16_t port) {
    const auto read = [&] {
        const uint64_t step_ps = settings_.load_step_bytes * kib_ps_[port] / kKib;
        const uint64_t wait = wait_of(now, port);
        return step_ps == 0 ? wait : wait / step_ps;
    };
    if (settings_.load_period.ps == 0) return read();
    Grade& grade = grades_[port];
    const int64_t period = now.ps / settings_.load_period.ps;
    if (grade.period != period) grade = {period, read()};
    return grade.load;
}

uint64_t PortChooser::load_of(const Question& asked, uint16_t port) {
    if (has_exact_loads_) [[likely]]
        return wait_of(asked.now, port);
    const bool is_warned =
        warnings_.is_used() &&
        warnings_.is_warned(asked.routes, port, neighbours_[port], asked.transit.destination);
    return graded(asked.now, port) + (is_warned ? kWarned : 0);
}

// Choices.

// The search begins at a random place for each packet, so that all empty queues are used.
uint16_t PortChooser::shortest(const Question& asked) {
    const PortList& ports = asked.ports;
    const size_t first = scale(draw_of(asked), ports.size());
    uint16_t best = ports[first];
    uint64_t lowest = UINT64_MAX;
    for (size_t i = 0; i < ports.size(); ++i) {
        const uint16_t port = ports[(first + i) % ports.size()];
        if (!ports_[port].is_up) continue;
        const uint64_t load = load_of(asked, port);
        if (load >= lowest) continue;
        lowest = load;
        best = port;
    }
    return best;
}

uint16_t PortChooser::by_flowlet(const Question& asked) {
    Flowlet& flowlet = flowlets_.of(asked.transit.flow, asked.now);
    const bool is_close = flowlets_.is_close(flowlet, asked.now);
    if (!is_close || !leads_on(asked, flowlet.port, false)) flowlet.port = shortest(asked);
    flowlet.last = asked.now;
    return flowlet.port;
}

// Acknowledgements of packets that came early repeat one PSN, so each of them draws by its time of
// arrival. Packets of a port that is down go to the next port.
uint16_t PortChooser::sprayed(const Question& asked) const {
    const PortList& ports = asked.ports;
    const uint64_t flow = flow_of(asked.transit.flow);
    const bool is_data = (asked.transit.flags & Transit::kData) != 0;
    const size_t place =
        is_data ? spray_place(asked.psn, flow, asked.transit.hops, ports.size())
                : scale(base::mix64(flow + static_cast<uint64_t>(asked.now.ps)), ports.size());
    for (size_t i = 0; i < ports.size(); ++i) {
        const uint16_t port = ports[(place + i) % ports.size()];
        if (ports_[port].is_up) return port;
    }
    return ports[place];
}

// Universal globally-adaptive load-balanced routing (Kim et al., "Technology-Driven,
// Highly-Scalable Dragonfly Topology", 2008), as in switches of products: they decide by their own
// queues. The second switch of the packet's own group decides too, because it knows the queue of
// the way that most are sent to (progressive; Jiang et al., 2009). A detour takes one random way of
// this switch into another group; from there packets go the shortest way. It has twice the hops, so
// it must wait for less than half.
uint16_t PortChooser::choose_ugal(const Question& asked) {
    if (asked.ports.empty()) return kNoPort;
    const uint16_t detour = detour_for(asked);
    Flowlet* flowlet = has_gap() ? &flowlets_.of(asked.transit.flow, asked.now) : nullptr;
    if (flowlet != nullptr) {
        const bool is_close = flowlets_.is_close(*flowlet, asked.now);
        flowlet->last = asked.now;
        if (is_close && leads_on(asked, flowlet->port, detour != kNoPort)) return flowlet->port;
    }
    uint16_t chosen = shortest(asked);
    const auto bias = static_cast<uint64_t>(settings_.detour_bias.ps);
    if (detour != kNoPort && (!ports_[chosen].is_up ||
                              wait_of(asked.now, chosen) > 2 * wait_of(asked.now, detour) + bias))
        chosen = detour;
    if (flowlet != nullptr) flowlet->port = chosen;
    return chosen;
}

// Whether the port of a flowlet is still one that the packet may take.
bool PortChooser::leads_on(const Question& asked, uint16_t port, bool with_detours) const {
    if (!ports_[port].is_up) return false;
    if (std::ranges::find(asked.ports, port) != asked.ports.end()) return true;
    return with_detours &&
           std::ranges::find(dragonfly_.ways, port, &GroupPlan::Way::port) != dragonfly_.ways.end();
}

// A random way into a group that is neither the packet's own nor that of its destination. kNoPort:
// the destination is in this group, or there is no such way.
uint16_t PortChooser::detour_for(const Question& asked) const {
    if (dragonfly_.ways.empty()) return kNoPort;
    const uint32_t to = (*dragonfly_.of_endpoint)[asked.transit.destination];
    if (to == dragonfly_.group) return kNoPort;
    const size_t first = scale(base::mix64(draw_of(asked)), dragonfly_.ways.size());
    for (size_t i = 0; i < dragonfly_.ways.size(); ++i) {
        const GroupPlan::Way& way = dragonfly_.ways[(first + i) % dragonfly_.ways.size()];
        const bool is_short = std::ranges::find(asked.ports, way.port) != asked.ports.end();
        if (way.group != to && !is_short && ports_[way.port].is_up) return way.port;
    }
    return kNoPort;
}

}  // namespace tulle::fabric
