// How processes of one machine find each other: by abstract Unix sockets, which have a name but no
// file and vanish with their process. A process binds the lowest free slot of its world. A process
// that wants to send to it calls there. Both hand over their boards and bells, and the caller also
// the ring that it will write. The connection stays open: when it closes, the process has ended.
//
// A world belongs to a user, or is open to all who ask for that. Names do not protect it, because
// everybody can bind them: the kernel tells pid and uid of the process at the other end. A user's
// world refuses other users. A caller says which slot is its own. It is believed if the process
// that listens there is the caller. A caller that has already left is believed too, because another
// process may have its slot by now and what it sent before is good; but the slot is not its own.
//
// Hostile users can take names. If a slot's name is held by a process that does not belong to the
// world, the slot has further names, tried in order.
//
// A network namespace is a separate world, as for sockets.
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

// The process at the other end of a socket, as the kernel tells it.
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

// The descriptors that a process hands over.
struct Card {
    uint64_t instance = 0;
    uint32_t slot = 0;
    int board = -1;
    int ring = -1;  // only from callers
    int bell = -1;  // this and the next: only to processes of the same user
    int grants = -1;
};

// What a process receives from the other side.
struct Introduction {
    uint64_t instance = 0;
    uint32_t slot = 0;
    bool is_leaving = false;  // its slot may be another's
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
    // Accepts the next caller and gives it our card; its own comes later (read_caller). Empty if it
    // is not admitted.
    Descriptor accept(const Card& mine);
    // The card of a caller whose socket can be read. Nothing if it has sent none, or its card is
    // malformed or names a slot that is not its own.
    std::optional<Introduction> read_caller(Descriptor socket) const;

private:
    Realm world_;
    uint32_t slot_ = 0;
    uint32_t variant_ = 0;
    Descriptor socket_;
    Descriptor mark_;   // shows that the slot is taken
    Descriptor spare_;  // closed for a moment when no descriptors are left
};

// Slots that are marked as taken. Costs one cheap call of the kernel per slot. A mark proves
// nothing: others may set it, or have kept a process from setting its own.
std::vector<uint32_t> marked_slots(const Realm& world);
bool is_marked(const Realm& world, uint32_t slot);

// A connection to the process that listens in a slot.
struct Line {
    Descriptor socket;
    Credentials who;
};
// Does not wait. Nothing if no admitted process listens there, or its queue is full.
std::optional<Line> reach(const Realm& world, uint32_t slot);
// The same, for one variant of the slot's names.
std::optional<Line> reach(const Realm& world, uint32_t slot, uint32_t variant);

bool send_card(int socket, const Card& card, bool is_same_user);
// The answer of a process that was called. Does not wait.
std::optional<Introduction> read_answer(Descriptor socket);
// Whether an answer has come, or the line has ended.
bool has_spoken(int socket);
// Waits until each socket can be read, or time is up.
void await_answers(std::span<const int> sockets, base::Duration patience);

// Wakes the process at the other end of a connection, whatever state it is in.
void ring_through(int socket);
// Takes what was sent through a connection. False if it has ended.
bool hear(int socket);

// Takes a name of another kind in the same world, for example a port to listen on. It is bound
// until the descriptor is closed. Empty if the name is taken.
Descriptor take_name(const Realm& world, const std::string& name);
// From now on the kernel tells others who holds the name. They connect to ask, and are never let
// in: dismiss_askers() makes room for more.
bool show_holder(int name);
void dismiss_askers(int name);
// Nothing if nobody holds the name, does not show it, or has too many askers.
std::optional<Credentials> holder_of(const Realm& world, const std::string& name);

}  // namespace tulle::live
