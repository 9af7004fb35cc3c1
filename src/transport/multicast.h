// Which queue pairs of an adapter are members of which multicast groups (IBTA vol 1, 10.5).
#pragma once

#include "transport/core.h"

namespace tulle::transport {

class Multicast {
public:
    explicit Multicast(Core& core) : core_(core) {}

    Refusal attach(Qpn qpn, MulticastGroup group);
    Refusal detach(Qpn qpn, MulticastGroup group);
    bool has(Qpn qpn) const;

private:
    Core& core_;
};

}  // namespace tulle::transport
