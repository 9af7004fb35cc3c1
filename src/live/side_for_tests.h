// For tests: a program with a host, a queue pair, a completion queue and a region of its memory.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "live/software_adapter.h"

namespace tulle::live {

using transport::Completion;
using transport::QpState;
using transport::Refusal;
using transport::Status;

class Quiet : public Listener {
public:
    void on_event(const transport::AdapterEvent&) override { ++events; }
    bool on_management(const ManagementMessage& message) override {
        heard.assign(message.bytes.begin(), message.bytes.end());
        return true;
    }
    void on_unreachable(transport::EndpointIndex, bool, std::span<const std::byte>) override {}
    void on_gone(transport::EndpointIndex) override { ++gone; }
    void on_progress() override {}
    int events = 0;
    int gone = 0;
    std::vector<std::byte> heard;
};

class Side {
public:
    static Identity someone(uint32_t rank, bool is_ethernet = true) {
        Identity who = identity_of(rank, is_ethernet);
        who.world = "test-" + std::to_string(getpid());
        return who;
    }
    explicit Side(uint32_t rank) : Side(someone(rank)) {}
    explicit Side(const Identity& who) {
        host = SoftwareAdapter::open(who, listener);
        const std::lock_guard guard(host->lock());
        transport::QpSetup setup;
        setup.pd = pd = host->adapter().memory().create_pd();
        setup.send_cq = setup.receive_cq = cq = host->adapter().completions().create(64);
        setup.send = {.requests = 16, .sges = 1, .inline_bytes = 64};
        qpn = *host->create_qp(setup);
        request.pd = pd;
        request.address = reinterpret_cast<uint64_t>(memory.data());
        request.length = memory.size();
        request.host = memory.data();
        request.access = transport::kLocalWrite | transport::kRemoteWrite | transport::kRemoteRead;
        key = *host->adapter().memory().register_region(request);
        host->memory().publish_region(key, request);
    }

    transport::PdId new_pd() {
        const std::lock_guard guard(host->lock());
        return host->adapter().memory().create_pd();
    }
    // The region, with a new key.
    void register_again(transport::PdId domain, uint32_t rights) {
        const std::lock_guard guard(host->lock());
        host->memory().withdraw_region(key);
        (void)host->adapter().memory().deregister_region(key);
        request.pd = domain;
        request.access = rights;
        key = *host->adapter().memory().register_region(request);
        host->memory().publish_region(key, request);
    }
    // The ring that we write and the other side reads.
    RingMemory& ring_to(const Side& other) {
        const std::lock_guard guard(host->lock());
        const auto index = host->world().resolve_slot(other.host->world().own().slot());
        return const_cast<Peer*>(host->world().peer(index))->outgoing();
    }

    // Waits until the other side has taken our ring: work that is posted before goes by packets.
    void await_short_way_to(const Side& other) {
        const RingMemory& ring = ring_to(other);
        while (ring.is_taken.load() == 0) continue;
    }

    wire::Qpn number() const { return host->world().own().outside_of(qpn); }

    void connect(const Side& other, uint8_t timeout = 14) {
        connect_to(other.number(), other.host->identity().gids.back(), timeout);
    }
    void connect_to(wire::Qpn peer, const wire::Gid& gid, uint8_t timeout = 14) {
        const std::lock_guard guard(host->lock());
        transport::QpAttributes a;
        a.state = QpState::init;
        a.access = access;
        EXPECT_EQ(host->modify_qp(qpn, a,
                                  transport::kState | transport::kPkeyIndex | transport::kPort |
                                      transport::kAccessFlags),
                  Refusal::none);
        a.state = QpState::rtr;
        a.dest_qpn = peer;
        Destination there;
        there.has_gid = true;
        there.gid = gid;
        a.address.endpoint = host->world().resolve(there, a.dest_qpn);
        EXPECT_NE(a.address.endpoint, SoftwareAdapter::kNowhere);
        EXPECT_EQ(host->modify_qp(qpn, a,
                                  transport::kState | transport::kAddress | transport::kPathMtu |
                                      transport::kDestQpn | transport::kReceivePsn |
                                      transport::kMaxIncomingReads | transport::kMinRnrTimer,
                                  {.gid_index = gid_index}),
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
        EXPECT_EQ(host->posting().post(qpn, wanted), Refusal::none);
        host->posting().finish();
    }

    // Posts many WRITEs of eight bytes at once, to consecutive addresses. Returns with the lock:
    // they stay under way until it is released.
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
            EXPECT_EQ(host->posting().post(qpn, wanted), Refusal::none);
        }
        host->posting().finish();
        return guard;
    }

    // Polls until peers are told that they need not ring. Returns with the lock, so that no record
    // is taken before it is released.
    std::unique_lock<std::mutex> lock_awake() {
        Completion completion;
        for (;;) {
            while (host->world().board_of(transport::EndpointIndex{0}).sleep.load() != Sleep::awake)
                (void)take(completion);
            std::unique_lock guard(host->lock());
            if (host->world().board_of(transport::EndpointIndex{0}).sleep.load() == Sleep::awake)
                return guard;
        }
    }

    void receive(uint32_t length) {
        const std::lock_guard guard(host->lock());
        const transport::Sge sge{request.address, length, key};
        EXPECT_EQ(host->adapter().post_receive(qpn, {1000, std::span(&sge, 1)}), Refusal::none);
    }

    bool take(Completion& completion) {
        const std::lock_guard guard(host->lock());
        host->progress().make(true);
        if (host->adapter().completions().poll(cq, std::span(&completion, 1)) == 1) return true;
        (void)host->progress().on_empty_poll();
        return false;
    }
    Completion next() {
        Completion completion;
        while (!take(completion)) continue;
        return completion;
    }

    // The next message.
    std::vector<std::byte> hear() {
        while (true) {
            const std::lock_guard guard(host->lock());
            host->progress().make(true);
            if (!listener.heard.empty()) return std::exchange(listener.heard, {});
        }
    }

    std::vector<std::byte> memory = std::vector<std::byte>(1 << 20);
    Quiet listener;
    std::unique_ptr<SoftwareAdapter> host;
    uint32_t access = transport::kRemoteWrite | transport::kRemoteRead;  // of the queue pair
    uint32_t gid_index = SoftwareAdapter::kLastGid;
    transport::PdId pd;
    transport::CqId cq;
    wire::Qpn qpn;
    transport::RegionRequest request;
    uint32_t key = 0;
    uint64_t posted = 0;
};

}  // namespace tulle::live
