// What the engine of the connection manager has found becomes the state of an id, and an event for
// the program.
#pragma once

#include "verbs/rdmacm/ids.h"

namespace tulle::verbs {

class Delivery {
public:
    explicit Delivery(Manager& manager) : manager_(manager) {}
    void apply(const transport::CmEvent& event);

private:
    void on_what(Id& id, const transport::CmReplyArrived& what);
    void on_what(Id& id, const transport::CmEstablished& what);
    void on_what(Id& id, const transport::CmRejected& what);
    void on_what(Id& id, const transport::CmUnreachable& what);
    void on_what(Id& id, const transport::CmPathNarrowed& what) { id.path.mtu = what.path_mtu; }
    void on_what(Id& id, const transport::CmDisconnected& what);
    void on_what(Id& id, const transport::CmTimeWaitOver& what);
    void on_what(Id& id, const transport::CmServiceAnswered& what);
    template <class What>
    void on_what(Id&, const What&) {}  // path migration and redirection are not offered
    void on_request(transport::CmHandle handle, const transport::CmRequestArrived& what);
    void on_service(transport::CmHandle handle, const transport::CmServiceRequested& what);

    Manager& manager_;
};

}  // namespace tulle::verbs
