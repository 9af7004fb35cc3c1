// XRC across processes, the side of whoever owns a queue: it lends receives.
//
// Processes of one user that open an XRC domain by the same file share it (annex A14): a message
// that comes to a target of one of them may be for a queue of another. The process whose target it
// is, the borrower (xrc_borrower.h), places the message. So it has to have receives of that queue
// beforehand: it asks the owner for some, places what comes straight into the owner's memory, and
// tells the owner how each of them has completed. Why not pass messages on: the target has to
// answer its sender before the next packet comes, and nobody waits for another process.
//
// A receive that is lent keeps its place in the queue and counts as one that waits. It comes back
// when it is not used for a while, and when the borrower ends. At most half of those that wait are
// lent at a time: others have targets, too.
//
// Only a process of the same user that has proven to reach our memory is lent anything: it is
// allowed nothing that the kernel would not allow it. What it says is a stranger's word.
#pragma once

#include <unordered_map>
#include <vector>

#include "live/record.h"
#include "live/world.h"

namespace tulle::live {

inline constexpr uint32_t kLentAtOnce = 16;  // chosen

// Where records for other processes go.
class Outbox {
public:
    virtual ~Outbox() = default;
    virtual void send_record(uint32_t peer, std::span<const std::byte> record) = 0;
};

template <class Record>
std::span<const std::byte> bytes_of(const Record& record) {
    return std::as_bytes(std::span(&record, 1));
}

// Whether both stand for the same adapter of the same host: domains of others are others.
inline bool is_same_adapter(const Facts& one, const Facts& other) {
    return one.rank == other.rank && one.device == other.device;
}

class XrcLender {
public:
    XrcLender(World& world, transport::Adapter& adapter, Outbox& outbox)
        : world_(world), adapter_(adapter), outbox_(outbox) {}

    // A queue of a domain that a file stands for.
    void show(transport::SrqId queue, const XrcQueue& terms);
    // What was lent of it does not come back any more. False if it was never shown.
    bool hide(transport::SrqId queue);

    // Somebody has asked for more than there was.
    bool has_wishes() const { return !wishes_.empty(); }
    void on_posted(transport::SrqId queue);

    // What a peer says; false if no process that means well says it.
    bool on_asked(uint32_t peer, const AskRecord& record);
    bool on_completed(uint32_t peer, const CompleteRecord& record);
    bool on_given_back(uint32_t peer, const GiveBackRecord& record);
    void on_left(uint32_t peer);

private:
    struct Wish {
        transport::SrqId queue;
        uint32_t peer = 0;
        uint32_t count = 0;
    };
    struct Lent {
        transport::SrqId queue;
        uint32_t place = 0;
        uint32_t peer = 0;
    };

    bool may_borrow(uint32_t peer);
    void lend(const Wish& wish);
    void lend_one(const Wish& wish, uint32_t more);
    bool is_sane(uint32_t peer, const CompleteRecord& record) const;

    World& world_;
    transport::Adapter& adapter_;
    Outbox& outbox_;
    std::unordered_map<uint32_t, XrcQueue> shown_;  // by SrqId
    std::unordered_map<uint32_t, Lent> lent_;       // by token
    std::vector<Wish> wishes_;
    std::vector<std::byte> record_;
    uint32_t newest_token_ = 0;
};

}  // namespace tulle::live
