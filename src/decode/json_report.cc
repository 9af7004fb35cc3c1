#include "decode/json_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "decode/layers.h"

namespace tulle::decode {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostFlows = 1000;  // in the JSON summary, the busiest first

template <class T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}
Json or_null(const std::optional<wire::RKey>& key) {
    return key ? Json(key->value) : Json(nullptr);
}
Json hex_or_null(const std::optional<uint64_t>& value) {
    return value ? Json(fmt::format("0x{:x}", *value)) : Json(nullptr);
}

std::string dumped(const Json& json) {
    return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

// A second header of the same name in a packet gets a number, because keys must differ.
Json headers_json(const wire::Frame& frame) {
    Json headers = Json::object();
    for (ShownLayer& layer : layers_of(frame, ShowAs::json).layers) {
        std::string key = layer.name;
        for (int number = 2; headers.contains(key); ++number)
            key = fmt::format("{} {}", layer.name, number);
        Json& fields = headers[key] = Json::object();
        for (ShownField& field : layer.fields) fields[field.name] = std::move(field.json);
    }
    return headers;
}

void add_transport(const Packet& packet, Json& object) {
    const wire::Bth& bth = packet.frame.transport.bth;
    object["opcode"] = wire::opcode_name(bth.opcode.value);
    object["dest_qp"] = bth.dest_qp.value;
    object["psn"] = bth.psn.value;
    object["payload_bytes"] = payload_bytes(packet.frame);
}

Json flows_json(const Summary& summary) {
    Json flows = Json::array();
    for (const auto& [key, totals] : summary.busiest_flows(kMostFlows)) {
        flows.push_back({{"source", to_string(key.source)},
                         {"destination", to_string(key.destination)},
                         {"service", service_name(key.service)},
                         {"dest_qp", key.qp},
                         {"packets", totals.packets},
                         {"payload_bytes", totals.payload_bytes},
                         {"operations", totals.operations},
                         {"retransmitted", totals.retransmitted},
                         {"naks", totals.naks}});
    }
    return flows;
}

Json by_opcode_json(const Summary& summary) {
    Json counts = Json::object();
    for (size_t opcode = 0; opcode < summary.by_opcode.size(); ++opcode)
        if (summary.by_opcode[opcode] != 0)
            counts[wire::opcode_name(static_cast<uint8_t>(opcode))] = summary.by_opcode[opcode];
    return counts;
}

}  // namespace

JsonReport::JsonReport(Writing& output) : output_(output) {
    output_.write("{\"packets\": [");
}

void JsonReport::packet(const Packet& packet) {
    output_.write(first_ ? "\n" : ",\n");
    output_.write(dumped(packet_json(packet)));
    first_ = false;
}

void JsonReport::finish(const Summary& summary, const std::vector<FollowedOperation>& unfinished,
                        const std::string& problem) {
    output_.write("\n],\n\"summary\": ");
    output_.write(dumped(summary_json(summary, unfinished)));
    if (!problem.empty()) {
        output_.write(",\n\"problem\": ");
        output_.write(dumped(Json(problem)));
    }
    output_.write("}\n");
}

Json packet_json(const Packet& packet) {
    const wire::Frame& frame = packet.frame;
    Json object = {{"number", packet.record.number},
                   {"time_ns", packet.record.time_ns},
                   {"captured_bytes", packet.record.bytes.size()},
                   {"wire_bytes", packet.record.original_size},
                   {"kind", kind_name(frame)},
                   {"source", to_string(source_of(frame))},
                   {"destination", to_string(destination_of(frame))},
                   {"opcode", nullptr},
                   {"dest_qp", nullptr},
                   {"psn", nullptr},
                   {"payload_bytes", nullptr}};
    if (!packet.record.interface_name.empty()) {
        object["interface"] = std::string(packet.record.interface_name);
        object["repeated"] = packet.sighting != Sighting::fresh;
    }
    if (packet.is_transport()) add_transport(packet, object);
    object["icrc_ok"] = or_null(packet.checksums.icrc);
    if (packet.checksums.icrc) object["icrc"] = frame.icrc.value;
    if (packet.checksums.vcrc) {
        object["vcrc_ok"] = *packet.checksums.vcrc;
        object["vcrc"] = frame.vcrc.value;
    }
    if (packet.checksums.lpcrc) object["lpcrc_ok"] = *packet.checksums.lpcrc;
    if (!frame.problem.empty()) object["problem"] = frame.problem;
    object["headers"] = headers_json(frame);
    if (const auto& message = packet.noticed.message)
        object["message"] = {{"first_psn", message->first_psn.value},
                             {"first_packet", message->first_packet}};
    object["notes"] = notes_of(packet);
    Json& completed = object["completed"] = Json::array();
    for (const FollowedOperation& operation : packet.noticed.completed)
        completed.push_back(operation_json(operation));
    return object;
}

Json operation_json(const FollowedOperation& operation) {
    const bool swaps = operation.kind == OperationKind::compare_swap;
    const auto none = std::optional<uint64_t>();
    return {
        {"kind", kind_name(operation.kind)},
        {"service", service_name(operation.service)},
        {"source", to_string(operation.source)},
        {"destination", to_string(operation.destination)},
        {"source_qp", operation.source_qp ? Json(operation.source_qp->value) : Json(nullptr)},
        {"dest_qp", operation.dest_qp.value},
        {"bytes", operation.bytes},
        {"whole", operation.whole},
        {"remote_address",
         operation.address ? Json(fmt::format("0x{:x}", operation.address->value)) : Json(nullptr)},
        {"rkey", or_null(operation.rkey)},
        {"immediate", or_null(operation.immediate)},
        {"invalidated_rkey", or_null(operation.invalidated)},
        {"compare", hex_or_null(operation.compare)},
        {"swap", hex_or_null(swaps ? operation.swap_or_add : none)},
        {"add", hex_or_null(swaps ? none : operation.swap_or_add)},
        {"original", hex_or_null(operation.original)},
        {"first_psn", operation.first_psn.value},
        {"last_psn", operation.last_psn.value},
        {"packets", operation.packets},
        {"retransmitted_packets", operation.retransmitted_packets},
        {"rnr_naks", operation.rnr_naks},
        {"first_packet", operation.begin.packet},
        {"last_packet", operation.end.packet},
        {"start_time_ns", operation.begin.time_ns},
        {"end_time_ns", operation.end.time_ns},
        {"outcome", outcome_text(operation)},
    };
}

Json summary_json(const Summary& summary, const std::vector<FollowedOperation>& unfinished) {
    Json object = {{"packets", summary.packets},
                   {"roce_packets", summary.roce_packets},
                   {"foreign", summary.foreign},
                   {"malformed", summary.malformed},
                   {"wire_bytes", summary.wire_bytes},
                   {"duration_s", summary.duration_s()},
                   {"bad_icrc", summary.bad_icrc},
                   {"bad_icrc_packets", summary.bad_icrc_packets},
                   {"bad_vcrc", summary.bad_vcrc},
                   {"bad_lpcrc", summary.bad_lpcrc},
                   {"by_opcode", by_opcode_json(summary)},
                   {"retransmitted", summary.retransmitted},
                   {"out_of_order", summary.out_of_order},
                   {"psn_gaps", summary.psn_gaps},
                   {"psns_missing", summary.psns_missing},
                   {"naks", summary.naks},
                   {"naks_by_reason", summary.naks_by_reason},
                   {"cnps", summary.cnps},
                   {"ecn_ce", summary.ecn_ce},
                   {"fecn", summary.fecn},
                   {"becn", summary.becn},
                   {"pause_frames", summary.pause_frames},
                   {"flow_control_packets", summary.flow_control_packets},
                   {"operations", summary.operations},
                   {"operations_by_outcome", summary.operations_by_outcome},
                   {"flows", flows_json(summary)}};
    Json& open = object["unfinished"] = Json::array();
    for (const FollowedOperation& operation : unfinished) open.push_back(operation_json(operation));
    if (summary.repeated != 0) object["repeated"] = summary.repeated;
    return object;
}

}  // namespace tulle::decode
