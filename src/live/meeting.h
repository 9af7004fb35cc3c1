// How processes of one machine find each other: by abstract Unix sockets, which have a name and no
// file and go with their process. A process binds the lowest free slot of its world; whoever wants
// to send to it calls there, and both hand over their boards and bells, the caller also the ring
// that it will write. The connection stays: its end is how the death of a process is noticed.
//
// A world belongs to a user, or is open to all who ask for that. Names are no protection, for
// everybody can bind them: who is at the other end of a socket is what the kernel says, pid and
// uid. Other users are turned away at the door of a user's world. A caller says which slot is its
// own, and is believed when the process that listens there is the one that called. Where nobody
// listens, one that has left already is believed too: what it sent before is good.
//
// Names can be taken by users who mean no good. A slot whose name is held by somebody who does not
// belong to the world has further names, tried in order.
//
// A network namespace is a world of its own, as it is for sockets.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "live/descriptor.h"
#include "live/identity.h"

namespace tulle::live {

// Who is at the other end of a socket, by the word of the kernel.
struct Credentials {
    pid_t pid = 0;
    uid_t uid = 0;
    bool operator==(const Credentials&) const = default;
};

struct Realm {
    std::string name;
    uid_t uid = 0;
    bool is_shared = false;

    bool admits(const Credentials& who) const { return is_shared || is_own(who); }
    bool is_own(const Credentials& who) const { return who.uid == uid; }
};
Realm realm_of(const Identity& who);

// Whether the process at the other end of this socket has closed it, or has ended.
bool has_left(int socket);

// What a process hands over.
struct Card {
    uint64_t instance = 0;
    uint32_t slot = 0;
    int board = -1;
    int ring = -1;  // of callers
    int bell = -1;  // this and what follows only to processes of the same user
    int grants = -1;
};

// What one gets from the other side.
struct Introduction {
    uint64_t instance = 0;
    uint32_t slot = 0;
    Credentials who;
    Descriptor socket;
    Descriptor board;
    Descriptor ring;
    Descriptor bell;
    Descriptor grants;
};

class Door {
public:
    // The lowest free slot of the world; nothing if all are taken.
    static std::optional<Door> open(const Realm& world);

    uint32_t slot() const { return slot_; }
    uint32_t variant() const { return variant_; }  // of the slot's names
    int socket() const { return socket_.get(); }
    void close() {
        socket_.reset();
        mark_.reset();
        spare_.reset();
    }
    // The next caller, who has been given our card; his own comes later (read_caller). Empty if he
    // is not admitted.
    Descriptor accept(const Card& mine);
    // The card of a caller whose socket can be read; nothing if it went away, talks nonsense, or
    // names a slot that is not its own.
    std::optional<Introduction> read_caller(Descriptor socket) const;

private:
    Realm world_;
    uint32_t slot_ = 0;
    uint32_t variant_ = 0;
    Descriptor socket_;
    Descriptor mark_;   // says that the slot is taken
    Descriptor spare_;  // given up for a moment when there are no descriptors left
};

// Slots that somebody has, at the cost of one cheap call of the kernel for each. A mark proves
// nothing: others may set it, or have kept a process from setting its own.
std::vector<uint32_t> marked_slots(const Realm& world);

// A connection to the process that listens in a slot.
struct Line {
    Descriptor socket;
    Credentials who;
};
// Does not wait. Nothing if nobody who is admitted listens there, or his queue is full.
std::optional<Line> reach(const Realm& world, uint32_t slot);
// To those who listen in this variant of the slots' names.
std::optional<Line> reach(const Realm& world, uint32_t slot, uint32_t variant);

bool send_card(int socket, const Card& card, bool is_same_user);
// The answer of a process that was called; does not wait.
std::optional<Introduction> read_answer(Descriptor socket);
// Whether there is one, or the end of the line.
bool has_spoken(int socket);
// Until each of these can be read, or time is up.
void await_answers(std::span<const int> sockets, base::Duration patience);

// Wakes the process at the other end of a connection, whatever state it is in.
void ring_through(int socket);
// Takes what was sent through a connection. False if it has ended.
bool hear(int socket);

// A name of another kind in the same world, say a port that somebody listens on: bound until the
// descriptor is closed. Empty if it is taken.
Descriptor take_name(const Realm& world, const std::string& name);

}  // namespace tulle::live
