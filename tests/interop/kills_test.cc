// A long-lived process, and peers that are killed during all kinds of work, at any time, even
// before they know each other. Run by `tulle run`. Peers are this program again, with a role.
#include <poll.h>
#include <spawn.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include "belongings.h"
#include "two.h"

extern char** environ;

namespace {

using Clock = std::chrono::steady_clock;
using two::Card;
using two::Side;

constexpr int kLanes = 3;              // peers at a time
constexpr int kDepth = 16;             // requests in flight
constexpr int kReceives = 32;          // posted ones
constexpr uint32_t kLongest = 16'384;  // bytes of a message
constexpr long kLife = 40'000;         // microseconds, at most
constexpr uint64_t kSent = 1;          // id of sends; that of receives is 0
// A queue pair gives up after two timeouts of 67 ms; the machine may be busy.
constexpr std::chrono::seconds kPatience{20};

template <class T>
bool tell(int socket, const T& word) {
    return send(socket, &word, sizeof word, MSG_NOSIGNAL) == sizeof word;
}

template <class T>
bool hear(int socket, T& word) {
    return recv(socket, &word, sizeof word, MSG_WAITALL) == sizeof word;
}

// Exchanges cards and connects. False if the other end died meanwhile.
bool connect(int socket, Side& side) {
    side.qp = side.make();
    if (!tell(socket, side.card(side.qp, side.mr)) || !hear(socket, side.peer)) return false;
    if (!side.bring_up(side.qp, side.peer)) return false;
    for (int i = 0; i < kReceives; ++i)
        if (side.post_receive(0, kLongest) != 0) return false;
    char word = '.';
    return tell(socket, word) && hear(socket, word);
}

ibv_send_wr any_request(Side& side, std::minstd_rand& random) {
    constexpr ibv_wr_opcode kKinds[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
                                        IBV_WR_ATOMIC_FETCH_AND_ADD};
    const ibv_wr_opcode kind = kKinds[random() % 4];
    const bool is_atomic = kind == IBV_WR_ATOMIC_FETCH_AND_ADD;
    // As many small messages as large ones.
    const uint32_t length = 1u << random() % 15;
    ibv_send_wr request = side.request(kind, is_atomic ? 8 : length);
    request.wr_id = kSent;
    return request;
}

// Works until something fails. True if all posted work has completed in time after the end of the
// other process.
bool work(int socket, Side& side, std::minstd_rand& random) {
    int under_way = 0;
    bool is_failed = false;
    Clock::time_point deadline = Clock::time_point::max();
    while (!is_failed || under_way > 0) {
        while (!is_failed && under_way < kDepth) {
            if (side.post(any_request(side, random)) != 0) return false;
            ++under_way;
        }
        ibv_wc wc{};
        if (ibv_poll_cq(side.cq, 1, &wc) == 0) {
            pollfd look{socket, POLLIN, 0};
            const bool has_ended = deadline == Clock::time_point::max() && poll(&look, 1, 0) == 1;
            if (has_ended) deadline = Clock::now() + kPatience;
            if (Clock::now() > deadline) return false;
            continue;
        }
        if (wc.wr_id != kSent && wc.status == IBV_WC_SUCCESS) {
            if (side.post_receive(0, kLongest) != 0) return false;
            continue;
        }
        is_failed = is_failed || wc.status != IBV_WC_SUCCESS;
        if (wc.wr_id == kSent) --under_way;
    }
    return true;
}

// The kernel kills it when its time is over, whatever it is doing.
void set_end(long microseconds) {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGKILL;
    timer_t timer{};
    const itimerspec when{{}, {0, 1 + microseconds * 1000}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) _exit(3);
    if (timer_settime(timer, 0, &when, nullptr) != 0) _exit(4);
}

int be_victim(long microseconds, unsigned seed) {
    set_end(microseconds);
    Side side(0);
    side.open();
    std::minstd_rand random(seed);
    if (connect(0, side)) (void)work(0, side, random);
    while (true) pause();
}

pid_t start_victim(int socket, long microseconds, unsigned seed) {
    const std::string life = std::to_string(microseconds);
    const std::string number = std::to_string(seed);
    std::string self = std::filesystem::read_symlink("/proc/self/exe");
    char role[] = "--victim";
    char* arguments[] = {self.data(), role, const_cast<char*>(life.c_str()),
                         const_cast<char*>(number.c_str()), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket, 0);
    pid_t process = -1;
    if (posix_spawn(&process, self.c_str(), &actions, nullptr, arguments, environ) != 0)
        process = -1;
    posix_spawn_file_actions_destroy(&actions);
    return process;
}

struct Outcome {
    std::atomic<int> killed = 0;
    std::atomic<int> connected = 0;
    std::atomic<int> wrong = 0;
};

void meet_and_part(std::minstd_rand& random, Outcome& outcome) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
        ++outcome.wrong;
        return;
    }
    const long life = static_cast<long>(random() % kLife);
    const pid_t victim = start_victim(sockets[1], life, static_cast<unsigned>(random()));
    close(sockets[1]);
    Side side(sockets[0]);
    side.open();
    if (connect(sockets[0], side)) {
        ++outcome.connected;
        if (!work(sockets[0], side, random)) ++outcome.wrong;
    }
    int status = 0;
    if (waitpid(victim, &status, 0) == victim && WIFSIGNALED(status)) ++outcome.killed;
    if (!side.close()) ++outcome.wrong;
    close(sockets[0]);
}

void kill_many(int count, unsigned seed, Outcome& outcome) {
    std::vector<std::thread> lanes;
    std::atomic<int> left = count;
    for (unsigned lane = 0; lane < kLanes; ++lane)
        lanes.emplace_back([&, lane] {
            std::minstd_rand random(seed + lane);
            while (left-- > 0 && outcome.wrong == 0) meet_and_part(random, outcome);
        });
    for (std::thread& lane : lanes) lane.join();
}

TEST(Kills, whoever_is_left_goes_on_and_keeps_nothing) {
    const char* wanted = std::getenv("KILLS");
    const int kills = wanted != nullptr ? std::atoi(wanted) : 60;
    Side lasting(-1);
    lasting.open();
    Outcome outcome;
    kill_many(20, 1, outcome);  // allocates what is allocated only once
    const Belongings before = belongings();
    kill_many(kills, 1000, outcome);
    const auto deadline = Clock::now() + kPatience;
    while (belongings().descriptors > before.descriptors && Clock::now() < deadline)
        std::this_thread::yield();
    const Belongings after = belongings();
    EXPECT_EQ(outcome.wrong, 0);
    EXPECT_EQ(outcome.killed, kills + 20);
    EXPECT_GT(outcome.connected, kills / 4) << "most died before there was anything to do";
    EXPECT_LE(after.descriptors, before.descriptors);
    EXPECT_LE(after.mappings, before.mappings + 8);
    std::printf("%d kills, %d of them amid work: %td to %td descriptors, %td to %td mappings\n",
                kills, outcome.connected.load(), before.descriptors, after.descriptors,
                before.mappings, after.mappings);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 4 && std::string(argv[1]) == "--victim")
        return be_victim(std::atol(argv[2]), static_cast<unsigned>(std::atol(argv[3])));
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
