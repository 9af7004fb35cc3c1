// Queues of posted work. A send queue is used in order; receive work may be taken from a queue that
// many queue pairs share, so that its places come free in any order.
#pragma once

#include <optional>
#include <vector>

#include "transport/types.h"

namespace tulle::transport {

// A posted send request, and what the requester knows of it once it has begun.
struct SendWork {
    uint64_t id = 0;
    uint64_t remote_address = 0;
    uint64_t compare_or_add = 0;
    uint64_t swap = 0;
    uint32_t length = 0;  // bytes of the message
    uint32_t rkey = 0;
    uint32_t immediate = 0;
    Psn first_psn{};       // once it has begun
    uint32_t packets = 0;  // PSNs that it takes; none for work that stays within the adapter
    Work work = Work::send;
    uint8_t flags = 0;
    uint8_t sge_count = 0;
    uint8_t flush_placement = 0;
    uint8_t flush_selectivity = 0;
    bool is_done = false;  // work within the adapter that was carried out
    wire::SrqNumber remote_srq{};
    wire::EeContext ee_context{};
    DatagramTarget datagram{};
    WindowBinding binding{};

    Psn end_psn() const { return wire::psn_plus(first_psn, packets); }
    bool is_inline() const { return (flags & kInline) != 0; }
    // Work whose answer brings data: it is done when the data is here, not when it is acknowledged.
    bool awaits_data() const {
        return work == Work::read || work == Work::compare_swap || work == Work::fetch_add ||
               work == Work::flush || work == Work::atomic_write;
    }
};

struct SendQueueSize {
    uint32_t requests = 0;
    uint32_t sges = 1;
    uint32_t inline_bytes = 0;
    // Places that are made at once, the others when they are needed; 0: all. Whoever may not
    // allocate later leaves it.
    uint32_t at_first = 0;
};

// Requests are named by a number that counts up; those in [oldest, end) are here. The owner moves
// `oldest`.
class SendQueue {
public:
    explicit SendQueue(const SendQueueSize& size);

    bool is_full(uint32_t oldest, uint32_t end) const { return end - oldest >= size_.requests; }
    // There is a place for one more behind those in [oldest, end). Not if it is full.
    void make_room(uint32_t oldest, uint32_t end) {
        if (end - oldest > mask_) [[unlikely]]
            grow(oldest, end);
    }
    // Copies the request, its pieces and inline data. False if it has more of them than fit.
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
    // So many places from now on. Refused if more are in use.
    Refusal resize(uint32_t requests);
    // The place of the request posted first; it stays taken until release(). kNone if there is
    // none.
    uint32_t take();
    // A request that was taken and not used goes back to the front.
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
    std::vector<ReceiveWork> works_;  // never shorter than it once was: places keep their numbers
    std::vector<Sge> sges_;
    uint32_t capacity_ = 0;
    uint32_t used_ = 0;  // places that wait or are taken
    uint32_t first_ = kNone;
    uint32_t last_ = kNone;
    uint32_t free_ = kNone;
    uint32_t waiting_ = 0;
};

}  // namespace tulle::transport
