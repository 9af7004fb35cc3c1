#include <benchmark/benchmark.h>

#include <vector>

#include "wire/packet.h"
#include "wire/testing.h"

namespace tulle::wire {
namespace {

struct Sample {
    explicit Sample(size_t length) : payload(length, std::byte{0x5a}), bytes(kMaxEncodedSize) {
        testing::Random random(1);
        packet = testing::random_packet(
            random, opcode_of(Service::rc, Operation::write_only_with_immediate), payload);
        bytes.resize(encode(packet, path, payload, bytes));
    }
    std::vector<std::byte> payload;
    std::vector<std::byte> bytes;
    Packet packet;
    Path path = testing::sample_path(Encapsulation::roce_v2_ipv4);
};

// Ethernet, IPv4, UDP, BTH, RETH and ImmDt: from a packet to bytes and back, without checksums,
// which packet/encode measures.
void headers(benchmark::State& state) {
    Sample sample(0);
    for (auto _ : state) {
        write_frame(frame_of(sample.packet, sample.path, {}), sample.bytes);
        benchmark::DoNotOptimize(packet_of(parse_frame(LinkLayer::ethernet, sample.bytes)));
    }
}
BENCHMARK(headers)->Name("headers/encode_and_decode");

void transport_headers(benchmark::State& state) {
    Sample sample(0);
    const Frame frame = parse_frame(LinkLayer::ethernet, sample.bytes);
    std::array<std::byte, 64> bytes{};
    for (auto _ : state) {
        MutableBytes rest = bytes;
        for_each_transport_header(frame.transport, [&]<class H>(const char*, const H& header) {
            write(header, rest);
            rest = rest.subspan(H::kSize);
        });
        benchmark::ClobberMemory();
        benchmark::DoNotOptimize(parse<Bth>(bytes));
        benchmark::DoNotOptimize(parse<Reth>(Bytes(bytes).subspan(Bth::kSize)));
        benchmark::DoNotOptimize(parse<ImmDt>(Bytes(bytes).subspan(Bth::kSize + Reth::kSize)));
    }
}
BENCHMARK(transport_headers)->Name("headers/transport_alone");

void whole_packet(benchmark::State& state) {
    Sample sample(static_cast<size_t>(state.range(0)));
    for (auto _ : state)
        benchmark::DoNotOptimize(encode(sample.packet, sample.path, sample.payload, sample.bytes));
    state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(sample.bytes.size()));
}
BENCHMARK(whole_packet)->Name("packet/encode")->Arg(64)->Arg(4096);

void check_icrc(benchmark::State& state) {
    Sample sample(static_cast<size_t>(state.range(0)));
    const Frame frame = parse_frame(LinkLayer::ethernet, sample.bytes);
    for (auto _ : state) benchmark::DoNotOptimize(expected_icrc(frame, sample.bytes));
    state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(sample.bytes.size()));
}
BENCHMARK(check_icrc)->Name("packet/icrc")->Arg(64)->Arg(1024)->Arg(4096);

}  // namespace
}  // namespace tulle::wire
