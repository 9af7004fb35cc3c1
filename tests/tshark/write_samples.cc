// Writes the captures that compare.py holds against Wireshark's dissector: every opcode in every
// encapsulation with random fields, the frames of the link layers, and some management datagrams.
#include <cstdio>
#include <fstream>
#include <string>

#include "wire/capture.h"
#include "wire/mad/cm.h"
#include "wire/mad/perf.h"
#include "wire/mad/sa.h"
#include "wire/mad/smp.h"
#include "wire/testing.h"

namespace tulle::wire {
namespace {

class Sample {
public:
    explicit Sample(LinkLayer link) : link_(link) { begin_capture(link, file_); }

    void add(const Packet& packet, const Path& path, Bytes payload) {
        std::vector<std::byte> bytes(kMaxEncodedSize);
        bytes.resize(encode(packet, path, payload, bytes));
        append_to_capture(link_, 1'000'000'000 + 1'000 * count_++, bytes, file_);
    }

    bool save(const std::string& path) const {
        std::ofstream out(path, std::ios::binary);
        out.write(reinterpret_cast<const char*>(file_.data()),
                  static_cast<std::streamsize>(file_.size()));
        return out.good();
    }

private:
    LinkLayer link_;
    uint64_t count_ = 0;
    std::vector<std::byte> file_;
};

// Queue pairs 0 and 1 are for management: whatever goes there Wireshark reads as a MAD.
bool is_management(const Packet& packet) {
    return packet.dest_qp().value < 2;
}

Sample every_opcode(Encapsulation encapsulation, LinkLayer link) {
    testing::Random random(20 + static_cast<unsigned>(encapsulation));
    Sample sample(link);
    for (const uint8_t opcode : testing::known_opcodes())
        for (const size_t length : {0u, 1u, 7u, 8u, 255u, 1024u}) {
            const auto payload = testing::random_bytes(random, length);
            const Packet packet = testing::random_packet(random, opcode, payload);
            if (is_management(packet)) continue;
            Path path = testing::sample_path(encapsulation);
            path.has_vlan = link == LinkLayer::ethernet && length == 7;
            path.vlan_id = 100;
            sample.add(packet, path, Bytes(payload).first(packet.payload_length));
        }
    return sample;
}

Sample link_frames() {
    Sample sample(LinkLayer::ethernet);
    const Path path = testing::sample_path(Encapsulation::roce_v2_ipv4);
    for (unsigned priority = 0; priority < 8; ++priority) {
        Packet pfc;
        pfc.kind = PacketKind::pfc;
        pfc.extended.pause.enable_vector = static_cast<uint16_t>(1u << priority);
        pfc.extended.pause.quanta[priority] = static_cast<uint16_t>(1000 + priority);
        sample.add(pfc, path, {});
    }
    return sample;
}

struct MadKind {
    ManagementClass management_class;
    uint16_t attribute;
};

// Random bytes but for what says how to read them.
std::vector<std::byte> random_mad(testing::Random& random, MadKind kind) {
    auto mad = testing::random_bytes(random, kMadSize);
    MadHeader header = *parse<MadHeader>(mad);
    header.base_version = 1;
    header.management_class.value = kind.management_class;
    header.class_version = kind.management_class == kClassSubnetAdministration ? 2 : 1;
    header.method.value =
        kind.management_class == kClassCommunication ? kMethodSend : kMethodGetResp;
    header.attribute_id.value = kind.attribute;
    write(header, mad);
    if (kind.management_class == kClassSubnetAdministration)
        write(RmppHeader{}, MutableBytes(mad).subspan(MadHeader::kSize));
    return mad;
}

Sample management() {
    constexpr std::array kKinds = {
        MadKind{kClassSubnetLidRouted, kSmpNodeInfo},
        MadKind{kClassSubnetLidRouted, kSmpSwitchInfo},
        MadKind{kClassSubnetLidRouted, kSmpPortInfo},
        MadKind{kClassSubnetDirectedRoute, kSmpNodeInfo},
        MadKind{kClassSubnetAdministration, kSaPathRecord},
        MadKind{kClassPerformance, kPerfPortCounters},
        MadKind{kClassPerformance, kPerfPortCountersExtended},
        MadKind{kClassCommunication, kCmReq},
        MadKind{kClassCommunication, kCmRep},
        MadKind{kClassCommunication, kCmRej},
        MadKind{kClassCommunication, kCmDreq},
    };
    testing::Random random(30);
    Sample sample(LinkLayer::infiniband);
    for (const MadKind& kind : kKinds) {
        const auto mad = random_mad(random, kind);
        const bool subnet = kind.management_class == kClassSubnetLidRouted ||
                            kind.management_class == kClassSubnetDirectedRoute;
        Packet packet;
        packet.opcode = opcode_of(Service::ud, Operation::send_only);
        packet.set_dest_qp(Qpn{subnet ? 0u : 1u});
        packet.extended.send = {kGsiQKey, packet.dest_qp(), 0};
        packet.payload = Payload::memory(mad.data());
        packet.payload_length = static_cast<uint32_t>(mad.size());
        sample.add(packet, testing::sample_path(Encapsulation::infiniband_local), mad);
    }
    return sample;
}

int write_all(const std::string& folder) {
    struct Named {
        const char* name;
        Sample sample;
    };
    const Named samples[] = {
        {"infiniband-local", every_opcode(Encapsulation::infiniband_local, LinkLayer::infiniband)},
        {"infiniband-global",
         every_opcode(Encapsulation::infiniband_global, LinkLayer::infiniband)},
        {"roce-v1", every_opcode(Encapsulation::roce_v1, LinkLayer::ethernet)},
        {"roce-v2-ipv4", every_opcode(Encapsulation::roce_v2_ipv4, LinkLayer::ethernet)},
        {"roce-v2-ipv6", every_opcode(Encapsulation::roce_v2_ipv6, LinkLayer::ethernet)},
        {"pfc", link_frames()},
        {"management", management()},
    };
    for (const Named& named : samples) {
        const std::string path = folder + "/" + named.name + ".pcap";
        if (!named.sample.save(path)) {
            std::fprintf(stderr, "write_samples: cannot write %s\n", path.c_str());
            return 1;
        }
    }
    return 0;
}

}  // namespace
}  // namespace tulle::wire

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: write_samples FOLDER\n");
        return 2;
    }
    return tulle::wire::write_all(argv[1]);
}
