// The share of a line that is payload: each packet's headers, and what flow control adds.
#include <cmath>

#include "lab.h"
#include "wire/packet.h"

namespace tulle::exact {
namespace {

using wire::Encapsulation;

// How long so many packets take more, once the first is under way.
Duration of_packets(const Lab& setup, uint32_t mtu, uint64_t packets) {
    return completion(setup, 2 * packets * mtu) - completion(setup, packets * mtu);
}

struct Wrapped {
    Encapsulation encapsulation;
    uint32_t envelope;  // all but BTH and payload
    uint32_t gap;
};
constexpr Wrapped kWrapped[] = {
    {Encapsulation::roce_v2_ipv4, 50, 20},     {Encapsulation::roce_v2_ipv6, 70, 20},
    {Encapsulation::roce_v1, 62, 20},          {Encapsulation::infiniband_local, 14, 0},
    {Encapsulation::infiniband_global, 54, 0},
};
constexpr uint32_t kBth = 12;

Lab wrapped(const Wrapped& wrapped, uint32_t mtu) {
    Lab setup = plain("pair");
    setup.fabric.framing.encapsulation = wrapped.encapsulation;
    setup.fabric.framing.envelope_bytes = wrapped.envelope;
    setup.fabric.link.gap_bytes = wrapped.gap;
    if (wrapped.gap == 0) setup.fabric.framing.minimum_bytes = 0;
    setup.host.mtu = mtu;
    return setup;
}

// The bytes that a packet really has; those of Ethernet come without the FCS.
TEST(Goodput, counts_the_bytes_that_the_encoder_writes) {
    for (const Wrapped& w : kWrapped) {
        wire::Packet packet;
        packet.opcode = wire::opcode_of(wire::Service::rc, wire::Operation::write_middle);
        packet.payload_length = 1024;
        wire::Path path;
        path.encapsulation = w.encapsulation;
        std::vector<std::byte> bytes(wire::kMaxEncodedSize);
        const std::vector<std::byte> payload(1024);
        const size_t fcs = w.gap != 0 ? 4 : 0;
        EXPECT_EQ(wire::encode(packet, path, payload, bytes) + fcs, w.envelope + kBth + 1024);
    }
}

TEST(Goodput, is_the_payloads_share_of_the_line_for_each_mtu_and_encapsulation) {
    constexpr int64_t kPackets = 1000;
    for (const Wrapped& w : kWrapped)
        for (const uint32_t mtu : {256u, 512u, 1024u, 2048u, 4096u}) {
            const int64_t packet = mtu + w.envelope + kBth + w.gap;
            EXPECT_EQ(of_packets(wrapped(w, mtu), mtu, kPackets),
                      (Duration{kPackets * packet * 20}))
                << mtu;
        }
}

TEST(Goodput, at_400_gigabits_a_second_is_what_the_papers_say) {
    struct Row {
        Wrapped wrapped;
        uint32_t mtu;
        double gbps;
    };
    const Row rows[] = {
        {kWrapped[0], 1024, 370.34}, {kWrapped[0], 2048, 384.60}, {kWrapped[0], 4096, 392.15},
        {kWrapped[1], 4096, 390.28}, {kWrapped[3], 1024, 390.10}, {kWrapped[3], 2048, 394.99},
        {kWrapped[3], 4096, 397.48},
    };
    for (const Row& row : rows) {
        const Duration time = of_packets(wrapped(row.wrapped, row.mtu), row.mtu, 1000);
        const double gbps = 8000.0 * 1000 * row.mtu / static_cast<double>(time.ps);
        EXPECT_EQ(std::round(gbps * 100) / 100, row.gbps) << row.mtu;
    }
}

TEST(Goodput, of_a_read_is_that_of_a_write) {
    Lab setup = plain("pair");
    const auto time = [&](uint64_t packets) {
        setup.flows = {
            Flow{.source = 0, .destination = 1, .bytes = packets * 4096, .operation = Verb::read}};
        return run(setup).flows[0].completion;
    };
    EXPECT_EQ(time(2000) - time(1000), (Duration{1000 * (4096 + kOverhead) * 20}));
}

Lab infiniband(uint32_t mtu) {
    Lab setup = wrapped(kWrapped[3], mtu);
    setup.fabric.flow_control = fabric::FlowControl::credits;
    setup.fabric.link.delay = 25_ns;
    return setup;
}

TEST(Goodput, with_credits_one_way_is_that_of_the_data_alone) {
    for (const uint32_t mtu : {256u, 1024u, 4096u})
        EXPECT_EQ(of_packets(infiniband(mtu), mtu, 1000), (Duration{1000 * (mtu + 26) * 20}));
}

// Each direction carries the updates of the other: 6 bytes for each 4 KiB that came free.
TEST(Goodput, with_credits_both_ways_pays_for_the_updates) {
    for (const uint32_t mtu : {1024u, 2048u, 4096u}) {
        Lab setup = infiniband(mtu);
        const auto time = [&](uint64_t packets) {
            setup.flows = {Flow{.source = 0, .destination = 1, .bytes = packets * mtu},
                           Flow{.source = 1, .destination = 0, .bytes = packets * mtu}};
            const Result result = run(setup);
            EXPECT_EQ(result.flows[0].completion, result.flows[1].completion);
            return result.flows[0].completion;
        };
        const int64_t blocks = fabric::CreditScale(64).blocks_of(mtu + 26);
        const int64_t packets_an_update = (64 + blocks - 1) / blocks;
        const int64_t updates = 960 / packets_an_update;
        EXPECT_EQ(time(1920) - time(960), (Duration{(960 * (mtu + 26) + updates * 6) * 20})) << mtu;
    }
}

}  // namespace
}  // namespace tulle::exact
