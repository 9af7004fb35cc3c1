#include "live/wire_path.h"

#include <gtest/gtest.h>

#include <memory>

#include "wire/opcode.h"

namespace tulle::live {
namespace {

using base::Instant;

class WirePathTest : public testing::Test {
protected:
    WirePathTest() {
        const Identity other = identity_of(1, true);
        board->rank = 1;
        board->gid_count = static_cast<uint32_t>(other.gids.size());
        std::copy(other.gids.begin(), other.gids.end(), board->gids);
    }

    wire::Packet packet(uint32_t psn) const {
        wire::Packet made;
        made.opcode = wire::opcode_of(wire::Service::rc, wire::Operation::send_only);
        made.set_dest_qp(wire::Qpn{0x1002});
        made.set_psn(wire::Psn{psn});
        made.payload_length = static_cast<uint32_t>(data.size());
        made.payload = wire::Payload::memory(data.data());
        return made;
    }

    // PSNs that arrive whole, in the order in which they do.
    std::vector<uint32_t> arrivals(WireSettings settings, uint32_t count) {
        settings.is_on = true;
        WirePath path(identity_of(0, true), settings);
        for (uint32_t i = 0; i < count; ++i)
            path.send(Instant{int64_t{i} * 1'000'000}, 1, *board, packet(i), nullptr);
        std::vector<uint32_t> psns;
        while (const auto sent = path.poll(Instant{int64_t{1} << 60}))
            if (const auto received = path.receive(sent->bytes))
                psns.push_back(received->packet.psn().value);
        return psns;
    }

    std::vector<std::byte> data = std::vector<std::byte>(100, std::byte{0x5a});
    std::unique_ptr<Board> board = std::make_unique<Board>();
};

TEST_F(WirePathTest, a_packet_comes_out_as_it_went_in) {
    WirePath path(identity_of(0, true), {});
    path.send(Instant{}, 1, *board, packet(77), nullptr);
    const auto sent = path.poll(Instant{});
    ASSERT_TRUE(sent);
    EXPECT_EQ(sent->peer, 1u);
    const auto received = path.receive(sent->bytes);
    ASSERT_TRUE(received);
    EXPECT_EQ(received->packet.psn(), wire::Psn{77});
    EXPECT_EQ(received->packet.dest_qp(), wire::Qpn{0x1002});
    ASSERT_EQ(received->packet.payload_length, data.size());
    EXPECT_EQ(received->packet.payload.address()[99], std::byte{0x5a});
    EXPECT_EQ(received->grh.size(), 40u);
}

TEST_F(WirePathTest, without_faults_all_arrive_in_order) {
    const auto psns = arrivals({}, 100);
    ASSERT_EQ(psns.size(), 100u);
    for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(psns[i], i);
}

TEST_F(WirePathTest, the_same_seed_loses_the_same_packets_and_another_one_others) {
    WireSettings settings;
    settings.loss_ppm = 100'000;
    const auto once = arrivals(settings, 1000);
    EXPECT_LT(once.size(), 950u);
    EXPECT_GT(once.size(), 850u);
    EXPECT_EQ(arrivals(settings, 1000), once);
    settings.seed = 2;
    EXPECT_NE(arrivals(settings, 1000), once);
}

TEST_F(WirePathTest, damage_is_noticed_wherever_the_bit_is) {
    WireSettings settings;
    settings.corrupt_ppm = 1'000'000;
    // The link header and a few fields that switches change are not covered by the ICRC.
    EXPECT_LT(arrivals(settings, 1000).size(), 250u);
}

TEST_F(WirePathTest, a_packet_that_is_late_is_overtaken_and_one_that_is_doubled_comes_twice) {
    WireSettings settings;
    settings.reorder_ppm = 200'000;
    const auto late = arrivals(settings, 200);
    EXPECT_EQ(late.size(), 200u);
    EXPECT_FALSE(std::is_sorted(late.begin(), late.end()));
    WireSettings doubling;
    doubling.duplicate_ppm = 1'000'000;
    EXPECT_EQ(arrivals(doubling, 50).size(), 100u);
}

TEST_F(WirePathTest, delay_and_rate_hold_packets_back) {
    WireSettings settings;
    settings.delay = base::Duration{5'000'000};
    WirePath slow(identity_of(0, true), settings);
    slow.send(Instant{}, 1, *board, packet(0), nullptr);
    EXPECT_FALSE(slow.poll(Instant{4'999'999}));
    EXPECT_TRUE(slow.poll(Instant{5'000'000}));
    settings.delay = {};
    settings.rate_bps = 1'000'000'000;
    WirePath narrow(identity_of(0, true), settings);
    narrow.send(Instant{}, 1, *board, packet(0), nullptr);
    narrow.send(Instant{}, 1, *board, packet(1), nullptr);
    const Instant first = narrow.next_deadline();
    EXPECT_GT(first.ps, 1'000'000);
    EXPECT_TRUE(narrow.poll(first));
    EXPECT_EQ(narrow.next_deadline().ps, 2 * first.ps);
}

}  // namespace
}  // namespace tulle::live
