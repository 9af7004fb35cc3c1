#include "control/distributed/lldp.h"

#include <algorithm>

#include "control/distributed/cable_states.h"

namespace tulle::control {
namespace {

using base::Duration;
using base::Instant;

// IEEE 802.1AB-2009, 9.2.5: msgTxInterval, msgFastTx and txFastInit, recommended values.
constexpr Duration kInterval{30'000'000'000'000};
constexpr Duration kFastInterval{1'000'000'000'000};
constexpr uint32_t kFastFrames = 4;
// Chassis, port, time to live and end: 9, 9, 4 and 2 bytes. IEEE 802.1Qaz, annex D: ETS as it is
// and as it is recommended, 27 each; PFC, 8; one application, 10. Then Ethernet's header and FCS,
// preamble and gap.
constexpr uint32_t kFrameBytes = 9 + 9 + 4 + 27 + 27 + 8 + 10 + 2 + 14 + 4 + 20;

class Neighbours {
public:
    Neighbours(const topology::Graph& graph, Duration light, Instant begin)
        : graph_(graph),
          ports_(graph),
          states_(graph),
          light_(light),
          begin_(begin),
          lit_at_(graph.cables.size()) {}

    void apply(const Disturbance& disturbance) {
        using Kind = Disturbance::Kind;
        const uint32_t subject = disturbance.subject;
        switch (disturbance.kind) {
            case Kind::cable_down:
            case Kind::cable_up:
                states_.set_cable(subject, disturbance.kind == Kind::cable_up);
                return change(subject, disturbance.at);
            case Kind::switch_down:
            case Kind::switch_up:
                states_.set_node(subject, disturbance.kind == Kind::switch_up);
                for (const topology::Ports::Link& link : ports_.of(subject))
                    if (link.is_cabled()) change(link.cable, disturbance.at);
                return;
            case Kind::manager_down: return;
        }
    }

    std::vector<ManagementSent> frames_until(Instant end) {
        for (uint32_t cable = 0; cable < lit_at_.size(); ++cable)
            if (states_.works(cable)) send_until(cable, end);
        return std::move(frames_);
    }

private:
    void change(uint32_t cable, Instant at) {
        if (!states_.update(cable)) return;
        if (states_.works(cable))
            lit_at_[cable] = at + light_;
        else
            send_until(cable, at);
    }

    // A port that has found a new neighbour sends some frames sooner.
    void send_until(uint32_t cable, Instant end) {
        Instant at = lit_at_[cable];
        for (uint32_t sent = 1; at < end; ++sent) {
            if (at >= begin_)
                for (const topology::CableEnd from :
                     {graph_.cables[cable].a, graph_.cables[cable].b})
                    frames_.push_back({at, from, kFrameBytes});
            at = at + (sent < kFastFrames ? kFastInterval : kInterval);
        }
    }

    const topology::Graph& graph_;
    topology::Ports ports_;
    CableStates states_;
    Duration light_;
    Instant begin_;
    std::vector<Instant> lit_at_;  // by cable
    std::vector<ManagementSent> frames_;
};

}  // namespace

std::vector<ManagementSent> lldp_frames(const topology::Graph& graph,
                                        const std::vector<Disturbance>& disturbances,
                                        Duration light, Instant begin, Instant end) {
    Neighbours neighbours(graph, light, begin);
    for (const Disturbance& disturbance : disturbances) neighbours.apply(disturbance);
    return neighbours.frames_until(end);
}

}  // namespace tulle::control
