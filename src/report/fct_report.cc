#include "report/fct_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tulle::report {
namespace {

// 11.0.0.1 plus 256 times the number of the node.
uint32_t address_of(uint32_t node) {
    return 0x0b00'0001u + (node << 8);
}

// Flows between the same two hosts count their source ports from here.
constexpr uint32_t kFirstPort = 10'000;

}  // namespace

std::string fct_report(const Facts& facts) {
    std::vector<size_t> order;
    std::vector<uint32_t> ports;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> used;
    for (size_t i = 0; i < facts.flows(); ++i) {
        const sim::Flow& flow = facts.setup.flows[i];
        ports.push_back(kFirstPort + used[{flow.source, flow.destination}]++);
        if (facts.succeeded(i)) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return facts.end_of(a) < facts.end_of(b); });
    std::string text;
    for (const size_t i : order) {
        const sim::Flow& flow = facts.setup.flows[i];
        text += fmt::format(
            "{:08x} {:08x} {} {} {} {} {} {}\n", address_of(facts.names.hosts()[flow.source]),
            address_of(facts.names.hosts()[flow.destination]), ports[i], flow.destination_port,
            flow.bytes, flow.start.ps / 1000, facts.result.flows[i].completion.ps / 1000,
            facts.ideal.of_hpcc(flow).ps / 1000);
    }
    return text;
}

}  // namespace tulle::report
