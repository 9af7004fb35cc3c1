#include "decode/qp_follower.h"

#include <algorithm>

#include "decode/facts.h"

namespace tulle::decode {
namespace {

// How many of the latest flows to try for an answer that fits none.
constexpr size_t kAskedFlows = 1024;

bool is_datagram(wire::Service service) {
    return service == wire::Service::ud || service == wire::Service::cnp;
}

// RESYNC of the reliable datagram service advances sequence numbers and carries nothing.
bool is_resync(const wire::Frame& frame) {
    return wire::operation_of(frame.transport.opcode()) == wire::Operation::resync;
}

// A datagram is a message by itself, and its sequence numbers promise nothing.
FollowedOperation datagram(const wire::Frame& frame, const FlowKey& flow, When when) {
    const wire::TransportHeaders& headers = frame.transport;
    FollowedOperation operation;
    operation.service = flow.service;
    operation.source = flow.source;
    operation.destination = flow.destination;
    operation.dest_qp = headers.bth.dest_qp;
    operation.source_qp = headers.deth.source_qp;
    operation.bytes = payload_bytes(frame);
    operation.packets = 1;
    operation.first_psn = operation.last_psn = headers.bth.psn;
    operation.begin = operation.end = when;
    operation.outcome = Outcome::delivered;
    if (headers.has(wire::kImmDt)) operation.immediate = headers.imm_dt.immediate.value;
    return operation;
}

}  // namespace

Noticed QpFollower::follow(const wire::Frame& frame, When when) {
    Noticed noticed;
    const wire::OpcodeInfo& info = frame.transport.info();
    if (!info.known || is_resync(frame)) return noticed;
    const FlowKey key = flow_of(frame);
    if (is_datagram(key.service)) {
        if (key.service == wire::Service::ud)
            noticed.completed.push_back(datagram(frame, key, when));
        return noticed;
    }
    Flow& flow = flow_for(key);
    Flow* requests = info.response ? requests_answered_by(flow, frame) : &flow;
    if (requests != nullptr) {
        pending_ -= requests->requests.pending();
        if (info.response) {
            noticed.answers = requests->requests.key();
            requests->requests.on_response(frame, when, noticed);
        } else {
            requests->requests.on_request(frame, when, noticed);
        }
        pending_ += requests->requests.pending();
    }
    keep_bounds(noticed.completed);
    return noticed;
}

std::vector<FollowedOperation> QpFollower::finish() {
    std::vector<FollowedOperation> open;
    for (Flow& flow : flows_) flow.requests.finish(open);
    flows_.clear();
    index_.clear();
    pending_ = 0;
    std::stable_sort(open.begin(), open.end(),
                     [](const FollowedOperation& a, const FollowedOperation& b) {
                         return a.begin.packet < b.begin.packet;
                     });
    return open;
}

QpFollower::Flow& QpFollower::flow_for(const FlowKey& key) {
    const auto [entry, is_new] = index_.try_emplace(key, flows_.end());
    if (is_new) {
        flows_.emplace_front(key);
        entry->second = flows_.begin();
    } else {
        flows_.splice(flows_.begin(), flows_, entry->second);
    }
    return flows_.front();
}

QpFollower::Flow* QpFollower::requests_answered_by(Flow& responses, const wire::Frame& response) {
    if (responses.answers != nullptr && responses.answers->requests.knows(response))
        return responses.answers;

    const FlowKey& key = responses.requests.key();
    Flow* taken = nullptr;
    size_t asked = 0;
    for (Flow& flow : flows_) {
        if (++asked > kAskedFlows) break;
        const FlowKey& other = flow.requests.key();
        if (other.source != key.destination || other.destination != key.source ||
            other.service != key.service || !flow.requests.awaits(response))
            continue;
        if (flow.answered_by == nullptr) {
            bind(responses, &flow);
            return &flow;
        }
        if (taken == nullptr) taken = &flow;
    }
    if (taken != nullptr) bind(responses, taken);
    return taken;
}

void QpFollower::bind(Flow& responses, Flow* requests) {
    if (responses.answers != nullptr) responses.answers->answered_by = nullptr;
    responses.answers = requests;
    if (requests == nullptr) return;
    if (requests->answered_by != nullptr) requests->answered_by->answers = nullptr;
    requests->answered_by = &responses;
    requests->requests.learn_source_qp(wire::Qpn{responses.requests.key().qp});
}

void QpFollower::forget(std::list<Flow>::iterator flow, std::vector<FollowedOperation>& given_up) {
    pending_ -= flow->requests.pending();
    flow->requests.finish(given_up);
    if (flow->answers != nullptr) flow->answers->answered_by = nullptr;
    if (flow->answered_by != nullptr) flow->answered_by->answers = nullptr;
    index_.erase(flow->requests.key());
    flows_.erase(flow);
}

void QpFollower::keep_bounds(std::vector<FollowedOperation>& given_up) {
    while (flows_.size() > 1 &&
           (flows_.size() > limits_.flows || pending_ > limits_.pending_packets))
        forget(std::prev(flows_.end()), given_up);
}

}  // namespace tulle::decode
