#include "scenario/control.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/words.h"
#include "control/adaptive_groups.h"
#include "scenario/key_reader.h"

namespace tulle::scenario {
namespace {

using Kind = sim::ControlSettings::Kind;

constexpr KnownKey kControlKeys[] = {
    {"kind", "one of given, sweep, distributed, native",
     "given: tables are right from the beginning, and again `fabric.route.reroute_delay` after a "
     "fault. sweep: a subnet manager writes them (InfiniBand). distributed: switches speak BGP "
     "(Ethernet with IP), or build a spanning tree by RSTP (RoCE v1). native: whichever of these "
     "the fabric has"},
    {"light", "duration or off",
     "time until the ends of a cable notice that it lost light, 1ms by default; off: BGP and RSTP "
     "have to wait for their timers, a subnet manager learns at once"},
    {"manager", "host", "with sweep: the host of the subnet manager, 0 by default"},
    {"standby", "host",
     "with sweep: the host of a second one, which takes over if the first fails"},
    {"route_time", "duration", "with sweep: routing time for each table entry; 50ns by default"},
    {"keepalive", "duration", "with BGP: time between keepalives, 60s by default"},
    {"hold", "duration",
     "with BGP: a neighbour that sends nothing for this long is dead; 180s by default"},
    {"bfd", "duration or off",
     "with BGP: time between hellos of BFD, three of which may be lost; off by default"},
    {"systems", "one of tier, switch",
     "with BGP: whether switches of one tier share an autonomous system, as RFC 7938 has "
     "it, or each has its own; tier by default"},
    {"message_time", "duration", "with distributed: time to handle a message, 50us by default"},
    {"install_time", "duration", "with BGP: time to write a table entry, 50us by default"},
    {"hello", "duration",
     "with RSTP: time between hellos, three of which may be lost; 2s by default"},
    {"forward_delay", "duration",
     "with RSTP: half the time that a port waits for a neighbour that does not answer; 15s by "
     "default"},
};

constexpr std::string_view kOfSweep[] = {"manager", "standby", "route_time"};
constexpr std::string_view kOfDistributed[] = {"message_time"};
constexpr std::string_view kOfBgp[] = {"keepalive", "hold", "bfd", "systems", "install_time"};
constexpr std::string_view kOfTree[] = {"hello", "forward_delay"};

class ControlReader : public KeyReader {
public:
    ControlReader(const Value& map, const Names& names, Notes& notes, sim::Setup& setup)
        : KeyReader(map, notes), names_(names), setup_(setup) {}

    void read(const Value& kind) {
        setup_.control.kind = kind_of(kind);
        if (setup_.control.kind != Kind::given && setup_.graph.switch_count() == 0)
            notes_.fail(kind.line, "control: there is no switch; write control: given");
        if (notes_.failed() || !map_.is_map()) return;
        refuse_others();
        read_light();
        if (setup_.control.kind == Kind::sweep) read_sweep();
        if (setup_.control.kind == Kind::distributed) read_distributed();
    }

private:
    bool is_infiniband() const {
        return setup_.fabric.flow_control == fabric::FlowControl::credits &&
               wire::is_infiniband(setup_.fabric.framing.encapsulation);
    }
    bool has_tree() const {
        return setup_.fabric.framing.encapsulation == wire::Encapsulation::roce_v1;
    }
    bool has_ip() const {
        const wire::Encapsulation own = setup_.fabric.framing.encapsulation;
        return own == wire::Encapsulation::roce_v2_ipv4 || own == wire::Encapsulation::roce_v2_ipv6;
    }

    Kind kind_of(const Value& value) {
        const std::string& word = value.text;
        if (word == "given") return Kind::given;
        const bool is_native = word == "native";
        if (word == "sweep" || (is_native && is_infiniband())) return check_sweep(value);
        if (word == "distributed" || (is_native && (has_ip() || has_tree())))
            return check_distributed(value);
        constexpr std::string_view kWords[] = {"given", "sweep", "distributed", "native"};
        notes_.fail(
            value.line,
            is_native
                ? fmt::format("control: neither a subnet manager nor BGP nor RSTP runs on {}; "
                              "write control: given",
                              setup_.fabric_name)
                : fmt::format("control: {}", base::unknown_word(word, kWords)));
        return Kind::given;
    }

    Kind check_sweep(const Value& value) {
        constexpr uint32_t kMostPorts = 254;
        if (!is_infiniband())
            notes_.fail(value.line, fmt::format("control: {} has no subnet manager; write control: "
                                                "distributed, or choose a profile of InfiniBand",
                                                setup_.fabric_name));
        else if (setup_.fabric.route.choice == fabric::PathChoice::ecmp)
            notes_.fail(value.line,
                        "control: a subnet manager writes one port for each destination, or groups "
                        "for adaptive routing; write fabric.route.choice: destination or adaptive");
        else if (setup_.fabric.route.choice != fabric::PathChoice::destination &&
                 !control::has_tiers(setup_.graph))
            notes_.fail(value.line,
                        "control: groups for adaptive routing are for fabrics with tiers, such as "
                        "fat-tree:k=8; write fabric.route.choice: destination, or control: given");
        else if (std::ranges::any_of(setup_.graph.nodes,
                                     [](const auto& node) { return node.port_count > kMostPorts; }))
            notes_.fail(value.line,
                        "control: a switch of InfiniBand has 254 ports at most; use several");
        setup_.control.sweep.adaptive =
            setup_.fabric.route.choice != fabric::PathChoice::destination;
        if (setup_.fabric.route.kind == fabric::RouteKind::up_down)
            setup_.control.sweep.engine = control::SweepEngine::up_down;
        return Kind::sweep;
    }

    Kind check_distributed(const Value& value) {
        if (has_tree()) return check_tree(value);
        if (!has_ip())
            notes_.fail(value.line,
                        fmt::format("control: BGP needs IP, and {} has none; write control: {}",
                                    setup_.fabric_name, is_infiniband() ? "sweep" : "given"));
        else if (setup_.fabric.route.kind != fabric::RouteKind::shortest)
            notes_.fail(value.line,
                        "control: BGP finds shortest paths; write fabric.route.kind: shortest");
        else if (setup_.fabric.route.choice == fabric::PathChoice::destination)
            notes_.fail(value.line,
                        "control: BGP gives a switch all equal ports; write fabric.route.choice: "
                        "ecmp, or another one that chooses among them");
        return Kind::distributed;
    }

    Kind check_tree(const Value& value) {
        setup_.control.distributed.protocol = control::Protocol::spanning_tree;
        if (setup_.fabric.route.kind != fabric::RouteKind::spanning_tree)
            notes_.fail(value.line,
                        "control: RSTP builds a spanning tree; write fabric.route.kind: "
                        "spanning_tree");
        return Kind::distributed;
    }

    // Refuses keys of another kind, which would be ignored.
    void refuse_others() {
        const auto refuse = [&](std::span<const std::string_view> keys, Kind kind,
                                std::string_view word) {
            for (const std::string_view key : keys)
                if (const Value* value = map_.find(key); value && setup_.control.kind != kind)
                    notes_.fail(value->line,
                                fmt::format("{} has no effect without control: {}", key, word));
        };
        refuse(kOfSweep, Kind::sweep, "sweep");
        refuse(kOfDistributed, Kind::distributed, "distributed");
        refuse(kOfBgp, Kind::distributed, "distributed");
        refuse(kOfTree, Kind::distributed, "distributed");
        const bool is_tree =
            setup_.control.distributed.protocol == control::Protocol::spanning_tree;
        using Keys = std::span<const std::string_view>;
        const Keys others = is_tree ? Keys(kOfBgp) : Keys(kOfTree);
        for (const std::string_view key : others)
            if (const Value* value = map_.find(key))
                notes_.fail(value->line, fmt::format("{} has no effect without {}", key,
                                                     is_tree ? "BGP" : "a spanning tree"));
        if (const Value* light = map_.find("light"); light && setup_.control.kind == Kind::given)
            notes_.fail(light->line, "light has no effect with control: given");
    }

    void read_light() {
        time_or_off("light", setup_.control.distributed.light);
        setup_.control.sweep.light = setup_.control.distributed.light;
    }

    void time_or_off(std::string_view key, base::Duration& into) {
        field(
            key, [](At<base::Duration> at) { return duration_or_off(std::move(at)); }, into);
    }
    void positive_time(std::string_view key, base::Duration& into) {
        field(
            key, [](At<base::Duration> at) { return positive_duration(std::move(at)); }, into);
    }

    void read_sweep() {
        control::SweepSettings& sweep = setup_.control.sweep;
        read_host("manager", sweep.manager);
        read_host("standby", sweep.standby);
        time("route_time", sweep.route);
        if (const Value* standby = map_.find("standby"); standby && sweep.standby == sweep.manager)
            notes_.fail(standby->line, "standby: the manager lives there; name another host");
    }

    void read_host(std::string_view key, uint32_t& into) {
        const Value* value = map_.find(key);
        if (value == nullptr) return;
        const auto host = names_.host(value->text);
        if (host)
            into = *host;
        else
            notes_.fail(value->line, fmt::format("{}: {}", key, host.error().message));
    }

    void read_distributed() {
        control::DistributedSettings& distributed = setup_.control.distributed;
        time("message_time", distributed.handle);
        positive_time("hello", distributed.bridge.hello);
        positive_time("forward_delay", distributed.bridge.forward_delay);
        positive_time("keepalive", distributed.speaker.keepalive);
        positive_time("hold", distributed.speaker.hold);
        time_or_off("bfd", distributed.speaker.bfd);
        word<control::SystemScheme>("systems",
                                    {{"tier", control::SystemScheme::by_tier},
                                     {"switch", control::SystemScheme::by_switch}},
                                    distributed.systems);
        time("install_time", distributed.install);
        if (distributed.speaker.hold < distributed.speaker.keepalive * 3)
            notes_.fail(map_.line,
                        "control: hold is shorter than three keepalives (RFC 4271, 4.4); write "
                        "keepalive: 3s and hold: 9s, or the like");
    }

    const Names& names_;
    sim::Setup& setup_;
};

}  // namespace

std::span<const KnownKey> control_keys() {
    return kControlKeys;
}

void read_control(const Value& value, const Names& names, Notes& notes, sim::Setup& setup) {
    if (value.is_text()) return ControlReader(value, names, notes, setup).read(value);
    if (!notes.expect_map(value, "control", kControlKeys)) return;
    const Value* kind = value.find("kind");
    if (kind == nullptr || !kind->is_text())
        return notes.fail(value.line, "control has no kind; write kind: distributed, or sweep");
    ControlReader(value, names, notes, setup).read(*kind);
}

}  // namespace tulle::scenario
