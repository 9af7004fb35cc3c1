// Finds the likely cause of a failed completion: from what the peer's responder has written on its
// board, whether the peer is still alive, and which rules for faults exist.
#pragma once

#include <string>

#include "live/carrier.h"

namespace tulle::live {

class Diagnosis {
public:
    Diagnosis(World& world, Connections& connections, Carrier& carrier, transport::Adapter& adapter)
        : world_(world), connections_(connections), carrier_(carrier), adapter_(adapter) {}

    // The likeliest cause, in words; empty if none is known.
    std::string likely_cause(const transport::Completion& completion);
    // Why the connection manager of another machine does not answer; empty for other peers.
    std::string why_unheard(transport::EndpointIndex endpoint) const;
    // With `tulle run --verbose`: prints how work for this end point travels, and why. Once, and
    // again when that changes.
    void tell_way(transport::EndpointIndex endpoint);
    // Puts the responder's objection on the board, where its peer reads it.
    void note_objection();

private:
    std::string name_of(transport::EndpointIndex endpoint) const;
    std::string why_nobody(const transport::QueuePair& qp) const;
    std::string why_silent(const transport::QueuePair& qp);
    std::string why_remote_is_silent(const Peer& peer, uint32_t mtu) const;
    std::string why_ignored(const transport::QueuePair& qp, const std::string& name);
    std::string why_refused(const transport::QueuePair& qp);

    World& world_;
    Connections& connections_;
    Carrier& carrier_;
    transport::Adapter& adapter_;
};

}  // namespace tulle::live
