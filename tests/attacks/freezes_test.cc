// Attacks that would end others or hold them up: what they send makes no sense, or never comes.
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "stranger.h"
#include "victim.h"

namespace tulle::live {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr base::Duration kLong{5'000'000'000'000};  // 5 s

class FreezeTest : public testing::Test {
protected:
    // A victim of the usual kind, and an attacker of the same user, who calls it.
    int attack(const std::function<void(Stranger&)>& prepare, bool shall_be_turned_away = true) {
        Process victim(
            uid, [&](const Channel& c) { return live_as_victim(c, identity_in(world, 0, false)); });
        const auto where = victim.channel().take<Whereabouts>();
        Process attacker(uid, [&](const Channel&) {
            Stranger stranger(world_for(world, false, uid));
            prepare(stranger);
            const auto answer = stranger.call(where.slot);
            if (!answer) return 0;
            if (answer->bell) eventfd_write(answer->bell.get(), 1);
            const int socket = answer->socket.get();
            if (!shall_be_turned_away) return 0;
            await_answers(std::span(&socket, 1), kLong);
            return hear(socket) ? 1 : 0;
        });
        EXPECT_EQ(attacker.exit_code(), 0);
        EXPECT_EQ(ask(victim), 0);
        return end(victim);
    }

    const std::string world = new_world();
    const uid_t uid = user(kVictim);
};

TEST_F(FreezeTest, a_ring_that_claims_more_than_it_holds_ends) {
    EXPECT_EQ(attack([](Stranger& s) { s.ring().written.store(uint64_t{1} << 40); }), 0);
    EXPECT_EQ(attack([](Stranger& s) { s.ring().written.store(uint64_t{0} - 64); }), 0);
    EXPECT_EQ(attack([](Stranger& s) { s.ring().written.store(3); }), 0);
}

TEST_F(FreezeTest, an_empty_record_ends_the_ring) {
    EXPECT_EQ(attack([](Stranger& s) { s.ring().written.store(64); }), 0);
}

TEST_F(FreezeTest, a_ring_of_nothing_but_marks_ends) {
    EXPECT_EQ(attack(
                  [](Stranger& s) {
                      std::memset(s.ring().bytes, 0xff, kRingBytes);
                      s.ring().written.store(kRingBytes);
                  },
                  false),
              0);
}

TEST_F(FreezeTest, a_record_that_makes_no_sense_ends_the_ring) {
    for (const uint16_t kind : {0, 1, 5, 0xffff})
        EXPECT_EQ(attack([&](Stranger& s) {
                      const RecordHead head{static_cast<RecordKind>(kind), 0, 12};
                      s.put(std::as_bytes(std::span(&head, 1)));
                  }),
                  0);
}

TEST_F(FreezeTest, a_board_with_no_address_or_too_many_is_not_taken) {
    for (const uint32_t count : {0u, kGids + 1, UINT32_MAX})
        EXPECT_EQ(attack([&](Stranger& s) { s.board().gid_count = count; }), 0);
    EXPECT_EQ(attack([](Stranger& s) { s.board().rank = UINT32_MAX; }), 0);
}

// The victim writes to a peer whose bell is a pipe: full, or with nobody who reads it.
TEST_F(FreezeTest, a_bell_that_is_a_pipe_neither_ends_nor_holds_up_whoever_rings_it) {
    for (const bool is_full : {true, false}) {
        Process victim(uid, [&](const Channel& parent) {
            Program program(identity_in(world, 0, false));
            parent.send(program.whereabouts());
            const auto slot = parent.take<uint32_t>();
            const std::lock_guard guard(program.side.host->lock());
            const std::vector<std::byte> message(64, std::byte{1});
            World& its_world = program.side.host->world();
            const auto peer = its_world.resolve_slot(slot);
            const auto send = [&] {
                program.side.host->send_management(peer, message);
                program.side.host->flush_management();
            };
            while (!its_world.at(peer.value).can_send()) send();  // until the peer has answered
            for (int i = 0; i < 1000; ++i) send();
            return 0;
        });
        const auto where = victim.channel().take<Whereabouts>();
        Process attacker(uid, [&](const Channel& parent) {
            Stranger stranger(world_for(world, false, uid));
            int ends[2];
            if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return 1;
            std::vector<char> bytes(1 << 20);
            if (is_full && write(ends[1], bytes.data(), bytes.size()) < 0) return 2;
            if (!is_full) close(ends[0]);
            fcntl(ends[1], F_SETFL, 0);
            stranger.card.bell = ends[1];
            stranger.board().sleep.store(live::Sleep::light);
            (void)stranger.call(where.slot);
            parent.send(stranger.card.slot);
            for (;;) {
                stranger.await_callers();
                stranger.ring().bell_rung.store(0);
            }
        });
        victim.channel().send(attacker.channel().take<uint32_t>());
        EXPECT_EQ(victim.exit_code(), 0);
    }
}

// Somebody listens in a slot and takes no calls; his queue is full.
TEST_F(FreezeTest, a_process_that_takes_no_calls_holds_up_nobody) {
    Process attacker(uid, [&](const Channel& parent) {
        Stranger stranger(world_for(world, false, uid));
        listen(stranger.door->socket(), 0);
        std::vector<Line> lines;
        while (auto line = reach(stranger.world, stranger.card.slot))
            lines.push_back(std::move(*line));
        parent.send(stranger.card.slot);
        pause();
        return 0;
    });
    const auto slot = attacker.channel().take<uint32_t>();
    Process victim(uid, [&](const Channel&) {
        Program program(identity_in(world, 1, false));
        const std::lock_guard guard(program.side.host->lock());
        return program.side.host->world().resolve_slot(slot) == SoftwareAdapter::kNowhere ? 0 : 1;
    });
    EXPECT_EQ(victim.exit_code(), 0);
}

// A peer that is stopped answers nobody. Who calls it waits; all others of the program do not.
TEST_F(FreezeTest, a_stopped_process_holds_up_nobody_but_its_caller) {
    Process stopped(
        uid, [&](const Channel& c) { return live_as_victim(c, identity_in(world, 0, false)); });
    const auto where = stopped.channel().take<Whereabouts>();
    stopped.stop();
    Process victim(uid, [&](const Channel&) {
        Program program(identity_in(world, 1, false));
        std::atomic<bool> is_calling{false};
        std::atomic<bool> is_done{false};
        std::thread caller([&] {
            const std::lock_guard guard(program.side.host->lock());
            is_calling = true;
            (void)program.side.host->world().resolve_slot(where.slot);
            is_done = true;
        });
        while (!is_calling) std::this_thread::yield();
        const auto start = Clock::now();
        program.look(10);
        const bool was_quick = Clock::now() - start < milliseconds(500) && !is_done;
        caller.join();
        return was_quick ? 0 : 1;
    });
    EXPECT_EQ(victim.exit_code(), 0);
    kill(stopped.pid, SIGCONT);
}

// It knows the caller by that call. Whose line ends has left, so the caller must not hang up.
TEST_F(FreezeTest, who_answers_late_does_not_take_its_caller_for_dead) {
    Process late(uid, [&](const Channel& parent) {
        Stranger stranger(world_for(world, false, uid));
        parent.send(stranger.card.slot);
        (void)parent.take<int>();
        stranger.answer_callers();
        const bool is_there = std::ranges::any_of(
            stranger.callers, [](const Descriptor& line) { return !has_left(line.get()); });
        parent.send(1);
        (void)parent.take<int>();
        return is_there ? 0 : 1;
    });
    const auto slot = late.channel().take<uint32_t>();
    Process caller(uid, [&](const Channel& parent) {
        Program program(identity_in(world, 1, false));
        const std::lock_guard guard(program.side.host->lock());
        World& known = program.side.host->world();
        const bool was_silent = known.resolve_slot(slot) == SoftwareAdapter::kNowhere;
        parent.send(1);
        (void)parent.take<int>();
        return was_silent && known.resolve_slot(slot) != SoftwareAdapter::kNowhere ? 0 : 1;
    });
    (void)caller.channel().take<int>();
    late.channel().send(1);
    (void)late.channel().take<int>();
    caller.channel().send(1);
    EXPECT_EQ(caller.exit_code(), 0);
    late.channel().send(1);
    EXPECT_EQ(late.exit_code(), 0);
}

bool has_peer(Program& program) {
    const std::lock_guard guard(program.side.host->lock());
    return !program.side.host->world().receiving().empty();
}

// "At work" for ever: one who has proven nothing is not waited for, one who has not for ever.
TEST_F(FreezeTest, deregistration_ends_whatever_a_peer_says_that_it_does) {
    for (const bool has_proven : {false, true}) {
        Process victim(uid, [&](const Channel& parent) {
            Program program(identity_in(world, 0, false));
            parent.send(program.whereabouts());
            (void)parent.take<char>();
            // Only what has come can say that it is at work.
            while (!has_peer(program)) program.look();
            const auto start = Clock::now();
            const std::lock_guard guard(program.side.host->lock());
            program.side.host->memory().withdraw_region(program.side.key);
            const auto limit = milliseconds(has_proven ? 20'000 : 1'000);
            return Clock::now() - start < limit ? 0 : 1;
        });
        const auto where = victim.channel().take<Whereabouts>();
        Process attacker(uid, [&](const Channel& parent) {
            Stranger stranger(world_for(world, false, uid));
            stranger.ring().at_work.store(1);
            stranger.ring().taking_back.store(1);
            const auto answer = stranger.call(where.slot);
            if (!answer) return 1;
            void* board =
                mmap(nullptr, sizeof(Board), PROT_READ, MAP_SHARED, answer->board.get(), 0);
            Secret secret;
            const iovec here{&secret, sizeof secret};
            const iovec there{
                reinterpret_cast<void*>(static_cast<const Board*>(board)->secret_place),
                sizeof secret};
            if (process_vm_readv(answer->who.pid, &here, 1, &there, 1, 0) < 0) return 2;
            if (has_proven) stranger.ring().proof.store(secret.word);
            eventfd_write(answer->bell.get(), 1);
            parent.send('!');
            pause();
            return 0;
        });
        EXPECT_EQ(attacker.channel().take<char>(), '!');
        victim.channel().send('!');
        EXPECT_EQ(victim.exit_code(), 0);
    }
}

// ---- what there is a limited number of ----------------------------------------------------------

int count_files_after(const Channel& parent, const Identity& who) {
    Program program(who);
    parent.send(program.whereabouts());
    const auto before = open_files();
    (void)parent.take<char>();
    program.look(2000);
    const auto after = open_files();
    return after < before + 100 ? 0 : 1;
}

TEST_F(FreezeTest, thousands_of_instances_of_one_process_cost_few_descriptors) {
    Process victim(
        uid, [&](const Channel& c) { return count_files_after(c, identity_in(world, 0, false)); });
    const auto where = victim.channel().take<Whereabouts>();
    Process attacker(uid, [&](const Channel& parent) {
        Stranger stranger(world_for(world, false, uid));
        std::vector<Introduction> kept;
        for (int i = 0; i < 2000; ++i) {
            stranger.board().instance = ++stranger.card.instance;
            stranger.new_ring();
            if (auto answer = stranger.call(where.slot); answer && kept.size() < 500)
                kept.push_back(std::move(*answer));
        }
        parent.send('!');
        pause();
        return 0;
    });
    (void)attacker.channel().take<char>();
    victim.channel().send('!');
    EXPECT_EQ(victim.exit_code(), 0);
}

TEST_F(FreezeTest, callers_who_never_say_who_they_are_cost_few_descriptors) {
    Process victim(
        uid, [&](const Channel& c) { return count_files_after(c, identity_in(world, 0, false)); });
    const auto where = victim.channel().take<Whereabouts>();
    Process attacker(uid, [&](const Channel& parent) {
        const Realm there = world_for(world, false, uid);
        std::vector<Line> lines;
        for (int tries = 0; lines.size() < 600 && tries < 100'000; ++tries)
            if (auto line = reach(there, where.slot)) lines.push_back(std::move(*line));
        parent.send('!');
        pause();
        return 0;
    });
    (void)attacker.channel().take<char>();
    victim.channel().send('!');
    EXPECT_EQ(victim.exit_code(), 0);
}

// Binds each name that a process of the world would have.
int squat(const Channel& parent, const std::string& world, bool listens) {
    std::vector<Descriptor> names;
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
        names.push_back(take_name(world_for(world, false, kVictim), std::to_string(slot)));
        if (listens) listen(names.back().get(), 1);
    }
    parent.send('!');
    pause();
    return 0;
}

TEST_F(FreezeTest, users_who_take_the_names_of_all_slots_keep_nobody_out) {
    NEEDS_TWO_USERS();
    for (const bool listens : {false, true}) {
        const std::string name = new_world();
        Process squatter(kAttacker, [&](const Channel& c) { return squat(c, name, listens); });
        (void)squatter.channel().take<char>();
        Process first(kVictim, [&](const Channel& c) {
            return live_as_victim(c, identity_in(name, 0, false));
        });
        const auto where = first.channel().take<Whereabouts>();
        Process second(kVictim, [&](const Channel&) {
            Program program(identity_in(name, 1, false));
            const std::lock_guard guard(program.side.host->lock());
            program.side.host->world().meet_all();
            return program.side.host->world().resolve_slot(where.slot) != SoftwareAdapter::kNowhere
                       ? 0
                       : 1;
        });
        EXPECT_EQ(second.exit_code(), 0);
        EXPECT_EQ(end(first), 0);
    }
}

// One user of a shared world may fill a part of it only.
TEST_F(FreezeTest, another_user_has_a_quarter_of_the_peers_at_most) {
    NEEDS_TWO_USERS();
    const std::string name = new_world();
    Process victim(kVictim, [&](const Channel& parent) {
        Program program(identity_in(name, 0, true));
        parent.send(program.whereabouts());
        (void)parent.take<char>();
        program.look(2000);
        uint32_t peers = 0;
        const std::lock_guard guard(program.side.host->lock());
        for (uint32_t i = 1; program.side.host->world().peer({i}) != nullptr; ++i) ++peers;
        return peers <= 64 ? 0 : 1;
    });
    const auto where = victim.channel().take<Whereabouts>();
    Process attacker(kAttacker, [&](const Channel& parent) {
        std::vector<std::unique_ptr<Stranger>> crowd;
        std::vector<Introduction> kept;
        for (int i = 0; i < 80; ++i) {
            crowd.push_back(std::make_unique<Stranger>(world_for(name, true, kAttacker)));
            crowd.back()->card.instance += static_cast<uint64_t>(i) << 32;
            crowd.back()->board().instance = crowd.back()->card.instance;
            if (auto answer = crowd.back()->call(where.slot)) kept.push_back(std::move(*answer));
        }
        parent.send('!');
        pause();
        return 0;
    });
    (void)attacker.channel().take<char>();
    victim.channel().send('!');
    EXPECT_EQ(victim.exit_code(), 0);
}

}  // namespace
}  // namespace tulle::live
