// Another process of the world, as this one sees it: its board, the ring that we write and it
// reads, and the ring that it writes and we read. The two come into being one by one, each when
// its writer has something to send.
#pragma once

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
    Peer(uint64_t its_instance, uint32_t its_slot) : instance(its_instance), slot(its_slot) {}

    // Takes over what came with an introduction. False if its memory is not as it should be.
    bool meet(Introduction& introduction, uint64_t my_instance);
    bool take_outgoing(Introduction introduction, SharedMemory ring);
    bool take_incoming(Introduction introduction);

    const Board& board() const { return *reinterpret_cast<const Board*>(board_.data()); }
    bool has_board() const { return static_cast<bool>(board_); }
    bool can_send() const { return static_cast<bool>(outgoing_); }
    bool can_receive() const { return static_cast<bool>(incoming_); }
    RingMemory& outgoing() { return *reinterpret_cast<RingMemory*>(outgoing_.data()); }
    RingMemory& incoming() { return *reinterpret_cast<RingMemory*>(incoming_.data()); }
    int outgoing_socket() const { return outgoing_socket_.get(); }
    int incoming_socket() const { return incoming_socket_.get(); }
    void stop_receiving();
    // Whether the process has ended, asked of the kernel.
    bool is_dead() const;

    // Room for a record: in the ring, or in the backlog where that is full.
    std::byte* reserve(size_t bytes);
    // Room in the ring, or nullptr.
    std::byte* reserve_in_ring(size_t bytes) {
        return backlog_.empty() ? writer_.reserve(bytes) : nullptr;
    }
    // Lets the peer see what was written, and wakes it if it sleeps.
    void flush();
    // Lets it see that when it looks, unless so much is left to read that it shall look now.
    void publish();
    // Whether it has not read all that was written.
    bool is_behind() const { return !backlog_.empty() || writer_.is_behind(); }
    size_t backlog_bytes() const { return backlog_bytes_; }

    // Where the record that was reserved last ends.
    uint64_t position() const { return writer_.position(); }
    bool is_asleep() const { return board().wants_bell.load() != 0; }

    const uint64_t instance;
    const uint32_t slot;
    pid_t pid = 0;
    bool is_same_user = false;
    bool is_reachable = false;  // its memory, for us
    bool is_gone = false;
    bool was_called = false;  // there is an outgoing ring, or nobody answered
    PortCounters counters;    // of its host, where we reach its memory
    RingReader reader;
    WriteStream stream;  // of ours, to it

private:
    void drain_backlog();

    SharedMemory board_;
    SharedMemory outgoing_;
    SharedMemory incoming_;
    RingWriter writer_;
    Descriptor bell_;
    Descriptor outgoing_socket_;
    Descriptor incoming_socket_;
    std::deque<std::vector<std::byte>> backlog_;
    size_t backlog_bytes_ = 0;
    bool is_untold_ = false;  // of something that was published
};

}  // namespace tulle::live
