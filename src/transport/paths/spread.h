// The state of a queue pair that sends over several paths and takes packets in any order
// (unordered.h): the sender's path choice and flight log, the receiver's partial messages, and
// which packet the next answer echoes.
#pragma once

#include "transport/credit/credit_pacer.h"
#include "transport/loss/loss.h"
#include "transport/loss/partial_messages.h"
#include "transport/paths/flight_log.h"
#include "transport/paths/path_chooser.h"

namespace tulle::transport {

struct Spread {
    Spread(Delivery how, const PathSettings& settings, uint16_t entropy, base::StreamOwner owner)
        : delivery(how), paths(settings, entropy, owner) {}

    // A timeout of this packet at the sender.
    void on_lost(base::Instant now, wire::Psn psn) {
        if (const auto entropy = flights.entropy_of(psn)) paths.on_lost(now, *entropy);
    }
    // The answer names the packet that it answers, and returns over the same path.
    void echo(wire::Packet& answer) const {
        answer.srq_or_ee = caused_by.value;
        answer.entropy = caused_entropy;
    }

    Delivery delivery;
    PathChooser paths;
    FlightLog flights;
    PartialMessages messages;
    SenderCredit credit;    // granted by the peer
    CreditClient client;    // credit granted to the peer
    wire::Psn caused_by{};  // the newest packet that needs an answer
    uint16_t caused_entropy = 0;
    bool owes_answer = false;  // a packet that asked for an answer came before its turn
};

}  // namespace tulle::transport
