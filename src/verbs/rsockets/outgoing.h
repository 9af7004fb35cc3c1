// The bytes and messages that a stream sends: RDMA WRITEs into buffers that the peer has announced,
// most of them with immediate data. Data waits in a ring until its WRITE has completed.
//
// Both sides announce buffers by writing into a table of the other: the target list, then mappings.
#pragma once

#include <deque>
#include <optional>

#include "verbs/rsockets/buffer.h"
#include "verbs/rsockets/protocol.h"
#include "verbs/rsockets/socket.h"

namespace tulle::verbs::rsockets {

class Outgoing {
public:
    bool allocate(ibv_pd* pd, const Options& options);
    void release();

    // Our table, as the greeting announces it.
    Target table() const;
    // What the peer announced by its greeting. Messages travel by this queue pair.
    void begin(ibv_qp* qp, const Greeting& greeting);

    // Data, up to the end of the peer's buffer. Nothing if posting fails.
    bool can_write() const;
    std::optional<size_t> write(Pieces& from);

    // Messages beside data. False if posting fails.
    bool can_control() const { return controls_out_ < kControls; }
    bool post_control(uint32_t immediate) { return post_control(immediate, nullptr, 0, {}); }
    bool announce(uint32_t credit, const Target& half);
    bool announce(uint32_t index, const Mapping& mapping);
    uint32_t peer_mappings() const { return peer_mappings_; }

    // A write at an offset of the peer's mappings.
    bool has_room() const {
        return sent_.size() < options_.send_queue && ring_used_ < ring_.size();
    }
    std::optional<Target> mapped_at(uint64_t offset) const;
    std::optional<size_t> write_to(const Target& target, Pieces& from);

    // The peer may be sent messages up to this number, and may have announced buffers. False if
    // these are more than a peer has.
    bool take_credit(uint16_t credit);
    // The oldest message has completed.
    void on_sent();
    bool is_idle() const { return sent_.empty(); }
    // The queue pair has failed: nothing completes any more.
    void forget() { sent_.clear(); }

private:
    struct Sent {
        uint32_t ring_bytes = 0;
        bool is_control = false;
    };

    bool post(std::optional<uint32_t> immediate, ibv_sge* from, const Target& to, Sent sent);
    bool post_control(uint32_t immediate, const void* what, uint32_t bytes, const Target& to);
    size_t stage(Pieces& from, size_t most, ibv_sge& sge);

    ibv_qp* qp_ = nullptr;
    Options options_;
    Buffer ring_;
    size_t write_at_ = 0;
    size_t ring_used_ = 0;
    std::deque<Sent> sent_;
    uint32_t controls_out_ = 0;
    uint16_t sent_messages_ = 0;
    uint16_t credit_ = 0;         // number of the last message that may be sent
    std::deque<Target> targets_;  // of the peer, in the order of use

    Buffer table_;              // that the peer writes
    uint32_t next_target_ = 1;  // that the peer will write next
    Target peer_table_;
    bool swaps_table_ = false;  // the peer has the other byte order
    uint32_t next_entry_ = 1;   // of the peer's target list
    uint32_t peer_mappings_ = 0;
};

bool is_big_endian();

}  // namespace tulle::verbs::rsockets
