// The bytes that a stream receives, and what the peer may still send.
//
// The ring is announced to the peer by halves: a half that the peer has filled and the program has
// read is announced again. The peer cannot claim to have written more than was announced.
#pragma once

#include "verbs/rsockets/buffer.h"
#include "verbs/rsockets/protocol.h"
#include "verbs/rsockets/socket.h"

namespace tulle::verbs::rsockets {

class Incoming {
public:
    bool allocate(ibv_pd* pd, const Options& options);
    void release();
    // Each message takes one.
    static bool post_receives(ibv_qp* qp, uint32_t count);

    // A message says that so many bytes have been written. False if that is more than announced.
    bool take_data(uint32_t bytes);
    size_t readable() const { return readable_; }
    size_t read(Pieces& into, bool is_peek);
    // Nothing follows what has been written so far.
    void end() { has_ended_ = true; }
    bool is_at_end() const { return readable_ == 0 && has_ended_; }

    // The peer learns of the first half by the greeting, of others with credit.
    bool has_free_half() const { return freed_bytes_ >= ring_.size() / 2; }
    Target announce_half();

    // Receives that the program has posted again, but the peer does not know of, half a queue or
    // more: so one credit message serves many.
    bool owes_credit() const;
    // The number of the last message that the peer may send.
    uint16_t credit() const { return static_cast<uint16_t>(received_ + queue_); }
    void on_credit_given() { credited_ = received_; }

private:
    Buffer ring_;
    size_t read_at_ = 0;
    size_t readable_ = 0;
    size_t shown_bytes_ = 0;  // announced to the peer, and not written yet
    size_t freed_bytes_ = 0;  // read since the last announcement
    size_t show_at_ = 0;      // next part to announce
    uint16_t queue_ = 0;      // receives
    uint16_t received_ = 0;   // data messages
    uint16_t credited_ = 0;   // value of received_ when credit was last given
    bool has_ended_ = false;
};

}  // namespace tulle::verbs::rsockets
