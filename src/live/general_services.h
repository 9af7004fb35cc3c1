// Queue pair 1 of an adapter (GSI), through which connection managers speak. It sends and receives
// datagrams as any queue pair of type UD does, on every way, so counters, captures and faults apply
// to them by themselves. Its user is the connection manager of the process.
#pragma once

#include <array>
#include <vector>

#include "transport/adapter.h"
#include "wire/mad/mad.h"

namespace tulle::live {

// A message of the connection manager. `peer` is an end point.
struct ManagementMessage {
    transport::EndpointIndex peer;
    std::span<const std::byte> bytes;
};

class GeneralServices {
public:
    explicit GeneralServices(transport::Adapter& adapter) : adapter_(adapter) {}

    // Creates the queue pair, with receives. False if there is no memory.
    bool open();
    // Posts a message. False if the send queue is full: then packets have to be sent first.
    bool send(transport::EndpointIndex to, std::span<const std::byte> bytes);
    // Calls take(message) for each that has arrived. The message lasts as long as the call. Answers
    // those that nobody takes.
    template <class Take>
    void receive(Take&& take) {
        transport::Completion done;
        while (adapter_.completions().poll(cq_, std::span(&done, 1)) != 0) {
            if (done.kind != transport::CompletionKind::receive ||
                done.status != transport::Status::success)
                continue;
            const ManagementMessage message{done.source, message_in(done)};
            if (!take(message)) answer_for_nobody(message);
            post_receive(done.id);
        }
    }

private:
    static constexpr size_t kGrhBytes = 40;
    static constexpr size_t kRoomBytes = kGrhBytes + wire::kMadSize;
    // Chosen. Messages are taken as they come, so a few receives suffice.
    static constexpr uint32_t kReceives = 8;
    static constexpr uint32_t kSends = 64;

    std::span<const std::byte> message_in(const transport::Completion& done) const {
        return std::span(room_).subspan(done.id * kRoomBytes + kGrhBytes,
                                        done.byte_count - kGrhBytes);
    }
    void answer_for_nobody(const ManagementMessage& message);
    void post_receive(uint64_t id);

    transport::Adapter& adapter_;
    transport::CqId cq_{};
    uint32_t key_ = 0;
    std::vector<std::byte> room_;
};

}  // namespace tulle::live
