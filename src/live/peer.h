// Another process of the world, as this one sees it: its board, the ring that we write and it
// reads, and the ring that it writes and we read. The two come into being one by one, each when
// its writer has something to send.
//
// A process is the one that the kernel names at the other end of its sockets, with the instance
// that it says it is. Nothing that it shows or writes is believed: what is in its board is copied
// and checked when it is met, rings check what they read (ring.h), and what it asks to be written
// into our memory is written if it has proven that it reaches that memory by itself.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "live/board.h"
#include "live/meeting.h"
#include "live/port_counters.h"
#include "live/ring.h"
#include "live/shared_memory.h"
#include "live/write_stream.h"

namespace tulle::live {

class Peer {
public:
    Peer(uint64_t its_instance, uint32_t its_slot, Credentials its_credentials)
        : instance(its_instance), slot(its_slot), who(its_credentials) {}

    // Takes over what came with an introduction. False if its memory is not as it should be.
    bool meet(Introduction& introduction, const Realm& world);
    bool is(const Introduction& introduction) const {
        return instance == introduction.instance && who == introduction.who;
    }
    // The ring of ours that it will read, and the connection that it was handed over with.
    void take_outgoing(Descriptor socket, SharedMemory ring);
    bool take_incoming(Introduction introduction);

    const Board& board() const { return *reinterpret_cast<const Board*>(board_.data()); }
    bool has_board() const { return static_cast<bool>(board_); }
    const Grants& grants() const { return *reinterpret_cast<const Grants*>(grants_.data()); }
    bool has_grants() const { return static_cast<bool>(grants_); }
    bool can_send() const { return static_cast<bool>(outgoing_); }
    bool can_receive() const { return static_cast<bool>(incoming_); }
    RingMemory& outgoing() { return *reinterpret_cast<RingMemory*>(outgoing_.data()); }
    RingMemory& incoming() { return *reinterpret_cast<RingMemory*>(incoming_.data()); }
    int outgoing_socket() const { return outgoing_socket_.get(); }
    int incoming_socket() const { return incoming_socket_.get(); }
    // Whether it has shown that it reads our memory: `word` is what it finds there.
    bool has_proven(uint64_t word) {
        if (!has_proven_ && incoming_)
            has_proven_ = incoming().proof.load(std::memory_order_acquire) == word;
        return has_proven_;
    }
    // Whether a device's file was made by it, of whose memory we read that.
    bool has_made(uint64_t device_word) const {
        return is_reachable && device_word != 0 && secret_.device_word == device_word;
    }
    // Lets go of all that the living share, and returns its sockets. What it has shown stays until
    // forget() is called.
    std::array<Descriptor, 2> part();
    void forget();
    // Whether the process has ended, asked of the kernel.
    bool is_dead() const;

    // Room for a record: in the ring, or in the backlog where that is full.
    std::byte* reserve(size_t bytes);
    // Room in the ring, or nullptr.
    std::byte* reserve_in_ring(size_t bytes) {
        return backlog_.empty() && !stream.is_taking_back() ? writer_.reserve(bytes) : nullptr;
    }
    // Lets the peer see what was written, and wakes it if it sleeps.
    void flush();
    // Lets it see that when it looks, unless so much is left to read that it shall look now.
    void publish();
    // Whether it has not read all that was written.
    bool is_behind() const { return !backlog_.empty() || writer_.is_behind(); }
    size_t backlog_bytes() const { return backlog_bytes_; }
    // Whether it has not read anything for long, though there was something.
    bool is_stuck(base::Instant now);

    // Where the record that was reserved last ends.
    uint64_t position() const { return writer_.position(); }
    bool is_asleep() const { return board().wants_bell.load() != 0; }

    // One that is known by its address alone, on another machine: any number of processes, with no
    // memory in common.
    bool is_remote = false;
    wire::Gid own_address;  // the one of ours that talks to it
    bool is_ours = false;   // it has said that it is one of these, and repeats selectively
    base::Instant greet_again_at{};
    base::Instant heard_at{};  // or first spoken to
    const uint64_t instance;
    const uint32_t slot;
    const Credentials who;
    Facts facts;
    bool is_reachable = false;  // its memory, for us
    bool is_gone = false;
    int told_way = -1;  // to the user (diagnosis.h)
    base::Instant gone_at{};
    uint32_t connections = 0;            // queue pairs of ours
    base::Instant call_again_at{};       // after a call that came to nothing
    bool has_counters = false;           // they were looked for
    std::vector<PortCounters> counters;  // of its host's ports, where we reach its memory
    RingReader reader;
    WriteStream stream;  // of ours, to it

private:
    void drain_backlog();
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
    uint64_t read_to_ = 0;  // when it was last looked whether it is stuck
    base::Instant read_at_{};
    bool is_untold_ = false;  // of something that was published
    bool has_proven_ = false;
};

}  // namespace tulle::live
