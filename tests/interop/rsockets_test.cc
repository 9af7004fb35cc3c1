// Sockets over RDMA, call by call. Both ends are in this process, in separate threads. Run by
// `tulle run`.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <netinet/tcp.h>
#include <rdma/rdma_verbs.h>
#include <rdma/rsocket.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <future>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPatience = 20'000;  // milliseconds; the machine may be busy

sockaddr_in address_of(uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

const sockaddr* plain(const sockaddr_in& address) {
    return reinterpret_cast<const sockaddr*>(&address);
}

uint16_t port_of(int socket) {
    sockaddr_in name{};
    socklen_t length = sizeof name;
    EXPECT_EQ(rgetsockname(socket, reinterpret_cast<sockaddr*>(&name), &length), 0);
    return ntohs(name.sin_port);
}

int listener() {
    const int socket = rsocket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in any = address_of(0);
    EXPECT_EQ(rbind(socket, plain(any), sizeof any), 0);
    EXPECT_EQ(rlisten(socket, 8), 0);
    return socket;
}

int connected_to(uint16_t port) {
    const int socket = rsocket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in there = address_of(port);
    EXPECT_EQ(rconnect(socket, plain(there), sizeof there), 0) << std::strerror(errno);
    return socket;
}

void set_nonblocking(int socket) {
    ASSERT_EQ(rfcntl(socket, F_SETFL, O_NONBLOCK), 0);
    ASSERT_EQ(rfcntl(socket, F_GETFL, 0) & O_NONBLOCK, O_NONBLOCK);
}

short wait_for(int socket, short events) {
    pollfd one{socket, events, 0};
    EXPECT_EQ(rpoll(&one, 1, kPatience), 1);
    return one.revents;
}

std::vector<char> random_bytes(size_t count, unsigned seed) {
    std::minstd_rand random(seed);
    std::vector<char> bytes(count);
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
}

// Sends everything in pieces of various sizes.
void send_all(int socket, const std::vector<char>& bytes, unsigned seed) {
    std::minstd_rand random(seed);
    for (size_t at = 0; at < bytes.size();) {
        const size_t count = std::min<size_t>(bytes.size() - at, 1 + random() % 100'000);
        const ssize_t sent = rsend(socket, bytes.data() + at, count, 0);
        ASSERT_GT(sent, 0) << std::strerror(errno);
        at += static_cast<size_t>(sent);
    }
}

std::vector<char> receive_all(int socket, unsigned seed) {
    std::minstd_rand random(seed);
    std::vector<char> bytes, piece(200'000);
    for (;;) {
        const ssize_t count = rrecv(socket, piece.data(), 1 + random() % piece.size(), 0);
        EXPECT_GE(count, 0) << std::strerror(errno);
        if (count <= 0) return bytes;
        bytes.insert(bytes.end(), piece.begin(), piece.begin() + count);
    }
}

// The two ends of a stream.
class Streams : public testing::Test {
protected:
    void SetUp() override {
        const int at = listener();
        const uint16_t port = port_of(at);
        std::thread caller([&] { client = connected_to(port); });
        server = raccept(at, nullptr, nullptr);
        caller.join();
        ASSERT_GE(server, 0);
        EXPECT_EQ(rclose(at), 0);
    }
    void TearDown() override {
        for (const int socket : {client, server})
            if (socket >= 0) {
                EXPECT_EQ(rclose(socket), 0);
            }
    }

    int client = -1;
    int server = -1;
};

TEST_F(Streams, bytes_arrive_as_they_were_sent_in_both_directions_at_once) {
    const std::vector<char> there = random_bytes(5'000'000, 1), back = random_bytes(3'000'000, 2);
    std::vector<char> at_server, at_client;
    std::thread one([&] {
        send_all(client, there, 3);
        EXPECT_EQ(rshutdown(client, SHUT_WR), 0);
    });
    std::thread two([&] {
        send_all(server, back, 4);
        EXPECT_EQ(rshutdown(server, SHUT_WR), 0);
    });
    std::thread three([&] { at_server = receive_all(server, 5); });
    at_client = receive_all(client, 6);
    one.join();
    two.join();
    three.join();
    EXPECT_TRUE(at_server == there);
    EXPECT_TRUE(at_client == back);
}

TEST_F(Streams, a_side_that_has_shut_down_still_receives) {
    EXPECT_EQ(rshutdown(client, SHUT_WR), 0);
    std::array<char, 100'000> bytes{};
    EXPECT_EQ(rrecv(server, bytes.data(), 1, 0), 0);
    std::thread sender([&] { send_all(server, random_bytes(1'000'000, 7), 8); });
    size_t received = 0;
    while (received < 1'000'000) {
        const ssize_t count = rrecv(client, bytes.data(), bytes.size(), 0);
        ASSERT_GT(count, 0);
        received += static_cast<size_t>(count);
    }
    sender.join();
    EXPECT_EQ(rsend(client, "x", 1, 0), -1);
    EXPECT_EQ(errno, EPIPE);
}

TEST_F(Streams, without_waiting_calls_say_that_they_would) {
    set_nonblocking(client);
    set_nonblocking(server);
    char byte = 0;
    EXPECT_EQ(rrecv(client, &byte, 1, 0), -1);
    EXPECT_EQ(errno, EAGAIN);
    const std::vector<char> bytes(10'000, 'x');
    size_t sent = 0;
    for (ssize_t count = 0; (count = rsend(client, bytes.data(), bytes.size(), 0)) > 0;)
        sent += static_cast<size_t>(count);
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_GE(sent, 64u << 10);
    pollfd look{client, POLLOUT, 0};
    EXPECT_EQ(rpoll(&look, 1, 0), 0);
    std::vector<char> got(sent);
    for (size_t at = 0; at < sent;) {
        ASSERT_EQ(wait_for(server, POLLIN), POLLIN);
        const ssize_t count = rrecv(server, got.data() + at, sent - at, 0);
        ASSERT_GT(count, 0);
        at += static_cast<size_t>(count);
    }
    EXPECT_EQ(wait_for(client, POLLOUT), POLLOUT);
}

TEST_F(Streams, a_look_leaves_the_bytes_there_and_all_may_be_waited_for) {
    EXPECT_EQ(rwrite(client, "abcdef", 6), 6);
    std::array<char, 12> bytes{};
    ASSERT_EQ(wait_for(server, POLLIN), POLLIN);
    EXPECT_EQ(rrecv(server, bytes.data(), 4, MSG_PEEK), 4);
    std::thread later([&] { EXPECT_EQ(rwrite(client, "ghijkl", 6), 6); });
    EXPECT_EQ(rrecv(server, bytes.data(), 12, MSG_WAITALL), 12);
    later.join();
    EXPECT_EQ(std::string_view(bytes.data(), 12), "abcdefghijkl");
}

TEST_F(Streams, vectors_are_gathered_and_scattered) {
    std::array<char, 3> a{'a', 'b', 'c'}, c{};
    std::array<char, 2> b{'d', 'e'}, d{};
    const std::array<iovec, 2> from{iovec{a.data(), 3}, iovec{b.data(), 2}};
    EXPECT_EQ(rwritev(client, from.data(), 2), 5);
    std::array<iovec, 2> into{iovec{d.data(), 2}, iovec{c.data(), 3}};
    msghdr message{};
    message.msg_iov = into.data();
    message.msg_iovlen = into.size();
    EXPECT_EQ(rrecvmsg(server, &message, MSG_WAITALL), 5);
    EXPECT_EQ(std::string_view(d.data(), 2), "ab");
    EXPECT_EQ(std::string_view(c.data(), 3), "cde");
}

TEST_F(Streams, what_was_sent_before_a_close_is_still_received) {
    EXPECT_EQ(rwrite(client, "last words", 10), 10);
    EXPECT_EQ(rclose(std::exchange(client, -1)), 0);
    std::array<char, 20> bytes{};
    EXPECT_EQ(rrecv(server, bytes.data(), bytes.size(), MSG_WAITALL), 10);
    EXPECT_EQ(rrecv(server, bytes.data(), bytes.size(), 0), 0);
    EXPECT_NE(wait_for(server, POLLIN) & POLLIN, 0);
    EXPECT_EQ(rsend(server, "x", 1, 0), -1);
    EXPECT_EQ(errno, EPIPE);
}

TEST_F(Streams, a_sleeper_is_woken_by_what_another_thread_takes) {
    std::thread reader([&] {
        char byte = 0;
        EXPECT_EQ(rrecv(server, &byte, 1, 0), 1);
    });
    std::thread poller([&] { EXPECT_NE(wait_for(server, POLLIN) & POLLIN, 0); });
    EXPECT_EQ(rwrite(client, "ab", 2), 2);
    reader.join();
    poller.join();
}

TEST_F(Streams, the_kernels_descriptors_are_polled_along) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    std::array<pollfd, 2> both{pollfd{server, POLLIN, 0}, pollfd{ends[0], POLLIN, 0}};
    ASSERT_EQ(write(ends[1], "x", 1), 1);
    EXPECT_EQ(rpoll(both.data(), 2, kPatience), 1);
    EXPECT_EQ(both[1].revents, POLLIN);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(server, &set);
    FD_SET(ends[0], &set);
    EXPECT_EQ(rwrite(client, "y", 1), 1);
    ASSERT_NE(wait_for(server, POLLIN) & POLLIN, 0);
    EXPECT_EQ(rselect(std::max(server, ends[0]) + 1, &set, nullptr, nullptr, nullptr), 2);
    close(ends[0]);
    close(ends[1]);
}

TEST_F(Streams, names_and_options_are_those_of_sockets) {
    sockaddr_in name{}, peer{};
    socklen_t length = sizeof name;
    EXPECT_EQ(rgetsockname(client, reinterpret_cast<sockaddr*>(&name), &length), 0);
    EXPECT_EQ(rgetpeername(server, reinterpret_cast<sockaddr*>(&peer), &length), 0);
    EXPECT_EQ(name.sin_port, peer.sin_port);
    EXPECT_EQ(name.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    int value = 1;
    EXPECT_EQ(rsetsockopt(client, IPPROTO_TCP, TCP_NODELAY, &value, sizeof value), 0);
    value = 0;
    length = sizeof value;
    EXPECT_EQ(rgetsockopt(client, IPPROTO_TCP, TCP_NODELAY, &value, &length), 0);
    EXPECT_EQ(value, 1);
    EXPECT_EQ(rgetsockopt(client, SOL_SOCKET, SO_ERROR, &value, &length), 0);
    EXPECT_EQ(value, 0);
    EXPECT_EQ(rsetsockopt(client, SOL_SOCKET, 9999, &value, sizeof value), -1);
    EXPECT_EQ(errno, ENOPROTOOPT);
}

TEST(Sockets, nobody_who_listens_refuses) {
    uint16_t port = 0;
    {
        const int at = listener();
        port = port_of(at);
        EXPECT_EQ(rclose(at), 0);
    }
    const int socket = rsocket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in there = address_of(port);
    EXPECT_EQ(rconnect(socket, plain(there), sizeof there), -1);
    EXPECT_EQ(errno, ECONNREFUSED);
    EXPECT_EQ(rclose(socket), 0);
    EXPECT_EQ(rclose(socket), -1);
    EXPECT_EQ(errno, EBADF);
    EXPECT_EQ(rsocket(AF_UNIX, SOCK_STREAM, 0), -1);
}

TEST(Sockets, a_connection_is_made_without_waiting) {
    const int at = listener();
    set_nonblocking(at);
    EXPECT_EQ(raccept(at, nullptr, nullptr), -1);
    EXPECT_EQ(errno, EAGAIN);
    const int client = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    const sockaddr_in there = address_of(port_of(at));
    EXPECT_EQ(rconnect(client, plain(there), sizeof there), -1);
    EXPECT_EQ(errno, EINPROGRESS);
    ASSERT_EQ(wait_for(at, POLLIN), POLLIN);
    const int server = raccept(at, nullptr, nullptr);
    ASSERT_GE(server, 0);
    EXPECT_EQ(wait_for(client, POLLOUT), POLLOUT);
    int error = -1;
    socklen_t length = sizeof error;
    EXPECT_EQ(rgetsockopt(client, SOL_SOCKET, SO_ERROR, &error, &length), 0);
    EXPECT_EQ(error, 0);
    for (const int socket : {client, server, at}) EXPECT_EQ(rclose(socket), 0);
}

TEST(Sockets, a_closed_socket_leaves_nothing_behind) {
    const auto descriptors = [] {
        const std::filesystem::directory_iterator folder("/proc/self/fd");
        return std::distance(begin(folder), end(folder));
    };
    const int at = listener();
    const uint16_t port = port_of(at);
    ptrdiff_t before = 0;
    for (int round = 0; round < 20; ++round) {
        if (round == 5) before = descriptors();
        std::thread caller([&] { rclose(connected_to(port)); });
        const int server = raccept(at, nullptr, nullptr);
        char byte = 0;
        EXPECT_EQ(rrecv(server, &byte, 1, 0), 0);
        EXPECT_EQ(rclose(server), 0);
        caller.join();
    }
    // Sockets close in the background, also those of earlier tests.
    const auto deadline = Clock::now() + std::chrono::milliseconds(kPatience);
    while (descriptors() > before && Clock::now() < deadline) std::this_thread::yield();
    EXPECT_LE(descriptors(), before);
    EXPECT_EQ(rclose(at), 0);
}

TEST(Mappings, a_peer_writes_into_a_buffer_of_the_program) {
    const int at = listener();
    const int mappings = 4;
    ASSERT_EQ(rsetsockopt(at, SOL_RDMA, RDMA_IOMAPSIZE, &mappings, sizeof mappings), 0);
    int client = -1;
    const uint16_t port = port_of(at);
    std::thread caller([&] { client = connected_to(port); });
    const int server = raccept(at, nullptr, nullptr);
    caller.join();
    // The server has room for the client's mappings, and writes into them.
    std::vector<char> buffer(100'000);
    EXPECT_EQ(riomap(server, buffer.data(), buffer.size(), PROT_WRITE, 0, 0), -1);
    ASSERT_EQ(riomap(client, buffer.data(), buffer.size(), PROT_WRITE, 0, 5'000), 5'000);
    EXPECT_EQ(rwrite(client, "m", 1), 1);
    char byte = 0;
    EXPECT_EQ(rrecv(server, &byte, 1, 0), 1);
    const std::vector<char> data = random_bytes(50'000, 9);
    EXPECT_EQ(riowrite(server, data.data(), data.size(), 5'000 + 1'000, 0), data.size());
    EXPECT_EQ(riowrite(server, data.data(), 1, 4'999, 0), static_cast<size_t>(-1));
    EXPECT_EQ(rwrite(server, "d", 1), 1);
    EXPECT_EQ(rrecv(client, &byte, 1, 0), 1);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), buffer.begin() + 1'000));
    EXPECT_EQ(riounmap(client, buffer.data(), buffer.size()), 0);
    for (const int socket : {client, server, at}) EXPECT_EQ(rclose(socket), 0);
}

TEST(Datagrams, come_back_whatever_their_size) {
    const int server = rsocket(AF_INET, SOCK_DGRAM, 0), client = rsocket(AF_INET, SOCK_DGRAM, 0);
    const sockaddr_in any = address_of(0);
    ASSERT_EQ(rbind(server, plain(any), sizeof any), 0);
    const sockaddr_in there = address_of(port_of(server));
    std::vector<char> bytes(70'000);
    for (const size_t size : {1u, 100u, 1'000u, 4'072u, 4'073u, 30'000u, 50u, 50u}) {
        const std::vector<char> data = random_bytes(size, static_cast<unsigned>(size));
        ASSERT_EQ(rsendto(client, data.data(), size, 0, plain(there), sizeof there),
                  static_cast<ssize_t>(size));
        sockaddr_in from{};
        socklen_t length = sizeof from;
        ASSERT_EQ(rrecvfrom(server, bytes.data(), bytes.size(), 0,
                            reinterpret_cast<sockaddr*>(&from), &length),
                  static_cast<ssize_t>(size));
        EXPECT_TRUE(std::equal(data.begin(), data.end(), bytes.begin()));
        EXPECT_EQ(ntohs(from.sin_port), port_of(client));
        ASSERT_EQ(rsendto(server, data.data(), size, 0, plain(from), length),
                  static_cast<ssize_t>(size));
        ASSERT_NE(wait_for(client, POLLIN) & POLLIN, 0);
        ASSERT_EQ(rrecv(client, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(size));
    }
    EXPECT_EQ(rrecv(client, bytes.data(), 1, MSG_DONTWAIT), -1);
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_EQ(rclose(server), 0);
    EXPECT_EQ(rclose(client), 0);
}

// The other end is a separate process, which is killed.
TEST(Peers, a_killed_peer_ends_the_stream) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        const int at = listener();
        const uint16_t port = port_of(at);
        if (write(ends[1], &port, sizeof port) != sizeof port) _exit(1);
        const int socket = raccept(at, nullptr, nullptr);
        rwrite(socket, "x", 1);
        for (;;) pause();
    }
    uint16_t port = 0;
    ASSERT_EQ(read(ends[0], &port, sizeof port), static_cast<ssize_t>(sizeof port));
    const int client = connected_to(port);
    char byte = 0;
    EXPECT_EQ(rrecv(client, &byte, 1, 0), 1);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_LE(rrecv(client, &byte, 1, 0), 0);
    EXPECT_NE(wait_for(client, POLLIN) & POLLHUP, 0);
    EXPECT_EQ(rsend(client, "x", 1, 0), -1);
    EXPECT_EQ(rclose(client), 0);
    close(ends[0]);
    close(ends[1]);
}

// ---- peers that mean harm -----------------------------------------------------------------------

// Speaks the protocol of streams by its own queue pair (librdmacm/docs/rsocket of rdma-core), and
// need not keep to it. Numbers are in network order in greetings.
class Stranger {
public:
    struct Target {
        uint64_t address;
        uint32_t key;
        uint32_t length;
    };
    struct Greeting {
        uint8_t version = 1;
        uint8_t flags = 0;
        uint16_t credits = htobe16(64);
        uint8_t reserved[4] = {};
        Target targets{};
        Target data{};
    };

    explicit Stranger(uint16_t port, int receives = 16) {
        rdma_addrinfo hints{};
        hints.ai_port_space = RDMA_PS_TCP;
        rdma_addrinfo* to = nullptr;
        EXPECT_EQ(rdma_getaddrinfo("127.0.0.1", std::to_string(port).c_str(), &hints, &to), 0);
        ibv_qp_init_attr init{};
        init.cap = {16, 16, 1, 1, 64};
        init.sq_sig_all = 1;
        EXPECT_EQ(rdma_create_ep(&id_, to, nullptr, &init), 0);
        rdma_freeaddrinfo(to);
        region_ = rdma_reg_write(id_, memory_, sizeof memory_);
        Greeting greeting;
        const Target own{htobe64(reinterpret_cast<uint64_t>(memory_)), htobe32(region_->rkey),
                         htobe32(2)};
        greeting.targets = greeting.data = own;
        for (int i = 0; i < receives; ++i)
            EXPECT_EQ(rdma_post_recv(id_, nullptr, memory_, 8, region_), 0);
        rdma_conn_param param{};
        param.private_data = &greeting;
        param.private_data_len = sizeof greeting;
        param.rnr_retry_count = 7;
        EXPECT_EQ(rdma_connect(id_, &param), 0) << std::strerror(errno);
        std::memcpy(&peer_, id_->event->param.conn.private_data, sizeof peer_);
    }
    ~Stranger() {
        rdma_disconnect(id_);
        rdma_dereg_mr(region_);
        rdma_destroy_ep(id_);
    }

    // Announces both buffers of the table, with credit for any number of messages.
    void announce() {
        const Target some{reinterpret_cast<uint64_t>(memory_), region_->rkey, 64};
        const Target both[] = {some, some};
        write(peer_.targets, both, sizeof both, std::nullopt);
        write(peer_.targets, nullptr, 0, 4u << 29 | 100);
    }
    void send_one_byte() { write(peer_.data, "x", 1, 1); }

private:
    static_assert(sizeof(Greeting) == 40);

    void write(const Target& to, const void* what, uint32_t bytes,
               std::optional<uint32_t> message) {
        ibv_sge sge{reinterpret_cast<uint64_t>(what), bytes, 0};
        ibv_send_wr request{};
        ibv_send_wr* bad = nullptr;
        request.opcode = message ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
        request.imm_data = htobe32(message.value_or(0));
        request.sg_list = &sge;
        request.num_sge = bytes > 0 ? 1 : 0;
        request.send_flags = IBV_SEND_INLINE;
        request.wr.rdma.remote_addr = be64toh(to.address);
        request.wr.rdma.rkey = be32toh(to.key);
        EXPECT_EQ(ibv_post_send(id_->qp, &request, &bad), 0);
        ibv_wc completion{};
        EXPECT_EQ(rdma_get_send_comp(id_, &completion), 1);
    }

    rdma_cm_id* id_ = nullptr;
    ibv_mr* region_ = nullptr;
    Greeting peer_;
    char memory_[64] = {};
};

TEST(Hostile, a_peer_that_announces_more_than_a_stream_has_buffers_is_parted_from) {
    const int at = listener();
    std::optional<Stranger> stranger;
    std::thread caller([&] { stranger.emplace(port_of(at)); });
    const int server = raccept(at, nullptr, nullptr);
    caller.join();
    ASSERT_GE(server, 0);
    std::thread enemy([&] {
        for (int i = 0; i < 10; ++i) stranger->announce();
        stranger->send_one_byte();
    });
    char byte = 0;
    EXPECT_EQ(rrecv(server, &byte, 1, 0), -1);
    EXPECT_EQ(errno, ECONNRESET);
    enemy.join();
    EXPECT_EQ(rclose(server), 0);
    EXPECT_EQ(rclose(at), 0);
}

// What it is sent never completes: its adapter says that it is not ready, for ever.
TEST(Hostile, a_peer_that_takes_no_message_does_not_hold_up_a_close) {
    const int at = listener();
    std::optional<Stranger> stranger;
    std::thread caller([&] { stranger.emplace(port_of(at), 0); });
    const int server = raccept(at, nullptr, nullptr);
    caller.join();
    ASSERT_GE(server, 0);
    EXPECT_EQ(rsend(server, "x", 1, 0), 1);
    std::future<int> close = std::async(std::launch::async, [&] { return rclose(server); });
    EXPECT_EQ(close.wait_for(std::chrono::milliseconds(3 * kPatience)), std::future_status::ready);
    stranger.reset();
    EXPECT_EQ(close.get(), 0);
    EXPECT_EQ(rclose(at), 0);
}

// Anybody can send from any address of a whole network, as 127.0.0.0/8 is.
TEST(Hostile, strangers_with_many_addresses_cost_a_datagram_socket_little_memory) {
    constexpr uint32_t kStrangers = 20'000;
    const int server = rsocket(AF_INET, SOCK_DGRAM, 0);
    const sockaddr_in any = address_of(0);
    ASSERT_EQ(rbind(server, plain(any), sizeof any), 0);
    sockaddr_in there = address_of(port_of(server));
    const int enemy = socket(AF_INET, SOCK_DGRAM, 0);
    std::array<unsigned char, 16> header = {0x55, 0x55, 0x55, 0x55, 4, 7, 16};  // an answer
    iovec piece{header.data(), header.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(in_pktinfo))] = {};
    msghdr message{};
    message.msg_name = &there;
    message.msg_namelen = sizeof there;
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* from = CMSG_FIRSTHDR(&message);
    from->cmsg_level = IPPROTO_IP;
    from->cmsg_type = IP_PKTINFO;
    from->cmsg_len = CMSG_LEN(sizeof(in_pktinfo));
    const size_t before = mallinfo2().uordblks;
    char byte = 0;
    for (uint32_t i = 0; i < kStrangers; ++i) {
        in_pktinfo source{};
        source.ipi_spec_dst.s_addr = htonl(0x7f00'0002 + i);
        std::memcpy(CMSG_DATA(from), &source, sizeof source);
        ASSERT_EQ(sendmsg(enemy, &message, 0), static_cast<ssize_t>(header.size()));
        if (i % 64 != 0) continue;
        EXPECT_EQ(rrecv(server, &byte, 1, MSG_DONTWAIT), -1);
    }
    EXPECT_EQ(rrecv(server, &byte, 1, MSG_DONTWAIT), -1);
    const size_t after = mallinfo2().uordblks;
    EXPECT_LT(after - before, size_t{1} << 20);

    // Those who come later are heard all the same.
    const int client = rsocket(AF_INET, SOCK_DGRAM, 0);
    ASSERT_EQ(rsendto(client, "x", 1, 0, plain(there), sizeof there), 1);
    sockaddr_in name{};
    socklen_t length = sizeof name;
    ASSERT_EQ(rrecvfrom(server, &byte, 1, 0, reinterpret_cast<sockaddr*>(&name), &length), 1);
    ASSERT_EQ(rsendto(server, "y", 1, 0, plain(name), length), 1);
    EXPECT_EQ(rrecv(client, &byte, 1, 0), 1);
    EXPECT_EQ(byte, 'y');
    close(enemy);
    EXPECT_EQ(rclose(client), 0);
    EXPECT_EQ(rclose(server), 0);
}

}  // namespace
