// How much READs may ask for at a time, over all queue pairs together.
//
// A responder answers a READ as fast as it can. Where the answers wait in a buffer of limited size
// until somebody reads it (the socket of a process, which waits for its CPU now and then), they
// must fit in there: what does not is lost, asked for again, and lost again. The window of a queue
// pair does not help: a READ is one packet, whatever it asks for, and there are many queue pairs.
//
// So the packets that are asked for and have not come are counted. A READ that finds no room waits
// in line, and whoever comes later waits behind it. The first in line is called when half the room
// is free. A share that does not shrink is written off: its answers are not on their way. Nobody
// waits while nothing is due.
#pragma once

#include "base/ring.h"
#include "base/time.h"

namespace tulle::transport {

class Core;
struct QueuePair;

struct AnswerBudget {
    uint32_t most = 0;  // packets; 0: no bound
    uint64_t due = 0;   // asked for and not here, of all queue pairs
    base::Ring<uint32_t> line{2};
    base::Instant written_off_at{};

    bool is_half_free() const { return due <= most / 2; }
    // One READ may ask for more than all the room: it goes when half is free.
    bool has_room(uint32_t packets) const { return due + packets <= most || is_half_free(); }
};

// Whether a READ for so many packets may go now. If not, the queue pair is woken when it is its
// turn, or when something may be written off.
bool may_ask(Core& core, QueuePair& qp, base::Instant now, uint32_t packets);
// A READ for so many packets begins; one ends, whether or not all of its answers came.
void on_read_begun(Core& core, QueuePair& qp, base::Instant now, uint32_t packets);
void on_read_ended(Core& core, QueuePair& qp, uint32_t packets);
// Something has come. What a queue pair asked for counts again, if it was written off.
void on_answers(Core& core, QueuePair& qp, base::Instant now);
// Before what the queue pair knows is forgotten.
void forget_answers(Core& core, QueuePair& qp);

}  // namespace tulle::transport
