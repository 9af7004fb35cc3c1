// A long-lived server, and clients that come, leave, or are killed. Run by `tulle run`. Clients are
// separate processes: this program again, called with a role.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "belongings.h"

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

// On a very busy machine a message may have to be retransmitted, after 4 s. Refusals are immediate,
// and a client that waits for a dead predecessor waits for 75 s.
constexpr seconds kAtOnce{20};

sockaddr_in address_of(uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

ibv_qp_init_attr small_queue_pair() {
    ibv_qp_init_attr attributes{};
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = {4, 4, 1, 1, 0};
    return attributes;
}

// The next event of a channel, copied and acknowledged; -1 on timeout.
struct Event {
    int type = -1;
    int status = 0;
    rdma_cm_id* id = nullptr;
};

Event next_event(rdma_event_channel* channel, std::chrono::milliseconds patience = kAtOnce) {
    pollfd look{channel->fd, POLLIN, 0};
    if (poll(&look, 1, static_cast<int>(patience.count())) != 1) return {};
    rdma_cm_event* event = nullptr;
    if (rdma_get_cm_event(channel, &event) != 0) return {};
    const Event copy{event->event, event->status, event->id};
    rdma_ack_cm_event(event);
    return copy;
}

// The active side of a connection. True if it is established.
class Caller {
public:
    Caller() : channel_(rdma_create_event_channel()) {}
    ~Caller() {
        leave();
        rdma_destroy_event_channel(channel_);
    }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;

    bool connect(uint16_t port) { return ask(port) && is_next(RDMA_CM_EVENT_ESTABLISHED); }
    // Sends a connection request, and does not wait for the answer.
    bool ask(uint16_t port) { return prepare(port) && request(); }
    bool request() {
        rdma_conn_param param{};
        param.retry_count = 7;
        return rdma_connect(id_, &param) == 0;
    }
    bool prepare(uint16_t port) {
        sockaddr_in there = address_of(port);
        ibv_qp_init_attr attributes = small_queue_pair();
        if (rdma_create_id(channel_, &id_, nullptr, RDMA_PS_TCP) != 0) return false;
        return rdma_resolve_addr(id_, nullptr, reinterpret_cast<sockaddr*>(&there), 1000) == 0 &&
               is_next(RDMA_CM_EVENT_ADDR_RESOLVED) && rdma_resolve_route(id_, 1000) == 0 &&
               is_next(RDMA_CM_EVENT_ROUTE_RESOLVED) &&
               rdma_create_qp(id_, nullptr, &attributes) == 0;
    }
    bool has_heard_nothing() { return next_event(channel_, std::chrono::milliseconds(0)).type < 0; }
    bool is_next(rdma_cm_event_type wanted) {
        last = next_event(channel_);
        return last.type == wanted;
    }
    void disconnect() { rdma_disconnect(id_); }
    void leave() {
        if (id_ == nullptr) return;
        rdma_destroy_qp(id_);
        rdma_destroy_id(id_);
        id_ = nullptr;
    }

    Event last;

private:
    rdma_event_channel* channel_;
    rdma_cm_id* id_ = nullptr;
};

// The passive side, a server: accepts every client and cleans up after those that leave.
class Server {
public:
    Server() : Server(Backlog{64}) {}
    struct Backlog {
        int size;
    };
    explicit Server(Backlog backlog) : channel_(rdma_create_event_channel()) {
        sockaddr_in any = address_of(0);
        rdma_create_id(channel_, &listener_, nullptr, RDMA_PS_TCP);
        rdma_bind_addr(listener_, reinterpret_cast<sockaddr*>(&any));
        rdma_listen(listener_, backlog.size);
    }
    explicit Server(uint16_t port) : channel_(rdma_create_event_channel()) {
        sockaddr_in there = address_of(port);
        rdma_create_id(channel_, &listener_, nullptr, RDMA_PS_TCP);
        if (rdma_bind_addr(listener_, reinterpret_cast<sockaddr*>(&there)) != 0) _exit(3);
        if (rdma_listen(listener_, 64) != 0) _exit(4);
    }
    ~Server() {
        rdma_destroy_id(listener_);
        rdma_destroy_event_channel(channel_);
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    uint16_t port() const { return ntohs(rdma_get_src_port(listener_)); }
    // Takes the next event without handling it.
    Event take(std::chrono::milliseconds patience = kAtOnce) {
        const Event event = next_event(channel_, patience);
        if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST) rdma_destroy_id(event.id);
        return event;
    }

    // Serves until the condition holds; false if nothing happens for too long.
    bool serve_until(const std::function<bool()>& is_done) {
        while (!is_done()) {
            const Event event = next_event(channel_);
            if (event.type < 0) return false;
            handle(event);
        }
        return true;
    }
    void serve_one(std::chrono::milliseconds patience) {
        const Event event = next_event(channel_, patience);
        if (event.type >= 0) handle(event);
    }
    void serve_what_is_there() {
        for (;;) {
            const Event event = next_event(channel_, std::chrono::milliseconds(0));
            if (event.type < 0) return;
            handle(event);
        }
    }

    // The first packet numbers of connections, which the receiver chooses.
    std::set<uint32_t> psns_to_clients;
    std::set<uint32_t> psns_from_clients;
    int connected = 0;  // in total
    int parted = 0;
    int others = 0;  // events of other kinds

private:
    void handle(const Event& event) {
        switch (event.type) {
            case RDMA_CM_EVENT_CONNECT_REQUEST: return accept(event.id);
            case RDMA_CM_EVENT_ESTABLISHED: ++connected; return;
            case RDMA_CM_EVENT_DISCONNECTED: ++parted; return end(event.id);
            case RDMA_CM_EVENT_TIMEWAIT_EXIT: return;
            default: ++others; return end(event.id);
        }
    }
    void note_packet_numbers(rdma_cm_id* id) {
        int mask = 0;
        ibv_qp_attr attributes{};
        attributes.qp_state = IBV_QPS_RTS;
        if (rdma_init_qp_attr(id, &attributes, &mask) == 0)
            psns_to_clients.insert(attributes.sq_psn);
        attributes.qp_state = IBV_QPS_RTR;
        if (rdma_init_qp_attr(id, &attributes, &mask) == 0)
            psns_from_clients.insert(attributes.rq_psn);
    }
    void accept(rdma_cm_id* id) {
        note_packet_numbers(id);
        ibv_qp_init_attr attributes = small_queue_pair();
        rdma_conn_param param{};
        if (rdma_create_qp(id, nullptr, &attributes) == 0 && rdma_accept(id, &param) == 0) return;
        ++others;
        end(id);
    }
    static void end(rdma_cm_id* id) {
        rdma_destroy_qp(id);
        rdma_destroy_id(id);
    }

    rdma_event_channel* channel_;
    rdma_cm_id* listener_ = nullptr;
};

// This program again, in a role. Its output comes through a pipe.
class Child {
public:
    Child(const char* role, uint16_t port, const char* how = "") {
        int ends[2];
        if (pipe(ends) != 0) std::abort();
        const std::string number = std::to_string(port);
        pid_ = fork();
        if (pid_ == 0) {
            dup2(ends[1], STDOUT_FILENO);
            close(ends[0]);
            close(ends[1]);
            execl("/proc/self/exe", "clients_test", role, number.c_str(), how, nullptr);
            _exit(127);
        }
        close(ends[1]);
        words_ = ends[0];
    }
    ~Child() {
        if (words_ >= 0) close(words_);
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
    }
    Child(Child&& other) noexcept
        : pid_(std::exchange(other.pid_, -1)), words_(std::exchange(other.words_, -1)) {}
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    int words() const { return words_; }
    // A letter, or 0 if it has ended without one.
    char word() const {
        char letter = 0;
        return read(words_, &letter, 1) == 1 ? letter : '\0';
    }
    void end() {
        kill(pid_, SIGKILL);
        wait();
    }
    // Returns when it has stopped.
    void stop() const {
        kill(pid_, SIGSTOP);
        waitpid(pid_, nullptr, WUNTRACED);
    }
    void go_on() const { kill(pid_, SIGCONT); }
    // A process that it has left behind.
    pid_t left_behind() const {
        pid_t process = 0;
        return read(words_, &process, sizeof process) == sizeof process ? process : 0;
    }
    int wait() {
        int status = 0;
        waitpid(std::exchange(pid_, -1), &status, 0);
        return status;
    }

private:
    pid_t pid_ = -1;
    int words_ = -1;
};

void say(char letter) {
    if (write(STDOUT_FILENO, &letter, 1) != 1) _exit(5);
}

// 'c' connected, 'r' refused. Then it leaves as told: waits to be killed, disconnects, or just
// ends.
int be_client(uint16_t port, const std::string& how) {
    Caller caller;
    const bool stands = caller.connect(port);
    if (!stands)
        std::fprintf(stderr, "event %d, status %d\n", caller.last.type, caller.last.status);
    say(stands ? 'c' : 'r');
    if (how == "forks") {
        const pid_t child = fork();
        if (child == 0) {
            alarm(60);
            for (;;) pause();
        }
        if (write(STDOUT_FILENO, &child, sizeof child) != sizeof child) _exit(5);
    }
    if (how == "waits" || how == "forks")
        for (;;) pause();
    if (how == "parts") {
        caller.disconnect();
        caller.is_next(RDMA_CM_EVENT_DISCONNECTED);
        caller.leave();
    }
    if (how == "ends") _exit(0);
    return 0;
}

int be_server(uint16_t port) {
    Server server(port);
    say('l');
    server.serve_until([] { return false; });
    for (;;) pause();
}

// ---- tests --------------------------------------------------------------------------------------

TEST(Clients, a_killed_client_makes_way_for_its_successor_at_once) {
    Server server;
    for (int round = 1; round <= 5; ++round) {
        Child client("--client", server.port(), "waits");
        ASSERT_TRUE(server.serve_until([&] { return server.connected == round; })) << round;
        EXPECT_EQ(client.word(), 'c');
        client.end();
        // Its successor connects before the server has looked.
    }
    EXPECT_TRUE(server.serve_until([&] { return server.parted == 5; }));
    EXPECT_EQ(server.others, 0);
}

// A forked child has no part in its parent's connections: they end with the parent.
TEST(Clients, a_killed_client_whose_child_lives_on_has_gone_all_the_same) {
    Server server;
    Child client("--client", server.port(), "forks");
    ASSERT_TRUE(server.serve_until([&] { return server.connected == 1; }));
    EXPECT_EQ(client.word(), 'c');
    const pid_t left_behind = client.left_behind();
    ASSERT_GT(left_behind, 0);
    client.end();
    EXPECT_TRUE(server.serve_until([&] { return server.parted == 1; }));
    EXPECT_EQ(kill(left_behind, SIGKILL), 0);
}

// Packets of an old connection are not accepted in a new one, and cannot be guessed.
TEST(Clients, connections_begin_at_packet_numbers_by_chance) {
    constexpr int kClients = 6;
    Server server;
    for (int round = 1; round <= kClients; ++round) {
        const Child client("--client", server.port(), "ends");
        ASSERT_TRUE(server.serve_until([&] { return server.parted == round; })) << round;
    }
    EXPECT_EQ(server.psns_to_clients.size(), size_t{kClients});
    EXPECT_EQ(server.psns_from_clients.size(), size_t{kClients});
}

// Requests of one process arrive in order, so the third proves that the second has arrived.
TEST(Clients, a_full_backlog_takes_nobody_until_the_program_has_taken_one) {
    Server small(Server::Backlog{1});
    Server other;
    Caller first;
    Caller second;
    Caller third;
    ASSERT_TRUE(first.ask(small.port()));
    ASSERT_TRUE(second.ask(small.port()));
    ASSERT_TRUE(third.ask(other.port()));
    EXPECT_EQ(other.take().type, RDMA_CM_EVENT_CONNECT_REQUEST);
    EXPECT_EQ(small.take().type, RDMA_CM_EVENT_CONNECT_REQUEST);
    EXPECT_EQ(small.take(std::chrono::milliseconds(0)).type, -1);
    EXPECT_TRUE(second.has_heard_nothing());  // it repeats the request, and may succeed then
}

// As in the kernel: connect sends a request, and the result is an event.
TEST(Clients, who_listens_a_moment_later_is_found_by_one_who_has_asked_before) {
    constexpr int kTries = 10;  // 100 ms may be too short on a busy machine
    bool is_found = false;
    for (int i = 0; i < kTries && !is_found; ++i) {
        uint16_t port = 0;
        {
            const Server server;
            port = server.port();
        }
        Caller caller;
        ASSERT_TRUE(caller.ask(port));
        Server server(port);
        is_found =
            server.take(std::chrono::milliseconds(2000)).type == RDMA_CM_EVENT_CONNECT_REQUEST;
    }
    EXPECT_TRUE(is_found);
}

// A caller that waited for it would wait for two seconds.
TEST(Clients, a_server_that_is_stopped_does_not_block_its_caller) {
    uint16_t port = 0;
    {
        const Server server;
        port = server.port();
    }
    const Child server("--server", port);
    ASSERT_EQ(server.word(), 'l');
    server.stop();
    Caller caller;
    ASSERT_TRUE(caller.prepare(port));
    const Clock::time_point before = Clock::now();
    EXPECT_TRUE(caller.request());
    EXPECT_LT(Clock::now() - before, seconds(1));
    server.go_on();
    EXPECT_TRUE(caller.is_next(RDMA_CM_EVENT_ESTABLISHED)) << caller.last.type;
}

TEST(Clients, one_whom_nobody_listens_to_is_told_so) {
    uint16_t port = 0;
    {
        const Server server;
        port = server.port();
    }
    Caller caller;
    ASSERT_TRUE(caller.ask(port));
    EXPECT_TRUE(caller.is_next(RDMA_CM_EVENT_REJECTED));
    Caller impatient;
    ASSERT_TRUE(impatient.ask(port));
    impatient.leave();  // before it gets an answer
}

TEST(Clients, a_restarted_server_accepts_its_client_at_once) {
    uint16_t port = 0;
    {
        const Server server;
        port = server.port();
    }
    std::vector<std::unique_ptr<Caller>> callers;
    for (int round = 0; round < 5; ++round) {
        Child server("--server", port);
        ASSERT_EQ(server.word(), 'l');
        callers.push_back(std::make_unique<Caller>());
        Caller& caller = *callers.back();
        EXPECT_TRUE(caller.connect(port))
            << round << ": event " << caller.last.type << ", status " << caller.last.status;
        server.end();
    }
    for (auto& caller : callers) EXPECT_TRUE(caller->is_next(RDMA_CM_EVENT_DISCONNECTED));
}

// Clients come in groups and leave in all ways. None is refused.
int serve_groups(Server& server, int clients) {
    constexpr const char* kWays[] = {"waits", "parts", "ends"};
    constexpr int kTogether = 3;
    int refused = 0;
    for (int begun = 0; begun < clients; begun += kTogether) {
        std::vector<Child> group;
        for (const char* way : kWays) group.emplace_back("--client", server.port(), way);
        const int wanted = server.connected + kTogether;
        if (!server.serve_until([&] { return server.connected >= wanted; })) ++refused;
        for (Child& client : group)
            if (client.word() != 'c') ++refused;
        if (refused != 0) return refused;
        group.front().end();
        if (!server.serve_until([&] { return server.parted >= server.connected; })) ++refused;
        for (size_t i = 1; i < group.size(); ++i) group[i].wait();
    }
    return refused;
}

TEST(Clients, many_come_and_go_and_leave_nothing_behind) {
    const char* wanted = std::getenv("CLIENTS");
    const int clients = wanted != nullptr ? std::atoi(wanted) : 300;
    Server server;
    ASSERT_EQ(serve_groups(server, 60), 0);  // allocates what is allocated only once
    server.serve_what_is_there();
    const Belongings before = belongings();
    EXPECT_EQ(serve_groups(server, clients), 0);
    Belongings after = belongings();
    // The thread releases the last ones a moment later.
    for (int look = 0; look < 200 && after.descriptors > before.descriptors; ++look) {
        server.serve_one(std::chrono::milliseconds(20));
        after = belongings();
    }
    EXPECT_LE(after.descriptors, before.descriptors + 4);
    EXPECT_LE(after.mappings, before.mappings + 4);
    // The slot of a peer is reused ten seconds after the peer was lost: some kilobytes each for
    // those that came meanwhile, up to three thousand (measured: 8 MB after 4,000 and 9 after
    // 10,000). Keeping a slot for every peer ever would take more than twenty megabytes for 10,000.
    EXPECT_LE(after.kilobytes, before.kilobytes + 12 * 1024) << before.kilobytes;
    std::printf("%d clients: %td to %td descriptors, %td to %td mappings, %td to %td kB\n", clients,
                before.descriptors, after.descriptors, before.mappings, after.mappings,
                before.kilobytes, after.kilobytes);
    EXPECT_EQ(server.others, 0);
}

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN);
    if (argc > 3) {
        const std::string role = argv[1];
        const auto port = static_cast<uint16_t>(std::atoi(argv[2]));
        if (role == "--client") return be_client(port, argv[3]);
        if (role == "--server") return be_server(port);
    }
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
