// What lies between memory and an adapter: before a message's first packet goes it is fetched, and
// what comes is stored when it is whole. In the formulas
//
//   fetch(n)  the latency of a read, and n bytes at the rate of the bus
//   store(n)  n bytes at that rate
//
// and `without` is the same run with memory inside the adapter, whose formulas are those of
// latency_test.cc and operations_test.cc.
#include "lab.h"

namespace tulle::exact {
namespace {

constexpr uint64_t kMtu = 4096;
constexpr uint64_t kInline = 220;
constexpr int64_t kBusPsPerByte = 40;  // 200 Gb/s, and 20 on the line

constexpr transport::MemoryAccess slow_bus() {
    return {
        .latency = 564_ns, .rate = base::Rate::bits_per_second(200 * kGiga), .max_inline = kInline};
}

constexpr Duration store(uint64_t bytes) {
    return {static_cast<int64_t>(bytes) * kBusPsPerByte};
}

constexpr Duration fetch(uint64_t bytes) {
    return 564_ns + store(bytes);
}

Duration takes(Lab setup, Verb operation, uint64_t bytes) {
    setup.flows = {Flow{.source = 0, .destination = 1, .bytes = bytes, .operation = operation}};
    const Result result = run(setup);
    EXPECT_TRUE(result.flows[0].finished);
    return result.flows[0].completion;
}

// What memory adds to a run.
Duration added(Verb operation, uint64_t bytes, const char* topology = "pair") {
    Lab setup = plain(topology);
    const Duration without = takes(setup, operation, bytes);
    setup.host.memory = slow_bus();
    return takes(setup, operation, bytes) - without;
}

TEST(Memory, the_one_packet_of_a_message_is_fetched_and_stored) {
    for (const Verb operation : {Verb::write, Verb::send})
        for (const uint64_t bytes : {kInline + 1, uint64_t{1024}, kMtu})
            EXPECT_EQ(added(operation, bytes), fetch(bytes) + store(bytes)) << bytes;
}

TEST(Memory, a_message_that_comes_with_the_doorbell_is_stored_alone) {
    for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{64}, kInline})
        EXPECT_EQ(added(Verb::write, bytes), store(bytes)) << bytes;
}

TEST(Memory, of_a_long_message_the_first_packet_is_fetched_and_the_last_is_stored) {
    for (const uint64_t packets : {2u, 3u, 100u})
        for (const char* topology : {"pair", "star:hosts=2"})
            EXPECT_EQ(added(Verb::write, packets * kMtu, topology), fetch(kMtu) + store(kMtu))
                << packets << " packets, " << topology;
}

// The one before is still on its way to memory: it came as much earlier as the last took the line.
TEST(Memory, a_short_last_packet_waits_for_the_one_before_it) {
    const Duration line{(kOverhead + 8) * ps_per_byte(400)};
    EXPECT_EQ(added(Verb::write, kMtu + 8), fetch(kMtu) + store(kMtu) - line);
}

TEST(Memory, a_read_is_fetched_where_the_data_is_and_stored_where_it_is_wanted) {
    for (const uint64_t bytes : {uint64_t{1}, uint64_t{64}, kMtu, 10 * kMtu}) {
        const uint64_t first = std::min(bytes, kMtu);
        EXPECT_EQ(added(Verb::read, bytes), fetch(first) + store(first)) << bytes;
    }
}

TEST(Memory, a_read_takes_longer_than_a_write_of_the_same_size) {
    Lab setup = plain("pair");
    setup.host.memory = slow_bus();
    setup.host.send_latency = setup.host.receive_latency = 500_ns;
    EXPECT_GT(takes(setup, Verb::read, 64), takes(setup, Verb::write, 64) + 500_ns);
}

// A latency, not occupancy: whoever comes second waits for the line as before, and for nothing
// else.
TEST(Memory, fetches_of_different_queue_pairs_overlap) {
    for (const Verb operation : {Verb::write, Verb::read}) {
        Lab setup = plain("pair");
        for (int i = 0; i < 8; ++i)
            setup.flows.push_back(
                {.source = 0, .destination = 1, .bytes = kMtu, .operation = operation});
        const Result without = run(setup);
        setup.host.memory = slow_bus();
        // The bus is slower than the line, so packets come to memory at its pace or better.
        const Result with = run(setup);
        EXPECT_EQ(with.flows[0].completion,
                  without.flows[0].completion + fetch(kMtu) + store(kMtu));
        EXPECT_EQ(with.flows[7].completion,
                  without.flows[7].completion + fetch(kMtu) + store(kMtu));
    }
}

TEST(Memory, requests_of_one_queue_pair_stay_in_order) {
    Lab setup = plain("pair");
    setup.host.memory = slow_bus();
    setup.host.reaction = 1_us;
    setup.ranks = {{0}, {1}};
    setup.program.jobs.push_back({.name = "job"});
    setup.program.phases.push_back({.name = "phase", .ranks = 2});
    using workload::Task;
    for (const auto& [kind, bytes] : {std::pair{Task::Kind::read, 10 * kMtu},
                                      {Task::Kind::send, 3 * kMtu},
                                      {Task::Kind::send, uint64_t{8}},
                                      {Task::Kind::read, uint64_t{8}},
                                      {Task::Kind::send, kMtu}})
        setup.program.add({.kind = kind, .rank = 0, .peer = 1, .bytes = bytes}, {});
    const Result result = run(setup);
    EXPECT_TRUE(result.phases[0].finished);
    EXPECT_EQ(result.totals.retransmitted, 0u);
    EXPECT_EQ(result.payload_bytes, 14 * kMtu + 16);
}

TEST(Memory, of_one_host_may_differ_from_that_of_the_others) {
    Lab setup = plain("star:hosts=3");
    setup.flows = {Flow{.source = 0, .destination = 1, .bytes = kMtu},
                   Flow{.source = 2, .destination = 0, .bytes = kMtu}};
    const Result without = run(setup);
    setup.host_overrides.push_back({0, setup.host});
    setup.host_overrides[0].host.memory = slow_bus();
    setup.host_overrides[0].host.send_latency = 300_ns;
    const Result with = run(setup);
    EXPECT_EQ(with.flows[0].completion, without.flows[0].completion + 300_ns + fetch(kMtu));
    EXPECT_EQ(with.flows[1].completion, without.flows[1].completion + store(kMtu));
}

}  // namespace
}  // namespace tulle::exact
