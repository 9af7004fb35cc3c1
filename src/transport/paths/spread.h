// What a queue pair keeps that sends over several paths and takes packets in any order
// (unordered.h): the sender's choice of paths and log of flights, the receiver's messages that are
// not whole, and which packet the next answer echoes.
#pragma once

#include "transport/loss/loss.h"
#include "transport/loss/partial_messages.h"
#include "transport/paths/flight_log.h"
#include "transport/paths/path_chooser.h"

namespace tulle::transport {

struct Spread {
    Spread(Delivery how, const PathSettings& settings, uint16_t entropy, base::StreamOwner owner)
        : delivery(how), paths(settings, entropy, owner) {}

    // The sender heard nothing of this packet for too long.
    void on_lost(base::Instant now, wire::Psn psn) {
        if (const auto entropy = flights.entropy_of(psn)) paths.on_lost(now, *entropy);
    }
    // The answer says which packet it answers, and comes back the same way.
    void echo(wire::Packet& answer) const {
        answer.srq_or_ee = caused_by.value;
        answer.entropy = caused_entropy;
    }

    Delivery delivery;
    PathChooser paths;
    FlightLog flights;
    PartialMessages messages;
    wire::Psn caused_by{};  // the newest packet that is to be answered
    uint16_t caused_entropy = 0;
    bool owes_answer = false;  // one that asked for an answer came before its turn
};

}  // namespace tulle::transport
