// What is recorded at a host beside its own work: rates for timelines, packets that tenants refuse,
// and telemetry that answers return to its sender.
#pragma once

#include <unordered_map>
#include <vector>

#include "cluster/framing.h"
#include "fabric/cabling.h"
#include "fabric/switch.h"
#include "transport/adapter.h"

namespace tulle::cluster {

class HostRecorder {
public:
    // `trace`: null if there is no timeline.
    HostRecorder(const Framing& framing, fabric::Cabling& cabling, transport::Adapter& adapter,
                 uint32_t node, uint32_t port, std::vector<fabric::TraceSample>* trace)
        : framing_(framing),
          cabling_(cabling),
          adapter_(adapter),
          node_(node),
          port_(port),
          trace_(trace) {}

    // Hands a packet to the adapter.
    void receive(base::Instant now, uint32_t index);
    // A packet is about to be sent.
    void begin_telemetry(uint32_t index);

private:
    void hand_on(base::Instant now, uint32_t index);
    void sample_rate(base::Instant now, const wire::Packet& packet);
    bool is_data(const wire::Packet& packet) const {
        return (framing_.flags(packet) & fabric::Transit::kData) != 0;
    }

    const Framing& framing_;
    fabric::Cabling& cabling_;
    transport::Adapter& adapter_;
    uint32_t node_;  // of the graph
    uint32_t port_;  // of the cabling
    std::vector<fabric::TraceSample>* trace_;
    // By peer: telemetry of the latest data packet of each connection, for the next answer.
    std::unordered_map<uint64_t, wire::Telemetry> to_return_;
};

}  // namespace tulle::cluster
