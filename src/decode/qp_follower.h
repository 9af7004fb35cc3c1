// Follows every queue pair through a capture: which sequence numbers are missing or sent twice,
// which answers belong to which requests, and which operations they complete.
//
// A reliable packet does not carry the number of the queue pair that sent it. Requests go from A to
// queue pair x of B, their answers from B to queue pair y of A, and nothing in either says that x
// and y are one connection. A flow of answers is therefore bound to the flow of requests, in the
// opposite direction, that waits for the sequence number it answers: the latest one if there are
// several, and one that no other answers are bound to if there is such. If a later answer does not
// fit, the flow is bound anew.
//
// Clock-free: time and packet number are arguments and only find their way into the results.
// Bounded: the flow that was used least recently is forgotten, its open operations unanswered.
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

    // Sees a transport packet that is not damaged.
    Noticed follow(const wire::Frame& frame, When when);

    // The end of the capture: the operations that are still open, in the order of their first
    // packets.
    std::vector<Operation> finish();

private:
    struct Flow {
        explicit Flow(const FlowKey& key) : requests(key) {}
        RequestFlow requests;
        Flow* answers = nullptr;      // whose requests the responses in this flow answer
        Flow* answered_by = nullptr;  // which flow brings the responses to the requests in this one
    };

    Flow& flow_for(const FlowKey& key);
    Flow* requests_answered_by(Flow& responses, const wire::Frame& response);
    void bind(Flow& responses, Flow* requests);
    void forget(std::list<Flow>::iterator flow, std::vector<Operation>& given_up);
    void keep_bounds(std::vector<Operation>& given_up);

    Limits limits_;
    std::list<Flow> flows_;  // the latest first
    std::map<FlowKey, std::list<Flow>::iterator> index_;
    size_t pending_ = 0;
};

}  // namespace tulle::decode
