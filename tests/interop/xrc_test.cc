// Processes that share an XRC domain by a file: one has the target, another one the queue that
// messages are for, a third one sends. Run by `tulle run`, also with packets as on a wire, and with
// the first two on another machine (machines.py): RECEIVERS_AT is the file of its network
// namespace, RECEIVERS_LISTEN the interface there.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <numeric>

#include "two.h"

namespace {

using two::kAll;
using two::kPage;
using two::Side;

constexpr uint32_t kReceives = 8;
constexpr uid_t kNobody = 65534;

// Over IPv4, by the last GID that is such an address, and patient with a network that loses
// packets.
two::Options patient(const Side& side) {
    two::Options options;
    options.retries = 7;
    ibv_gid gid{};
    for (uint8_t index = 0; ibv_query_gid(side.context, 1, index, &gid) == 0; ++index)
        if (gid.raw[10] == 0xff && gid.raw[11] == 0xff) options.gid_index = index;
    return options;
}

ibv_xrcd* open_domain(ibv_context* context, int file, int flags = O_CREAT) {
    ibv_xrcd_init_attr by_file{};
    by_file.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    by_file.fd = file;
    by_file.oflags = flags;
    return ibv_open_xrcd(context, &by_file);
}

ibv_qp* make_target(Side& side, ibv_xrcd* domain) {
    ibv_qp_init_attr_ex init{};
    init.qp_type = IBV_QPT_XRC_RECV;
    init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
    init.xrcd = domain;
    return ibv_create_qp_ex(side.context, &init);
}

// What the owner of a queue tells about it.
struct Offer {
    uint32_t queue = 0;
    uint32_t rkey = 0;
    uint32_t other_rkey = 0;  // in another protection domain
    uint64_t address = 0;
};

// The process that owns a queue obeys commands of one letter.
class Owner {
public:
    Owner(Side& side, int file) : side_(side) {
        side_.open();
        std::fill(side_.memory.begin(), side_.memory.end(), 'o');
        domain_ = open_domain(side_.context, file);
        channel_ = ibv_create_comp_channel(side_.context);
        cq_ = ibv_create_cq(side_.context, 256, nullptr, channel_, 0);
        ibv_srq_init_attr_ex wanted{};
        wanted.attr = {64, 2, 0};
        wanted.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
                           IBV_SRQ_INIT_ATTR_CQ;
        wanted.srq_type = IBV_SRQT_XRC;
        wanted.pd = side_.pd;
        wanted.xrcd = domain_;
        wanted.cq = cq_;
        queue_ = ibv_create_srq_ex(side_.context, &wanted);
        Offer offer;
        if (queue_ == nullptr || ibv_get_srq_num(queue_, &offer.queue) != 0) std::abort();
        offer.rkey = side_.mr->rkey;
        offer.other_rkey =
            ibv_reg_mr(ibv_alloc_pd(side_.context), side_.memory.data(), kPage, kAll)->rkey;
        offer.address = reinterpret_cast<uint64_t>(side_.memory.data());
        side_.tell(offer);
    }

    bool serve() {
        for (;;) {
            switch (side_.hear<char>()) {
                case 'p': post(side_.hear<uint64_t>()); break;
                case 'c': side_.tell(completion()); break;
                case 'e': side_.tell(event()); break;
                case 'b': side_.tell(side_.memory[side_.hear<uint64_t>()]); break;
                case 'a': arm(); break;
                case 'd': side_.tell(ibv_destroy_srq(queue_)); break;
                case 'x': side_.tell(is_quiet()); break;
                case 't': connect_target(); break;
                case 'l': side_.tell(limit()); break;
                case 'o': side_.tell(open_target()); break;
                case 'g': side_.tell(give_back_target()); break;
                case 's': side_.tell(state_of_target()); break;
                default: return true;
            }
        }
    }

private:
    // The id gives the address: two pieces of half a page each.
    void post(uint64_t page) {
        const uint64_t begin = reinterpret_cast<uint64_t>(side_.memory.data()) + page * kPage;
        ibv_sge pieces[2] = {{begin, kPage / 2, side_.mr->lkey},
                             {begin + kPage / 2, kPage / 2, side_.mr->lkey}};
        ibv_recv_wr wr{};
        wr.wr_id = page;
        wr.sg_list = pieces;
        wr.num_sge = 2;
        ibv_recv_wr* bad = nullptr;
        if (ibv_post_srq_recv(queue_, &wr, &bad) != 0) std::abort();
        side_.tell('.');
    }
    ibv_wc completion() {
        ibv_wc wc{};
        while (ibv_poll_cq(cq_, 1, &wc) == 0) continue;
        return wc;
    }
    void arm() {
        if (ibv_req_notify_cq(cq_, 1) != 0) std::abort();
        side_.tell('.');
    }
    // Sleeps until one has arrived.
    ibv_wc event() {
        ibv_cq* cq = nullptr;
        void* user = nullptr;
        if (ibv_get_cq_event(channel_, &cq, &user) != 0) std::abort();
        ibv_ack_cq_events(cq, 1);
        return completion();
    }
    // Nothing accesses its memory any more.
    bool is_quiet() {
        const std::vector<char> then = side_.memory;
        side_.meet();
        side_.meet();
        return then == side_.memory;
    }
    void connect_target() {
        side_.qp = make_target(side_, domain_);
        if (!side_.connect()) std::abort();
    }
    int limit() {
        ibv_srq_attr attributes{};
        attributes.srq_limit = side_.hear<uint32_t>();
        return ibv_modify_srq(queue_, &attributes, IBV_SRQ_LIMIT);
    }

    // An errno, or 0.
    int open_target() {
        ibv_qp_open_attr wanted{};
        wanted.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
        wanted.qp_num = side_.hear<uint32_t>();
        wanted.xrcd = domain_;
        wanted.qp_type = IBV_QPT_XRC_RECV;
        opened_ = ibv_open_qp(side_.context, &wanted);
        return opened_ != nullptr ? 0 : errno;
    }
    ibv_qp_state state_of_target() {
        ibv_qp_attr attributes{};
        ibv_qp_init_attr init{};
        if (ibv_query_qp(opened_, &attributes, IBV_QP_STATE, &init) != 0) std::abort();
        return attributes.qp_state;
    }
    // What changing it says, and then giving it back.
    std::pair<int, int> give_back_target() {
        ibv_qp_attr attributes{};
        attributes.qp_state = IBV_QPS_ERR;
        const int changed = ibv_modify_qp(opened_, &attributes, IBV_QP_STATE);
        return {changed, ibv_destroy_qp(opened_)};
    }

    Side& side_;
    ibv_qp* opened_ = nullptr;
    ibv_xrcd* domain_ = nullptr;
    ibv_comp_channel* channel_ = nullptr;
    ibv_cq* cq_ = nullptr;
    ibv_srq* queue_ = nullptr;
};

// The process with the target, which does nothing else.
bool hold_target(Side& side, int file) {
    side.open();
    side.qp = make_target(side, open_domain(side.context, file));
    if (side.qp == nullptr || !side.connect(patient(side))) return false;
    side.poll_until_told();
    return true;
}

// Before it has opened a device.
void move_to_machine_of_receivers() {
    const char* file = std::getenv("RECEIVERS_AT");
    if (file == nullptr) return;
    if (setns(open(file, O_RDONLY | O_CLOEXEC), CLONE_NEWNET) != 0) std::abort();
    setenv("TULLE_LISTEN", std::getenv("RECEIVERS_LISTEN"), 1);
}

// A child at the other end of a pair of sockets.
class Child {
public:
    explicit Child(const std::function<bool(Side&)>& work)
        : sockets_(make()), side(sockets_.first) {
        process = fork();
        if (process == 0) {
            close(sockets_.first);
            move_to_machine_of_receivers();
            Side own(sockets_.second);
            _exit(work(own) ? 0 : 1);
        }
        close(sockets_.second);
    }
    ~Child() {
        if (process > 0) end(SIGKILL);
        close(sockets_.first);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    int end(int signal = 0) {
        if (signal == 0)
            side.tell('q');
        else
            kill(process, signal);
        int status = -1;
        waitpid(std::exchange(process, -1), &status, 0);
        return status;
    }

private:
    static std::pair<int, int> make() {
        int both[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) != 0) std::abort();
        return {both[0], both[1]};
    }
    std::pair<int, int> sockets_;

public:
    Side side;
    pid_t process = -1;
};

class SharedDomain : public testing::Test {
protected:
    // This process is the sender. The target's side is the one that it is connected by.
    void begin(uint32_t receives = kReceives) {
        offer = owner.side.hear<Offer>();
        for (uint64_t page = 0; page < receives; ++page) post(page);
        Side& sender = target.side;
        sender.open();
        sender.qp = sender.make(nullptr, IBV_QPT_XRC_SEND);
        ASSERT_TRUE(sender.connect(patient(sender)));
    }
    void post(uint64_t page) {
        owner.side.tell('p');
        owner.side.tell(page);
        (void)owner.side.hear<char>();
    }
    ibv_wc received(char how = 'c') {
        owner.side.tell(how);
        return owner.side.hear<ibv_wc>();
    }
    char byte(uint64_t offset) {
        owner.side.tell('b');
        owner.side.tell(offset);
        return owner.side.hear<char>();
    }
    ibv_send_wr request(ibv_wr_opcode opcode, uint32_t length, uint64_t offset = 0) {
        ibv_send_wr wr = target.side.request(opcode, length);
        wr.qp_type.xrc.remote_srqn = offer.queue;
        wr.imm_data = htobe32(0x1234'5678);
        if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
            wr.wr.atomic = {offer.address + offset, 1, 0, offer.rkey};
        else
            wr.wr.rdma = {offer.address + offset, offer.rkey};
        return wr;
    }
    int open_target_from(Side& side, uint32_t number) {
        side.tell('o');
        side.tell(number);
        return side.hear<int>();
    }
    ibv_qp_state opened_state() {
        owner.side.tell('s');
        return owner.side.hear<ibv_qp_state>();
    }
    ibv_wc_status send(uint32_t length, char content) {
        std::fill_n(target.side.memory.begin(), length, content);
        return target.side.result_of(request(IBV_WR_SEND, length));
    }

    int file = memfd_create("domain", MFD_CLOEXEC);
    Child owner{[this](Side& side) { return Owner(side, file).serve(); }};
    Child target{[this](Side& side) { return hold_target(side, file); }};
    Offer offer;
};

TEST_F(SharedDomain, a_message_to_a_target_of_one_process_reaches_the_queue_of_another) {
    begin();
    std::fill_n(target.side.memory.begin(), kPage, 's');
    EXPECT_EQ(target.side.result_of(request(IBV_WR_SEND_WITH_IMM, 3000)), IBV_WC_SUCCESS);
    const ibv_wc wc = received();
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.opcode, IBV_WC_RECV);
    EXPECT_EQ(wc.wr_id, 0u);
    EXPECT_EQ(wc.byte_len, 3000u);
    EXPECT_EQ(wc.wc_flags, unsigned{IBV_WC_WITH_IMM});
    EXPECT_EQ(be32toh(wc.imm_data), 0x1234'5678u);
    EXPECT_EQ(wc.qp_num, target.side.peer.qpn);
    EXPECT_EQ(byte(2999), 's');
    EXPECT_EQ(byte(3000), 'o');
    EXPECT_EQ(target.end(), 0);
    EXPECT_EQ(owner.end(), 0);
}

TEST_F(SharedDomain, messages_arrive_in_their_order_as_long_as_receives_are_posted) {
    begin();
    for (uint32_t i = 0; i < 300; ++i) {
        const uint32_t length = 1 + i * 131 % kPage;
        ASSERT_EQ(send(length, static_cast<char>('a' + i % 26)), IBV_WC_SUCCESS);
        const ibv_wc wc = received();
        ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
        ASSERT_EQ(wc.byte_len, length);
        ASSERT_EQ(byte(wc.wr_id * kPage + length - 1), 'a' + i % 26);
        post(wc.wr_id);
    }
}

// Many in flight, and fewer receives than messages.
TEST_F(SharedDomain, a_burst_waits_for_receives_and_loses_nothing) {
    begin(1);
    constexpr uint32_t kMessages = 60;
    std::iota(target.side.memory.begin(), target.side.memory.begin() + kMessages, char{0});
    for (uint32_t i = 0; i < kMessages; ++i) {
        ibv_send_wr wr = request(IBV_WR_SEND, 1);
        target.side.sge.addr += i;
        ASSERT_EQ(target.side.post(wr), 0);
    }
    for (uint32_t i = 0; i < kMessages; ++i) {
        const ibv_wc wc = received();
        ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
        ASSERT_EQ(byte(wc.wr_id * kPage), static_cast<char>(i));
        post(wc.wr_id);
    }
    for (uint32_t i = 0; i < kMessages; ++i)
        EXPECT_EQ(target.side.completion().status, IBV_WC_SUCCESS);
}

TEST_F(SharedDomain, a_queue_without_receives_is_waited_for) {
    begin(0);
    ASSERT_EQ(target.side.post(request(IBV_WR_SEND, 8)), 0);
    post(5);
    EXPECT_EQ(received().wr_id, 5u);
    EXPECT_EQ(target.side.completion().status, IBV_WC_SUCCESS);
}

TEST_F(SharedDomain, memory_of_the_queues_owner_is_written_and_read_through_the_target) {
    begin(1);
    Side& sender = target.side;
    constexpr uint32_t kLength = 20 * kPage;
    constexpr uint64_t kOffset = 30 * kPage;
    for (uint32_t i = 0; i < kLength; ++i) sender.memory[i] = static_cast<char>(i % 251);
    const std::vector<char> sent = sender.memory;
    EXPECT_EQ(sender.result_of(request(IBV_WR_RDMA_WRITE, kLength, kOffset)), IBV_WC_SUCCESS);
    EXPECT_EQ(byte(kOffset + kLength - 1), sent[kLength - 1]);
    EXPECT_EQ(byte(kOffset + kLength), 'o');
    std::fill(sender.memory.begin(), sender.memory.end(), 0);
    EXPECT_EQ(sender.result_of(request(IBV_WR_RDMA_READ, kLength, kOffset)), IBV_WC_SUCCESS);
    EXPECT_TRUE(std::equal(sent.begin(), sent.begin() + kLength, sender.memory.begin()));
    EXPECT_EQ(sender.result_of(request(IBV_WR_RDMA_WRITE_WITH_IMM, 100, kOffset)), IBV_WC_SUCCESS);
    const ibv_wc wc = received();
    EXPECT_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
    EXPECT_EQ(wc.byte_len, 100u);
    EXPECT_EQ(be32toh(wc.imm_data), 0x1234'5678u);
    EXPECT_EQ(byte(0), 'o');
}

TEST_F(SharedDomain, an_event_wakes_the_owner_that_sleeps_until_a_solicited_message) {
    begin();
    owner.side.tell('a');
    (void)owner.side.hear<char>();
    owner.side.tell('e');
    EXPECT_EQ(send(8, 's'), IBV_WC_SUCCESS);
    EXPECT_FALSE(owner.side.is_told());
    ibv_send_wr wr = request(IBV_WR_SEND, 8);
    wr.send_flags |= IBV_SEND_SOLICITED;
    EXPECT_EQ(target.side.result_of(wr), IBV_WC_SUCCESS);
    EXPECT_EQ(owner.side.hear<ibv_wc>().wr_id, 0u);
}

TEST_F(SharedDomain, a_message_that_is_too_long_ends_as_on_one_adapter) {
    begin();
    EXPECT_EQ(send(kPage + 1, 's'), IBV_WC_REM_INV_REQ_ERR);
    EXPECT_EQ(received().status, IBV_WC_LOC_LEN_ERR);
    EXPECT_EQ(byte(kPage), 'o');
}

// ---- targets of others --------------------------------------------------------------------------

TEST_F(SharedDomain, a_target_is_opened_by_another_process_and_given_back) {
    begin();
    ASSERT_EQ(open_target_from(owner.side, target.side.peer.qpn), 0);
    EXPECT_GE(opened_state(), IBV_QPS_RTR);
    owner.side.tell('g');
    const auto [changed, given_back] = owner.side.hear<std::pair<int, int>>();
    EXPECT_EQ(changed, EOPNOTSUPP);
    EXPECT_EQ(given_back, 0);
    EXPECT_EQ(send(8, 's'), IBV_WC_SUCCESS);
    EXPECT_EQ(received().status, IBV_WC_SUCCESS);
}

TEST_F(SharedDomain, an_opened_target_is_in_error_when_its_process_has_ended) {
    begin();
    ASSERT_EQ(open_target_from(owner.side, target.side.peer.qpn), 0);
    target.end(SIGKILL);
    while (opened_state() != IBV_QPS_ERR) continue;
}

TEST_F(SharedDomain, what_is_no_target_is_not_opened) {
    begin();
    EXPECT_EQ(open_target_from(owner.side, target.side.peer.qpn + 1), EINVAL);
    EXPECT_EQ(open_target_from(owner.side, target.side.qp->qp_num), EINVAL);
}

// ---- refusals -----------------------------------------------------------------------------------

TEST_F(SharedDomain, atomics_are_refused) {
    begin();
    EXPECT_EQ(target.side.result_of(request(IBV_WR_ATOMIC_FETCH_AND_ADD, 8)),
              IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(byte(0), 'o');
}

TEST_F(SharedDomain, memory_of_another_protection_domain_is_refused) {
    begin();
    offer.rkey = offer.other_rkey;
    EXPECT_EQ(target.side.result_of(request(IBV_WR_RDMA_WRITE, 8)), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(byte(0), 'o');
}

TEST_F(SharedDomain, a_number_that_is_no_queue_is_refused) {
    begin();
    offer.queue += 100;
    EXPECT_EQ(send(8, 's'), IBV_WC_REM_INV_REQ_ERR);
}

TEST_F(SharedDomain, a_queue_that_was_destroyed_is_refused_and_its_memory_left_alone) {
    begin();
    EXPECT_EQ(send(8, 's'), IBV_WC_SUCCESS);
    owner.side.tell('d');
    EXPECT_EQ(owner.side.hear<int>(), 0);
    EXPECT_EQ(send(8, 'z'), IBV_WC_REM_INV_REQ_ERR);
    for (uint64_t page = 0; page < kReceives; ++page) EXPECT_NE(byte(page * kPage), 'z');
}

// As deregistration does: work in progress is finished, and nothing follows.
TEST_F(SharedDomain, a_queue_that_goes_amid_messages_is_not_written_to_later) {
    begin();
    std::fill_n(target.side.memory.begin(), kPage, 's');
    for (int i = 0; i < 60; ++i)
        ASSERT_EQ(target.side.post(request(IBV_WR_RDMA_WRITE, 30 * kPage)), 0);
    owner.side.tell('d');
    EXPECT_EQ(owner.side.hear<int>(), 0);
    owner.side.tell('x');
    owner.side.meet();
    ibv_wc wc{};
    while (wc.status == IBV_WC_SUCCESS) {
        wc = target.side.completion();
        if (wc.status == IBV_WC_SUCCESS) (void)target.side.post(request(IBV_WR_RDMA_WRITE, kPage));
    }
    owner.side.meet();
    EXPECT_TRUE(owner.side.hear<bool>());
}

class DomainOfAnotherFile : public SharedDomain {
protected:
    int other = memfd_create("other", MFD_CLOEXEC);
    Child stranger{[this](Side& side) { return Owner(side, other).serve(); }};
};

TEST_F(DomainOfAnotherFile, a_target_of_another_domain_is_not_opened) {
    begin();
    (void)stranger.side.hear<Offer>();
    EXPECT_EQ(open_target_from(stranger.side, target.side.peer.qpn), EINVAL);
}

TEST_F(DomainOfAnotherFile, a_queue_of_another_domain_is_refused) {
    begin();
    const auto theirs = stranger.side.hear<Offer>();
    offer.queue = theirs.queue;
    EXPECT_EQ(send(8, 's'), IBV_WC_REM_INV_REQ_ERR);
}

// In a separate process, which has no world yet.
bool is_queue_of_another_user_refused() {
    setenv("TULLE_SHARED", "1", 1);
    const int file = memfd_create("domain", MFD_CLOEXEC);
    Child owner([&](Side& side) {
        return setresuid(kNobody, kNobody, kNobody) == 0 && Owner(side, file).serve();
    });
    Child target([&](Side& side) { return hold_target(side, file); });
    const auto offer = owner.side.hear<Offer>();
    Side& sender = target.side;
    sender.open();
    sender.qp = sender.make(nullptr, IBV_QPT_XRC_SEND);
    if (!sender.connect(patient(sender))) return false;
    ibv_send_wr wr = sender.request(IBV_WR_SEND, 8);
    wr.qp_type.xrc.remote_srqn = offer.queue;
    return sender.result_of(wr) == IBV_WC_REM_INV_REQ_ERR;
}

TEST(DomainOfAnotherUser, a_queue_of_another_user_is_refused) {
    if (geteuid() != 0) GTEST_SKIP() << "two users take root";
    const Child whole([](Side&) { return is_queue_of_another_user_refused(); });
    int status = -1;
    EXPECT_EQ(waitpid(whole.process, &status, 0), whole.process);
    EXPECT_EQ(status, 0);
}

// ---- ends ---------------------------------------------------------------------------------------

TEST_F(SharedDomain, what_a_target_has_not_used_comes_back_to_other_targets) {
    begin(2);
    EXPECT_EQ(send(8, 's'), IBV_WC_SUCCESS);
    EXPECT_EQ(received().wr_id, 0u);
    post(0);
    // Two receives, of which the target has one or both; its owner's own target needs all.
    Side& own = owner.side;
    own.tell('t');
    own.open();
    own.qp = own.make(nullptr, IBV_QPT_XRC_SEND);
    ASSERT_TRUE(own.connect());
    for (int i = 0; i < 2; ++i) {
        ibv_send_wr wr = own.request(IBV_WR_SEND, 8);
        wr.qp_type.xrc.remote_srqn = offer.queue;
        EXPECT_EQ(own.result_of(wr), IBV_WC_SUCCESS);
        EXPECT_EQ(received().status, IBV_WC_SUCCESS);
    }
}

TEST_F(SharedDomain, receives_that_were_lent_to_a_process_that_is_killed_come_back) {
    begin(2);
    EXPECT_EQ(send(8, 's'), IBV_WC_SUCCESS);
    EXPECT_EQ(received().wr_id, 0u);
    target.end(SIGKILL);
    Side& own = owner.side;
    own.tell('t');
    own.open();
    own.qp = own.make(nullptr, IBV_QPT_XRC_SEND);
    ASSERT_TRUE(own.connect());
    ibv_send_wr wr = own.request(IBV_WR_SEND, 8);
    wr.qp_type.xrc.remote_srqn = offer.queue;
    EXPECT_EQ(own.result_of(wr), IBV_WC_SUCCESS);
    EXPECT_EQ(received().wr_id, 1u);
}

TEST_F(SharedDomain, messages_for_a_process_that_is_killed_fail) {
    begin();
    EXPECT_EQ(send(8, 's'), IBV_WC_SUCCESS);
    owner.end(SIGKILL);
    ibv_wc_status status = IBV_WC_SUCCESS;
    while (status == IBV_WC_SUCCESS) status = send(8, 's');
    EXPECT_TRUE(status == IBV_WC_REM_INV_REQ_ERR || status == IBV_WC_REM_OP_ERR) << status;
}

// ---- domains ------------------------------------------------------------------------------------

TEST_F(SharedDomain, a_domain_that_another_process_has_open_is_there) {
    begin(0);
    ibv_context* context = target.side.context;
    EXPECT_EQ(open_domain(context, file, O_CREAT | O_EXCL), nullptr);
    EXPECT_EQ(errno, EINVAL);
    ibv_xrcd* domain = open_domain(context, file, 0);
    ASSERT_NE(domain, nullptr);
    EXPECT_EQ(ibv_close_xrcd(domain), 0);
    const int other = memfd_create("other", MFD_CLOEXEC);
    EXPECT_EQ(open_domain(context, other, 0), nullptr);
    EXPECT_EQ(errno, ENOENT);
    close(other);
}

}  // namespace
