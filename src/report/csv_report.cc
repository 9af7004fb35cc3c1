#include "report/csv_report.h"

#include <fmt/format.h>

#include "report/csv_values.h"

namespace tulle::report {

std::string csv_quoted(const std::string& name) {
    if (name.find_first_of(",\"\r\n") == std::string::npos) return name;
    std::string text = "\"";
    for (const char c : name) text.append(c == '"' ? 2 : 1, c);
    return text + "\"";
}

std::string csv_ns(int64_t picoseconds) {
    if (picoseconds % 1000 == 0) return std::to_string(picoseconds / 1000);
    return fmt::format("{}.{:03}", picoseconds / 1000, picoseconds % 1000);
}

std::string csv_ratio(uint64_t permille) {
    return fmt::format("{}.{:03}", permille / 1000, permille % 1000);
}

std::string flows_csv(const Facts& facts) {
    std::string text =
        "flow,id,group,src,dst,bytes,start_ns,fct_ns,ideal_ns,slowdown,goodput_bps,status\n";
    for (size_t i = 0; i < facts.flows(); ++i) {
        const sim::Flow& flow = facts.setup.flows[i];
        const sim::FlowResult& found = facts.result.flows[i];
        text += fmt::format(
            "{},{},{},{},{},{},{},{},{},{},{},{}\n", i, flow.id,
            csv_quoted(facts.names.group(flow)), csv_quoted(facts.names.endpoint(flow.source)),
            csv_quoted(facts.names.endpoint(flow.destination)), flow.bytes, csv_ns(flow.start.ps),
            found.finished ? csv_ns(found.completion.ps) : "", csv_ns(facts.ideal_of(i).ps),
            csv_ratio(facts.slowdown_permille(i)), facts.goodput_bps(i), outcome_name(found));
    }
    return text;
}

std::string links_csv(const Facts& facts) {
    std::string text =
        "from,port,to,peer_port,data_packets,control_packets,wire_bytes,busy_ns,busy_ratio,flows,"
        "peak_queue_bytes,paused_ns,ecn_marked,dropped\n";
    for (const sim::LinkResult& link : facts.result.links)
        text += fmt::format(
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_quoted(facts.names.node(link.node)),
            link.port, csv_quoted(facts.names.node(link.peer_node)), link.peer_port,
            link.data_packets, link.control_packets, link.wire_bytes, csv_ns(link.busy.ps),
            csv_ratio(facts.busy_permille(link)), link.flows, link.peak_queue_bytes,
            csv_ns(link.paused.ps), link.marked, dropped_by(link));
    return text;
}

}  // namespace tulle::report
