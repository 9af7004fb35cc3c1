// XRC domains and RD domains: each has a number and a count of its users. Only a domain without
// users can be destroyed.
#pragma once

#include <vector>

#include "base/check.h"
#include "transport/types.h"

namespace tulle::transport {

template <class Id>
class Domains {
public:
    Id create() {
        domains_.push_back({.live = true});
        return Id{static_cast<uint32_t>(domains_.size())};
    }

    Refusal destroy(Id id) {
        if (!knows(id)) return Refusal::invalid_argument;
        if (at(id).users != 0) return Refusal::busy;
        at(id).live = false;
        return Refusal::none;
    }

    bool knows(Id id) const {
        return id.value != 0 && id.value <= domains_.size() && domains_[id.value - 1].live;
    }

    void hold(Id id) {
        TULLE_CHECK(knows(id));
        ++at(id).users;
    }

    void release(Id id) {
        TULLE_CHECK(knows(id) && at(id).users != 0);
        --at(id).users;
    }

private:
    struct Domain {
        bool live = false;
        uint32_t users = 0;
    };
    Domain& at(Id id) { return domains_[id.value - 1]; }

    std::vector<Domain> domains_;  // numbers count from 1
};

}  // namespace tulle::transport
