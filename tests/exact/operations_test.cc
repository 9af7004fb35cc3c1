// What hosts do besides writing.
#include "lab.h"

namespace tulle::exact {
namespace {

TEST(Operations, a_host_that_only_receives_takes_any_number_of_sends) {
    Lab lab = plain("pair");
    for (uint32_t i = 0; i < 100; ++i)
        lab.flows.push_back({.source = 0, .destination = 1, .bytes = 100, .operation = Verb::send});
    const Result result = run(lab);
    for (const sim::FlowResult& flow : result.flows) EXPECT_TRUE(flow.finished);
    EXPECT_EQ(result.totals.retransmitted, 0u);
}

TEST(Operations, a_host_that_only_answers_takes_any_number_of_reads) {
    Lab lab = plain("pair");
    for (uint32_t i = 0; i < 100; ++i)
        lab.flows.push_back(
            {.source = 0, .destination = 1, .bytes = 10'000, .operation = Verb::read});
    const Result result = run(lab);
    for (const sim::FlowResult& flow : result.flows) EXPECT_TRUE(flow.finished);
    EXPECT_EQ(result.totals.data_packets, 100u + 100u * 3);
}

// Between two hosts there is one context, through which messages go one after another: of two flows
// that begin together one is as fast as alone, and the other takes that long once more.
TEST(Operations, reliable_datagrams_of_two_hosts_take_turns) {
    Lab lab = plain("pair");
    lab.host.service = sim::Service::datagram;
    for (const Verb operation : {Verb::write, Verb::send, Verb::read}) {
        lab.flows = {{.source = 0, .destination = 1, .bytes = 400'000, .operation = operation}};
        const Duration alone = run(lab).flows[0].completion;
        lab.flows.push_back(lab.flows[0]);
        const Result both = run(lab);
        EXPECT_EQ(both.flows[0].completion, alone);
        EXPECT_EQ(both.flows[1].completion, 2 * alone);
        EXPECT_EQ(both.totals.retransmitted, 0u);
    }
}

TEST(Operations, reliable_datagrams_to_different_hosts_do_not_wait_for_each_other) {
    Lab lab = plain("star:4");
    lab.host.service = sim::Service::datagram;
    for (uint32_t i = 1; i < 4; ++i)
        lab.flows.push_back({.source = i, .destination = i % 3 + 1, .bytes = 400'000});
    const Result result = run(lab);
    for (const sim::FlowResult& flow : result.flows)
        EXPECT_EQ(flow.completion, result.flows[0].completion);
}

// The responder of a READ fetches what is asked for from memory, as one of a connection does.
TEST(Operations, reliable_datagrams_that_read_wait_for_memory) {
    Lab lab = plain("pair");
    lab.host.service = sim::Service::datagram;
    lab.flows = {{.source = 0, .destination = 1, .bytes = 24, .operation = Verb::read}};
    const Duration at_once = run(lab).flows[0].completion;
    lab.host.memory.latency = 700_ns;
    EXPECT_EQ(run(lab).flows[0].completion, at_once + 700_ns);
}

TEST(Operations, reliable_datagrams_survive_loss) {
    Lab lab = plain("pair");
    lab.host.service = sim::Service::datagram;
    lab.host.ack_timeout = 8;
    lab.fabric.link.error_rate_e18 = 100'000'000'000;
    for (uint32_t i = 0; i < 20; ++i)
        lab.flows.push_back({.source = i % 2, .destination = 1 - i % 2, .bytes = 1'000'000});
    const Result result = run(lab);
    EXPECT_GT(result.totals.retransmitted, 0u);
    for (const sim::FlowResult& flow : result.flows) EXPECT_TRUE(flow.finished);
}

// A flow of more than 1 GiB is several messages and ends with the last.
TEST(Operations, a_flow_longer_than_a_message_ends_once) {
    Lab lab = plain("pair");
    lab.host.ack_every = 1 << 14;  // before the window of 2^15 packets is full
    const uint64_t bytes = (uint64_t{1} << 30) + 4096;
    const int64_t packets = static_cast<int64_t>(bytes / 4096);
    const int64_t data = packets * (4096 + kOverhead) + 2 * kReth;  // a RETH for each message
    EXPECT_EQ(completion(lab, bytes), (Duration{(data + kAckBytes) * 20 + 2'000'000}));
}

// Nobody asks for an acknowledgement before the window is full: then the line waits a round trip.
TEST(Operations, a_full_window_waits_for_its_acknowledgement) {
    for (const int64_t window : {10, 100}) {
        Lab lab = plain("pair");
        lab.host.window_packets = static_cast<uint32_t>(window);
        const int64_t rounds = 1000 / window;
        const int64_t data = 1000 * (4096 + kOverhead) + kReth;
        EXPECT_EQ(completion(lab, 1000 * 4096),
                  (Duration{data * 20 + rounds * (kAckBytes * 20 + 2'000'000)}));
    }
}

}  // namespace
}  // namespace tulle::exact
