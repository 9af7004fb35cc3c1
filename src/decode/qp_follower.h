// Follows every queue pair through a capture: finds missing and repeated sequence numbers, matches
// answers with requests, and completes operations.
//
// A reliable packet does not carry the number of the queue pair that sent it. Requests go from A to
// queue pair x of B, their answers from B to queue pair y of A, and neither says that x and y are
// one connection. A flow of answers is therefore bound to the flow of requests in the opposite
// direction that waits for the answered sequence number. If there are several, the latest one is
// taken, and preferably one without bound answers. If a later answer does not fit, the flow is
// bound again.
//
// There is no clock: time and packet number are arguments and only appear in results. Memory is
// bounded: the least recently used flow is forgotten, and its open operations count as unanswered.
#pragma once

#include <list>
#include <map>
#include <vector>

#include "decode/request_flow.h"

namespace tulle::decode {

class QpFollower {
public:
    struct Limits {
        size_t flows = 16'384;
        size_t pending_packets = 262'144;  // of all flows together: about 32 MiB
    };

    QpFollower() : QpFollower(Limits{}) {}
    explicit QpFollower(Limits limits) : limits_(limits) {}

    // Takes a transport packet that is not damaged.
    Noticed follow(const wire::Frame& frame, When when);

    // At the end of the capture: the operations still open, in the order of their first packets.
    std::vector<FollowedOperation> finish();

private:
    struct Flow {
        explicit Flow(const FlowKey& key) : requests(key) {}
        RequestFlow requests;
        Flow* answers = nullptr;      // the flow whose requests this flow answers
        Flow* answered_by = nullptr;  // the flow with the responses to this flow's requests
    };

    Flow& flow_for(const FlowKey& key);
    Flow* requests_answered_by(Flow& responses, const wire::Frame& response);
    void bind(Flow& responses, Flow* requests);
    void forget(std::list<Flow>::iterator flow, std::vector<FollowedOperation>& given_up);
    void keep_bounds(std::vector<FollowedOperation>& given_up);

    Limits limits_;
    std::list<Flow> flows_;  // most recently used first
    std::map<FlowKey, std::list<Flow>::iterator> index_;
    size_t pending_ = 0;
};

}  // namespace tulle::decode
