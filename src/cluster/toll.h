// The time that packets take, one after another, between memory and an adapter: over PCI Express,
// through a kernel that copies, or into a slow host. It is a fixed time per packet plus the time of
// its bytes at a rate.
#pragma once

#include <optional>

#include "base/rate.h"

namespace tulle::cluster {

struct TollPlan {
    base::Duration per_packet{};
    std::optional<base::Rate> rate;  // none: bytes cost nothing

    // Whether any packet takes longer here than on the line that leads here. Both times grow
    // linearly with the bytes, so it suffices to compare the smallest packet and the rates.
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

    // A packet arrives now; returns when it is through, after those before it.
    base::Instant pay(base::Instant now, uint32_t bytes) {
        bytes_.send(now, counts_bytes_ ? bytes : 0);
        bytes_.hold(per_packet_);
        return free_at();
    }
    base::Instant free_at() const { return bytes_.free_at(); }
    bool is_busy(base::Instant now) const { return now < free_at(); }

private:
    base::Serializer bytes_;
    base::Duration per_packet_;
    bool counts_bytes_;
};

}  // namespace tulle::cluster
