// Two hosts in one process: what they share is shared memory all the same.
#include "live/software_adapter.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include "live/clock.h"
#include "live/side_for_tests.h"

namespace tulle::live {
namespace {

class HostTest : public testing::Test {
protected:
    void connect() {
        here.connect(there);
        there.connect(here);
        here.await_short_way_to(there);
        there.await_short_way_to(here);
    }
    uint64_t remote() const { return there.request.address; }

    Side here{0};
    Side there{1};
};

TEST_F(HostTest, a_long_message_arrives_whole) {
    connect();
    for (size_t i = 0; i < here.memory.size(); ++i) here.memory[i] = std::byte(i * 31 >> 3);
    there.receive(1 << 20);
    here.post(transport::Work::send, 1 << 20);
    const Completion received = there.next();
    EXPECT_EQ(received.status, Status::success);
    EXPECT_EQ(received.byte_count, 1u << 20);
    EXPECT_EQ(here.next().status, Status::success);
    EXPECT_EQ(there.memory, here.memory);
}

// The target does nothing here but to exist.
TEST_F(HostTest, a_write_is_done_when_it_was_posted) {
    connect();
    std::memset(here.memory.data(), 0x5a, 4096);
    here.post(transport::Work::write, 4096, remote(), there.key);
    const std::lock_guard guard(here.host->lock());
    Completion completion;
    ASSERT_EQ(here.host->adapter().completions().poll(here.cq, std::span(&completion, 1)), 1u);
    EXPECT_EQ(completion.status, Status::success);
    EXPECT_EQ(there.memory[4095], std::byte{0x5a});
    EXPECT_EQ(there.memory[4096], std::byte{0});
}

// Who does not know its peer yet cannot wait for it: nothing is copied before.
TEST_F(HostTest, a_peer_that_has_not_taken_the_ring_is_not_copied_to) {
    there.connect(here);
    std::memset(here.memory.data(), 0x5a, 64);
    {
        const std::lock_guard guard(there.host->lock());  // so that it hears nothing
        here.connect(there);
        here.post(transport::Work::write, 64, remote(), there.key);
        EXPECT_EQ(there.memory[0], std::byte{0});
    }
    EXPECT_EQ(here.next().status, Status::success);
    const std::lock_guard guard(there.host->lock());
    EXPECT_EQ(there.memory[0], std::byte{0x5a});
}

TEST_F(HostTest, a_read_brings_what_is_there) {
    connect();
    std::memset(there.memory.data(), 0x77, 100);
    here.post(transport::Work::read, 100, remote(), there.key);
    EXPECT_EQ(here.next().status, Status::success);
    EXPECT_EQ(here.memory[99], std::byte{0x77});
}

TEST_F(HostTest, a_region_that_was_withdrawn_is_not_touched) {
    connect();
    {
        const std::lock_guard guard(there.host->lock());
        there.host->memory().withdraw_region(there.key);
        ASSERT_EQ(there.host->adapter().memory().deregister_region(there.key), Refusal::none);
    }
    std::memset(here.memory.data(), 0x5a, 64);
    here.post(transport::Work::write, 64, remote(), there.key);
    Completion completion;
    while (!here.take(completion)) (void)there.take(completion);
    EXPECT_EQ(completion.status, Status::remote_access_error);
    EXPECT_EQ(there.memory[0], std::byte{0});
}

// A region is withdrawn by one thread while another one waits: what lies in the ring is read by the
// first.
TEST_F(HostTest, what_is_read_as_a_region_is_withdrawn_is_answered_before_its_queue_pair_goes) {
    connect();
    there.receive(64);
    {
        const std::lock_guard guard(there.host->lock());
        here.post(transport::Work::send, 64);
        there.host->memory().withdraw_region(there.key);
        Completion received;
        ASSERT_EQ(there.host->adapter().completions().poll(there.cq, std::span(&received, 1)), 1u);
        EXPECT_EQ(there.host->destroy_qp(there.qpn), Refusal::none);
    }
    EXPECT_EQ(here.next().status, Status::success);
}

TEST_F(HostTest, whoever_sleeps_is_told_of_what_is_read_as_a_region_is_withdrawn) {
    connect();
    there.receive(64);
    const std::lock_guard guard(there.host->lock());
    EXPECT_EQ(there.host->posting().arm_cq(there.cq, transport::CompletionQueue::Wish::any),
              Refusal::none);
    here.post(transport::Work::send, 64);
    const int before = there.listener.events;
    there.host->memory().withdraw_region(there.key);
    EXPECT_EQ(there.listener.events, before + 1);
}

// Two WRITEs are posted before the peer has taken the ring, and go by packets. Those behind them
// are held until these are answered.
TEST_F(HostTest, copies_behind_packets_of_copies_wait_for_the_short_way) {
    there.connect(here);
    uint64_t packets = 0;
    {
        const std::lock_guard guard(there.host->lock());  // so that it takes nothing
        here.connect(there);
        here.post(transport::Work::write, 8, remote(), there.key);
        here.post(transport::Work::write, 8, remote() + 8, there.key);
        packets = here.host->adapter().counters().port_xmit_packets;
        // As if it had taken the ring, and not looked at what is in it.
        here.ring_to(there).is_taken.store(1);
        std::memset(here.memory.data(), 0x5a, 64);
        for (uint64_t i = 2; i < 8; ++i)
            here.post(transport::Work::write, 8, remote() + 8 * i, there.key);
        EXPECT_EQ(there.memory[16], std::byte{0});
    }
    for (uint64_t i = 1; i <= 8; ++i) {
        const Completion completion = here.next();
        EXPECT_EQ(completion.id, i);
        EXPECT_EQ(completion.status, Status::success);
    }
    EXPECT_EQ(there.memory[63], std::byte{0x5a});
    EXPECT_EQ(here.host->adapter().counters().port_xmit_packets, packets);
}

// What is posted behind copies that wait takes them along, in its order.
TEST_F(HostTest, a_message_behind_copies_that_wait_does_not_overtake_them) {
    there.connect(here);
    there.receive(64);
    {
        const std::lock_guard guard(there.host->lock());
        here.connect(there);
        here.post(transport::Work::write, 8, remote(), there.key);
        here.ring_to(there).is_taken.store(1);
        here.post(transport::Work::write, 8, remote() + 8, there.key);
        here.post(transport::Work::send, 8);
        here.post(transport::Work::write, 8, remote() + 16, there.key);
    }
    for (uint64_t i = 1; i <= 4; ++i) EXPECT_EQ(here.next().id, i);
    EXPECT_EQ(there.next().status, Status::success);
}

TEST_F(HostTest, copies_that_wait_are_flushed_when_their_queue_pair_stops) {
    there.connect(here);
    const std::lock_guard other(there.host->lock());
    here.connect(there);
    here.post(transport::Work::write, 8, remote(), there.key);
    here.ring_to(there).is_taken.store(1);
    here.post(transport::Work::write, 8, remote() + 8, there.key);
    transport::QpAttributes a;
    a.state = QpState::error;
    {
        const std::lock_guard guard(here.host->lock());
        EXPECT_EQ(here.host->modify_qp(here.qpn, a, transport::kState), Refusal::none);
    }
    for (uint64_t i = 1; i <= 2; ++i) {
        const Completion completion = here.next();
        EXPECT_EQ(completion.id, i);
        EXPECT_EQ(completion.status, Status::flushed);
    }
}

// Whether an acknowledgement rings depends on what its receiver waits for.
class AnswerTest : public HostTest {
protected:
    using Wish = transport::CompletionQueue::Wish;

    void SetUp() override {
        connect();
        there.receive(1 << 20);
        const std::lock_guard guard(here.host->lock());
        unused = here.host->adapter().completions().create(1);
    }
    // Here posts a message and sleeps, and there takes it.
    bool rings(uint32_t length, std::initializer_list<transport::CqId> armed_before,
               std::initializer_list<transport::CqId> armed_behind) {
        const RingMemory& ring = there.ring_to(here);
        const std::lock_guard other(there.host->lock());
        for (const auto cq : armed_before) arm(cq);
        here.post(transport::Work::send, length);
        for (const auto cq : armed_behind) arm(cq);
        const std::lock_guard guard(here.host->lock());
        there.host->progress().make(true);
        const bool are_rung = ring.bell_rung.load() != 0;
        here.host->progress().make(true);
        return are_rung;
    }
    void arm(transport::CqId cq) {
        const std::lock_guard guard(here.host->lock());
        EXPECT_EQ(here.host->posting().arm_cq(cq, Wish::any), Refusal::none);
    }
    transport::CqId unused;
};

TEST_F(AnswerTest, it_does_not_wake_a_program_that_waits_for_something_else) {
    EXPECT_FALSE(rings(64, {}, {unused}));
    EXPECT_EQ(here.next().status, Status::success);
}

TEST_F(AnswerTest, it_wakes_a_program_that_waits_for_its_completion) {
    EXPECT_TRUE(rings(64, {}, {here.cq}));
    EXPECT_EQ(here.next().status, Status::success);
}

TEST_F(AnswerTest, it_wakes_a_program_that_slept_before_another_thread_posted) {
    EXPECT_TRUE(rings(64, {here.cq}, {}));
    EXPECT_EQ(here.next().status, Status::success);
}

TEST_F(AnswerTest, it_wakes_a_program_whose_message_was_not_taken) {
    EXPECT_FALSE(rings(64, {}, {unused}));
    EXPECT_EQ(here.next().status, Status::success);
    EXPECT_TRUE(rings(64, {}, {unused}));  // nothing was posted for it
    there.receive(64);
    EXPECT_EQ(here.next().status, Status::success);
}

TEST_F(AnswerTest, it_wakes_a_program_that_could_not_send_everything) {
    EXPECT_TRUE(rings(1 << 20, {}, {unused}));
    EXPECT_EQ(here.next().status, Status::success);
}

constexpr uint32_t kList = 12;

TEST_F(HostTest, a_list_of_small_writes_goes_through_the_ring_to_a_side_that_is_awake) {
    connect();
    std::memset(here.memory.data(), 0x5a, 8 * kList);
    std::unique_lock awake = there.lock_awake();
    std::unique_lock posting = here.post_list(kList, there);
    EXPECT_EQ(there.memory[0], std::byte{0});
    there.host->progress().make(true);
    EXPECT_EQ(there.memory[8 * kList - 1], std::byte{0x5a});
    awake.unlock();
    posting.unlock();
    for (uint32_t i = 1; i <= kList; ++i) {
        const Completion completion = here.next();
        EXPECT_EQ(completion.id, i);
        EXPECT_EQ(completion.status, Status::success);
    }
}

TEST_F(HostTest, writes_in_a_ring_that_nobody_reads_are_done_by_their_initiator) {
    connect();
    std::memset(here.memory.data(), 0x5a, 8 * kList);
    const std::unique_lock awake = there.lock_awake();
    std::unique_lock posting = here.post_list(kList, there);
    EXPECT_EQ(there.memory[0], std::byte{0});
    posting.unlock();
    for (uint32_t i = 1; i <= kList; ++i) EXPECT_EQ(here.next().id, i);
    EXPECT_EQ(there.memory[8 * kList - 1], std::byte{0x5a});
}

// Far more than the ring holds, while the other side has no CPU; then it has one again.
TEST_F(HostTest, a_stream_of_small_writes_outlasts_a_side_that_does_not_look) {
    connect();
    std::unique_lock awake = there.lock_awake();
    const auto stream = [&](int rounds) {
        for (int round = 0; round < rounds; ++round) {
            for (int i = 0; i < 12; ++i) here.post(transport::Work::write, 8, remote(), there.key);
            for (int i = 0; i < 12; ++i) EXPECT_EQ(here.next().status, Status::success);
        }
    };
    stream(100);
    awake.unlock();
    stream(2000);
    there.receive(8);
    here.post(transport::Work::send, 8);
    EXPECT_EQ(here.next().status, Status::success);
}

TEST_F(HostTest, writes_in_a_ring_to_memory_that_is_gone_harm_nobody) {
    connect();
    constexpr size_t kBytes = 1 << 16;
    void* area = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(area, MAP_FAILED);
    transport::RegionRequest request = there.request;
    request.address = reinterpret_cast<uint64_t>(area);
    request.length = kBytes;
    request.host = static_cast<std::byte*>(area);
    std::unique_lock awake = there.lock_awake();
    there.key = *there.host->adapter().memory().register_region(request);
    there.host->memory().publish_region(there.key, request);
    there.request = request;
    std::unique_lock posting = here.post_list(kList, there);
    ASSERT_EQ(munmap(area, kBytes), 0);
    there.host->progress().make(true);
    awake.unlock();
    posting.unlock();
    for (uint32_t i = 1; i <= kList; ++i) EXPECT_EQ(here.next().id, i);
}

TEST_F(HostTest, a_send_behind_writes_in_a_ring_completes_behind_them) {
    connect();
    std::memset(here.memory.data(), 0x5a, 8 * kList);
    there.receive(8);
    std::unique_lock awake = there.lock_awake();
    here.post_list(kList, there).unlock();
    here.post(transport::Work::send, 8);
    awake.unlock();
    EXPECT_EQ(there.next().status, Status::success);
    EXPECT_EQ(there.memory[8 * kList - 1], std::byte{0x5a});
    for (uint32_t i = 1; i <= kList + 1; ++i) EXPECT_EQ(here.next().id, i);
}

// The initiator has taken the WRITEs back, and gets no CPU before it has put them into place.
TEST_F(HostTest, a_send_is_not_seen_before_writes_that_their_initiator_has_taken_back) {
    connect();
    there.receive(8);
    std::unique_lock awake = there.lock_awake();
    here.post_list(kList, there).unlock();
    here.post(transport::Work::send, 8);
    RingMemory& ring = here.ring_to(there);
    const std::unique_lock initiator(here.host->lock());
    ring.taking_back = 1;
    ring.claimed = ring.written.load();
    awake.unlock();
    std::thread([&] {
        Completion completion;
        for (int looks = 0; looks < 1000; ++looks) ASSERT_FALSE(there.take(completion));
        ring.taking_back = 0;
        EXPECT_EQ(there.next().status, Status::success);
    }).join();
}

TEST_F(HostTest, a_region_is_withdrawn_when_writes_that_were_under_way_have_landed) {
    connect();
    std::memset(here.memory.data(), 0x5a, 8 * kList);
    std::unique_lock awake = there.lock_awake();
    std::unique_lock posting = here.post_list(kList, there);
    there.host->memory().withdraw_region(there.key);
    EXPECT_EQ(there.memory[8 * kList - 1], std::byte{0x5a});
    awake.unlock();
    posting.unlock();
    EXPECT_EQ(here.next().status, Status::success);
}

TEST_F(HostTest, writes_in_a_ring_are_flushed_when_their_queue_pair_stops) {
    connect();
    const std::unique_lock awake = there.lock_awake();
    std::unique_lock posting = here.post_list(kList, there);
    transport::QpAttributes a;
    a.state = QpState::error;
    ASSERT_EQ(here.host->modify_qp(here.qpn, a, transport::kState), Refusal::none);
    posting.unlock();
    for (uint32_t i = 1; i <= kList; ++i) {
        const Completion completion = here.next();
        EXPECT_EQ(completion.id, i);
        EXPECT_EQ(completion.status, Status::flushed);
    }
}

// A state that is asked for wrongly, and one in which what was posted goes on.
TEST_F(HostTest, writes_in_a_ring_go_on_where_their_queue_pair_does) {
    connect();
    const std::unique_lock awake = there.lock_awake();
    std::unique_lock posting = here.post_list(kList, there);
    transport::QpAttributes a;
    a.state = QpState::error;
    EXPECT_NE(here.host->modify_qp(here.qpn, a, transport::kState | transport::kAccessFlags),
              Refusal::none);
    a.state = QpState::sqd;
    EXPECT_EQ(here.host->modify_qp(here.qpn, a, transport::kState), Refusal::none);
    posting.unlock();
    for (uint32_t i = 1; i <= kList; ++i) {
        const Completion completion = here.next();
        EXPECT_EQ(completion.id, i);
        EXPECT_EQ(completion.status, Status::success);
    }
}

TEST_F(HostTest, writes_in_the_ring_of_a_peer_that_ends_fail_as_if_it_were_silent) {
    connect();
    std::unique_lock awake = there.lock_awake();
    std::unique_lock posting = here.post_list(kList, there);
    awake.unlock();
    there.host.reset();
    posting.unlock();
    // What it took before it ended is done; of the rest the first has met silence.
    Completion completion = here.next();
    while (completion.status == Status::success && completion.id < kList) completion = here.next();
    if (completion.status == Status::success) return;
    EXPECT_EQ(completion.status, Status::retry_exceeded);
    for (uint64_t i = completion.id + 1; i <= kList; ++i)
        EXPECT_EQ(here.next().status, Status::flushed);
}

TEST_F(HostTest, a_write_beyond_the_region_is_refused_as_an_adapter_refuses_it) {
    connect();
    here.post(transport::Work::write, 64, remote() + there.memory.size() - 8, there.key);
    EXPECT_EQ(here.next().status, Status::remote_access_error);
}

// ---- what the short way checks ------------------------------------------------------------------

// One check each: what the responder would refuse is not done without it either.
TEST_F(HostTest, a_write_to_a_queue_pair_that_does_not_allow_it_is_refused) {
    there.access = transport::kRemoteRead;
    connect();
    std::memset(here.memory.data(), 0x5a, 64);
    here.post(transport::Work::write, 64, remote(), there.key);
    EXPECT_EQ(here.next().status, Status::remote_invalid_request);
    EXPECT_EQ(there.memory[0], std::byte{0});
}

TEST_F(HostTest, a_read_of_a_queue_pair_that_does_not_allow_it_is_refused) {
    there.access = transport::kRemoteWrite;
    connect();
    std::memset(there.memory.data(), 0x77, 64);
    here.post(transport::Work::read, 64, remote(), there.key);
    EXPECT_EQ(here.next().status, Status::remote_invalid_request);
    EXPECT_EQ(here.memory[0], std::byte{0});
}

TEST_F(HostTest, a_write_to_a_region_that_does_not_allow_it_is_refused) {
    connect();
    there.register_again(there.pd, transport::kLocalWrite | transport::kRemoteRead);
    std::memset(here.memory.data(), 0x5a, 64);
    here.post(transport::Work::write, 64, remote(), there.key);
    EXPECT_EQ(here.next().status, Status::remote_access_error);
    EXPECT_EQ(there.memory[0], std::byte{0});
}

TEST_F(HostTest, a_write_to_a_region_of_another_protection_domain_is_refused) {
    connect();
    there.register_again(there.new_pd(), there.request.access);
    std::memset(here.memory.data(), 0x5a, 64);
    here.post(transport::Work::write, 64, remote(), there.key);
    EXPECT_EQ(here.next().status, Status::remote_access_error);
    EXPECT_EQ(there.memory[0], std::byte{0});
}

// Its number is right, but it is connected to somebody else.
TEST_F(HostTest, a_write_to_the_queue_pair_of_another_connection_is_not_done) {
    Side third(2);
    here.connect(there, 1);
    there.connect(third);
    std::memset(here.memory.data(), 0x5a, 64);
    here.post(transport::Work::write, 64, remote(), there.key);
    EXPECT_NE(here.next().status, Status::success);
    EXPECT_EQ(there.memory[0], std::byte{0});
}

TEST_F(HostTest, a_write_from_a_roce_v1_address_meets_silence_at_a_v2_address) {
    here.gid_index = 2;
    here.connect(there, 1);
    there.connect(here, 1);
    std::memset(here.memory.data(), 0x5a, 64);
    here.post(transport::Work::write, 64, remote(), there.key);
    EXPECT_EQ(here.next().status, Status::retry_exceeded);
    EXPECT_EQ(there.memory[0], std::byte{0});
}

TEST(LinkLayerTest, a_roce_adapter_does_not_find_an_infiniband_one) {
    Side roce(Side::someone(0, true));
    Side infiniband(Side::someone(1, false));
    const std::lock_guard guard(roce.host->lock());
    Destination there;
    there.has_gid = true;
    there.gid = infiniband.host->identity().gids[0];
    EXPECT_EQ(roce.host->world().resolve(there, infiniband.number()), SoftwareAdapter::kNowhere);
}

// The initiator says that it copies; whoever takes the region back waits until it says that it does
// not.
TEST_F(HostTest, a_region_is_withdrawn_when_a_copy_that_was_under_way_is_done) {
    connect();
    here.post(transport::Work::write, 8, remote(), there.key);  // so that both know each other
    (void)here.next();
    RingMemory& ring = here.ring_to(there);
    for (std::atomic<uint32_t>* word : {&ring.at_work, &ring.taking_back}) {
        there.register_again(there.pd, there.request.access);
        word->fetch_add(1);
        std::atomic<bool> is_done{false};
        std::thread program([&] {
            const std::lock_guard guard(there.host->lock());
            there.host->memory().withdraw_region(there.key);
            is_done = true;
        });
        // The host's lock is free meanwhile: this goes on.
        const base::Instant end = now() + base::Duration{50'000'000'000};
        Completion completion;
        while (now() < end) (void)there.take(completion);
        EXPECT_FALSE(is_done);
        word->fetch_sub(1);
        program.join();
    }
}

TEST_F(HostTest, memory_that_became_read_only_is_refused_to_peers_and_harms_nobody) {
    connect();
    constexpr size_t kBytes = 1 << 16;
    void* area = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(area, MAP_FAILED);
    there.request.address = reinterpret_cast<uint64_t>(area);
    there.request.length = kBytes;
    there.request.host = static_cast<std::byte*>(area);
    there.register_again(there.pd, there.request.access);
    ASSERT_EQ(mprotect(area, kBytes, PROT_READ), 0);
    here.post(transport::Work::write, 64, remote(), there.key);
    EXPECT_EQ(here.next().status, Status::remote_access_error);
    munmap(area, kBytes);
}

// A receiver that is slow is not a receiver that is silent.
TEST_F(HostTest, a_peer_that_ends_leaves_silence_and_the_retry_counter_runs_out) {
    here.connect(there, 1);
    there.connect(here);
    there.host.reset();
    here.post(transport::Work::send, 8);
    const Completion completion = here.next();
    EXPECT_EQ(completion.status, Status::retry_exceeded);
    EXPECT_EQ(completion.vendor_error, transport::kVendorRetryExceeded);
    EXPECT_EQ(here.listener.gone, 1);
}

// Two that call each other at once have their locks both.
TEST_F(HostTest, a_process_is_found_while_its_program_has_the_lock) {
    const std::lock_guard amid_a_call(there.host->lock());
    there.host->set_extra_deadline(base::Instant{});
    there.host->flush_management();  // wakes its thread, which finds the lock taken
    const std::lock_guard guard(here.host->lock());
    EXPECT_NE(here.host->world().resolve_slot(there.host->world().own().slot()),
              SoftwareAdapter::kNowhere);
}

TEST_F(HostTest, nobody_is_found_at_another_address_or_in_an_empty_slot) {
    const std::lock_guard guard(here.host->lock());
    Destination wrong;
    wrong.has_gid = true;
    wrong.gid = wire::gid_of({{10, 0, 0, 1}});
    EXPECT_EQ(here.host->world().resolve(wrong, there.number()), SoftwareAdapter::kNowhere);
    wrong.gid = there.host->identity().gids.back();
    EXPECT_EQ(here.host->world().resolve(wrong, outside(there.qpn, 200)),
              SoftwareAdapter::kNowhere);
}

TEST_F(HostTest, a_port_has_one_listener_and_is_found_by_all) {
    Descriptor held;
    Descriptor again;
    ASSERT_TRUE(there.host->ports().take(6, 7471, held));
    EXPECT_FALSE(there.host->ports().take(6, 7471, again));
    EXPECT_TRUE(here.host->ports().take(6, 7471, again));  // another host
    {
        const std::lock_guard guard(there.host->lock());
        EXPECT_TRUE(there.host->ports().show(6, 7471, {}));
    }
    const std::lock_guard guard(here.host->lock());
    const auto found = here.host->ports().find(6, 7471, there.host->identity().gids.back());
    ASSERT_NE(found, SoftwareAdapter::kNowhere);
    EXPECT_EQ(here.host->world().board_of(found).rank, 1u);
    EXPECT_EQ(here.host->ports().find(17, 7471, there.host->identity().gids.back()),
              SoftwareAdapter::kNowhere);
}

// Has a process more queue pairs than one slot holds: its second slot.
uint32_t second_slot_of(Side& side) {
    const std::lock_guard guard(side.host->lock());
    const World& world = side.host->world();
    for (;;) {
        transport::QpSetup setup;
        setup.pd = side.pd;
        setup.send_cq = setup.receive_cq = side.cq;
        const auto made = side.host->create_qp(setup);
        if (!made) return world.own().slot();
        const uint32_t slot = slot_of(world.own().outside_of(*made));
        if (slot != world.own().slot()) return slot;
    }
}

// Each call hands over a ring, of which the process takes one.
TEST(SlotsTest, two_who_look_for_two_slots_of_a_process_agree_on_the_ring_that_it_reads) {
    constexpr uint32_t kRounds = 40;
    Side there{1};
    const uint32_t first = there.host->world().own().slot();
    const uint32_t second = second_slot_of(there);
    ASSERT_NE(first, second);
    for (uint32_t round = 0; round < kRounds; ++round) {
        Side here{0};
        const auto look_for = [&](uint32_t slot) {
            const std::lock_guard guard(here.host->lock());
            return here.host->world().resolve_slot(slot);
        };
        transport::EndpointIndex other{};
        std::thread thread([&] { other = look_for(second); });
        const transport::EndpointIndex one = look_for(first);
        thread.join();
        ASSERT_NE(one, SoftwareAdapter::kNowhere);
        ASSERT_EQ(one, other);
        const std::unique_lock guard(here.host->lock());
        const RingMemory& ring = const_cast<Peer*>(here.host->world().peer(one))->outgoing();
        const base::Instant end = now() + base::Duration{2'000'000'000'000};
        while (ring.is_taken.load() == 0) ASSERT_LT(now(), end) << "it reads another ring";
    }
}

// It is known in its first slot by then, and nobody has called it.
TEST(SlotsTest, one_who_has_called_is_found_in_its_second_slot) {
    Side there{1};
    const uint32_t second = second_slot_of(there);
    Side here{0};
    {
        const std::lock_guard guard(there.host->lock());
        ASSERT_NE(there.host->world().resolve_slot(here.host->world().own().slot()),
                  SoftwareAdapter::kNowhere);
    }
    const auto is_known = [&] {
        const std::lock_guard guard(here.host->lock());
        return !here.host->world().receiving().empty();
    };
    while (!is_known()) continue;
    const std::lock_guard guard(here.host->lock());
    EXPECT_NE(here.host->world().resolve_slot(second), SoftwareAdapter::kNowhere);
}

// A program that looks at its adapters opens one, closes it, and opens it again: the process is the
// same, and so is its slot. Who had called the first one in vain has to call the second one.
TEST(SlotsTest, a_call_that_was_not_answered_is_not_for_the_successor_in_the_process) {
    Side here{0};
    const uint32_t first = here.host->world().own().slot();
    auto silent = Door::open(here.host->world().own().realm());
    ASSERT_TRUE(silent);
    const uint32_t slot = silent->slot();
    ASSERT_NE(slot, first);
    {
        const std::lock_guard guard(here.host->lock());
        ASSERT_EQ(here.host->world().resolve_slot(slot), SoftwareAdapter::kNowhere);
    }
    silent.reset();
    Side there{1};
    ASSERT_EQ(there.host->world().own().slot(), slot);
    {
        const std::lock_guard guard(there.host->lock());
        ASSERT_NE(there.host->world().resolve_slot(first), SoftwareAdapter::kNowhere);
    }
    const auto is_known = [&] {
        const std::lock_guard guard(here.host->lock());
        return !here.host->world().receiving().empty();
    };
    while (!is_known()) continue;
    const RingMemory& ring = here.ring_to(there);
    const base::Instant end = now() + base::Duration{2'000'000'000'000};
    while (ring.is_taken.load() == 0) ASSERT_LT(now(), end) << "nobody reads the ring";
}

// Also where it goes over a wire.
TEST(ManagementTest, a_message_arrives_as_it_was_sent) {
    const std::vector<std::byte> message(256, std::byte{0x42});
    for (const char* wire : {"", "seed=1"}) {
        setenv("TULLE_WIRE", wire, 1);
        Side here(0);
        Side there(1);
        {
            const std::lock_guard guard(here.host->lock());
            EXPECT_TRUE(here.host->send_management(
                here.host->world().resolve_slot(there.host->world().own().slot()), message));
            here.host->flush_management();
        }
        EXPECT_EQ(there.hear(), message) << wire;
    }
    unsetenv("TULLE_WIRE");
}

TEST(ManagementTest, messages_are_packets_of_queue_pair_1_that_the_port_counts) {
    const std::vector<std::byte> message(256, std::byte{0x42});
    Side here(0);
    Side there(1);
    EXPECT_FALSE(here.host->adapter().queue_pairs().create_gsi({})) << "there is one already";
    const auto sent = [&] { return here.host->adapter().counters().port_xmit_packets; };
    {
        const std::lock_guard guard(here.host->lock());
        const auto to = here.host->world().resolve_slot(there.host->world().own().slot());
        const uint64_t before = sent();
        constexpr uint64_t kMany = 1000;  // more than its queues hold
        for (uint64_t i = 0; i < kMany; ++i) EXPECT_TRUE(here.host->send_management(to, message));
        EXPECT_EQ(sent() - before, kMany);
        here.host->flush_management();
    }
    EXPECT_EQ(there.hear(), message);
    const auto came = [&] {
        const std::lock_guard guard(there.host->lock());
        return there.host->adapter().counters();
    };
    while (came().port_rcv_packets < 1000) continue;
    EXPECT_EQ(came().out_of_buffer, 0u);
}

}  // namespace
}  // namespace tulle::live
