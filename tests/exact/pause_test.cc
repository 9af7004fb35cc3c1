// Priority flow control end to end: a fast cable in, a slow one out, and every packet and pause
// frame of the fast cable where arithmetic puts it.
#include <algorithm>

#include "lab.h"

namespace tulle::exact {
namespace {

constexpr int64_t kDelay = 1'000'000;
constexpr int64_t kFast = 20;  // ps a byte at 400 Gb/s ...
constexpr int64_t kSlow = 80;  // ... and at 100
constexpr int64_t kPacket = 4096 + kOverhead;

Lab narrowing(uint64_t xoff, uint64_t xon_offset, Duration response) {
    Lab lab = plain(chain({400, 100}));
    lab.fabric.flow_control = fabric::FlowControl::pfc;
    lab.fabric.pfc.priorities = 1;
    lab.fabric.pfc.dynamic_threshold = false;
    lab.fabric.pfc.reserve_bytes = 0;
    lab.fabric.pfc.xoff_bytes = xoff;
    lab.fabric.pfc.xon_offset_bytes = xon_offset;
    lab.fabric.pfc.response_time = response;
    lab.taps = {{.cable = 0}};
    return lab;
}

int64_t size_of(size_t packet) {
    return packet == 0 ? kPacket + kReth : kPacket;
}

struct Expected {
    std::vector<int64_t> data;    // when the last bit of each packet left the host
    std::vector<int64_t> frames;  // when that of each pause frame left the switch, stop and go
};

// The same story told by counting: packets enter one by one, the slow line takes them one by one,
// and the host stops and goes on when a frame has come.
Expected by_counting(const Lab& lab, size_t packets) {
    const auto xoff = static_cast<int64_t>(lab.fabric.pfc.xoff_bytes);
    const auto xon = static_cast<int64_t>(lab.fabric.pfc.xon_offset_bytes);
    const int64_t frame = kPauseBytes * kFast;
    const int64_t heard = kDelay + lab.fabric.pfc.response_time.ps;
    Expected expected;
    std::vector<int64_t> begins;  // when each packet begins to leave the switch, ...
    std::vector<int64_t> stored;  // ... what it takes until then; 0 if it does not wait
    int64_t line_free_at = 0;
    int64_t used = 0;
    int64_t headroom = 0;
    size_t gone = 0;
    bool stopped = false;
    std::vector<std::pair<int64_t, bool>> orders;  // when the host hears to stop, or to go on
    int64_t host = 0;
    const auto tell = [&](int64_t now, bool stop) {
        const int64_t line_free = expected.frames.empty() ? 0 : expected.frames.back();
        expected.frames.push_back(std::max(now, line_free) + frame);
        orders.push_back({expected.frames.back() + heard, stop});
    };
    const auto release_before = [&](int64_t now) {
        for (; gone < begins.size() && begins[gone] < now; ++gone) {
            const int64_t bytes = stored[gone];
            const int64_t from_headroom = std::min(bytes, headroom);
            headroom -= from_headroom;
            used -= bytes - from_headroom;
            if (!stopped || headroom != 0 || (used != 0 && used + xon > xoff)) continue;
            stopped = false;
            tell(begins[gone], false);
        }
    };
    for (size_t i = 0; i < packets; ++i) {
        // The host begins a packet as soon as the last order that it has heard lets it.
        for (;;) {
            release_before(host + kDelay);
            const std::pair<int64_t, bool>* last = nullptr;
            const std::pair<int64_t, bool>* next = nullptr;
            for (const auto& order : orders) (order.first <= host ? last : next) = &order;
            if (last == nullptr || !last->second) break;
            if (next != nullptr && !next->second) {
                host = next->first;
                break;
            }
            host += 1'000;
        }
        host += size_of(i) * kFast;
        expected.data.push_back(host);
        const int64_t arrives = host + kDelay;
        release_before(arrives);
        begins.push_back(std::max(arrives, line_free_at));
        stored.push_back(begins.back() == arrives ? 0 : size_of(i));
        line_free_at = begins.back() + size_of(i) * kSlow;
        if (stored.back() == 0) continue;
        const bool fits = headroom == 0 && used + size_of(i) <= xoff;
        (fits ? used : headroom) += size_of(i);
        if (stopped || (fits && used < xoff)) continue;
        stopped = true;
        tell(arrives, true);
    }
    release_before(INT64_MAX);
    return expected;
}

void expect_as_counted(Lab lab, size_t packets) {
    lab.flows = {Flow{.source = 0, .destination = 1, .bytes = packets * 4096}};
    const Result result = run(lab);
    const Expected expected = by_counting(lab, packets);
    std::vector<int64_t> data;
    std::vector<int64_t> frames;
    for (const sim::CapturedPacket& captured : result.captured) {
        if (captured.packet.kind == wire::PacketKind::pfc)
            frames.push_back(captured.at.ps);
        else if (captured.from_a)
            data.push_back(captured.at.ps);
    }
    EXPECT_EQ(data, expected.data);
    EXPECT_EQ(frames, expected.frames);
    EXPECT_GE(frames.size(), 2u);
    EXPECT_EQ(link(result, 0).pauses_received, frames.size());
    for (const uint64_t count : result.totals.dropped) EXPECT_EQ(count, 0u);
}

TEST(Pause, stops_and_goes_on_where_arithmetic_says) {
    for (const uint64_t xoff : {20'000u, 100'000u})
        for (const uint64_t xon_offset : {3'000u, 15'000u})
            expect_as_counted(narrowing(xoff, xon_offset, {}), 200);
}

TEST(Pause, is_heeded_after_the_response_time) {
    expect_as_counted(narrowing(50'000, 5'000, 500_ns), 200);
}

// By hand: the first packet does not wait, the second begins to leave the switch 1.4194 us after
// the start, the third 334 ns later. When the eleventh comes, eight would wait and need 33,424
// bytes; XOFF is at 30,000.
TEST(Pause, the_first_frame_leaves_when_the_packet_that_does_not_fit_has_come) {
    Lab lab = narrowing(30'000, 15'000, {});
    lab.flows = {Flow{.source = 0, .destination = 1, .bytes = 100 * 4096}};
    const Result result = run(lab);
    const int64_t eleventh = (11 * kPacket + kReth) * kFast + kDelay;
    const auto frame = std::ranges::find(result.captured, wire::PacketKind::pfc,
                                         [](const auto& c) { return c.packet.kind; });
    ASSERT_NE(frame, result.captured.end());
    EXPECT_EQ(frame->at.ps, eleventh + kPauseBytes * kFast);
    // It is heard 1 us later; the packet that is on the line then is the last for now.
    const int64_t heard = frame->at.ps + kDelay;
    const int64_t packets = (heard - kReth * kFast) / (kPacket * kFast) + 1;
    int64_t last = 0;
    int64_t next = 0;
    for (const sim::CapturedPacket& c : result.captured) {
        if (!c.from_a || next != 0) continue;
        if (c.at.ps - last > 2 * kPacket * kFast && last != 0)
            next = c.at.ps;
        else
            last = c.at.ps;
    }
    EXPECT_EQ(last, (packets * kPacket + kReth) * kFast);
    EXPECT_GT(next, heard);
}

TEST(Pause, of_a_storm_is_told_again_after_half_of_its_quanta) {
    Lab lab = plain("star:2");
    lab.fabric.flow_control = fabric::FlowControl::pfc;
    lab.fabric.pfc.priorities = 1;
    lab.fabric.pfc.quanta = 1000;  // 64,000 bytes: 1.28 us
    lab.taps = {{.cable = 1}};
    lab.faults = {{.kind = Fault::Kind::pause_storm, .at = Instant{} + 10_us, .subject = 1},
                  {.kind = Fault::Kind::pause_storm_end, .at = Instant{} + 20_us, .subject = 1}};
    lab.flows = {Flow{.source = 0, .destination = 1, .bytes = 4096, .start = Instant{} + 12_us}};
    const Result result = run(lab);
    std::vector<Duration> frames;
    for (const sim::CapturedPacket& c : result.captured)
        if (c.packet.kind == wire::PacketKind::pfc) frames.push_back(c.at - Instant{});
    std::vector<Duration> expected;
    const Duration frame{kPauseBytes * kFast};
    for (Duration at = 10_us; at < 20_us; at += 640_ns) expected.push_back(at + frame);
    expected.push_back(20_us + frame);  // go on
    EXPECT_EQ(frames, expected);
    // The packet waits at the switch from when it came until the last frame is heard.
    const int64_t packet = (kPacket + kReth) * kFast;
    const int64_t sent = (20_us + frame).ps + kDelay + packet;
    EXPECT_EQ(result.flows[0].completion.ps,
              sent + kDelay + 2 * (kAckBytes * kFast + kDelay) - (12_us).ps);
    const int64_t came = (12_us).ps + packet + kDelay;
    EXPECT_EQ(link(result, 2, 1).paused.ps, (20_us + frame).ps + kDelay - came);
}

TEST(Pause, that_the_peer_does_not_heed_overruns_the_headroom) {
    Lab lab = narrowing(20'000, 3'000, {});
    lab.host.ack_timeout = 8;
    lab.host.retry_count = 7;
    lab.flows = {Flow{.source = 0, .destination = 1, .bytes = 200 * 4096}};
    EXPECT_EQ(dropped(run(lab), sim::Drop::headroom_full), 0u);
    lab.qos = {{.node = 0, .pfc_priorities = 0, .ets = lab.fabric.ets}};
    const Result result = run(lab);
    ASSERT_EQ(result.disagreements.size(), 1u);
    EXPECT_EQ(result.disagreements[0].cable, 0u);
    EXPECT_GT(dropped(result, sim::Drop::headroom_full), 0u);
    lab.qos[0].willing = true;  // takes what the switch says
    const Result agreed = run(lab);
    EXPECT_TRUE(agreed.disagreements.empty());
    EXPECT_EQ(dropped(agreed, sim::Drop::headroom_full), 0u);
}

// What is computed from cable and rate is enough, whatever the cable is, and not much too much.
TEST(Pause, computed_headroom_is_enough_for_any_cable) {
    for (const Duration delay : {10_ns, 1_us, 20_us, 500_us}) {
        Lab lab = narrowing(30'000, 3'000, 300_ns);
        for (topology::Cable& cable : lab.graph.cables) cable.delay = delay;
        lab.flows = {Flow{.source = 0, .destination = 1, .bytes = 60'000'000}};
        const Result result = run(lab);
        EXPECT_EQ(dropped(result, sim::Drop::headroom_full), 0u);
        EXPECT_EQ(result.totals.retransmitted, 0u);
        EXPECT_GT(result.totals.pause_frames, 0u);
    }
}

// And whatever is around a packet: three of them are a part of it. Pauses wait for packets of the
// other direction.
TEST(Pause, computed_headroom_is_enough_for_packets_with_long_headers) {
    for (const uint32_t around : {50, 1'000, 3'000}) {
        Lab lab = narrowing(30'000, 3'000, 0_ns);
        lab.fabric.framing.envelope_bytes = around;
        lab.host.mtu = 256;
        for (topology::Cable& cable : lab.graph.cables) cable.delay = 10_ns;
        lab.flows = {Flow{.source = 0, .destination = 1, .bytes = 6'000'000},
                     Flow{.source = 1, .destination = 0, .bytes = 6'000'000}};
        EXPECT_EQ(dropped(run(lab), sim::Drop::headroom_full), 0u) << around;
    }
}

}  // namespace
}  // namespace tulle::exact
