// The summary at the end of a text report.
#include <algorithm>

#include "decode/text_report.h"

namespace tulle::decode {
namespace {

constexpr size_t kShownNumbers = 20;
constexpr size_t kShownFlows = 20;

std::string numbers_text(const std::vector<uint64_t>& numbers, uint64_t count) {
    std::string text;
    const size_t shown = std::min(numbers.size(), kShownNumbers);
    for (size_t i = 0; i < shown; ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", numbers[i]);
    if (count > shown) text += fmt::format(" and {} more", count - shown);
    return text;
}

template <class Map>
std::string counts_text(const Map& counts) {
    std::string text;
    for (const auto& [name, count] : counts)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
    return text;
}

void print_line(Writing& output, std::string_view name, uint64_t count, std::string_view rest) {
    output.print("{:<14}{:>10}{}{}\n", name, count, rest.empty() ? "" : "   ", rest);
}

std::string other_packets_text(const Summary& summary) {
    std::string text =
        fmt::format("{} RoCE or InfiniBand, {} other", summary.roce_packets, summary.foreign);
    const auto add = [&](uint64_t count, std::string_view what) {
        if (count != 0) text += fmt::format(", {} {}", count, what);
    };
    add(summary.malformed, "malformed");
    add(summary.flow_control_packets, "flow control");
    add(summary.pause_frames, "pause");
    return text + fmt::format(", {} bytes in {:.6f} s", summary.wire_bytes, summary.duration_s());
}

void print_congestion(const Summary& summary, Writing& output) {
    print_line(output, "CNPs", summary.cnps, "");
    print_line(output, "ECN CE marks", summary.ecn_ce,
               summary.fecn + summary.becn == 0
                   ? ""
                   : fmt::format("{} FECN, {} BECN", summary.fecn, summary.becn));
    print_line(output, "Pause frames", summary.pause_frames, "");
}

void print_opcodes(const Summary& summary, Writing& output) {
    if (summary.roce_packets == 0) return;
    output.print("\n{:<34}{:>10}\n", "opcode", "packets");
    for (size_t opcode = 0; opcode < summary.by_opcode.size(); ++opcode) {
        if (summary.by_opcode[opcode] == 0) continue;
        output.print("{:<34}{:>10}\n", wire::opcode_name(static_cast<uint8_t>(opcode)),
                     summary.by_opcode[opcode]);
    }
}

void print_flow(Writing& output, size_t width, std::string_view name, const FlowTotals& totals) {
    output.print("{:<{}}{:>10}{:>15}{:>12}{:>15}{:>8}\n", name, width, totals.packets,
                 totals.payload_bytes, totals.operations, totals.retransmitted, totals.naks);
}

void print_flows(const Summary& summary, Writing& output) {
    const auto rows = summary.busiest_flows(kShownFlows);
    if (rows.empty()) return;
    std::vector<std::string> names;
    size_t width = 34;
    for (const auto& [key, totals] : rows) {
        names.push_back(fmt::format("{} > {} {} QP 0x{:06x}", to_string(key.source),
                                    to_string(key.destination), service_name(key.service), key.qp));
        width = std::max(width, names.back().size());
    }
    output.print("\n{:<{}}{:>10}{:>15}{:>12}{:>15}{:>8}\n", "flow", width, "packets",
                 "payload bytes", "operations", "retransmitted", "NAKs");
    for (size_t i = 0; i < rows.size(); ++i) print_flow(output, width, names[i], rows[i].second);
    if (summary.flows.size() > rows.size())
        output.print("and {} flows more\n", summary.flows.size() - rows.size());
    if (summary.other_flows.packets != 0)
        print_flow(output, width, "flows not told apart", summary.other_flows);
}

}  // namespace

void print_summary(const Summary& summary, Writing& output) {
    print_line(output, "Packets", summary.packets, other_packets_text(summary));
    if (summary.repeated != 0)
        print_line(output, "Seen again", summary.repeated, "at another interface; not counted");
    print_line(output, "Bad ICRC", summary.bad_icrc,
               summary.bad_icrc == 0
                   ? ""
                   : "packets " + numbers_text(summary.bad_icrc_packets, summary.bad_icrc));
    if (summary.bad_vcrc != 0) print_line(output, "Bad VCRC", summary.bad_vcrc, "");
    if (summary.bad_lpcrc != 0) print_line(output, "Bad LPCRC", summary.bad_lpcrc, "");
    print_line(output, "Retransmitted", summary.retransmitted, "");
    print_line(output, "PSN gaps", summary.psn_gaps,
               summary.psn_gaps == 0 ? "" : fmt::format("{} PSNs missing", summary.psns_missing));
    if (summary.out_of_order != 0) print_line(output, "Out of order", summary.out_of_order, "");
    print_line(output, "NAKs", summary.naks, counts_text(summary.naks_by_reason));
    print_congestion(summary, output);
    uint64_t operations = 0;
    for (const auto& [outcome, count] : summary.operations_by_outcome) operations += count;
    print_line(output, "Operations", operations, counts_text(summary.operations_by_outcome));
    print_opcodes(summary, output);
    print_flows(summary, output);
}

}  // namespace tulle::decode
