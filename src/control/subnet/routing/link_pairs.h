// Numbers the pairs of links that a packet may take one after the other: the first leads into a
// switch, the second out of it.
#pragma once

#include <cstdint>
#include <vector>

#include "control/subnet/subnet.h"

namespace tulle::control {

class LinkPairs {
public:
    explicit LinkPairs(const Subnet& subnet) : subnet_(subnet) {
        first_.reserve(subnet.link_count() + 1);
        first_.push_back(0);
        for (uint32_t id = 0; id < subnet.link_count(); ++id)
            first_.push_back(first_.back() +
                             static_cast<uint32_t>(subnet.links_of(subnet.link(id).to).size()));
    }

    uint32_t count() const { return first_.back(); }
    uint32_t number(uint32_t in, uint32_t out) const {
        return first_[in] + out - subnet_.first_link(subnet_.link(in).to);
    }

private:
    const Subnet& subnet_;
    std::vector<uint32_t> first_;  // by link: the first of its pairs
};

}  // namespace tulle::control
