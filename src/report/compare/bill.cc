#include "report/compare/bill.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/int128.h"
#include "base/units.h"
#include "sim/cables.h"

namespace tulle::report {
namespace {

using scenario::LinkLayer;
using scenario::PricedPart;
using scenario::Prices;

LinkLayer link_layer(const sim::Setup& setup) {
    switch (setup.fabric.framing.encapsulation) {
        case wire::Encapsulation::infiniband_local:
        case wire::Encapsulation::infiniband_global: return LinkLayer::infiniband;
        default: return LinkLayer::ethernet;
    }
}

// Requirements for a part.
struct Need {
    LinkLayer link = LinkLayer::ethernet;
    uint64_t rate_bps = 0;
    uint32_t ports = 0;
    uint32_t reach_mm = 0;
};

bool serves(const PricedPart& part, const Need& need) {
    return (part.link == LinkLayer::any || part.link == need.link) &&
           part.rate_bps >= need.rate_bps && part.ports >= need.ports &&
           part.reach_mm >= need.reach_mm;
}

// The slowest and smallest part that suffices.
const PricedPart* choose(const std::vector<PricedPart>& parts, const Need& need) {
    const PricedPart* best = nullptr;
    for (const PricedPart& part : parts)
        if (serves(part, need) &&
            (best == nullptr || std::tuple(part.rate_bps, part.ports, part.price) <
                                    std::tuple(best->rate_bps, best->ports, best->price)))
            best = &part;
    return best;
}

// The smallest with enough ports at the slowest sufficient rate; a faster one would be another
// fabric.
const PricedPart* choose_switch(const std::vector<PricedPart>& parts, Need need) {
    Need any_size = need;
    any_size.ports = 0;
    const PricedPart* slowest = choose(parts, any_size);
    const PricedPart* best = choose(parts, need);
    if (best != nullptr && best->rate_bps != slowest->rate_bps) return nullptr;
    return best;
}

uint32_t most_ports(const std::vector<PricedPart>& parts, uint64_t rate_bps, LinkLayer link) {
    uint32_t most = 0;
    for (const PricedPart& part : parts)
        if (part.rate_bps == rate_bps && (part.link == LinkLayer::any || part.link == link))
            most = std::max(most, part.ports);
    return most;
}

class Counter {
public:
    Counter(const sim::Setup& setup, const Prices& prices)
        : setup_(setup), prices_(prices), link_(link_layer(setup)) {
        bill_.currency = prices.currency;
        bill_.is_sample = prices.is_sample;
    }

    Bill count() {
        std::vector<uint32_t> cabled(setup_.graph.nodes.size());
        std::vector<uint64_t> fastest(setup_.graph.nodes.size());
        for (const topology::Cable& cable : setup_.graph.cables)
            for (const topology::CableEnd end : {cable.a, cable.b}) {
                ++cabled[end.node];
                fastest[end.node] = std::max(fastest[end.node], rate_bps(cable));
            }
        for (uint32_t node = 0; node < setup_.graph.nodes.size(); ++node)
            count_node(setup_.graph.nodes[node], cabled[node], fastest[node]);
        for (const topology::Cable& cable : setup_.graph.cables) count_cable(cable);
        for (const BillLine& line : bill_.lines) {
            bill_.price += line.price;
            bill_.milliwatts += line.milliwatts;
            bill_.unpriced += line.is_priced ? 0 : line.count;
            bill_.guessed += line.price_is_guess ? line.price : 0;
        }
        return std::move(bill_);
    }

private:
    uint64_t rate_bps(const topology::Cable& cable) const {
        if (cable.rate_bps != 0) return cable.rate_bps;
        constexpr uint64_t kBytes = 1'000'000;
        const auto ps = static_cast<uint64_t>(setup_.fabric.link.rate.time_for(kBytes).ps);
        return static_cast<uint64_t>(base::uint128_t{kBytes} * 8'000'000'000'000u / ps);
    }

    void count_node(const topology::Node& node, uint32_t ports, uint64_t rate) {
        const Need need{link_, rate, node.is_host() ? 0 : ports, 0};
        if (node.is_host()) {
            ++bill_.adapters;
            add(choose(prices_.adapters, need), "adapter", 1);
            return;
        }
        ++bill_.switches;
        bill_.switch_ports += ports;
        const PricedPart* part = choose_switch(prices_.switches, need);
        if (part == nullptr) note_size(need);
        add(part, fmt::format("switch with {} ports", ports), 1);
    }

    // No message if no switch of the kind has a price: the bill shows that.
    void note_size(Need need) {
        const uint32_t ports = need.ports;
        need.ports = 0;
        const PricedPart* slowest = choose(prices_.switches, need);
        if (slowest == nullptr) return;
        std::string problem = fmt::format(
            "no {} {} switch in {} has {} ports, as one of the topology does; the largest has {}: "
            "add a model that has them, or choose a topology of smaller switches",
            base::to_string(base::Rate::bits_per_second(slowest->rate_bps)),
            link_ == LinkLayer::infiniband ? "InfiniBand" : "Ethernet", prices_.file, ports,
            most_ports(prices_.switches, slowest->rate_bps, link_));
        if (std::find(bill_.problems.begin(), bill_.problems.end(), problem) ==
            bill_.problems.end())
            bill_.problems.push_back(std::move(problem));
    }

    void count_cable(const topology::Cable& cable) {
        ++bill_.cables;
        Need need{link_, rate_bps(cable), 0, length_mm(cable)};
        if (const PricedPart* copper = choose(prices_.copper, need)) {
            ++bill_.copper_cables;
            add(copper, "", 1);
            return;
        }
        need.reach_mm = 0;
        bill_.transceivers += 2;
        add(choose(prices_.optics, need), "transceiver", 2);
        add(choose(prices_.fibre, need), "fibre", 1);
    }

    uint32_t length_mm(const topology::Cable& cable) const {
        if (cable.length_mm != 0) return cable.length_mm;
        return static_cast<uint32_t>(sim::cable_delay(setup_, cable).ps /
                                     sim::kPicosecondsPerMillimetre);
    }

    void add(const PricedPart* part, const std::string& otherwise, uint64_t count) {
        const std::string& name = part != nullptr ? part->name : otherwise;
        auto line = std::find_if(bill_.lines.begin(), bill_.lines.end(),
                                 [&](const BillLine& one) { return one.part == name; });
        if (line == bill_.lines.end())
            line = bill_.lines.insert(bill_.lines.end(),
                                      BillLine{.part = name, .is_priced = part != nullptr});
        line->count += count;
        if (part == nullptr) return;
        line->each = part->price;
        line->price_is_guess = scenario::is_guess(part->price_source);
        line->watts_are_guess = scenario::is_guess(part->watts_source);
        line->price += part->price * count;
        line->milliwatts += part->milliwatts * count;
    }

    const sim::Setup& setup_;
    const Prices& prices_;
    const LinkLayer link_;
    Bill bill_;
};

}  // namespace

Bill bill_of(const sim::Setup& setup, const Prices& prices) {
    return Counter(setup, prices).count();
}

std::string sum_text(const Bill& bill) {
    return (bill.is_whole() ? "" : "> ") + price_text(bill.price);
}

std::string basis_text(const Bill& bill) {
    std::string text = bill.is_sample ? ", sample prices" : "";
    if (bill.guessed != 0 && bill.price != 0)
        text +=
            fmt::format(", {} % of it guesses",
                        static_cast<uint64_t>(
                            (base::uint128_t{bill.guessed} * 100 + bill.price / 2) / bill.price));
    return text;
}

std::string price_text(uint64_t thousandths) {
    const uint64_t whole = (thousandths + 500) / 1000;
    if (whole >= 1'000'000)
        return fmt::format("{}.{:02} M", whole / 1'000'000, whole / 10'000 % 100);
    if (whole >= 1000) return fmt::format("{},{:03}", whole / 1000, whole % 1000);
    return std::to_string(whole);
}

std::string watts_text(uint64_t milliwatts) {
    if (milliwatts < 1'000'000) return fmt::format("{} W", (milliwatts + 500) / 1000);
    return fmt::format("{}.{} kW", milliwatts / 1'000'000, milliwatts / 100'000 % 10);
}

}  // namespace tulle::report
