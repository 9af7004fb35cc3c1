// Another process of the world, as this process sees it: its board, the ring that we write and it
// reads, and the ring that it writes and we read. Each ring is created when its writer has
// something to send.
//
// A peer is identified by the process that the kernel names at the other end of its sockets, and by
// the instance that it shows. Nothing that it shows or writes is trusted. Its board is copied and
// checked when it is met, and rings check what they read (ring.h). Its WRITEs into our memory are
// done only if it has proven that it reaches that memory by itself.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "live/board.h"
#include "live/counter_slot.h"
#include "live/meeting.h"
#include "live/ring.h"
#include "live/shared_memory.h"
#include "live/write_stream.h"

namespace tulle::live {

class Peer {
public:
    Peer(uint64_t its_instance, uint32_t its_slot, Credentials its_credentials)
        : instance(its_instance), slot(its_slot), who(its_credentials) {}

    // Takes over the contents of an introduction. False if its memory is not as it should be.
    bool meet(Introduction& introduction, const Realm& world);
    bool is(const Introduction& introduction) const {
        return instance == introduction.instance && who == introduction.who;
    }
    // Takes our ring that the peer will read, and the connection over which it was handed over.
    void take_outgoing(Descriptor socket, SharedMemory ring);
    bool take_incoming(Introduction introduction);

    const Board& board() const { return *reinterpret_cast<const Board*>(board_.data()); }
    bool has_board() const { return static_cast<bool>(board_); }
    // Whether it has this slot, according to its board.
    bool has_slot(uint32_t its) const { return board_ && board().blocks[its].load() != 0; }
    const Grants& grants() const { return *reinterpret_cast<const Grants*>(grants_.data()); }
    bool has_grants() const { return static_cast<bool>(grants_); }
    bool can_send() const { return static_cast<bool>(outgoing_); }
    bool can_receive() const { return static_cast<bool>(incoming_); }
    RingMemory& outgoing() { return *reinterpret_cast<RingMemory*>(outgoing_.data()); }
    RingMemory& incoming() { return *reinterpret_cast<RingMemory*>(incoming_.data()); }
    int outgoing_socket() const { return outgoing_socket_.get(); }
    int incoming_socket() const { return incoming_socket_.get(); }
    // Whether it has proven that it reads our memory: `word` is the secret in it.
    bool has_proven(uint64_t word) {
        if (!has_proven_ && incoming_)
            has_proven_ = incoming().proof.load(std::memory_order_acquire) == word;
        return has_proven_;
    }
    // Whether it made the file of a device. The word was read in its memory.
    bool has_made(uint64_t device_word) const {
        return is_reachable && device_word != 0 && secret_.device_word == device_word;
    }
    // Releases all that is shared with a living process, and returns its sockets. What it has shown
    // stays until forget() is called.
    std::array<Descriptor, 2> part();
    void forget();
    // Asks the kernel whether the process has ended.
    bool is_dead() const;

    // Room for a record: in the ring, or in the backlog if the ring is full.
    std::byte* reserve(size_t bytes);
    // The same for an acknowledgement (Sleep::undisturbed).
    std::byte* reserve_quietly(size_t bytes) {
        const bool was_loud = is_loud_;
        std::byte* const place = reserve(bytes);
        is_loud_ = was_loud;
        return place;
    }
    // Room in the ring, or nullptr.
    std::byte* reserve_in_ring(size_t bytes) {
        is_loud_ = true;
        return backlog_.empty() && !stream.is_taking_back() ? writer_.reserve(bytes) : nullptr;
    }
    // Shows the peer what was written, and wakes it if it sleeps.
    void flush();
    // Shows it what was written, but wakes it only if much is left to read.
    void publish();
    // Whether it has not yet read all that was written.
    bool is_behind() const { return !backlog_.empty() || writer_.is_behind(); }
    size_t backlog_bytes() const { return backlog_bytes_; }
    // Whether it has read nothing for long, although there was something to read.
    bool is_stuck(base::Instant now);

    // The end of the record that was reserved last.
    uint64_t position() const { return writer_.position(); }
    bool is_asleep() const { return board().sleep.load() != Sleep::awake; }

    // A peer on another machine. Only its address is known; it stands for any number of processes
    // and shares no memory.
    bool is_remote = false;
    wire::Gid own_address;  // the address of ours that talks to it
    bool is_ours = false;   // it has answered that it runs Tulle, so it retransmits selectively
    base::Instant greet_again_at{};
    base::Instant heard_at{};  // when it was last heard, or first spoken to
    const uint64_t instance;
    const uint32_t slot;
    const Credentials who;
    Facts facts;
    bool is_reachable = false;  // we reach its memory
    bool is_gone = false;
    int told_way = -1;  // the way that the user was told (diagnosis.h)
    base::Instant gone_at{};
    uint32_t connections = 0;           // queue pairs of ours
    base::Instant call_again_at{};      // after a call that failed
    bool has_counters = false;          // we have looked for them
    std::vector<CounterSlot> counters;  // of its host's ports, if we reach its memory
    RingReader reader;
    WriteStream stream;  // our WRITEs to it

private:
    void drain_backlog();
    bool shall_ring(bool is_quiet) const;
    void ring();

    SharedMemory board_;
    SharedMemory grants_;
    SharedMemory outgoing_;
    SharedMemory incoming_;
    RingWriter writer_;
    Secret secret_;  // in its memory
    Descriptor bell_;
    Descriptor outgoing_socket_;
    Descriptor incoming_socket_;
    std::deque<std::vector<std::byte>> backlog_;
    size_t backlog_bytes_ = 0;
    uint64_t read_to_ = 0;  // its position at the last look whether it is stuck
    base::Instant read_at_{};
    bool is_loud_ = false;    // something other than an acknowledgement was reserved since
    bool is_untold_ = false;  // something was published and it was not woken
    bool has_proven_ = false;
};

}  // namespace tulle::live
