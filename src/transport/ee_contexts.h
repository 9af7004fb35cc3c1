// The end-to-end (EE) contexts of an adapter: the connections that reliable datagrams share (rd.h).
// They have the states of a connection, and take attributes as queue pairs do, with kDestEe in
// place of kDestQpn.
#pragma once

#include <optional>

#include "transport/core.h"

namespace tulle::transport {

class EeContexts {
public:
    explicit EeContexts(Core& core) : core_(core) {}

    std::optional<wire::EeContext> create(RdDomainId domain);
    Refusal modify(wire::EeContext ee, const QpAttributes& attributes, uint32_t mask);
    Refusal destroy(wire::EeContext ee);
    const EndToEnd* find(wire::EeContext ee) { return core_.end_to_end(ee); }

private:
    Core& core_;
};

}  // namespace tulle::transport
