// A program as others are, in a process of its own: it has a peer, a secret that nobody may touch,
// and says how it fares.
#pragma once

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "live/side_for_tests.h"
#include "process.h"

namespace tulle::live {

inline constexpr uint64_t kUntouched = 0x0123'4567'89ab'cdef;
// What attackers write.
inline constexpr std::array<std::byte, 8> kHarm = {
    std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff},
    std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff}};

// What a victim says of itself: an attacker who knows all of it does no harm.
struct Whereabouts {
    uint32_t slot = 0;
    uint32_t rkey = 0;
    wire::Qpn number;
    uint64_t instance = 0;
    uint64_t canary_place = 0;  // outside of all regions
    uint64_t region_place = 0;
    wire::Gid gid;
};

inline Identity identity_in(const std::string& world, uint32_t rank, bool is_shared) {
    Identity who = identity_of(rank, true);
    who.world = world;
    who.is_shared = is_shared;
    return who;
}

inline Realm world_for(const std::string& name, bool is_shared, uid_t uid) {
    return {name, uid, is_shared};
}

inline std::string new_world() {
    static int count = 0;
    return "attack-" + std::to_string(getpid()) + "-" + std::to_string(++count);
}

class Program {
public:
    explicit Program(const Identity& who) : side(who) {}

    Whereabouts whereabouts() {
        return {side.host->world().own().slot(),
                side.key,
                side.number(),
                side.host->world().board_of({0}).instance,
                reinterpret_cast<uint64_t>(&canary),
                side.request.address,
                side.host->identity().gids.back()};
    }
    void look(int times = 200) {
        Completion completion;
        for (int i = 0; i < times; ++i) (void)side.take(completion);
    }
    bool is_unharmed() const { return canary == kUntouched && side.memory[0] == std::byte{0}; }

    volatile uint64_t canary = kUntouched;
    Side side;
};

inline size_t open_files() {
    const auto folder = std::filesystem::directory_iterator("/proc/self/fd");
    return static_cast<size_t>(std::distance(begin(folder), end(folder)));
}

inline size_t mappings(std::string_view what) {
    std::ifstream file("/proc/self/maps");
    size_t count = 0;
    for (std::string line; std::getline(file, line);)
        if (line.find(what) != std::string::npos) ++count;
    return count;
}

// Serves until it is told to say how it fares: 0 for unharmed.
inline int live_as_victim(const Channel& parent, const Identity& who) {
    Program program(who);
    parent.send(program.whereabouts());
    char word = 0;
    while (parent.receive(word) && word != 'q') {
        program.look();
        parent.send(static_cast<int>(program.is_unharmed() ? 0 : 1));
    }
    return program.is_unharmed() ? 0 : 1;
}

// Whether the victim is still there and nothing of it was touched.
inline int ask(const Process& victim) {
    victim.channel().send('?');
    return victim.channel().take<int>();
}
inline int end(Process& victim) {
    victim.channel().send('q');
    return victim.exit_code();
}

}  // namespace tulle::live
