// Data over a bad network, checked byte by byte. Run by `tulle run --loss ...`. Each test has two
// processes, because traffic within one does not touch the wire.
//
// RC loses nothing, duplicates nothing and keeps order; atomics are executed once. UC and UD lose
// messages, but deliver only complete ones.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <vector>

namespace {

constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                     IBV_ACCESS_REMOTE_ATOMIC;
constexpr uint32_t kSlot = 4096;
constexpr uint32_t kSlots = 128;
constexpr uint32_t kQkey = 0x1111;
constexpr uint32_t kGrh = 40;

// The content of message `number`: its number, and bytes derived from it.
void fill(std::byte* at, uint32_t number, uint32_t length) {
    for (uint32_t i = 4; i < length; ++i) at[i] = std::byte(number * 31 + i * 7 + (i >> 8));
    std::memcpy(at, &number, sizeof number);
}

bool is_whole(const std::byte* at, uint32_t length) {
    uint32_t number = 0;
    std::memcpy(&number, at, sizeof number);
    std::vector<std::byte> expected(length);
    fill(expected.data(), number, length);
    return std::memcmp(at, expected.data(), length) == 0;
}

uint32_t number_at(const std::byte* at) {
    uint32_t number = 0;
    std::memcpy(&number, at, sizeof number);
    return number;
}

struct Card {
    uint32_t qpn, rkey;
    uint64_t address;
};

// One process's end: a queue pair, memory, and a socket to the other for coordination.
class End {
public:
    End(int socket, ibv_qp_type type) : socket_(socket), type_(type) {
        ibv_device** list = ibv_get_device_list(nullptr);
        context = ibv_open_device(list[0]);
        ibv_free_device_list(list);
        pd = ibv_alloc_pd(context);
        cq = ibv_create_cq(context, 4 * kSlots, nullptr, nullptr, 0);
        mr = ibv_reg_mr(pd, memory.data(), memory.size(), kAll);
        ibv_qp_init_attr init{};
        init.send_cq = init.recv_cq = cq;
        init.qp_type = type;
        init.cap = {kSlots, kSlots, 1, 1, 0};
        qp = ibv_create_qp(pd, &init);
    }
    ~End() {
        ibv_destroy_qp(qp);
        ibv_destroy_cq(cq);
        ibv_dereg_mr(mr);
        ibv_dealloc_pd(pd);
        ibv_close_device(context);
    }

    void tell(const Card& card) {
        ASSERT_EQ(write(socket_, &card, sizeof card), ssize_t{sizeof card});
    }
    Card hear() {
        Card card{};
        EXPECT_EQ(read(socket_, &card, sizeof card), ssize_t{sizeof card});
        return card;
    }

    bool has_heard() {
        Card card{};
        return recv(socket_, &card, sizeof card, MSG_DONTWAIT) == ssize_t{sizeof card};
    }

    // Receives must be posted before the peer sends.
    void connect() {
        tell({qp->qp_num, mr->rkey, reinterpret_cast<uint64_t>(memory.data())});
        peer = hear();
        ibv_qp_attr a{};
        a.port_num = 1;
        a.qp_access_flags = kAll;
        a.qkey = kQkey;
        a.path_mtu = IBV_MTU_1024;
        a.dest_qp_num = peer.qpn;
        a.max_dest_rd_atomic = a.max_rd_atomic = 4;
        a.min_rnr_timer = 5;
        a.ah_attr = way();
        a.timeout = 10;
        a.retry_cnt = a.rnr_retry = 7;
        constexpr int kTarget = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
        constexpr int kAnswers = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
        constexpr int kRetries =
            IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
        const bool is_ud = type_ == IBV_QPT_UD;
        const bool is_rc = type_ == IBV_QPT_RC;
        move(a, IBV_QPS_INIT,
             IBV_QP_PKEY_INDEX | IBV_QP_PORT | (is_ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
        for (uint32_t slot = 0; slot < kSlots; ++slot) receive(slot);
        move(a, IBV_QPS_RTR, (is_ud ? 0 : kTarget) | (is_rc ? kAnswers : 0));
        move(a, IBV_QPS_RTS, IBV_QP_SQ_PSN | (is_rc ? kRetries : 0));
        tell({});  // ready
        hear();
    }

    void receive(uint32_t slot) {
        ibv_sge sge{address_of(slot), kSlot, mr->lkey};
        ibv_recv_wr wr{};
        ibv_recv_wr* bad = nullptr;
        wr.wr_id = slot;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        ASSERT_EQ(ibv_post_recv(qp, &wr, &bad), 0);
    }
    // `change` sets the fields of the request.
    void post(uint32_t slot, uint32_t length, const std::function<void(ibv_send_wr&)>& change) {
        ibv_sge sge{address_of(slot), length, mr->lkey};
        ibv_send_wr wr{};
        ibv_send_wr* bad = nullptr;
        wr.wr_id = slot;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.send_flags = IBV_SEND_SIGNALED;
        change(wr);
        ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
    }
    ibv_wc next() {
        ibv_wc wc{};
        while (ibv_poll_cq(cq, 1, &wc) == 0) continue;
        EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
        return wc;
    }
    bool poll(ibv_wc& wc) { return ibv_poll_cq(cq, 1, &wc) == 1; }

    ibv_ah_attr way() {
        ibv_ah_attr a{};
        a.is_global = 1;
        a.port_num = 1;
        a.grh.sgid_index = 3;
        a.grh.hop_limit = 64;
        ibv_query_gid(context, 1, 3, &a.grh.dgid);
        return a;
    }
    // The second half of the memory is for sending.
    std::byte* place(uint32_t slot) { return memory.data() + size_t{slot} * kSlot; }
    uint64_t address_of(uint32_t slot) { return reinterpret_cast<uint64_t>(place(slot)); }

    std::vector<std::byte> memory = std::vector<std::byte>(size_t{2 * kSlots} * kSlot);
    ibv_context* context = nullptr;
    ibv_pd* pd = nullptr;
    ibv_cq* cq = nullptr;
    ibv_mr* mr = nullptr;
    ibv_qp* qp = nullptr;
    Card peer{};

private:
    void move(ibv_qp_attr& a, ibv_qp_state state, int mask) {
        a.qp_state = state;
        ASSERT_EQ(ibv_modify_qp(qp, &a, IBV_QP_STATE | mask), 0);
    }

    const int socket_;
    const ibv_qp_type type_;
};

using Part = std::function<void(End&)>;

// The target is a separate process. It stays until the initiator is done.
void play(ibv_qp_type type, const Part& initiator, const Part& target) {
    int sockets[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
    const pid_t child = fork();
    if (child == 0) {
        close(sockets[0]);
        {
            End end(sockets[1], type);
            end.connect();
            target(end);
            end.tell({});
            end.hear();
        }
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    close(sockets[1]);
    {
        End end(sockets[0], type);
        end.connect();
        initiator(end);
        end.hear();
        end.tell({});
    }
    close(sockets[0]);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

// Sends this many messages, several in flight at a time.
void send_all(End& end, uint32_t count, uint32_t length,
              const std::function<void(ibv_send_wr&)>& change) {
    constexpr uint32_t kWindow = 16;
    uint32_t done = 0;
    for (uint32_t number = 0; number < count; ++number) {
        for (; number - done >= kWindow; ++done) end.next();
        const uint32_t slot = kSlots + number % kWindow;
        fill(end.place(slot), number, length);
        end.post(slot, length, change);
    }
    for (; done < count; ++done) end.next();
}

// The result of messages that may be lost: each one is complete, until the peer says that all were
// sent and nothing more arrives.
uint32_t take_what_comes(End& end, uint32_t header, uint32_t length) {
    constexpr uint32_t kQuiet = 20'000;
    uint32_t taken = 0;
    bool is_over = false;
    for (uint32_t empty = 0; empty < kQuiet;) {
        ibv_wc wc{};
        if (!end.poll(wc)) {
            is_over = is_over || end.has_heard();
            empty = is_over ? empty + 1 : 0;
            continue;
        }
        empty = 0;
        ++taken;
        EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
        EXPECT_EQ(wc.byte_len, header + length);
        const auto slot = static_cast<uint32_t>(wc.wr_id);
        EXPECT_TRUE(is_whole(end.place(slot) + header, length));
        end.receive(slot);
    }
    return taken;
}

void as_send(ibv_send_wr& wr) {
    wr.opcode = IBV_WR_SEND;
}

TEST(Lossy, sends_arrive_once_in_order_and_whole) {
    static constexpr uint32_t kCount = 400;
    static constexpr uint32_t kLength = 3000;
    play(
        IBV_QPT_RC, [](End& end) { send_all(end, kCount, kLength, as_send); },
        [](End& end) {
            for (uint32_t number = 0; number < kCount; ++number) {
                const ibv_wc wc = end.next();
                const auto slot = static_cast<uint32_t>(wc.wr_id);
                ASSERT_EQ(wc.byte_len, kLength);
                ASSERT_EQ(number_at(end.place(slot)), number);
                ASSERT_TRUE(is_whole(end.place(slot), kLength));
                end.receive(slot);
            }
        });
}

TEST(Lossy, what_is_written_is_read_again) {
    static constexpr uint32_t kLength = 64 * kSlot;
    play(
        IBV_QPT_RC,
        [](End& end) {
            const auto remote = [&](ibv_wr_opcode opcode) {
                return [&end, opcode](ibv_send_wr& wr) {
                    wr.opcode = opcode;
                    wr.wr.rdma = {end.peer.address, end.peer.rkey};
                };
            };
            for (uint32_t round = 0; round < 4; ++round) {
                fill(end.place(kSlots), round, kLength);
                end.post(kSlots, kLength, remote(IBV_WR_RDMA_WRITE));
                end.next();
                end.post(0, kLength, remote(IBV_WR_RDMA_READ));
                end.next();
                EXPECT_EQ(number_at(end.place(0)), round);
                EXPECT_TRUE(is_whole(end.place(0), kLength));
            }
        },
        [](End&) {});
}

TEST(Lossy, additions_are_done_once) {
    static constexpr uint64_t kCount = 200;
    play(
        IBV_QPT_RC,
        [](End& end) {
            for (uint64_t number = 0; number < kCount; ++number) {
                end.post(kSlots, 8, [&](ibv_send_wr& wr) {
                    wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
                    wr.wr.atomic = {end.peer.address, 1, 0, end.peer.rkey};
                });
                end.next();
                uint64_t before = 0;
                std::memcpy(&before, end.place(kSlots), sizeof before);
                ASSERT_EQ(before, number);
            }
        },
        [](End&) {});
}

// Of 400 messages of three packets about ten per cent are lost.
TEST(Lossy, what_comes_of_an_unreliable_connection_is_whole) {
    static constexpr uint32_t kCount = 400;
    static constexpr uint32_t kLength = 3000;
    play(
        IBV_QPT_UC,
        [](End& end) {
            send_all(end, kCount, kLength, as_send);
            end.tell({});
        },
        [](End& end) {
            const uint32_t taken = take_what_comes(end, 0, kLength);
            EXPECT_GT(taken, kCount / 4);
            EXPECT_LT(taken, kCount);
        });
}

TEST(Lossy, what_comes_of_datagrams_is_whole) {
    static constexpr uint32_t kCount = 400;
    static constexpr uint32_t kLength = 1000;
    play(
        IBV_QPT_UD,
        [](End& end) {
            ibv_ah_attr way = end.way();
            ibv_ah* ah = ibv_create_ah(end.pd, &way);
            send_all(end, kCount, kLength, [&](ibv_send_wr& wr) {
                wr.opcode = IBV_WR_SEND;
                wr.wr.ud = {ah, end.peer.qpn, kQkey};
            });
            ibv_destroy_ah(ah);
            end.tell({});
        },
        [](End& end) {
            const uint32_t taken = take_what_comes(end, kGrh, kLength);
            EXPECT_GT(taken, kCount / 4);
        });
}

}  // namespace
