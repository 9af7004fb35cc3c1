// Queues of posted work. A send queue is used in order. Many queue pairs may share a receive queue,
// so its places become free in any order.
#pragma once

#include <optional>
#include <vector>

#include "transport/types.h"

namespace tulle::transport {

// A posted send request, and the requester's state of it once it has begun.
struct SendWork {
    uint64_t id = 0;
    uint64_t remote_address = 0;
    uint64_t compare_or_add = 0;
    uint64_t swap = 0;
    uint32_t length = 0;  // bytes of the message
    uint32_t rkey = 0;
    uint32_t immediate = 0;
    Psn first_psn{};       // set when it begins
    uint32_t packets = 0;  // PSNs that it takes; 0 for work within the adapter
    Work work = Work::send;
    uint8_t flags = 0;
    uint8_t sge_count = 0;
    uint8_t flush_placement = 0;
    uint8_t flush_selectivity = 0;
    bool is_done = false;  // work within the adapter that is done
    wire::SrqNumber remote_srq{};
    wire::EeContext ee_context{};
    DatagramTarget datagram{};
    WindowBinding binding{};

    Psn end_psn() const { return wire::psn_plus(first_psn, packets); }
    bool is_inline() const { return (flags & kInline) != 0; }
    // Work whose answer brings data: it is done when the data has arrived, not when it is
    // acknowledged.
    bool awaits_data() const {
        return work == Work::read || work == Work::compare_swap || work == Work::fetch_add ||
               work == Work::flush || work == Work::atomic_write;
    }
};

struct SendQueueSize {
    uint32_t requests = 0;
    uint32_t sges = 1;
    uint32_t inline_bytes = 0;
    // Places allocated at once; the others are allocated on demand. 0: all at once, for callers
    // that may not allocate later.
    uint32_t at_first = 0;
};

// Requests have consecutive numbers; [oldest, end) are in the queue. The owner moves `oldest`.
class SendQueue {
public:
    explicit SendQueue(const SendQueueSize& size);

    bool is_full(uint32_t oldest, uint32_t end) const { return end - oldest >= size_.requests; }
    // Makes room for one more behind [oldest, end). The queue must not be full.
    void make_room(uint32_t oldest, uint32_t end) {
        if (end - oldest > mask_) [[unlikely]]
            grow(oldest, end);
    }
    // Copies the request, its pieces and inline data. False if these exceed the queue's limits.
    bool put(uint32_t number, const SendRequest& request);

    SendWork& operator[](uint32_t number) { return works_[number & mask_]; }
    const SendWork& operator[](uint32_t number) const { return works_[number & mask_]; }
    std::span<const Sge> sges(uint32_t number) const;
    std::span<const std::byte> inline_data(uint32_t number) const;

private:
    void grow(uint32_t oldest, uint32_t end);

    SendQueueSize size_;
    uint32_t mask_;
    std::vector<SendWork> works_;
    std::vector<Sge> sges_;
    std::vector<std::byte> inline_;
};

class ReceiveQueue {
public:
    static constexpr uint32_t kNone = UINT32_MAX;

    ReceiveQueue(uint32_t requests, uint32_t sges);

    Refusal post(const ReceiveRequest& request);
    // Changes the number of places. Refused if more are in use.
    Refusal resize(uint32_t requests);
    // Takes the oldest posted request and returns its place, which stays taken until release().
    // kNone if there is none.
    uint32_t take();
    // Returns an unused request to the front.
    void give_back(uint32_t place);
    void release(uint32_t place);

    uint64_t id(uint32_t place) const { return works_[place].id; }
    std::span<const Sge> sges(uint32_t place) const;
    uint32_t waiting() const { return waiting_; }
    uint32_t capacity() const { return capacity_; }

private:
    struct ReceiveWork {
        uint64_t id = 0;
        uint32_t sge_count = 0;
        uint32_t next = kNone;  // in the queue, or in the list of free places
    };

    void add_places(uint32_t count);

    uint32_t max_sges_;
    std::vector<ReceiveWork> works_;  // never shrinks: places keep their numbers
    std::vector<Sge> sges_;
    uint32_t capacity_ = 0;
    uint32_t used_ = 0;  // places waiting or taken
    uint32_t first_ = kNone;
    uint32_t last_ = kNone;
    uint32_t free_ = kNone;
    uint32_t waiting_ = 0;
};

}  // namespace tulle::transport
