#include "scenario/gpus_machine.h"

#include "scenario/fields.h"
#include "scenario/settings.h"

namespace tulle::scenario {
namespace {

using workload::Generation;
using workload::Machine;
using workload::Tier;

// The speed of a network, with the latency of the smallest message to a neighbour: both ends, two
// cables and the switch between them.
Machine::NetworkSpeed network_of(const sim::Setup& setup) {
    Machine::NetworkSpeed network;
    network.mbps = setup.fabric.link.rate.whole_bits_per_second() / 8'000'000;
    network.latency =
        setup.host.send_latency + setup.host.memory.latency + setup.host.receive_latency +
        (setup.fabric.link.delay + setup.fabric.link.fec_delay) * 2 + setup.fabric.node.latency;
    network.reaction = setup.host.reaction;
    return network;
}

// NVLink 3 has 240 GB/s for collectives, NVLink 4 370.8 and NVLink 5 721.8.
Generation generation_for(uint64_t mbps) {
    if (mbps >= 600'000) return Generation::blackwell;
    return mbps >= 300'000 || mbps == 0 ? Generation::hopper : Generation::ampere;
}

}  // namespace

Machine machine_of(const sim::Setup& setup, uint32_t gpus, uint32_t adapters,
                   std::optional<Generation> generation) {
    Machine machine;
    machine.network(Tier::scale_out) = network_of(setup);
    if (setup.scale_up) {
        machine.network(Tier::scale_up) = network_of(*setup.scale_up);
        machine.reduces = setup.scale_up->fabric.node.reduction;
    }
    machine.gpus = gpus;
    machine.adapters = adapters;
    machine.generation = generation.value_or(generation_for(machine.network(Tier::scale_up).mbps));
    return machine;
}

}  // namespace tulle::scenario
