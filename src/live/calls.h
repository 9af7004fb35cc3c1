// How this process calls others: who is being called, and who has not answered (meeting.h).
//
// A thread that calls a process releases the lock meanwhile. Others that want the same process wait
// for its call, because a process takes only one ring from us.
#pragma once

#include <condition_variable>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/time.h"
#include "live/lock.h"
#include "live/meeting.h"
#include "live/peer.h"
#include "live/shared_memory.h"

namespace tulle::live {

class World;

class Calls {
public:
    Calls(World& world, Lock& lock) : world_(world), lock_(lock) {}
    // Calls the processes in these slots that we do not know, and waits for their answers.
    void to_slots(std::span<const uint32_t> slots);
    // See World::call_peer().
    bool to_peer(Peer& peer);
    // In the child of a fork.
    void abandon() { mute_.clear(); }

private:
    struct Call {
        uint32_t slot = 0;
        Line line;
        SharedMemory ring;
    };
    // A process that has not answered, or not correctly.
    struct Mute {
        Credentials who;
        base::Instant until;  // until then nobody waits for it
        // Stays open: a process that answers late would take its end for ours.
        std::optional<Call> call{};
    };

    bool call_all(std::span<const uint32_t> slots, uint32_t variants, std::vector<uint32_t>& later);
    void await_other_callers(std::span<const uint32_t> slots, std::span<const uint32_t> later);
    bool is_being_called(const Credentials& who) const;
    std::optional<Call> begin_call(uint32_t slot, uint32_t variants, std::vector<uint32_t>& later);
    std::optional<Call> next_call(uint32_t slot, uint32_t variants, std::vector<uint32_t>& later);
    std::optional<Call> open_call_to(const Peer& peer);
    std::optional<Call> introduce(uint32_t slot, Line line);
    void settle_call(Peer& peer, Call call);
    void end_call(Call call);

    World& world_;
    Lock& lock_;
    std::map<uint32_t, Credentials> being_called_;  // by slot
    std::map<uint32_t, Mute> mute_;                 // by slot
    std::condition_variable called_;
};

}  // namespace tulle::live
