// How processes of one machine find each other: by abstract Unix sockets, which have a name and no
// file and go with their process. A process binds the lowest free slot of its world; whoever wants
// to send to it calls there, and both hand over their boards and bells, the caller also the ring
// that it will write. The connection stays: its end is how the death of a process is noticed.
//
// A network namespace is a world of its own, as it is for sockets.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "live/descriptor.h"

namespace tulle::live {

// What a process hands over.
struct Card {
    uint64_t instance = 0;
    uint32_t slot = 0;
    int board = -1;
    int bell = -1;
    int ring = -1;  // of callers
};

// What one gets from the other side.
struct Introduction {
    uint64_t instance = 0;
    uint32_t slot = 0;
    pid_t pid = 0;
    uid_t uid = 0;
    Descriptor socket;
    Descriptor board;
    Descriptor bell;
    Descriptor ring;
};

class Door {
public:
    // The lowest free slot of the world; nothing if all are taken.
    static std::optional<Door> open(const std::string& world);

    uint32_t slot() const { return slot_; }
    int socket() const { return socket_.get(); }
    void close() { socket_.reset(); }
    // The next caller, who has been given our card; his own comes later (read_card).
    Descriptor accept(const Card& mine);

private:
    uint32_t slot_ = 0;
    Descriptor socket_;
};

// Goes to the process in this slot. Nothing if nobody is there, or does not answer.
std::optional<Introduction> call(const std::string& world, uint32_t slot, const Card& mine);

// The card of a caller whose socket can be read; nothing if it went away or talks nonsense.
std::optional<Introduction> read_card(Descriptor socket);

// A name of another kind in the same world, say a port that somebody listens on: bound until the
// descriptor is closed. Empty if it is taken.
Descriptor take_name(const std::string& world, const std::string& name);

}  // namespace tulle::live
