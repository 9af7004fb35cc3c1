#include "invariants.h"

#include <map>
#include <set>
#include <tuple>

#include "topology/groups.h"

namespace tulle::fabric_swarm {
namespace {

using cluster::Partition;
using fabric::Cabling;
using fabric::Port;
using fabric::Transit;

std::string at_port(const char* what, uint32_t port, uint32_t lane) {
    return std::string(what) + ": port " + std::to_string(port) + ", lane " + std::to_string(lane);
}

template <class Visitor>
void each_in(Cabling& cabling, const fabric::Fifo& list, Visitor&& visit) {
    for (uint32_t i = list.head; i != fabric::kNoTransit; i = cabling.store[i].next)
        visit(cabling.store[i]);
}

// Bytes and blocks that lie in a node, by the input port and lane that they came through.
struct Stored {
    uint64_t bytes = 0;
    uint64_t blocks = 0;
    void add(uint32_t wire_bytes, fabric::CreditScale scale) {
        bytes += wire_bytes;
        blocks += scale.blocks_of(wire_bytes);
    }
};

class Inspector {
public:
    Inspector(const sim::Setup& setup, sim::Network& network, base::Instant now)
        : setup_(setup), network_(network), now_(now) {
        for (const sim::Fault& fault : setup.faults)
            has_storms_ |= fault.kind == sim::Fault::Kind::pause_storm;
        takes_detours_ = setup.fabric.route.choice == fabric::PathChoice::ugal &&
                         setup.fabric.route.kind == fabric::RouteKind::shortest &&
                         setup.faults.empty() && setup.paths.empty() &&
                         !topology::dragonfly_groups(setup.graph).empty();
    }

    std::string between_windows() {
        for (size_t p = 0; p < network_.partitions() && wrong_.empty(); ++p) {
            Partition& partition = network_.partition(p);
            Cabling& cabling = partition.cabling();
            for (uint32_t port = 0; port < cabling.ports(); ++port) look_at_port(cabling, port);
            if (takes_detours_)
                for (uint32_t port = 0; port < cabling.ports(); ++port) look_at_way(cabling, port);
            for (fabric::Switch& node : partition.switches()) look_at_switch(cabling, node);
            for (cluster::HostNode& host : partition.hosts()) look_at_host(cabling, host);
        }
        return wrong_;
    }

    std::string at_rest() {
        for (size_t p = 0; p < network_.partitions(); ++p) {
            Partition& partition = network_.partition(p);
            for (fabric::Switch& node : partition.switches())
                for (uint32_t i = 0; i < node.port_count(); ++i)
                    look_at_rest(partition.cabling(), node.first_port() + i);
        }
        // Queues that wait for each other in a circle stay full, and neighbours believe it.
        if (setup_.faults.empty() && !has_full_queues())
            for (size_t p = 0; p < network_.partitions(); ++p)
                for (const fabric::Switch& node : network_.partition(p).switches())
                    if (node.has_been_warned())
                        fail("a switch still believes that a queue is full, and all are empty");
        return wrong_;
    }

private:
    bool has_full_queues() {
        for (size_t p = 0; p < network_.partitions(); ++p) {
            Cabling& cabling = network_.partition(p).cabling();
            for (uint32_t port = 0; port < cabling.ports(); ++port)
                if (cabling.port(port).filled != 0) return true;
        }
        return false;
    }

    void fail(const std::string& what) {
        if (wrong_.empty()) wrong_ = what;
    }

    void look_at_port(Cabling& cabling, uint32_t p) {
        const Port& port = cabling.port(p);
        for (const fabric::Fifo* list :
             {&cabling.inbound(p).packets, &cabling.inbound(p).control}) {
            base::Instant last = now_;
            each_in(cabling, *list, [&](const Transit& transit) {
                if (transit.at < last) fail(at_port("a packet comes in the past", p, transit.lane));
                last = transit.at;
            });
        }
        uint64_t queued = 0;
        for (uint32_t lane = 0; lane < cabling.lanes(); ++lane) {
            const fabric::LaneOut& out = cabling.out(p, lane);
            uint64_t bytes = 0;
            each_in(cabling, out.queue,
                    [&](const Transit& transit) { bytes += transit.wire_bytes; });
            if (bytes != out.bytes) fail(at_port("a queue has other bytes than it says", p, lane));
            if ((port.filled >> lane & 1) != (bytes != 0 ? 1 : 0))
                fail(at_port("a queue with packets is noted as empty, or the reverse", p, lane));
            queued += bytes;
            if (cabling.has_credits()) look_at_credits(cabling, p, lane);
        }
        if (setup_.fabric.flow_control == fabric::FlowControl::pfc) look_at_pauses(cabling, p);
        if (queued != port.queued_bytes) fail(at_port("queues of a port do not add up", p, 0));
    }

    // Who is paused is so for a reason, or will hear soon that it is gone.
    void look_at_pauses(Cabling& cabling, uint32_t p) {
        const Port& port = cabling.port(p);
        if (port.cable == topology::kNone || has_storms_) return;
        Cabling& there = network_.partition(port.peer_partition).cabling();
        const bool will_hear =
            there.port(port.peer).owed.any() || !cabling.inbound(p).control.empty();
        for (uint32_t lane = 0; lane < cabling.lanes(); ++lane)
            if ((port.held >> lane & 1) != 0 && !there.in(port.peer, lane).is_full && !will_hear)
                fail(at_port("a lane is paused for no reason", p, lane));
    }

    // Two switches of its own group, two of another one and two of its destination's: a packet of a
    // dragonfly passes no more, with a detour. What goes up and down a tree of sums passes as many
    // as the tree has; from a group it comes, even where its destination is a host by then.
    void look_at_way(Cabling& cabling, uint32_t p) {
        const fabric::Fifo& coming = cabling.inbound(p).packets;
        for (uint32_t i = coming.head; i != fabric::kNoTransit; i = cabling.store[i].next) {
            const wire::Packet& packet = cabling.store.packet(i);
            const bool is_of_group =
                ((packet.source | packet.destination) & fabric::kGroupBit) != 0;
            if (cabling.store[i].hops > 6 && !is_of_group)
                fail(at_port("a packet goes around in a dragonfly", p, 0));
        }
    }

    // Blocks that were sent and not received are on the cable; nobody sends beyond the limit.
    void look_at_credits(Cabling& cabling, uint32_t p, uint32_t lane) {
        const Port& port = cabling.port(p);
        if (port.cable == topology::kNone || lane == fabric::kManagementLane) return;
        const fabric::CreditsLeft& left = cabling.out(p, lane).credits;
        const fabric::CreditScale scale = cabling.credit_scale();
        if (scale.wrapped(uint32_t{left.credit_limit} - left.total_sent) > scale.most_blocks())
            fail(at_port("more was sent than the credits allow", p, lane));
        Cabling& there = network_.partition(port.peer_partition).cabling();
        const fabric::CreditsGiven& given = there.in(port.peer, lane).credits;
        uint64_t on_cable = 0;
        each_in(there, there.inbound(port.peer).packets, [&](const Transit& transit) {
            if (transit.lane == lane) on_cable += scale.blocks_of(transit.wire_bytes);
        });
        if (scale.wrapped(uint32_t{left.total_sent} - given.blocks_received) !=
            scale.wrapped(on_cable))
            fail(at_port("blocks sent, received and on the cable do not add up", p, lane));
        if (given.used_blocks > there.capacity_blocks())
            fail(at_port("more blocks than the buffer takes", port.peer, lane));
    }

    void look_at_switch(Cabling& cabling, const fabric::Switch& node) {
        std::map<std::pair<uint32_t, uint32_t>, Stored> stored;
        std::set<uint16_t> shared_places;
        const auto add = [&](uint16_t in_port, uint8_t lane, uint32_t wire_bytes) {
            const bool is_copy = node.storage().is_copy(in_port);
            if (is_copy && !shared_places.insert(in_port).second) return;
            stored[{node.storage().input_of(in_port), lane}].add(wire_bytes,
                                                                 cabling.credit_scale());
        };
        for (uint32_t i = 0; i < node.port_count(); ++i) {
            const uint32_t p = node.first_port() + i;
            for (uint32_t lane = 0; lane < cabling.lanes(); ++lane)
                each_in(cabling, cabling.out(p, lane).queue, [&](const Transit& transit) {
                    add(transit.in_port, transit.in_lane, transit.wire_bytes);
                });
            const Port& port = cabling.port(p);
            if (port.sending_bytes != 0)
                add(port.sending_in_port, port.sending_in_lane, port.sending_bytes);
        }
        uint64_t shared = 0;
        for (uint32_t i = 0; i < node.port_count(); ++i)
            for (uint32_t lane = 0; lane < cabling.lanes(); ++lane)
                shared += look_at_input(cabling, node.first_port() + i, lane, stored[{i, lane}]);
        look_at_shared(node.storage().intake(), shared);
    }

    // What it takes of the shared buffer.
    uint64_t look_at_input(Cabling& cabling, uint32_t p, uint32_t lane, const Stored& stored) {
        const fabric::LaneIn& in = cabling.in(p, lane);
        if (cabling.has_credits() && lane != fabric::kManagementLane) {
            if (in.credits.used_blocks != stored.blocks)
                fail(at_port("blocks in use are not those of the packets stored", p, lane));
            return 0;
        }
        if ((cabling.port(p).lossless >> lane & 1) == 0) return stored.bytes;
        if (in.used_bytes + uint64_t{in.headroom_bytes} != stored.bytes)
            fail(at_port("bytes counted are not those of the packets stored", p, lane));
        if (in.headroom_bytes > cabling.port(p).headroom_bytes)
            fail(at_port("more headroom in use than there is", p, lane));
        const uint64_t reserve = setup_.fabric.pfc.reserve_bytes;
        return in.used_bytes > reserve ? in.used_bytes - reserve : 0;
    }

    void look_at_shared(const fabric::Intake& intake, uint64_t shared) {
        if (intake.buffer().shared_used() != shared)
            fail("shared buffer in use is not that of the packets stored");
        if (shared > intake.buffer().shared_bytes())
            fail("more shared buffer in use than there is");
    }

    // A host whose receiver was never slow keeps nothing.
    void look_at_host(Cabling& cabling, const cluster::HostNode& host) {
        if (!setup_.host.receive_toll.is_free()) return;
        for (const sim::Fault& fault : setup_.faults)
            if (fault.kind == sim::Fault::Kind::slow_receiver && fault.subject == host.plan().node)
                return;
        look_at_shared(host.intake(), 0);
        for (uint32_t lane = 0; lane < cabling.lanes(); ++lane)
            if (cabling.in(host.plan().port, lane).credits.used_blocks != 0)
                fail(at_port("a host stores packets", host.plan().port, lane));
    }

    void look_at_rest(Cabling& cabling, uint32_t p) {
        const Port& port = cabling.port(p);
        if (!port.is_up) return;
        if (port.is_awaited) fail(at_port("a line is busy for ever", p, 0));
        if ((port.filled & ~port.held) != 0) fail(at_port("packets may go and do not", p, 0));
        if (port.owed.any()) fail(at_port("what is owed is never said", p, 0));
    }

    const sim::Setup& setup_;
    sim::Network& network_;
    base::Instant now_;
    bool has_storms_ = false;
    bool takes_detours_ = false;
    std::string wrong_;
};

std::string in_all_networks(const sim::Setup& setup, sim::Simulation& simulation,
                            std::string (Inspector::*look)()) {
    using workload::Tier;
    Inspector between(setup, simulation.network(Tier::scale_out), simulation.now());
    std::string wrong = (between.*look)();
    if (!wrong.empty() || !setup.scale_up) return wrong;
    Inspector inside(*setup.scale_up, simulation.network(Tier::scale_up), simulation.now());
    wrong = (inside.*look)();
    return wrong.empty() ? wrong : "inside a server: " + wrong;
}

}  // namespace

std::string check_between_windows(const sim::Setup& setup, sim::Simulation& simulation) {
    return in_all_networks(setup, simulation, &Inspector::between_windows);
}

std::string check_at_rest(const sim::Setup& setup, sim::Simulation& simulation) {
    return in_all_networks(setup, simulation, &Inspector::at_rest);
}

}  // namespace tulle::fabric_swarm
