#include "report/names.h"

#include <fmt/format.h>

namespace tulle::report {

Names::Names(const sim::Setup& setup)
    : setup_(&setup), hosts_(setup.graph.endpoints()), ports_(setup.graph) {}

std::string Names::port(uint32_t node, uint16_t port) const {
    const topology::Node& at = setup_->graph.nodes[node];
    return at.port_count == 1 ? at.name : fmt::format("{}[{}]", at.name, port);
}

std::string Names::link(uint32_t node, uint16_t port) const {
    return fmt::format("{} -> {}", this->port(node, port),
                       this->node(ports_.at({node, port}).peer.node));
}

std::string Names::cable(uint32_t cable) const {
    const topology::Cable& at = setup_->graph.cables[cable];
    return fmt::format("{} - {}", port(at.a.node, at.a.port), port(at.b.node, at.b.port));
}

std::string Names::flow(size_t flow) const {
    const sim::Flow& at = setup_->flows[flow];
    return fmt::format("flow {} ({} -> {})", flow, endpoint(at.source), endpoint(at.destination));
}

std::string Names::group(const sim::Flow& flow) const {
    return flow.group < setup_->groups.size() ? setup_->groups[flow.group] : "";
}

std::string Names::lane(uint8_t lane) const {
    const bool is_virtual = setup_->fabric.flow_control == fabric::FlowControl::credits;
    return fmt::format("{} {}", is_virtual ? "VL" : "priority", lane);
}

const char* drop_name(sim::Drop cause) {
    switch (cause) {
        case sim::Drop::buffer_full: return "buffer_full";
        case sim::Drop::headroom_full: return "headroom_full";
        case sim::Drop::no_route: return "no_route";
        case sim::Drop::link_down: return "link_down";
        case sim::Drop::corrupted: return "corrupted";
        case sim::Drop::head_of_queue: return "head_of_queue";
        case sim::Drop::watchdog: return "watchdog";
        case sim::Drop::hop_limit: return "hop_limit";
        case sim::Drop::other_tenant: return "other_tenant";
    }
    return "unknown";
}

const char* status_name(transport::Status status) {
    using transport::Status;
    switch (status) {
        case Status::success: return "success";
        case Status::local_length_error: return "local_length_error";
        case Status::local_qp_operation_error: return "local_qp_operation_error";
        case Status::local_eec_operation_error: return "local_eec_operation_error";
        case Status::local_protection_error: return "local_protection_error";
        case Status::flushed: return "flushed";
        case Status::window_bind_error: return "window_bind_error";
        case Status::bad_response: return "bad_response";
        case Status::local_access_error: return "local_access_error";
        case Status::remote_invalid_request: return "remote_invalid_request";
        case Status::remote_access_error: return "remote_access_error";
        case Status::remote_operational_error: return "remote_operational_error";
        case Status::retry_exceeded: return "retry_exceeded";
        case Status::rnr_retry_exceeded: return "rnr_retry_exceeded";
        case Status::local_rdd_violation: return "local_rdd_violation";
        case Status::remote_invalid_rd_request: return "remote_invalid_rd_request";
        case Status::remote_aborted: return "remote_aborted";
        case Status::invalid_ee_context: return "invalid_ee_context";
        case Status::invalid_ee_state: return "invalid_ee_state";
        case Status::fatal: return "fatal";
        case Status::response_timeout: return "response_timeout";
        case Status::general_error: return "general_error";
    }
    return "unknown";
}

const char* end_name(sim::Result::End end) {
    switch (end) {
        case sim::Result::End::done: return "done";
        case sim::Result::End::stop_time: return "stop_time";
        case sim::Result::End::interrupted: return "interrupted";
        case sim::Result::End::stuck: return "stuck";
        case sim::Result::End::plugin_failed: return "plugin_failed";
    }
    return "unknown";
}

const char* outcome_name(const sim::FlowResult& flow) {
    return flow.has_ended() ? status_name(flow.status) : "unfinished";
}

}  // namespace tulle::report
