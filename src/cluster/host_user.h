// The user of a host's adapter: posts messages when they are due, and hears what has become of
// them.
#pragma once

#include <memory>
#include <vector>

#include "cluster/datagrams.h"
#include "cluster/host_account.h"
#include "transport/adapter.h"

namespace tulle::cluster {

inline constexpr uint64_t kMessageBytes = uint64_t{1} << 30;  // longer flows are split

// A message that the host's user posts at a given time on a connected queue pair. A message of a
// program tells its receiver its number.
struct Posting {
    Instant at{};
    uint32_t id = 0;  // flow or task
    transport::Qpn qpn{};
    transport::Work work = transport::Work::write;
    bool is_task = false;
    uint64_t bytes = 0;
    uint32_t lkey = 0;
    uint32_t rkey = 0;
};

struct FlowEnd {
    uint32_t flow = 0;
    transport::Status status = transport::Status::success;
    Instant at{};
};

// What the host's user saw of a task: its own message is done, or a message has arrived.
struct Sighting {
    Instant at{};
    uint32_t task = 0;
    uint32_t endpoint = 0;  // of the host
    transport::Status status = transport::Status::success;
    bool has_arrived = false;
};

struct Ends {
    std::vector<FlowEnd> flows;
    std::vector<Sighting> tasks;
};

class HostUser {
public:
    // `send_latency`: from the doorbell to the first bit, or to the fetch of payload.
    HostUser(transport::Adapter& adapter, const transport::MemoryAccess& memory, uint32_t endpoint,
             Duration send_latency, uint32_t mtu);

    transport::PdId pd() const { return pd_; }
    transport::CqId cq() const { return cq_; }
    uint32_t key() const { return key_; }
    // State of reliable datagrams; created on first use.
    Datagrams& datagrams() {
        if (datagrams_ == nullptr) datagrams_ = std::make_unique<Datagrams>(adapter_);
        return *datagrams_;
    }
    bool has_datagrams() const { return datagrams_ != nullptr; }

    // Adds a posting, at setup or later for a future time. Everything that is posted, receives too,
    // may complete at the same instant: see expect_completions(). Returns when the adapter has the
    // posting; the posting's own time is that of the doorbell.
    Instant add(Posting posting);
    void expect_completions(uint32_t count) { completions_ += count; }
    // The same for a queue pair that is connected later and may complete this much at one instant;
    // others complete at another.
    void make_room_for(uint32_t count);
    void begin();

    // When the next posting is due.
    Instant next_at() const { return postings_.empty() ? Instant::never() : postings_.front().at; }
    void post_next(Instant now);
    bool has_completion() { return adapter_.completions().has_any(cq_); }
    void collect(Instant now, Ends& ends);

    // Messages that it posted, and messages that arrived for it.
    uint64_t messages_sent() const { return messages_sent_; }
    uint64_t messages_received() const { return messages_received_; }
    // From now on the account notes what is posted and what ends.
    void tell(HostAccount& account) { account_ = &account; }

private:
    Instant fetched_at(const Posting& posting);
    void post(const Posting& posting);
    void note(Instant now, const transport::Completion& completion, Ends& ends);

    transport::Adapter& adapter_;
    const transport::MemoryAccess& memory_;
    uint32_t endpoint_;
    Duration send_latency_;
    uint32_t mtu_;
    transport::PdId pd_;
    transport::CqId cq_;
    uint32_t key_ = 0;
    std::vector<Posting> postings_;  // a heap, the next one first
    uint32_t completions_ = 1;
    uint32_t room_for_completions_ = 0;
    std::vector<Instant> last_fetched_;  // by queue pair, as the adapter numbers them
    std::unique_ptr<Datagrams> datagrams_;
    HostAccount* account_ = nullptr;
    uint64_t messages_sent_ = 0;
    uint64_t messages_received_ = 0;
};

}  // namespace tulle::cluster
