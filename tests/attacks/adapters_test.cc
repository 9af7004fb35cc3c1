// Attacks on programs with several adapters (tulle run --devices): what protects the first of them
// protects each, and one is no way to another.
#include <sched.h>
#include <sys/uio.h>

#include <array>

#include "stranger.h"
#include "victim.h"

namespace tulle::live {
namespace {

constexpr uint32_t kAdapters = 2;

using Places = std::array<Whereabouts, kAdapters>;

// A victim whose adapters know each other: 0 for unharmed.
int live_with_adapters(const Channel& parent, const std::string& world, bool is_shared) {
    const auto identity = [&](uint32_t device) {
        Identity who = identity_of(0, true, device);
        who.world = world;
        who.is_shared = is_shared;
        return who;
    };
    Program first(identity(0));
    Program second(identity(1));
    const Places places = {first.whereabouts(), second.whereabouts()};
    first.side.connect_to(places[1].number, places[1].gid);
    second.side.connect_to(places[0].number, places[0].gid);
    parent.send(places);
    const auto is_unharmed = [&] { return first.is_unharmed() && second.is_unharmed(); };
    char word = 0;
    while (parent.receive(word) && word != 'q') {
        first.look();
        second.look();
        parent.send(static_cast<int>(is_unharmed() ? 0 : 1));
    }
    return is_unharmed() ? 0 : 1;
}

// Has the one who was called read what is in the ring, and waits a while. Whether the caller was
// turned away.
bool is_turned_away(const Introduction& answer) {
    if (answer.bell) eventfd_write(answer.bell.get(), 1);
    ring_through(answer.socket.get());
    const int socket = answer.socket.get();
    await_answers(std::span(&socket, 1), base::Duration{1'000'000'000'000});
    return !hear(socket);
}

class AdaptersTest : public testing::Test {
protected:
    Process victim(bool is_shared) {
        return Process(user(kVictim), [this, is_shared](const Channel& c) {
            return live_with_adapters(c, world, is_shared);
        });
    }
    const std::string world = new_world();
};

// Adapters of one program are processes' peers like any other, by the same process and user.
TEST_F(AdaptersTest, another_user_who_says_that_it_is_the_programs_other_adapter_writes_nothing) {
    NEEDS_TWO_USERS();
    Process program = victim(true);
    const auto places = program.channel().take<Places>();
    for (uint32_t device = 0; device < kAdapters; ++device) {
        const Whereabouts& called = places[device];
        const Whereabouts& other = places[1 - device];
        Process attacker(kAttacker, [&](const Channel&) {
            Stranger stranger(world_for(world, true, kAttacker));
            stranger.card.instance = stranger.board().instance = other.instance;
            stranger.card.slot = other.slot;
            stranger.board().device = 1 - device;
            stranger.put_write(called.canary_place, kHarm);
            stranger.put_write(called.region_place, kHarm);
            if (const auto answer = stranger.call(called.slot)) (void)is_turned_away(*answer);
            return 0;
        });
        EXPECT_EQ(attacker.exit_code(), 0);
        EXPECT_EQ(ask(program), 0);
    }
    EXPECT_EQ(end(program), 0);
}

// The word that shows that one adapter's memory is reached opens that one.
TEST_F(AdaptersTest, the_proof_for_one_adapter_is_none_for_another) {
    Process program = victim(false);
    const auto places = program.channel().take<Places>();
    const uid_t uid = user(kVictim);
    Process attacker(uid, [&](const Channel&) {
        Stranger first(world_for(world, false, uid));
        const auto known = first.call(places[0].slot);
        if (!known) return 1;
        void* board = mmap(nullptr, sizeof(Board), PROT_READ, MAP_SHARED, known->board.get(), 0);
        Secret secret;
        const iovec here{&secret, sizeof secret};
        const iovec there{reinterpret_cast<void*>(static_cast<const Board*>(board)->secret_place),
                          sizeof secret};
        if (process_vm_readv(known->who.pid, &here, 1, &there, 1, 0) != sizeof secret) return 2;
        Stranger second(world_for(world, false, uid));
        second.card.instance = second.board().instance = first.card.instance + 1;
        second.ring().proof.store(secret.word);
        second.put_write(places[1].canary_place, kHarm);
        const auto answer = second.call(places[1].slot);
        if (!answer) return 3;
        return is_turned_away(*answer) ? 0 : 4;
    });
    EXPECT_EQ(attacker.exit_code(), 0);
    EXPECT_EQ(ask(program), 0);
    EXPECT_EQ(end(program), 0);
}

TEST_F(AdaptersTest, keys_of_every_adapter_are_hidden_from_other_users) {
    NEEDS_TWO_USERS();
    Process program = victim(true);
    const auto places = program.channel().take<Places>();
    for (const Whereabouts& place : places) {
        Process attacker(kAttacker, [&](const Channel&) {
            Stranger stranger(world_for(world, true, kAttacker));
            const auto answer = stranger.call(place.slot);
            return answer && (answer->grants || answer->bell) ? 1 : 0;
        });
        EXPECT_EQ(attacker.exit_code(), 0);
    }
    EXPECT_EQ(end(program), 0);
}

constexpr uint8_t kTcp = 6;
constexpr uint16_t kPort = 7471;

// A program that listens with its second adapter.
int listen_with_second(const Channel& parent, const std::string& world) {
    Identity who = identity_of(0, true, 1);
    who.world = world;
    who.is_shared = true;
    Program program(who);
    Descriptor held;
    const bool listens = program.side.host->ports().take(kTcp, kPort, held);
    {
        const std::lock_guard guard(program.side.host->lock());
        (void)program.side.host->ports().show(kTcp, kPort, {});
    }
    parent.send(listens);
    char word = 0;
    while (parent.receive(word) && word != 'q') continue;
    return 0;
}

// Which user has the end point that a client finds at the port; 0 if there is none.
uid_t who_is_found(const std::string& world, const wire::Gid& address) {
    Program program(identity_in(world, 0, true));
    const std::lock_guard guard(program.side.host->lock());
    const auto found = program.side.host->ports().find(kTcp, kPort, address);
    const Peer* peer = program.side.host->world().peer(found);
    return peer == nullptr ? 0 : peer->who.uid;
}

// A board may say anything. The attacker is met first, and says that it listens with the adapter
// that has the number of the client's, or that of the one who really listens.
TEST_F(AdaptersTest, another_user_who_says_that_it_listens_where_a_program_does_gets_no_clients) {
    NEEDS_TWO_USERS();
    constexpr uid_t kClient = 65532;
    for (const bool has_server : {true, false})
        for (const uint32_t device : {0u, 1u}) {
            const std::string name = new_world();
            Process attacker(kAttacker, [&](const Channel& parent) {
                Stranger stranger(world_for(name, true, kAttacker));
                Board& board = stranger.board();
                board.device = device;
                board.is_ethernet = true;
                board.ports[0].number = uint32_t{kTcp} << 16 | kPort;
                parent.send(stranger.card.slot);
                for (;;) stranger.await_callers();
                return 0;
            });
            EXPECT_EQ(attacker.channel().take<uint32_t>(), 0u);
            Process server(kVictim, [&](const Channel& parent) {
                return has_server ? listen_with_second(parent, name) : (parent.send(true), 0);
            });
            EXPECT_TRUE(server.channel().take<bool>());
            for (const uid_t uid : {kClient, kVictim})
                for (const wire::Gid& address :
                     {wire::Gid{}, identity_of(0, true, 1).gids.back()}) {
                    Process client(uid, [&](const Channel& parent) {
                        parent.send(who_is_found(name, address));
                        return 0;
                    });
                    EXPECT_EQ(client.channel().take<uid_t>(), has_server ? kVictim : uid_t{0});
                    EXPECT_EQ(client.exit_code(), 0);
                }
            if (has_server) server.channel().send('q');
            EXPECT_EQ(server.exit_code(), 0);
        }
}

// No host has such an adapter.
TEST_F(AdaptersTest, a_board_of_an_adapter_that_cannot_be_is_not_taken) {
    Process program = victim(false);
    const auto places = program.channel().take<Places>();
    const uid_t uid = user(kVictim);
    for (const uint32_t device : {kMaxDevices, UINT32_MAX}) {
        Process attacker(uid, [&](const Channel&) {
            Stranger stranger(world_for(world, false, uid));
            stranger.board().device = device;
            const auto answer = stranger.call(places[1].slot);
            if (!answer) return 0;
            const int socket = answer->socket.get();
            await_answers(std::span(&socket, 1), base::Duration{5'000'000'000'000});
            return hear(socket) ? 1 : 0;
        });
        EXPECT_EQ(attacker.exit_code(), 0);
        EXPECT_EQ(ask(program), 0);
    }
    EXPECT_EQ(end(program), 0);
}

}  // namespace
}  // namespace tulle::live
