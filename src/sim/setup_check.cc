#include "sim/setup_check.h"

#include <algorithm>

#include "base/units.h"
#include "cluster/framing.h"
#include "fabric/buffer.h"
#include "fabric/credits.h"
#include "fabric/time_tree.h"

namespace tulle::sim {
namespace {

using base::Error;
using topology::Cable;
using topology::Node;

constexpr uint32_t kMaxPorts = 8000;  // sources of a switch's time tree

class SetupCheck {
public:
    SetupCheck(const Setup& setup, const Wiring& wiring) : setup_(setup), wiring_(wiring) {}

    std::optional<Error> run() const;

private:
    std::optional<Error> check_fabric() const;
    std::optional<Error> check_room(uint32_t node) const;
    std::optional<Error> check_flows() const;
    std::optional<Error> check_faults() const;
    std::optional<Error> check_paths() const;

    const Setup& setup_;
    const Wiring& wiring_;
};

std::optional<Error> SetupCheck::run() const {
    for (const Node& node : setup_.graph.nodes) {
        if (node.is_host() && node.port_count != 1)
            return Error{"host " + node.name + " has " + std::to_string(node.port_count) +
                         " ports: make it a host for each adapter, with one port each"};
        if (node.port_count > kMaxPorts)
            return Error{"switch " + node.name + " has more than " + std::to_string(kMaxPorts) +
                         " ports: use several switches"};
    }
    if (auto error = check_fabric()) return error;
    if (auto error = check_flows()) return error;
    if (auto error = check_faults()) return error;
    return check_paths();
}

std::optional<Error> SetupCheck::check_fabric() const {
    for (const Cable& cable : setup_.graph.cables)
        if (wiring_.delay_of(cable).ps <= 0)
            return Error{"a cable of " + setup_.graph.nodes[cable.a.node].name +
                         " has no delay: give it one, such as 'delay: 10ns'"};
    for (uint32_t node = 0; node < setup_.graph.nodes.size(); ++node)
        if (!setup_.graph.nodes[node].is_host())
            if (auto error = check_room(node)) return error;
    const fabric::Settings& f = setup_.fabric;
    if (f.back_pressure.above_bytes != 0 && (f.flow_control == fabric::FlowControl::credits ||
                                             (f.flow_control == fabric::FlowControl::pfc &&
                                              (f.pfc.priorities >> f.back_pressure.lane & 1) != 0)))
        return Error{
            "the words of fabric.back_pressure would have to wait for room: its lane has "
            "to be one that may lose packets"};
    if (f.flow_control != fabric::FlowControl::credits) return std::nullopt;
    const uint32_t any = cluster::Framing(f).room_for_any(setup_.host.mtu);
    const fabric::CreditScale scale(f.credits.unit_bytes, f.credits.counter_bits);
    const uint32_t packet = scale.blocks_of(any) * scale.bytes();
    if (packet + f.credits.update_bytes > scale.most_bytes())
        return Error{"a credit update after " + base::bytes_to_string(f.credits.update_bytes) +
                     " never comes: no more than " + base::bytes_to_string(scale.most_bytes()) +
                     " are given at a time, packets included"};
    if (f.credits.lane_buffer_bytes < packet + f.credits.update_bytes)
        return Error{"a virtual lane's buffer of " +
                     base::bytes_to_string(f.credits.lane_buffer_bytes) +
                     " cannot take a packet and wait for a credit update: give it " +
                     base::bytes_to_string(packet + f.credits.update_bytes) + " at least"};
    return std::nullopt;
}

// Whether a switch has room for a packet. Without it a sender that knows no timeout would send the
// first one again without end.
std::optional<Error> SetupCheck::check_room(uint32_t node) const {
    const fabric::Settings& own = wiring_.settings_of(node);
    const std::string& name = setup_.graph.nodes[node].name;
    if (own.node.buffer_holds_all &&
        wiring_.reserved_bytes(node) + setup_.host.mtu >= own.node.buffer_bytes)
        return Error{"the buffer of " + name + " is " +
                     base::bytes_to_string(own.node.buffer_bytes) +
                     ", and reserves and headroom of its ports take " +
                     base::bytes_to_string(wiring_.reserved_bytes(node)) + " of it: give it more"};
    if (own.flow_control != fabric::FlowControl::none) return std::nullopt;
    const uint32_t packet = cluster::Framing(own).room_for_any(setup_.host.mtu);
    if (fabric::Buffer(own, wiring_.shared_bytes(node)).admit_lossy(0, packet)) return std::nullopt;
    return Error{"an empty queue of " + name + " cannot take a packet, which has up to " +
                 base::bytes_to_string(packet) +
                 ": give the switch more buffer, a larger alpha or a larger port_buffer"};
}

std::optional<Error> SetupCheck::check_flows() const {
    const size_t hosts = setup_.graph.host_count();
    for (const Flow& flow : setup_.flows) {
        if (flow.source >= hosts || flow.destination >= hosts)
            return Error{"a flow from host " + std::to_string(flow.source) + " to host " +
                         std::to_string(flow.destination) + ", but there are " +
                         std::to_string(hosts) + " hosts, counted from 0"};
        if (flow.source == flow.destination)
            return Error{"a flow from host " + std::to_string(flow.source) +
                         " to itself: give it another destination"};
        if (flow.path >= 0 && setup_.host.paths.are_several())
            return Error{"a flow from host " + std::to_string(flow.source) +
                         " has a path of its own, but hosts.paths.policy spreads packets over "
                         "several; write policy: one"};
        if (flow.start >= fabric::TimeTree::kHorizon)
            return Error{"a flow starts after " +
                         base::to_string(fabric::TimeTree::kHorizon - Instant{}) +
                         ", later than a run can last"};
    }
    return std::nullopt;
}

std::optional<Error> SetupCheck::check_faults() const {
    for (const Fault& fault : setup_.faults) {
        const bool is_cable =
            fault.kind == Fault::Kind::cable_down || fault.kind == Fault::Kind::cable_up;
        const bool is_switch =
            fault.kind == Fault::Kind::switch_down || fault.kind == Fault::Kind::switch_up;
        const size_t count = is_cable ? setup_.graph.cables.size() : setup_.graph.nodes.size();
        if (fault.subject >= count)
            return Error{"a fault names " + std::string(is_cable ? "cable " : "node ") +
                         std::to_string(fault.subject) + ", but there are " +
                         std::to_string(count)};
        if (!is_cable && setup_.graph.nodes[fault.subject].is_host() == is_switch)
            return Error{"a fault of a " + std::string(is_switch ? "switch" : "host") + " names " +
                         setup_.graph.nodes[fault.subject].name + ", which is none"};
    }
    return std::nullopt;
}

std::optional<Error> SetupCheck::check_paths() const {
    for (const ExplicitPath& path : setup_.paths)
        for (const auto* nodes : {&path.data, &path.acknowledgements})
            for (size_t i = 0; i + 1 < nodes->size(); ++i) {
                const uint32_t from = (*nodes)[i];
                const uint32_t to = (*nodes)[i + 1];
                const auto links = from < setup_.graph.nodes.size()
                                       ? wiring_.of(from)
                                       : std::span<const topology::Ports::Link>{};
                const auto leads = [to](const auto& l) {
                    return l.is_cabled() && l.peer.node == to;
                };
                if (std::ranges::none_of(links, leads))
                    return Error{"a path goes from node " + std::to_string(from) + " to node " +
                                 std::to_string(to) + ", but there is no cable between them"};
            }
    return std::nullopt;
}

}  // namespace

std::optional<Error> find_wrong(const Setup& setup, const Wiring& wiring) {
    return SetupCheck(setup, wiring).run();
}

}  // namespace tulle::sim
