// What a key opens and what it does not: rights, bounds, protection domains, and memory that goes
// away amid a message.
#include <gtest/gtest.h>

#include "pair.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using wire::Operation;

constexpr uint64_t kEnd = Host::kMemory;

Status run_one(Pair& pair, const Post& post) {
    pair.client.post(post);
    pair.run();
    return pair.client.completion().status;
}

TEST(MemoryRules, each_right_that_a_region_lacks_closes_its_operation) {
    struct Case {
        Work work;
        uint32_t missing;
        uint8_t placement = 0;
    };
    const uint32_t all =
        kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic | kFlushGlobal | kFlushPersistent;
    for (const Case& c :
         {Case{Work::write, kRemoteWrite}, Case{Work::write_with_immediate, kRemoteWrite},
          Case{Work::read, kRemoteRead}, Case{Work::fetch_add, kRemoteAtomic},
          Case{Work::compare_swap, kRemoteAtomic}, Case{Work::atomic_write, kRemoteWrite},
          Case{Work::flush, kFlushGlobal, 1}, Case{Work::flush, kFlushPersistent, 2}}) {
        PairOptions server;
        server.access = all;
        server.region_access = all & ~c.missing;
        Pair pair(PairOptions{}, server);
        const std::vector<std::byte> before = pair.server.memory;
        EXPECT_EQ(run_one(pair, {.work = c.work, .length = 8, .flush_placement = c.placement}),
                  Status::remote_access_error)
            << int(c.work);
        EXPECT_EQ(pair.server.memory, before);
        server.region_access = all;
        Pair with_right(PairOptions{}, server);
        EXPECT_EQ(
            run_one(with_right, {.work = c.work, .length = 8, .flush_placement = c.placement}),
            Status::success)
            << int(c.work);
    }
}

TEST(MemoryRules, the_range_ends_at_its_last_byte_and_begins_at_its_first) {
    struct Case {
        uint64_t offset;
        uint32_t length;
        Status status;
    };
    const uint64_t below = uint64_t{0} - 1;
    for (const Case& c :
         {Case{0, 100, Status::success}, Case{kEnd - 100, 100, Status::success},
          Case{kEnd - 99, 100, Status::remote_access_error},
          Case{kEnd, 1, Status::remote_access_error}, Case{below, 1, Status::remote_access_error},
          Case{below, 2, Status::remote_access_error},
          Case{kEnd - 3000, 3001, Status::remote_access_error}}) {
        for (const Work work : {Work::write, Work::read}) {
            Pair pair;
            const std::vector<std::byte> before = pair.server.memory;
            EXPECT_EQ(run_one(pair, {.work = work, .length = c.length, .remote_offset = c.offset}),
                      c.status)
                << c.offset;
            EXPECT_EQ(pair.server.memory == before,
                      c.status != Status::success || work == Work::read)
                << c.offset;
        }
    }
}

TEST(MemoryRules, atomics_stay_within_their_range_too) {
    Pair pair;
    EXPECT_EQ(run_one(pair, {.work = Work::fetch_add, .length = 8, .remote_offset = kEnd - 8}),
              Status::success);
    Pair beyond;
    EXPECT_EQ(run_one(beyond, {.work = Work::fetch_add, .length = 8, .remote_offset = kEnd}),
              Status::remote_access_error);
}

TEST(MemoryRules, an_atomic_that_is_not_aligned_is_an_invalid_request) {
    for (const Work work : {Work::fetch_add, Work::compare_swap, Work::atomic_write}) {
        Pair pair;
        EXPECT_EQ(run_one(pair, {.work = work, .length = 8, .remote_offset = 4}),
                  Status::remote_invalid_request);
    }
}

TEST(MemoryRules, without_data_the_key_is_not_looked_at) {
    for (const Work work : {Work::write, Work::read, Work::write_with_immediate}) {
        Pair pair;
        EXPECT_EQ(run_one(pair, {.work = work, .length = 0, .remote_offset = kEnd * 9, .rkey = 5}),
                  Status::success);
    }
}

TEST(MemoryRules, a_key_of_another_protection_domain_opens_nothing) {
    Pair pair;
    const PdId other = pair.server.adapter.memory().create_pd();
    const uint32_t key = *pair.server.adapter.memory().register_region(
        {other, Host::kBase, Host::kMemory, pair.server.memory.data(),
         kLocalWrite | kRemoteWrite | kRemoteRead});
    EXPECT_EQ(run_one(pair, {.work = Work::write, .length = 8, .rkey = key}),
              Status::remote_access_error);
}

TEST(MemoryRules, a_local_key_of_another_protection_domain_opens_nothing) {
    Pair pair;
    const PdId other = pair.client.adapter.memory().create_pd();
    const uint32_t key = *pair.client.adapter.memory().register_region(
        {other, Host::kBase, Host::kMemory, pair.client.memory.data(), kLocalWrite});
    EXPECT_EQ(run_one(pair, {.work = Work::send, .length = 8, .lkey = key}),
              Status::local_protection_error);
}

TEST(MemoryRules, a_key_of_the_past_opens_nothing) {
    Pair pair;
    Memory& memory = pair.server.adapter.memory();
    ASSERT_EQ(memory.deregister_region(pair.server.key), Refusal::none);
    const uint32_t key =
        *memory.register_region({pair.server.pd, Host::kBase, Host::kMemory,
                                 pair.server.memory.data(), kLocalWrite | kRemoteWrite});
    EXPECT_NE(key, pair.server.key);
    EXPECT_EQ(run_one(pair, {.work = Work::write, .length = 8}), Status::remote_access_error);
}

TEST(MemoryRules, a_write_whose_region_is_deregistered_amid_it_touches_nothing_more) {
    Pair pair;
    pair.wire.drop(Operation::write_middle, 2);
    pair.wire.drop(Operation::write_last);
    pair.client.post({.work = Work::write, .length = 4096});
    pair.run(10_us);  // two of four packets have arrived
    ASSERT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 2048));
    ASSERT_EQ(pair.server.adapter.memory().deregister_region(pair.server.key), Refusal::none);
    const std::vector<std::byte> before = pair.server.memory;
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::remote_access_error);
    EXPECT_EQ(pair.server.memory, before);
}

TEST(MemoryRules, a_read_whose_region_is_deregistered_amid_it_brings_nothing_more) {
    Pair pair;
    pair.server.lanes.room_bytes.fill(0);
    pair.client.post({.work = Work::read, .length = 8192});
    pair.run(10_us);
    Packet packet;
    ASSERT_TRUE(pair.server.adapter.poll_transmit(pair.now, Lanes::open(), packet));
    EXPECT_EQ(wire::operation_of(packet.opcode), Operation::read_response_first);
    ASSERT_EQ(pair.server.adapter.memory().deregister_region(pair.server.key), Refusal::none);
    pair.server.lanes = Lanes::open();
    pair.inject(packet, pair.client.endpoint);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::remote_access_error);
    EXPECT_EQ(pair.wire.count(Operation::read_response_middle), 0u);
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
    EXPECT_EQ(pair.client.memory[1024], Host::pattern(1024, 1));
}

TEST(MemoryRules, a_send_whose_region_is_deregistered_amid_it_fails_locally) {
    Pair pair;
    pair.client.lanes.room_bytes.fill(0);
    pair.client.post({.work = Work::send, .length = 4096});
    Packet packet;
    ASSERT_TRUE(pair.client.adapter.poll_transmit(pair.now, Lanes::open(), packet));
    ASSERT_EQ(pair.client.adapter.memory().deregister_region(pair.client.key), Refusal::none);
    pair.client.lanes = Lanes::open();
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::local_protection_error);
    EXPECT_TRUE(pair.wire.log.empty());
}

TEST(MemoryRules, a_read_whose_local_memory_is_gone_takes_nothing) {
    Pair pair;
    pair.client.post({.work = Work::read, .length = 2048});
    pair.run(1_us);
    ASSERT_EQ(pair.client.adapter.memory().deregister_region(pair.client.key), Refusal::none);
    const std::vector<std::byte> before = pair.client.memory;
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::local_protection_error);
    EXPECT_EQ(pair.client.memory, before);
}

TEST(MemoryRules, registering_anew_changes_what_the_same_key_opens) {
    Pair pair;
    Memory& memory = pair.server.adapter.memory();
    EXPECT_EQ(run_one(pair, {.work = Work::write, .length = 8}), Status::success);
    ASSERT_EQ(memory.reregister_region(
                  pair.server.key, {pair.server.pd, Host::kBase, 100,
                                    pair.server.memory.data() + 5000, kLocalWrite | kRemoteWrite}),
              Refusal::none);
    EXPECT_EQ(run_one(pair, {.work = Work::write, .length = 100}), Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 5000, 100));
    EXPECT_EQ(run_one(pair, {.work = Work::write, .length = 101}), Status::remote_access_error);
}

TEST(MemoryRules, registering_anew_amid_a_write_stops_it) {
    Pair pair;
    pair.wire.delay(Operation::write_last, 1, 50_us);
    pair.client.post({.work = Work::write, .length = 3000});
    pair.run(10_us);
    ASSERT_EQ(pair.server.adapter.memory().reregister_region(
                  pair.server.key, {pair.server.pd, Host::kBase, Host::kMemory,
                                    pair.server.memory.data(), kLocalWrite | kRemoteWrite}),
              Refusal::none);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::remote_access_error);
}

TEST(MemoryRules, data_is_gathered_from_and_scattered_to_pieces_across_packet_borders) {
    for (const uint32_t mtu : {256u, 512u, 1024u, 2048u, 4096u}) {
        Pair pair({.mtu = mtu, .receives = 0});
        const std::vector<Sge> to = {pair.server.sge(90'000, 1), pair.server.sge(10, 3000),
                                     pair.server.sge(50'000, 2000)};
        pair.server.adapter.post_receive(pair.server.qpn, {1, to});
        pair.client.post({.work = Work::send,
                          .sges = {pair.client.sge(100, 700), pair.client.sge(5000, 1),
                                   pair.client.sge(9000, 4000)}});
        pair.run();
        ASSERT_EQ(pair.client.completion().status, Status::success);
        ASSERT_EQ(pair.server.receive_completion().byte_count, 4701u);
        EXPECT_TRUE(same_bytes(pair.client, 100, pair.server, 90'000, 1));
        EXPECT_TRUE(same_bytes(pair.client, 101, pair.server, 10, 699));
        EXPECT_TRUE(same_bytes(pair.client, 5000, pair.server, 709, 1));
        EXPECT_TRUE(same_bytes(pair.client, 9000, pair.server, 710, 2300));
        EXPECT_TRUE(same_bytes(pair.client, 11'300, pair.server, 50'000, 1700));
        EXPECT_EQ(pair.server.memory[51'700], Host::pattern(51'700, 2));
    }
}

TEST(MemoryRules, a_read_scatters_to_several_pieces) {
    Pair pair;
    pair.client.post({.work = Work::read,
                      .remote_offset = 333,
                      .sges = {pair.client.sge(0, 1000), pair.client.sge(4000, 1000),
                               pair.client.sge(8000, 1000)}});
    pair.run();
    EXPECT_EQ(pair.client.completion().byte_count, 3000u);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 333, 1000));
    EXPECT_TRUE(same_bytes(pair.client, 4000, pair.server, 1333, 1000));
    EXPECT_TRUE(same_bytes(pair.client, 8000, pair.server, 2333, 1000));
}

TEST(MemoryRules, inline_data_is_taken_when_it_is_posted_and_needs_no_key) {
    Pair pair;
    pair.client.post({.work = Work::send, .length = 64, .flags = kSignalled | kInline, .lkey = 1});
    const std::vector<std::byte> posted(pair.client.memory.begin(),
                                        pair.client.memory.begin() + 64);
    std::fill_n(pair.client.memory.begin(), 64, std::byte{0});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(
        std::equal(posted.begin(), posted.end(), pair.server.memory.begin() + kReceiveArea));
}

TEST(MemoryRules, more_inline_data_or_pieces_than_agreed_are_refused) {
    Pair pair;
    EXPECT_EQ(pair.client.post({.work = Work::send, .length = 65, .flags = kInline}),
              Refusal::invalid_argument);
    EXPECT_EQ(
        pair.client.post({.work = Work::send, .sges = std::vector<Sge>(5, pair.client.sge(0, 1))}),
        Refusal::invalid_argument);
    pair.run();
    EXPECT_TRUE(pair.wire.log.empty());
}

TEST(MemoryRules, flush_and_atomic_write_are_answered_without_data) {
    const uint32_t access = kRemoteWrite | kRemoteRead | kFlushGlobal | kFlushPersistent;
    Pair pair({.access = access, .region_access = kLocalWrite | access});
    pair.client.set_word(0, 0x1122334455667788);
    pair.client.post({.work = Work::atomic_write, .length = 8, .remote_offset = 0x8000});
    pair.client.post(
        {.work = Work::flush, .length = 100, .remote_offset = 0x8000, .flush_placement = 2});
    pair.run();
    EXPECT_EQ(pair.client.completion().kind, CompletionKind::atomic_write);
    EXPECT_EQ(pair.client.completion().kind, CompletionKind::flush);
    EXPECT_EQ(pair.server.word(0x8000), 0x1122334455667788u);
    EXPECT_EQ(pair.wire.count(Operation::read_response_only), 2u);
    EXPECT_EQ(pair.wire.find(Operation::read_response_only).packet.payload_length, 0u);
}

TEST(MemoryRules, a_lost_answer_of_an_atomic_write_does_not_write_twice) {
    Pair pair;
    pair.wire.drop(Operation::read_response_only);
    pair.client.set_word(0, 1);
    pair.client.post({.work = Work::atomic_write, .length = 8, .remote_offset = 0x8000});
    pair.run(10_us);
    pair.server.set_word(0x8000, 2);  // somebody else, afterwards
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.server.word(0x8000), 2u);
}

TEST(MemoryRules, modelled_memory_moves_lengths_and_completes_as_real_memory_does) {
    Pair pair({.modelled = true});
    pair.client.post({.work = Work::send, .length = 5000});
    pair.client.post({.work = Work::read, .length = 5000});
    pair.client.post({.work = Work::write, .length = 5000});
    pair.client.post({.work = Work::fetch_add, .length = 8});
    pair.run();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.server.receive_completion().byte_count, 5000u);
    EXPECT_TRUE(pair.wire.log[0].payload.empty());
    EXPECT_EQ(pair.wire.log[0].packet.payload_length, 1024u);
}

}  // namespace
}  // namespace tulle::transport
