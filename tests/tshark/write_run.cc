// Writes the capture of a made-up run for run.py: what a simulation taps, in one encapsulation.
#include <cstdio>
#include <fstream>
#include <string>

#include "report/capture_report.h"
#include "wire/opcode.h"

namespace tulle {
namespace {

using namespace base::literals;

sim::Setup two_hosts(wire::Encapsulation encapsulation) {
    sim::Setup setup;
    topology::Node host;
    setup.graph.add(host);
    setup.graph.add(host);
    setup.graph.connect(0, 1);
    setup.fabric.framing.encapsulation = encapsulation;
    return setup;
}

wire::Packet packet_of(uint8_t opcode, bool is_answer) {
    wire::Packet packet;
    packet.source = is_answer ? 1 : 0;
    packet.destination = is_answer ? 0 : 1;
    packet.opcode = opcode;
    packet.set_dest_qp({0x12});
    packet.traffic_class = 2;
    packet.entropy = 50'000;
    return packet;
}

void add(sim::Result& result, wire::Packet packet) {
    const auto number = static_cast<int64_t>(result.captured.size());
    result.captured.push_back({base::Instant{} + number * 1_us, 0, packet.source == 0, packet});
}

sim::Result packets(bool is_infiniband) {
    sim::Result result;
    wire::Packet data = packet_of(static_cast<uint8_t>(wire::Operation::send_only), false);
    data.payload_length = 1000;
    add(result, data);
    add(result, packet_of(static_cast<uint8_t>(wire::Operation::acknowledge), true));
    add(result, packet_of(wire::kCnpOpcode, true));
    wire::Packet pause;
    if (is_infiniband) {
        pause.kind = wire::PacketKind::flow_control;
    } else {
        pause.kind = wire::PacketKind::pfc;
        pause.extended.pause.enable_vector = 1 << 3;
        pause.extended.pause.quanta[3] = 0xffff;
    }
    add(result, pause);
    return result;
}

}  // namespace
}  // namespace tulle

int main(int argc, char** argv) {
    using tulle::wire::Encapsulation;
    if (argc != 2) {
        std::fprintf(stderr, "usage: write_run FOLDER\n");
        return 2;
    }
    const std::pair<const char*, Encapsulation> kinds[] = {
        {"roce_v2", Encapsulation::roce_v2_ipv4},
        {"roce_v2_ipv6", Encapsulation::roce_v2_ipv6},
        {"roce_v1", Encapsulation::roce_v1},
        {"infiniband", Encapsulation::infiniband_local},
    };
    for (const auto& [name, encapsulation] : kinds) {
        const bool is_infiniband = encapsulation == Encapsulation::infiniband_local;
        const auto file = tulle::report::capture_report(tulle::two_hosts(encapsulation),
                                                        tulle::packets(is_infiniband));
        std::ofstream out(std::string(argv[1]) + "/" + name + ".pcap", std::ios::binary);
        out.write(reinterpret_cast<const char*>(file.data()),
                  static_cast<std::streamsize>(file.size()));
        if (!out.good()) return 1;
    }
    return 0;
}
