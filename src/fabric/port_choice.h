// Which of several equal ports a packet takes. The usual choice is by a hash of its flow, which a
// switch makes directly with by_hash(). All other choices are made here.
//
// A choice depends on the packet, the time and the loads of the switch's ports, but never on the
// order in which packets arrive. A run therefore finds the same for any number of partitions.
//
// The load of a port is the time that a packet would wait there. Products do not know it that
// exactly: they have a few grades, read from time to time. RouteSettings::load_step_bytes and
// load_period set both; at zero, loads are exact.
#pragma once

#include <vector>

#include "fabric/cabling.h"
#include "fabric/flowlets.h"
#include "fabric/spray.h"
#include "fabric/warnings.h"

namespace tulle::fabric {

// The links of a dragonfly switch into other groups.
struct GroupPlan {
    struct Way {
        uint16_t port = 0;
        uint32_t group = 0;  // the group that it leads to
    };
    uint32_t group = 0;  // the switch's own
    std::vector<Way> ways;
    const std::vector<uint32_t>* of_endpoint = nullptr;  // by endpoint: its group
};

class PortChooser {
public:
    static constexpr uint16_t kNoPort = UINT16_MAX;

    // A packet that needs a port, and the ports to choose from.
    struct Question {
        Instant now{};
        const Routes& routes;
        PortList ports;
        const Transit& transit;
        uint32_t psn = 0;
    };

    PortChooser(const RouteSettings& settings, uint32_t node, uint16_t ports, uint64_t seed,
                GroupPlan dragonfly, std::vector<uint32_t> neighbours);
    // Call when the cabling is complete. `ports` are the switch's ports.
    void begin(const Cabling& cabling, uint32_t first_port, const Port* ports);

    bool is_by_hash() const { return is_by_hash_; }
    uint16_t by_hash(PortList ports, uint32_t flow) const {
        return ports[scale(flow_of(flow), ports.size())];
    }
    // Chooses as the settings say. kNoPort: there is no way.
    uint16_t choose(const Question& asked);
    // The same on a dragonfly, for a packet that has not left its own group.
    uint16_t choose_ugal(const Question& asked);

    // Warnings of full queues, by this switch and by its neighbours.
    Warnings& warnings() { return warnings_; }
    const Warnings& warnings() const { return warnings_; }
    uint32_t neighbour(uint16_t port) const { return neighbours_[port]; }

private:
    // The load of a port when it was last read.
    struct Grade {
        int64_t period = -1;
        uint64_t load = 0;
    };

    bool has_gap() const { return settings_.flowlet_gap.ps != 0; }
    uint64_t flow_of(uint32_t flow) const { return base::mix64(flow ^ seed_); }
    // A random number for this packet alone.
    uint64_t draw_of(const Question& asked) const {
        return base::mix64(flow_of(asked.transit.flow) + asked.psn);
    }
    uint16_t shortest(const Question& asked);
    uint16_t by_flowlet(const Question& asked);
    uint16_t sprayed(const Question& asked) const;
    uint16_t detour_for(const Question& asked) const;
    bool leads_on(const Question& asked, uint16_t port, bool with_detours) const;
    uint64_t wait_of(Instant now, uint16_t port) const;
    uint64_t load_of(const Question& asked, uint16_t port);
    uint64_t graded(Instant now, uint16_t port);

    const RouteSettings& settings_;
    uint32_t node_;
    uint64_t seed_;
    GroupPlan dragonfly_;
    std::vector<uint32_t> neighbours_;  // by port: a node; empty if switches do not warn
    Warnings warnings_;
    const Port* ports_ = nullptr;
    std::vector<uint64_t> kib_ps_;  // by port: the time of 1,024 bytes on its line
    Flowlets flowlets_;
    std::vector<Grade> grades_;
    bool has_exact_loads_;
    bool is_by_hash_;
};

}  // namespace tulle::fabric
