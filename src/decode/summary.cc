#include "decode/summary.h"

#include <algorithm>

namespace tulle::decode {

void Summary::add(const Packet& packet) {
    if (packet.sighting != Sighting::fresh) {
        ++repeated;
        const bool is_marked = packet.sighting == Sighting::again_marked;
        ecn_ce += is_marked && is_congestion_experienced(packet.frame);
        fecn += is_marked && packet.frame.transport.bth.fecn;
        return;
    }
    const int64_t time_ns = packet.record.time_ns;
    first_time_ns = packets == 0 ? time_ns : std::min(first_time_ns, time_ns);
    last_time_ns = packets == 0 ? time_ns : std::max(last_time_ns, time_ns);
    ++packets;
    wire_bytes += packet.record.original_size;
    bad_vcrc += packet.checksums.vcrc == false;
    bad_lpcrc += packet.checksums.lpcrc == false;
    switch (packet.frame.kind) {
        case wire::FrameKind::transport: return add_transport(packet);
        case wire::FrameKind::flow_control: ++flow_control_packets; return;
        case wire::FrameKind::pfc:
        case wire::FrameKind::pause: ++pause_frames; return;
        case wire::FrameKind::foreign: ++foreign; return;
        case wire::FrameKind::malformed: ++malformed; return;
    }
}

void Summary::add_transport(const Packet& packet) {
    ++roce_packets;
    ++by_opcode[packet.frame.transport.opcode()];
    if (!packet.is_damaged()) return add_noticed(packet);
    ++bad_icrc;
    if (bad_icrc_packets.size() < kMostBadNumbers) bad_icrc_packets.push_back(packet.record.number);
}

void Summary::add_noticed(const Packet& packet) {
    const Noticed& noticed = packet.noticed;
    FlowTotals& flow = totals_of(flow_of(packet.frame));
    ++flow.packets;
    flow.payload_bytes += payload_bytes(packet.frame);
    flow.retransmitted += noticed.retransmission;
    retransmitted += noticed.retransmission;
    out_of_order += noticed.out_of_order;
    psn_gaps += noticed.psn_gap != 0;
    psns_missing += noticed.psn_gap;
    cnps += packet.frame.transport.opcode() == wire::kCnpOpcode;
    ecn_ce += is_congestion_experienced(packet.frame);
    fecn += packet.frame.transport.bth.fecn;
    becn += packet.frame.transport.bth.becn;
    if (const std::string_view nak = nak_name(packet.frame); !nak.empty()) {
        ++naks;
        ++naks_by_reason[std::string(nak)];
        ++totals_of(noticed.answers.value_or(flow_of(packet.frame))).naks;
    }
    for (const FollowedOperation& operation : noticed.completed) {
        ++operations;
        ++operations_by_outcome[outcome_text(operation)];
        const FlowKey key{operation.source, operation.destination, operation.service,
                          operation.dest_qp.value};
        ++totals_of(key).operations;
    }
}

void Summary::add_unfinished(const FollowedOperation& operation) {
    ++operations_by_outcome[outcome_text(operation)];
}

double Summary::duration_s() const {
    return static_cast<double>(last_time_ns - first_time_ns) * 1e-9;
}

std::vector<Summary::FlowRow> Summary::busiest_flows(size_t most) const {
    std::vector<FlowRow> rows(flows.begin(), flows.end());
    std::stable_sort(rows.begin(), rows.end(), [](const FlowRow& a, const FlowRow& b) {
        return a.second.packets > b.second.packets;
    });
    rows.resize(std::min(rows.size(), most));
    return rows;
}

FlowTotals& Summary::totals_of(const FlowKey& key) {
    if (const auto it = flows.find(key); it != flows.end()) return it->second;
    return flows.size() < kMostFlows ? flows[key] : other_flows;
}

}  // namespace tulle::decode
