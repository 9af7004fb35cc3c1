// Attacks on the memory of others: each was written against a build that it succeeded on.
#include <sched.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "stranger.h"
#include "victim.h"

namespace tulle::live {
namespace {

// Two programs of one user that are connected, so that each knows the other.
class Couple {
public:
    Couple(const std::string& world, bool is_shared)
        : first(user(kVictim), [=](const Channel& c) { return run(c, world, 0, is_shared); }),
          second(user(kVictim), [=](const Channel& c) { return run(c, world, 1, is_shared); }) {
        one = first.channel().take<Whereabouts>();
        two = second.channel().take<Whereabouts>();
        first.channel().send(two);
        second.channel().send(one);
        (void)first.channel().take<int>();
        (void)second.channel().take<int>();
    }

    Process first;
    Process second;
    Whereabouts one;
    Whereabouts two;

private:
    static int run(const Channel& parent, const std::string& world, uint32_t rank, bool is_shared) {
        Program program(identity_in(world, rank, is_shared));
        parent.send(program.whereabouts());
        const auto other = parent.take<Whereabouts>();
        program.side.connect_to(other.number, other.gid);
        parent.send(0);
        char word = 0;
        while (parent.receive(word) && word != 'q') {
            program.look();
            if (word == 'm') say(program, other.slot);
            if (word == 'h') parent.send(static_cast<int>(program.side.hear().size()));
            if (word == 'i') parent.send(index_of(program, other.slot));
            if (word == '?') parent.send(static_cast<int>(program.is_unharmed() ? 0 : 1));
        }
        return program.is_unharmed() ? 0 : 1;
    }
    // Whom it takes for the process in that slot. A process that was lost is another one later.
    static int index_of(Program& program, uint32_t slot) {
        const std::lock_guard guard(program.side.host->lock());
        return static_cast<int>(program.side.host->world().resolve_slot(slot).value);
    }
    static void say(Program& program, uint32_t slot) {
        const std::lock_guard guard(program.side.host->lock());
        const std::vector<std::byte> message(77, std::byte{1});
        program.side.host->send_management(program.side.host->world().resolve_slot(slot), message);
        program.side.host->flush_management();
    }
};

// An attacker who calls, writes into the memory of whom it called, and waits until it was heard or
// turned away.
int write_into(const Realm& world, const Whereabouts& victim, uint64_t instance, uint32_t slot) {
    Stranger stranger(world);
    stranger.card.instance = stranger.board().instance = instance;
    stranger.card.slot = slot;
    stranger.put_write(victim.canary_place, kHarm);
    stranger.put_write(victim.region_place, kHarm);
    const auto answer = stranger.call(victim.slot);
    if (!answer) return 0;
    if (answer->bell) eventfd_write(answer->bell.get(), 1);
    ring_through(answer->socket.get());
    const int socket = answer->socket.get();
    await_answers(std::span(&socket, 1), base::Duration{1'000'000'000'000});
    return 0;
}

TEST(AttackTest, another_user_who_says_that_it_is_a_known_process_writes_nothing) {
    NEEDS_TWO_USERS();
    const std::string world = new_world();
    Couple couple(world, true);
    for (const uint32_t slot : {couple.two.slot, 200u}) {
        Process attacker(kAttacker, [&](const Channel&) {
            return write_into(world_for(world, true, kAttacker), couple.one, couple.two.instance,
                              slot);
        });
        EXPECT_EQ(attacker.exit_code(), 0);
        EXPECT_EQ(ask(couple.first), 0);
    }
    // Also with a slot of its own.
    Process attacker(kAttacker, [&](const Channel&) {
        return write_into(world_for(world, true, kAttacker), couple.one, couple.two.instance, 2);
    });
    EXPECT_EQ(attacker.exit_code(), 0);
    EXPECT_EQ(ask(couple.first), 0);
    EXPECT_EQ(end(couple.first), 0);
}

TEST(AttackTest, another_user_who_claims_the_slot_of_a_known_process_parts_nobody) {
    NEEDS_TWO_USERS();
    const std::string world = new_world();
    Couple couple(world, true);
    const auto peer_of_first = [&] {
        couple.first.channel().send('i');
        return couple.first.channel().take<int>();
    };
    const int before = peer_of_first();
    Process attacker(kAttacker, [&](const Channel&) {
        return write_into(world_for(world, true, kAttacker), couple.one, 4711, couple.two.slot);
    });
    EXPECT_EQ(attacker.exit_code(), 0);
    EXPECT_EQ(ask(couple.first), 0);
    EXPECT_EQ(peer_of_first(), before);
}

// Who has left is believed without a look at the slot, since another may have it by now.
TEST(AttackTest, who_claims_the_slot_of_a_known_process_and_leaves_parts_nobody) {
    const std::string world = new_world();
    const Couple couple(world, false);
    const auto peer_of_first = [&] {
        couple.first.channel().send('i');
        return couple.first.channel().take<int>();
    };
    const int before = peer_of_first();
    Process attacker(user(kVictim), [&](const Channel&) {
        Stranger stranger(world_for(world, false, user(kVictim)));
        stranger.card.slot = couple.two.slot;
        while (stranger.ring().is_taken.load() == 0)  // until one of its calls was believed
            if (const auto line = reach(stranger.world, couple.one.slot))
                (void)send_card(line->socket.get(), stranger.card, true);
        return 0;
    });
    EXPECT_EQ(attacker.exit_code(), 0);
    EXPECT_EQ(ask(couple.first), 0);
    EXPECT_EQ(peer_of_first(), before);
    EXPECT_EQ(ask(couple.second), 0);
}

// The one who is called says that it is somebody else, whose messages it would then get.
TEST(AttackTest, another_user_who_answers_as_a_known_process_gets_none_of_its_traffic) {
    NEEDS_TWO_USERS();
    const std::string world = new_world();
    Couple couple(world, true);
    Process attacker(kAttacker, [&](const Channel& parent) {
        Stranger stranger(world_for(world, true, kAttacker));
        stranger.card.instance = stranger.board().instance = couple.two.instance;
        stranger.card.slot = stranger.door->slot();
        // Makes the victim know it, under the name of the other.
        (void)stranger.call(couple.one.slot);
        parent.send(0);
        for (int i = 0; i < 200; ++i) stranger.await_callers();
        return 0;
    });
    (void)attacker.channel().take<int>();
    (void)ask(couple.first);
    couple.first.channel().send('m');
    (void)ask(couple.first);
    couple.second.channel().send('h');
    EXPECT_EQ(couple.second.channel().take<int>(), 77);
}

// Without the right to read the victim's memory there is no proof; one that is guessed is none.
TEST(AttackTest, a_process_of_the_same_user_that_has_proven_nothing_writes_nothing) {
    const std::string world = new_world();
    const uid_t uid = user(kVictim);
    Process victim(
        uid, [&](const Channel& c) { return live_as_victim(c, identity_in(world, 0, false)); });
    const auto where = victim.channel().take<Whereabouts>();
    for (const uint64_t proof : {uint64_t{0}, where.instance, UINT64_MAX}) {
        Process attacker(uid, [&](const Channel&) {
            Stranger stranger(world_for(world, false, uid));
            stranger.ring().proof.store(proof);
            stranger.put_write(where.canary_place, kHarm);
            const auto answer = stranger.call(where.slot);
            if (!answer || !answer->bell) return 1;
            eventfd_write(answer->bell.get(), 1);
            const int socket = answer->socket.get();
            await_answers(std::span(&socket, 1), base::Duration{5'000'000'000'000});
            return hear(socket) ? 1 : 0;  // and it was turned away
        });
        EXPECT_EQ(attacker.exit_code(), 0);
        EXPECT_EQ(ask(victim), 0);
    }
    EXPECT_EQ(end(victim), 0);
}

// What the proof is for: the kernel would let this one write there by itself.
TEST(AttackTest, a_process_that_reads_the_secret_is_one_that_could_write_anyway) {
    const std::string world = new_world();
    const uid_t uid = user(kVictim);
    Process victim(
        uid, [&](const Channel& c) { return live_as_victim(c, identity_in(world, 0, false)); });
    const auto where = victim.channel().take<Whereabouts>();
    Process other(uid, [&](const Channel&) {
        Stranger stranger(world_for(world, false, uid));
        const auto answer = stranger.call(where.slot);
        if (!answer) return 1;
        void* board = mmap(nullptr, sizeof(Board), PROT_READ, MAP_SHARED, answer->board.get(), 0);
        const auto place = static_cast<const Board*>(board)->secret_place;
        Secret secret;
        const iovec here{&secret, sizeof secret};
        const iovec there{reinterpret_cast<void*>(place), sizeof secret};
        if (process_vm_readv(answer->who.pid, &here, 1, &there, 1, 0) != sizeof secret) return 2;
        stranger.ring().proof.store(secret.word);
        stranger.put_write(where.canary_place, kHarm);
        eventfd_write(answer->bell.get(), 1);
        while (stranger.ring().read.load() != stranger.ring().written.load()) sched_yield();
        return 0;
    });
    EXPECT_EQ(other.exit_code(), 0);
    EXPECT_EQ(ask(victim), 1);
}

// A user namespace of one's own: the same user, and fewer rights.
TEST(AttackTest, a_process_in_a_user_namespace_finds_no_secret) {
    const std::string world = new_world();
    const uid_t uid = user(kVictim);
    Process victim(
        uid, [&](const Channel& c) { return live_as_victim(c, identity_in(world, 0, false)); });
    const auto where = victim.channel().take<Whereabouts>();
    Process attacker(uid, [&](const Channel&) {
        if (unshare(CLONE_NEWUSER) != 0) return 77;
        Stranger stranger(world_for(world, false, geteuid()));
        stranger.world.uid = uid;
        const auto answer = stranger.call(where.slot);
        if (!answer) return 0;  // turned away already
        Secret secret;
        const iovec here{&secret, sizeof secret};
        const iovec there{reinterpret_cast<void*>(where.canary_place), sizeof secret};
        return process_vm_readv(answer->who.pid, &here, 1, &there, 1, 0) < 0 ? 0 : 1;
    });
    const int code = attacker.exit_code();
    if (code == 77) GTEST_SKIP() << "SKIPPED: this kernel has no user namespaces for users";
    EXPECT_EQ(code, 0);
    EXPECT_EQ(end(victim), 0);
}

TEST(AttackTest, other_users_get_no_answer_in_the_world_of_a_user) {
    NEEDS_TWO_USERS();
    const std::string world = new_world();
    Process victim(
        kVictim, [&](const Channel& c) { return live_as_victim(c, identity_in(world, 0, false)); });
    const auto where = victim.channel().take<Whereabouts>();
    Process attacker(kAttacker, [&](const Channel&) {
        Stranger stranger(world_for(world, true, kAttacker));
        stranger.world = world_for(world, false, kVictim);  // the name of the victim's world
        const std::string name =
            "tulle/" + world + "/u" + std::to_string(kVictim) + "/" + std::to_string(where.slot);
        const Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path + 1, name.data(), name.size());
        const auto length =
            static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
        if (connect(socket.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) return 1;
        (void)send_card(socket.get(), stranger.card, true);
        const int number = socket.get();
        await_answers(std::span(&number, 1), base::Duration{5'000'000'000'000});
        char byte = 0;
        return recv(socket.get(), &byte, 1, MSG_DONTWAIT) > 0 ? 2 : 0;
    });
    EXPECT_EQ(attacker.exit_code(), 0);
    EXPECT_EQ(end(victim), 0);
}

TEST(AttackTest, keys_and_addresses_are_hidden_from_other_users_of_a_shared_world) {
    NEEDS_TWO_USERS();
    const std::string world = new_world();
    Process victim(
        kVictim, [&](const Channel& c) { return live_as_victim(c, identity_in(world, 0, true)); });
    const auto where = victim.channel().take<Whereabouts>();
    Process attacker(kAttacker, [&](const Channel&) {
        Stranger stranger(world_for(world, true, kAttacker));
        const auto answer = stranger.call(where.slot);
        if (!answer) return 1;
        if (answer->grants || answer->bell) return 2;
        std::vector<std::byte> seen(sizeof(Board));
        if (pread(answer->board.get(), seen.data(), seen.size(), 0) < 0) return 3;
        for (size_t i = 0; i + 8 <= seen.size(); i += 4)
            if (std::memcmp(seen.data() + i, &where.rkey, 4) == 0 ||
                std::memcmp(seen.data() + i, &where.region_place, 8) == 0)
                return 4;
        return 0;
    });
    EXPECT_EQ(attacker.exit_code(), 0);
    EXPECT_EQ(end(victim), 0);
}

// Memory whose size can change ends whoever reads behind its end.
TEST(AttackTest, memory_that_can_be_shrunk_is_not_taken) {
    const std::string world = new_world();
    const uid_t uid = user(kVictim);
    Process victim(
        uid, [&](const Channel& c) { return live_as_victim(c, identity_in(world, 0, false)); });
    const auto where = victim.channel().take<Whereabouts>();
    for (const bool is_ring : {true, false}) {
        Process attacker(uid, [&](const Channel&) {
            Stranger stranger(world_for(world, false, uid));
            const size_t bytes = is_ring ? sizeof(RingMemory) : sizeof(Board);
            const Descriptor file(memfd_create("soft", MFD_CLOEXEC));
            if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return 1;
            if (!is_ring) (void)!pwrite(file.get(), &stranger.board(), sizeof(Board), 0);
            (is_ring ? stranger.card.ring : stranger.card.board) = file.get();
            const auto answer = stranger.call(where.slot);
            if (!answer) return 2;
            const int socket = answer->socket.get();
            await_answers(std::span(&socket, 1), base::Duration{5'000'000'000'000});
            const bool is_turned_away = !hear(socket);
            (void)!ftruncate(file.get(), 0);
            return is_turned_away ? 0 : 3;
        });
        EXPECT_EQ(attacker.exit_code(), 0);
        EXPECT_EQ(ask(victim), 0);
    }
    EXPECT_EQ(end(victim), 0);
}

}  // namespace
}  // namespace tulle::live
