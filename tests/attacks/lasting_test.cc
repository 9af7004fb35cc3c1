// What is left of those who came and went, and what signals do to those who meet.
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#include <thread>

#include "stranger.h"
#include "victim.h"

namespace tulle::live {
namespace {

// Comes, connects, writes and sends a message, and leaves, or is killed.
int be_client(const std::string& world, const Whereabouts& server, bool shall_be_killed) {
    Program program(identity_in(world, 1, false));
    program.side.connect_to(server.number, server.gid);
    {
        const std::lock_guard guard(program.side.host->lock());
        const std::vector<std::byte> message(64, std::byte{1});
        program.side.host->send_management(program.side.host->world().resolve_slot(server.slot),
                                           message);
        program.side.host->flush_management();
    }
    if (shall_be_killed) raise(SIGKILL);
    return 0;
}

struct Belongings {
    size_t files = 0;
    size_t mappings = 0;
};

// Answers each client, so that both rings come into being, and tells what it holds.
int be_server(const Channel& parent, const std::string& world) {
    Program program(identity_in(world, 0, false));
    parent.send(program.whereabouts());
    char word = 0;
    while (parent.receive(word) && word != 'q') {
        SoftwareAdapter& host = *program.side.host;
        if (word == 'a') {
            (void)program.side.hear();
            const std::lock_guard guard(host.lock());
            host.world().meet_all();
        }
        program.look(20);
        parent.send(Belongings{open_files(), mappings("memfd:tulle")});
    }
    return 0;
}

TEST(LastingTest, what_clients_cost_is_given_back_when_they_have_gone) {
    const std::string world = new_world();
    const uid_t uid = user(kVictim);
    Process server(uid, [&](const Channel& c) { return be_server(c, world); });
    const auto where = server.channel().take<Whereabouts>();
    const auto tell = [&](char word) {
        server.channel().send(word);
        return server.channel().take<Belongings>();
    };
    const Belongings before = tell('?');
    for (int i = 0; i < 300; ++i) {
        Process client(uid, [&](const Channel&) { return be_client(world, where, i % 3 == 0); });
        (void)tell('a');
        (void)client.exit_code();
    }
    Belongings after = tell('?');
    for (int i = 0; i < 1000 && after.files > before.files; ++i) after = tell('?');
    EXPECT_LE(after.files, before.files);
    EXPECT_LE(after.mappings, before.mappings);
    EXPECT_EQ(end(server), 0);
}

void on_alarm(int) {}

// As profilers and Go do it: a signal each millisecond, whose handler restarts nothing.
TEST(LastingTest, signals_during_calls_lose_no_peer) {
    const std::string world = new_world();
    const uid_t uid = user(kVictim);
    Process server(
        uid, [&](const Channel& c) { return live_as_victim(c, identity_in(world, 0, false)); });
    const auto where = server.channel().take<Whereabouts>();
    for (int i = 0; i < 60; ++i) {
        Process client(uid, [&](const Channel&) {
            struct sigaction action {};
            action.sa_handler = on_alarm;
            sigaction(SIGALRM, &action, nullptr);
            const itimerval often{{0, 200}, {0, 200}};
            setitimer(ITIMER_REAL, &often, nullptr);
            Program program(identity_in(world, 1, false));
            const std::lock_guard guard(program.side.host->lock());
            return program.side.host->world().resolve_slot(where.slot) != SoftwareAdapter::kNowhere
                       ? 0
                       : 1;
        });
        EXPECT_EQ(client.exit_code(), 0) << i;
    }
    EXPECT_EQ(end(server), 0);
}

const Channel* told_of_alarms = nullptr;

void on_counted_alarm(int) {
    constexpr int kSeveral = 3;
    static int alarms = 0;
    if (++alarms == kSeveral) told_of_alarms->send('!');
}

// The one that is called answers only after several signals have come.
TEST(LastingTest, a_call_outlasts_signals) {
    const std::string world = new_world();
    const uid_t uid = user(kVictim);
    Process server(
        uid, [&](const Channel& c) { return live_as_victim(c, identity_in(world, 0, false)); });
    const auto where = server.channel().take<Whereabouts>();
    Process client(uid, [&](const Channel& parent) {
        Program program(identity_in(world, 1, false));
        (void)parent.take<char>();
        told_of_alarms = &parent;
        struct sigaction action {};
        action.sa_handler = on_counted_alarm;
        sigaction(SIGALRM, &action, nullptr);
        const itimerval often{{0, 20'000}, {0, 20'000}};
        setitimer(ITIMER_REAL, &often, nullptr);
        const std::lock_guard guard(program.side.host->lock());
        return program.side.host->world().resolve_slot(where.slot) != SoftwareAdapter::kNowhere ? 0
                                                                                                : 1;
    });
    server.stop();
    client.channel().send('!');
    (void)client.channel().take<char>();
    kill(server.pid, SIGCONT);
    EXPECT_EQ(client.exit_code(), 0);
    EXPECT_EQ(end(server), 0);
}

// A server that starts anew in the slot of the one before is found at once.
TEST(LastingTest, a_client_finds_the_successor_of_its_server) {
    const std::string world = new_world();
    const uid_t uid = user(kVictim);
    const auto serve = [&](const Channel& c) {
        return live_as_victim(c, identity_in(world, 0, false));
    };
    auto server = std::make_unique<Process>(uid, serve);
    const auto first = server->channel().take<Whereabouts>();
    Process client(uid, [&](const Channel& parent) {
        Program program(identity_in(world, 1, false));
        SoftwareAdapter& host = *program.side.host;
        const auto find = [&] {
            const std::lock_guard guard(host.lock());
            host.world().notice_death(first.number);
            return host.world().resolve_slot(first.slot);
        };
        const auto known = find();
        parent.send('!');
        (void)parent.take<char>();
        const auto successor = find();
        return known != SoftwareAdapter::kNowhere && successor != SoftwareAdapter::kNowhere &&
                       successor != known
                   ? 0
                   : 1;
    });
    (void)client.channel().take<char>();
    kill(server->pid, SIGKILL);
    (void)server->exit_code();
    server = std::make_unique<Process>(uid, serve);
    EXPECT_EQ(server->channel().take<Whereabouts>().slot, first.slot);
    client.channel().send('!');
    EXPECT_EQ(client.exit_code(), 0);
}

// The child of a fork has no rings: a second writer would spoil them.
TEST(LastingTest, a_forked_child_keeps_nothing_of_its_parents_host) {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "ThreadSanitizer ends a child that lets go of a thread of its parent";
#endif
    const std::string world = new_world();
    const uid_t uid = user(kVictim);
    Process server(
        uid, [&](const Channel& c) { return live_as_victim(c, identity_in(world, 0, false)); });
    const auto where = server.channel().take<Whereabouts>();
    Process parent(uid, [&](const Channel&) {
        const auto before = open_files();
        Program program(identity_in(world, 1, false));
        program.side.connect_to(where.number, where.gid);
        program.side.host->lock().lock();
        const pid_t child = fork();
        if (child == 0) {
            program.side.host->abandon();
            if (mappings("memfd:tulle") != 0) _exit(2);
            _exit(open_files() <= before + 1 ? 0 : 3);
        }
        program.side.host->lock().unlock();
        int status = 0;
        waitpid(child, &status, 0);
        return WEXITSTATUS(status);
    });
    EXPECT_EQ(parent.exit_code(), 0);
    EXPECT_EQ(end(server), 0);
}

// Looking for a port took 5.5 ms of CPU time, of the first call and of all others.
TEST(LastingTest, looking_for_a_port_takes_little_time) {
    const std::string world = new_world();
    const uid_t uid = user(kVictim);
    Process server(uid, [&](const Channel& parent) {
        Program program(identity_in(world, 0, false));
        {
            const std::lock_guard guard(program.side.host->lock());
            (void)program.side.host->ports().show(6, 7471, {});
        }
        parent.send(program.whereabouts());
        pause();
        return 0;
    });
    const auto where = server.channel().take<Whereabouts>();
    struct Cost {
        int64_t first = INT64_MAX;
        int64_t later = INT64_MAX;
    } least;
    for (int i = 0; i < 20; ++i) {
        Process client(uid, [&](const Channel& parent) {
            Program program(identity_in(world, 1, false));
            const std::lock_guard guard(program.side.host->lock());
            const auto look = [&] {
                timespec before{};
                timespec after{};
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
                const auto found = program.side.host->ports().find(6, 7471, where.gid);
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
                return found == SoftwareAdapter::kNowhere
                           ? INT64_MAX
                           : (after.tv_sec - before.tv_sec) * 1'000'000'000 + after.tv_nsec -
                                 before.tv_nsec;
            };
            const int64_t first = look();
            parent.send(Cost{first, look()});
            return 0;
        });
        const auto cost = client.channel().take<Cost>();
        least.first = std::min(least.first, cost.first);
        least.later = std::min(least.later, cost.later);
        EXPECT_EQ(client.exit_code(), 0);
    }
    std::printf("find_port: %.1f us of CPU time, %.1f us when the process is known\n",
                static_cast<double>(least.first) / 1000, static_cast<double>(least.later) / 1000);
    EXPECT_LT(least.first, 1'500'000);
    EXPECT_LT(least.later, 100'000);
}

}  // namespace
}  // namespace tulle::live
