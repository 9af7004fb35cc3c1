// What packets pay one after another between memory and an adapter: to PCI Express, to a kernel
// that copies, or to a host that is slow. So much a packet, and the time of its bytes at a rate.
#pragma once

#include <optional>

#include "base/rate.h"

namespace tulle::cluster {

struct TollPlan {
    base::Duration per_packet{};
    std::optional<base::Rate> rate;  // none: bytes cost nothing

    // Whether it ever takes longer than the line that leads there. Both grow evenly with the bytes,
    // so the smallest packet and the rates tell.
    bool is_slower_than(base::Rate line, uint32_t smallest_packet_bytes) const {
        return per_packet > line.time_for(smallest_packet_bytes) || (rate && *rate < line);
    }
};

class Toll {
public:
    explicit Toll(const TollPlan& plan)
        : bytes_(plan.rate.value_or(base::Rate::bits_per_second(1))),
          per_packet_(plan.per_packet),
          counts_bytes_(plan.rate.has_value()) {}

    // A packet comes now; returns when it has paid, after those before it.
    base::Instant pay(base::Instant now, uint32_t bytes) {
        bytes_.send(now, counts_bytes_ ? bytes : 0);
        bytes_.hold(per_packet_);
        return bytes_.free_at();
    }

private:
    base::Serializer bytes_;
    base::Duration per_packet_;
    bool counts_bytes_;
};

}  // namespace tulle::cluster
