// Two hosts in one process: what they share is shared memory all the same.
#include "live/host.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

namespace tulle::live {
namespace {

using transport::Completion;
using transport::QpState;
using transport::Refusal;
using transport::Status;

class Quiet : public Listener {
public:
    void on_event(const transport::AdapterEvent&) override {}
    void on_management(const ManagementMessage& message) override {
        heard.assign(message.bytes.begin(), message.bytes.end());
    }
    void on_gone(transport::EndpointIndex) override { ++gone; }
    void on_progress() override {}
    int gone = 0;
    std::vector<std::byte> heard;
};

// One side: a host with a queue pair, a completion queue and a region of its memory.
class Side {
public:
    explicit Side(uint32_t rank) {
        Identity who = identity_of(rank, true);
        who.world = "test-" + std::to_string(getpid());
        host = Host::open(who, listener);
        const std::lock_guard guard(host->lock());
        transport::QpSetup setup;
        setup.pd = pd = host->adapter().memory().create_pd();
        setup.send_cq = setup.receive_cq = cq = host->adapter().create_cq(64);
        setup.send = {.requests = 16, .sges = 1, .inline_bytes = 64};
        qpn = *host->create_qp(setup);
        request.pd = pd;
        request.address = reinterpret_cast<uint64_t>(memory.data());
        request.length = memory.size();
        request.host = memory.data();
        request.access = transport::kLocalWrite | transport::kRemoteWrite | transport::kRemoteRead;
        key = *host->adapter().memory().register_region(request);
        host->publish_region(key, request);
    }

    wire::Qpn number() const { return host->outside_of(qpn); }

    void connect(const Side& other, uint8_t timeout = 14) {
        const std::lock_guard guard(host->lock());
        transport::QpAttributes a;
        a.state = QpState::init;
        a.access = transport::kRemoteWrite | transport::kRemoteRead;
        EXPECT_EQ(host->modify_qp(qpn, a,
                                  transport::kState | transport::kPkeyIndex | transport::kPort |
                                      transport::kAccessFlags),
                  Refusal::none);
        a.state = QpState::rtr;
        a.dest_qpn = other.number();
        Destination there;
        there.has_gid = true;
        there.gid = other.host->identity().gids.back();
        a.address.endpoint = host->resolve(there, a.dest_qpn);
        EXPECT_NE(a.address.endpoint, Host::kNowhere);
        EXPECT_EQ(host->modify_qp(qpn, a,
                                  transport::kState | transport::kAddress | transport::kPathMtu |
                                      transport::kDestQpn | transport::kReceivePsn |
                                      transport::kMaxIncomingReads | transport::kMinRnrTimer),
                  Refusal::none);
        a.state = QpState::rts;
        a.address.ack_timeout = timeout;
        a.retry_count = 1;
        EXPECT_EQ(
            host->modify_qp(qpn, a,
                            transport::kState | transport::kTimeout | transport::kRetryCount |
                                transport::kRnrRetry | transport::kMaxReads | transport::kSendPsn),
            Refusal::none);
    }

    void post(transport::Work work, uint32_t length, uint64_t remote = 0, uint32_t rkey = 0) {
        const std::lock_guard guard(host->lock());
        const transport::Sge sge{request.address, length, key};
        transport::SendRequest wanted;
        wanted.id = ++posted;
        wanted.work = work;
        wanted.sges = std::span(&sge, 1);
        wanted.remote_address = remote;
        wanted.rkey = rkey;
        EXPECT_EQ(host->post_send(qpn, wanted), Refusal::none);
        host->finish_posting();
    }

    // Many WRITEs of eight bytes, one behind the other, posted at once. Returns with the lock: what
    // is under way stays so until it is let go.
    std::unique_lock<std::mutex> post_list(uint32_t count, const Side& to) {
        std::unique_lock guard(host->lock());
        for (uint32_t i = 0; i < count; ++i) {
            const transport::Sge sge{request.address + 8 * i, 8, key};
            transport::SendRequest wanted;
            wanted.id = ++posted;
            wanted.work = transport::Work::write;
            wanted.sges = std::span(&sge, 1);
            wanted.remote_address = to.request.address + 8 * i;
            wanted.rkey = to.key;
            EXPECT_EQ(host->post_send(qpn, wanted), Refusal::none);
        }
        host->finish_posting();
        return guard;
    }

    // Polls until peers are told that they need not ring. Returns with the lock, so that nothing
    // that comes is taken before it is let go.
    std::unique_lock<std::mutex> lock_awake() {
        Completion completion;
        for (;;) {
            while (host->board_of(transport::EndpointIndex{0}).wants_bell.load() != 0)
                (void)take(completion);
            std::unique_lock guard(host->lock());
            if (host->board_of(transport::EndpointIndex{0}).wants_bell.load() == 0) return guard;
        }
    }

    void receive(uint32_t length) {
        const std::lock_guard guard(host->lock());
        const transport::Sge sge{request.address, length, key};
        EXPECT_EQ(host->adapter().post_receive(qpn, {1000, std::span(&sge, 1)}), Refusal::none);
    }

    bool take(Completion& completion) {
        const std::lock_guard guard(host->lock());
        host->progress(true);
        if (host->adapter().poll_completion(cq, std::span(&completion, 1)) == 1) return true;
        (void)host->on_empty_poll();
        return false;
    }
    Completion next() {
        Completion completion;
        while (!take(completion)) continue;
        return completion;
    }

    // The message that comes next.
    std::vector<std::byte> hear() {
        while (true) {
            const std::lock_guard guard(host->lock());
            host->progress(true);
            if (!listener.heard.empty()) return std::exchange(listener.heard, {});
        }
    }

    std::vector<std::byte> memory = std::vector<std::byte>(1 << 20);
    Quiet listener;
    std::unique_ptr<Host> host;
    transport::PdId pd;
    transport::CqId cq;
    wire::Qpn qpn;
    transport::RegionRequest request;
    uint32_t key = 0;
    uint64_t posted = 0;
};

class HostTest : public testing::Test {
protected:
    void connect() {
        here.connect(there);
        there.connect(here);
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
    ASSERT_EQ(here.host->adapter().poll_completion(here.cq, std::span(&completion, 1)), 1u);
    EXPECT_EQ(completion.status, Status::success);
    EXPECT_EQ(there.memory[4095], std::byte{0x5a});
    EXPECT_EQ(there.memory[4096], std::byte{0});
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
        there.host->withdraw_region(there.key);
        ASSERT_EQ(there.host->adapter().memory().deregister_region(there.key), Refusal::none);
    }
    std::memset(here.memory.data(), 0x5a, 64);
    here.post(transport::Work::write, 64, remote(), there.key);
    Completion completion;
    while (!here.take(completion)) (void)there.take(completion);
    EXPECT_EQ(completion.status, Status::remote_access_error);
    EXPECT_EQ(there.memory[0], std::byte{0});
}

constexpr uint32_t kList = 12;

TEST_F(HostTest, a_list_of_small_writes_goes_through_the_ring_to_a_side_that_is_awake) {
    connect();
    std::memset(here.memory.data(), 0x5a, 8 * kList);
    std::unique_lock awake = there.lock_awake();
    std::unique_lock posting = here.post_list(kList, there);
    EXPECT_EQ(there.memory[0], std::byte{0});
    there.host->progress(true);
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
    there.host->publish_region(there.key, request);
    there.request = request;
    std::unique_lock posting = here.post_list(kList, there);
    ASSERT_EQ(munmap(area, kBytes), 0);
    there.host->progress(true);
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

TEST_F(HostTest, a_region_is_withdrawn_when_writes_that_were_under_way_have_landed) {
    connect();
    std::memset(here.memory.data(), 0x5a, 8 * kList);
    std::unique_lock awake = there.lock_awake();
    std::unique_lock posting = here.post_list(kList, there);
    there.host->withdraw_region(there.key);
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
    EXPECT_NE(here.host->resolve_slot(there.host->slot()), Host::kNowhere);
}

TEST_F(HostTest, nobody_is_found_at_another_address_or_in_an_empty_slot) {
    const std::lock_guard guard(here.host->lock());
    Destination wrong;
    wrong.has_gid = true;
    wrong.gid = wire::gid_of({{10, 0, 0, 1}});
    EXPECT_EQ(here.host->resolve(wrong, there.number()), Host::kNowhere);
    wrong.gid = there.host->identity().gids.back();
    EXPECT_EQ(here.host->resolve(wrong, outside(there.qpn, 200)), Host::kNowhere);
}

TEST_F(HostTest, a_port_has_one_listener_and_is_found_by_all) {
    Descriptor held;
    Descriptor again;
    ASSERT_TRUE(there.host->take_port(6, 7471, held));
    EXPECT_FALSE(there.host->take_port(6, 7471, again));
    EXPECT_TRUE(here.host->take_port(6, 7471, again));  // another host
    {
        const std::lock_guard guard(there.host->lock());
        EXPECT_TRUE(there.host->show_port(6, 7471, {}));
    }
    const std::lock_guard guard(here.host->lock());
    const auto found = here.host->find_port(6, 7471, there.host->identity().gids.back());
    ASSERT_NE(found, Host::kNowhere);
    EXPECT_EQ(here.host->board_of(found).rank, 1u);
    EXPECT_EQ(here.host->find_port(17, 7471, there.host->identity().gids.back()), Host::kNowhere);
}

// Also where it goes over a wire, as a datagram.
TEST(ManagementTest, a_message_arrives_as_it_was_sent) {
    const std::vector<std::byte> message(256, std::byte{0x42});
    for (const char* wire : {"", "seed=1"}) {
        setenv("TULLE_WIRE", wire, 1);
        Side here(0);
        Side there(1);
        {
            const std::lock_guard guard(here.host->lock());
            here.host->send_management(here.host->resolve_slot(there.host->slot()), message);
            here.host->flush_management();
        }
        EXPECT_EQ(there.hear(), message) << wire;
    }
    unsetenv("TULLE_WIRE");
}

}  // namespace
}  // namespace tulle::live
