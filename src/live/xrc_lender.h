// XRC across processes, the side of the process that owns a queue: it lends receives.
//
// Processes of one user that open an XRC domain by the same file share it (annex A14): a message
// that comes to a target of one of them may be for a queue of another. The process with the target
// is the borrower (xrc_borrower.h), and it places the message. So it needs receives of that queue
// beforehand: it asks the owner for some, puts messages directly into the owner's memory, and tells
// the owner how each receive has completed. The borrower cannot pass messages on instead: the
// target must answer its sender before the next packet comes, and nobody waits for another process.
//
// A receive that is lent keeps its place in the queue and counts as waiting. It comes back when it
// is not used for a while, and when the borrower ends. At most half of the waiting receives are
// lent at a time, because other processes have targets, too.
//
// Only a process of the same user that has proven to reach our memory may borrow: it gains nothing
// that the kernel would not allow it. Its records are checked like those of a stranger.
#pragma once

#include <unordered_map>
#include <vector>

#include "live/record.h"
#include "live/world.h"

namespace tulle::live {

inline constexpr uint32_t kLentAtOnce = 16;  // chosen

// Takes records for other processes.
class Outbox {
public:
    virtual ~Outbox() = default;
    virtual void send_record(uint32_t peer, std::span<const std::byte> record) = 0;
};

template <class Record>
std::span<const std::byte> bytes_of(const Record& record) {
    return std::as_bytes(std::span(&record, 1));
}

// Whether both belong to the same adapter of the same host. Other adapters have other domains.
inline bool is_same_adapter(const Facts& one, const Facts& other) {
    return one.rank == other.rank && one.device == other.device;
}

class XrcLender {
public:
    XrcLender(World& world, transport::Adapter& adapter, Outbox& outbox)
        : world_(world), adapter_(adapter), outbox_(outbox) {}

    // Shows a queue of a domain that is named by a file.
    void show(transport::SrqId queue, const XrcQueue& terms);
    // Hides a queue: lent receives do not come back any more. False if it was never shown.
    bool hide(transport::SrqId queue);

    // Whether some process has asked for more receives than there were.
    bool has_wishes() const { return !wishes_.empty(); }
    void on_posted(transport::SrqId queue);

    // Handles a record of a peer; false if no honest process would write it.
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
