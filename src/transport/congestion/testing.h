// Settings that tests begin with.
#pragma once

#include "transport/congestion/dcqcn.h"

namespace tulle::transport::testing {

// Those of the paper (Zhu et al., SIGCOMM 2015), for a line of this rate.
inline DcqcnSettings dcqcn_of_paper(uint64_t line_rate_bps) {
    DcqcnSettings s;
    s.line_rate_bps = line_rate_bps;
    s.min_rate_bps = 10'000'000;
    s.additive_bps = 40'000'000;
    s.hyper_bps = 200'000'000;
    s.alpha_interval = s.increase_interval = base::Duration{55'000'000};
    s.decrease_interval = base::Duration{50'000'000};
    s.increase_bytes = 10'000'000;
    s.fast_recovery_steps = 5;
    s.decrease = DcqcnSettings::Decrease::at_once;
    s.alpha = DcqcnSettings::Alpha::at_notification;
    s.stage = DcqcnSettings::Stage::after_count;
    s.clamp_target = true;
    return s;
}

}  // namespace tulle::transport::testing
