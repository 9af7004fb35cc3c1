// Settings of a subnet manager.
#pragma once

#include <memory>

#include "base/time.h"
#include "control/subnet/policy/options.h"
#include "control/subnet/policy/partitions.h"
#include "control/subnet/routing/engines.h"

namespace tulle::control {

struct ManagerSettings {
    uint64_t port_guid = 0;  // of the port that it runs at
    uint8_t priority = 0;
    uint64_t m_key = 0;
    uint64_t sm_key = 1;                    // OpenSM's default; managers of a subnet share it
    uint16_t m_key_lease_period = 0;        // seconds; 0: for ever
    uint8_t m_key_protection_level = 0;     // 14.2.4: 0 to 3
    const RoutingEngine* engine = nullptr;  // nullptr: chosen by the shape of the fabric
    RoutingOptions routing{};
    uint8_t lmc = 0;  // an adapter's port has 2^lmc LIDs
    // nullptr: tables of this kind are not written.
    std::shared_ptr<const PartitionPolicy> partitions{};
    std::shared_ptr<const QosPolicy> qos{};
    std::shared_ptr<const CongestionPolicy> congestion{};
    uint32_t window = 64;                     // chosen; OpenSM's max_wire_smps is 4
    uint8_t retries = 3;                      // OpenSM's transaction_retries
    base::Duration timeout{200'000'000'000};  // OpenSM's transaction_timeout, 200 ms
    uint8_t restarts = 4;                     // of sweeps in a row; OpenSM's max_seq_redisc
    base::Duration poll_interval{10'000'000'000'000};  // OpenSM's sminfo_polling_timeout, 10 s
    uint8_t polls_lost = 4;                            // OpenSM's polling_retry_number
    base::Duration look_interval{10'000'000'000'000};  // OpenSM's sweep_interval, 10 s
    uint8_t looks_a_sweep = 6;                         // chosen: a full sweep every minute
};

}  // namespace tulle::control
