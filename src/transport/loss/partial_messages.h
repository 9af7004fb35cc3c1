// Messages that have arrived in part, at a receiver that takes packets in any order. They are few:
// at most those in a sender's window.
#pragma once

#include <vector>

#include "transport/work_queue.h"
#include "wire/packet.h"

namespace tulle::transport {

struct PartialMessage {
    wire::Psn first{};
    uint32_t here = 0;     // packets received
    uint32_t packets = 0;  // total packets; 0 until the last one has arrived
    uint32_t bytes = 0;
    uint32_t receive_place = ReceiveQueue::kNone;
    wire::Packet last;  // its headers say how the message ends

    bool is_whole() const { return packets != 0 && here == packets; }
};

class PartialMessages {
public:
    // The message that begins with this PSN; created with its first packet.
    PartialMessage& of(wire::Psn first) {
        for (PartialMessage& message : messages_)
            if (message.first == first) return message;
        messages_.emplace_back();
        messages_.back().first = first;
        return messages_.back();
    }
    // The message is complete, or given up.
    void forget(const PartialMessage& message) {
        const auto place = &message - messages_.data();
        if (messages_.size() > 1)
            std::swap(messages_[static_cast<size_t>(place)], messages_.back());
        messages_.pop_back();
    }
    bool empty() const { return messages_.empty(); }

    // Returns the receives that messages have taken, because the connection has ended.
    std::vector<uint32_t> take_receives() {
        std::vector<uint32_t> places;
        for (const PartialMessage& message : messages_)
            if (message.receive_place != ReceiveQueue::kNone)
                places.push_back(message.receive_place);
        messages_.clear();
        return places;
    }

private:
    std::vector<PartialMessage> messages_;
};

}  // namespace tulle::transport
