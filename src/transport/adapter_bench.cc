// Two adapters back to back in memory: the cost of a packet, requester and responder together.
#include <benchmark/benchmark.h>

#include <vector>

#include "transport/adapter.h"

namespace tulle::transport {
namespace {

constexpr uint64_t kBase = 0x1000'0000;
constexpr uint32_t kDepth = 64;

struct End {
    End(EndpointIndex endpoint, std::byte* host, uint64_t length, uint32_t idle_qps)
        : adapter({.endpoint = endpoint, .lane_of_level = {}}) {
        pd = adapter.memory().create_pd();
        key = *adapter.memory().register_region(
            {pd, kBase, length, host, kLocalWrite | kRemoteWrite | kRemoteRead});
        cq = adapter.completions().create(256);
        setup = {.type = QpType::rc, .pd = pd, .send_cq = cq, .receive_cq = cq};
        setup.send.requests = kDepth;
        setup.receive_requests = kDepth;
        for (uint32_t i = 0; i < idle_qps; ++i)
            benchmark::DoNotOptimize(adapter.queue_pairs().create(setup));
        qpn = *adapter.queue_pairs().create(setup);
    }

    void connect(EndpointIndex peer, Qpn peer_qpn) {
        QpAttributes attributes;
        attributes.access = kRemoteWrite | kRemoteRead;
        attributes.address = {.endpoint = peer, .ack_timeout = 14};
        attributes.path_mtu = 4096;
        attributes.dest_qpn = peer_qpn;
        const auto step = [&](QpState state, uint32_t mask) {
            attributes.state = state;
            TULLE_CHECK(adapter.queue_pairs().modify(qpn, attributes, mask | kState) ==
                        Refusal::none);
        };
        step(QpState::init, kPkeyIndex | kPort | kAccessFlags);
        step(QpState::rtr,
             kAddress | kPathMtu | kDestQpn | kReceivePsn | kMaxIncomingReads | kMinRnrTimer);
        step(QpState::rts, kTimeout | kRetryCount | kRnrRetry | kMaxReads | kSendPsn);
    }

    Adapter adapter;
    PdId pd;
    uint32_t key = 0;
    CqId cq;
    QpSetup setup;
    Qpn qpn;
};

class BackToBack {
public:
    explicit BackToBack(uint64_t length, bool real_memory, uint32_t idle_qps)
        : memory_(real_memory ? 2 * length : 0),
          a({1}, real_memory ? memory_.data() : nullptr, length, idle_qps),
          b({2}, real_memory ? memory_.data() + length : nullptr, length, idle_qps) {
        a.connect({2}, b.qpn);
        b.connect({1}, a.qpn);
    }

    // Moves packets both ways until neither side has any, nor one that only waits for its time;
    // returns the number of packets.
    uint64_t run() {
        uint64_t packets = 0;
        Packet packet;
        const Lanes lanes = Lanes::open();
        for (bool moved = true; moved;) {
            moved = false;
            now.ps += 1000;
            for (; a.adapter.poll_transmit(now, lanes, packet); ++packets, moved = true)
                b.adapter.on_packet(now, packet);
            for (; b.adapter.poll_transmit(now, lanes, packet); ++packets, moved = true)
                a.adapter.on_packet(now, packet);
            const Instant next = a.adapter.next_deadline();
            if (!moved && next < now + kPause) {
                now = next;
                moved = true;
            }
            a.adapter.on_timer(now);
            b.adapter.on_timer(now);
        }
        return packets;
    }

    static size_t drain(End& end) {
        std::array<Completion, 64> completions;
        size_t count = 0;
        while (const size_t n = end.adapter.completions().poll(end.cq, completions)) count += n;
        return count;
    }

private:
    static constexpr base::Duration kPause{1'000'000'000};  // waits for answers are longer

    std::vector<std::byte> memory_;

public:
    End a;
    End b;
    Instant now{};
};

void write_1_mib(benchmark::State& state, const CongestionControl& control) {
    constexpr uint32_t kLength = 1 << 20;
    const bool real = state.range(0) != 0;
    BackToBack pair(kLength, real, static_cast<uint32_t>(state.range(1)));
    pair.a.adapter.queue_pairs().set_congestion_control(pair.a.qpn, control);
    const Sge sge{kBase, kLength, pair.a.key};
    SendRequest request;
    request.work = Work::write;
    request.sges = std::span(&sge, 1);
    request.remote_address = kBase;
    request.rkey = pair.b.key;
    uint64_t data_packets = 0;
    for (auto _ : state) {
        TULLE_CHECK(pair.a.adapter.post_send(pair.a.qpn, request) == Refusal::none);
        pair.run();
        TULLE_CHECK(BackToBack::drain(pair.a) == 1);
        data_packets += kLength / 4096;
    }
    state.SetItemsProcessed(static_cast<int64_t>(data_packets));
}
const DcqcnSettings kDcqcn;
BENCHMARK_CAPTURE(write_1_mib, unpaced, CongestionControl())
    ->Name("rc_write_1MiB_4KiB_packets")
    ->ArgNames({"real_memory", "idle_qps"})
    ->Args({0, 10})
    ->Args({1, 10})
    ->Args({0, 100'000});
// A fixed number of packets, for callgrind: instructions per packet are this run's, less those of
// one packet.
BENCHMARK_CAPTURE(write_1_mib, unpaced, CongestionControl())
    ->Name("counted/rc_write_65536_packets")
    ->Args({0, 10})
    ->Iterations(256);
// At a fixed rate, each packet also costs a clock check: twice as many polls, and a timer.
BENCHMARK_CAPTURE(write_1_mib, fixed,
                  CongestionControl(FixedRate(base::Rate::bits_per_second(100'000'000'000))))
    ->Name("counted/paced_write_65536_packets")
    ->Args({0, 10})
    ->Iterations(256);
BENCHMARK_CAPTURE(write_1_mib, dcqcn, CongestionControl(Dcqcn(kDcqcn)))
    ->Name("counted/dcqcn_write_65536_packets")
    ->Args({0, 10})
    ->Iterations(256);

void send_64(benchmark::State& state) {
    BackToBack pair(1 << 16, state.range(0) != 0, static_cast<uint32_t>(state.range(1)));
    const Sge from{kBase, 64, pair.a.key};
    const Sge to{kBase, 64, pair.b.key};
    SendRequest request;
    request.sges = std::span(&from, 1);
    const ReceiveRequest receive{0, std::span(&to, 1)};
    constexpr uint32_t kBatch = 32;
    for (auto _ : state) {
        for (uint32_t i = 0; i < kBatch; ++i) pair.b.adapter.post_receive(pair.b.qpn, receive);
        for (uint32_t i = 0; i < kBatch; ++i) {
            request.flags = i + 1 == kBatch ? kSignalled : 0;
            TULLE_CHECK(pair.a.adapter.post_send(pair.a.qpn, request) == Refusal::none);
        }
        pair.run();
        TULLE_CHECK(BackToBack::drain(pair.b) == kBatch);
        TULLE_CHECK(BackToBack::drain(pair.a) == 1);
    }
    state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(send_64)
    ->Name("rc_send_64B")
    ->ArgNames({"real_memory", "idle_qps"})
    ->Args({0, 10})
    ->Args({1, 10})
    ->Args({0, 100'000});

BENCHMARK(send_64)->Name("counted/rc_send_8192_messages")->Args({0, 10})->Iterations(256);

void idle_queue_pairs(benchmark::State& state) {
    for (auto _ : state) {
        End end({1}, nullptr, 4096, static_cast<uint32_t>(state.range(0)));
        benchmark::DoNotOptimize(end.adapter.queue_pairs().count());
    }
    state.counters["bytes_of_structure"] = sizeof(QueuePair);
}
BENCHMARK(idle_queue_pairs)->Arg(1000)->Arg(1'000'000)->Iterations(1);

}  // namespace
}  // namespace tulle::transport
