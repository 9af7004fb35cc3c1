// A host: an RDMA adapter behind a port, and what its user does. Packets that the adapter has go
// out when line, lane and pace allow; packets that come in go to the adapter.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/hot.h"
#include "cluster/datagrams.h"
#include "cluster/framing.h"
#include "cluster/host_account.h"
#include "cluster/toll.h"
#include "fabric/intake.h"
#include "fabric/switch.h"
#include "transport/adapter.h"

namespace tulle::cluster {

using base::Duration;
using base::Instant;

inline constexpr uint64_t kMessageBytes = uint64_t{1} << 30;  // longer flows are several messages

// A message that the host's user posts at a given time, on a queue pair that is connected. One of a
// program tells whoever receives it a number.
struct Posting {
    Instant at{};
    uint32_t id = 0;  // flow or task
    transport::Qpn qpn{};
    transport::Work work = transport::Work::write;
    bool is_task = false;
    uint32_t arrives_as = 0;
    uint64_t bytes = 0;
    uint32_t lkey = 0;
    uint32_t rkey = 0;
};

struct FlowEnd {
    uint32_t flow = 0;
    transport::Status status = transport::Status::success;
    Instant at{};
};

// What the host's user saw of a task: that its own message is done, or that one has arrived.
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

struct HostChange {
    enum class Kind : uint8_t { port_down, port_up, pause_storm, pause_storm_end, slow_receiver };
    Instant at{};
    Kind kind = Kind::port_down;
    std::optional<base::Rate> rate;
};

// Paths that are fixed: which one the packets to a queue pair take.
struct FixedPath {
    uint32_t endpoint = 0;
    uint16_t entropy = 0;
    uint32_t path = 0;  // index of fabric::FixedPaths
};

struct HostPlan {
    uint32_t node = 0;  // of the graph
    uint32_t port = 0;  // of the cabling
    uint64_t receive_buffer_bytes = 1 << 20;
    Duration send_latency{};  // from the doorbell to the first bit, or to its fetch
    Duration receive_latency{};
    uint32_t mtu = 4096;
    bool completes_when_sent = false;  // its queue pairs wait for no answer
    bool answers_pass_pauses = false;  // a paused lane still sends acknowledgements
    TollPlan send_toll;                // paid with payload
    TollPlan receive_toll;
    std::vector<HostChange> changes;  // by time
    std::vector<fabric::TraceSample>* trace = nullptr;
};

class Host {
public:
    Host(const fabric::Settings& settings, const Framing& framing, fabric::Cabling& cabling,
         HostPlan plan, const transport::AdapterConfig& adapter);

    transport::Adapter& adapter() { return adapter_; }
    const transport::Adapter& adapter() const { return adapter_; }
    transport::PdId pd() const { return pd_; }
    // Of reliable datagrams; made when it is first asked for.
    Datagrams& datagrams() {
        if (datagrams_ == nullptr) datagrams_ = std::make_unique<Datagrams>(adapter_);
        return *datagrams_;
    }
    bool has_datagrams() const { return datagrams_ != nullptr; }
    transport::CqId cq() const { return cq_; }
    uint32_t key() const { return key_; }
    // Setting up. Everything that is posted, receives too, may complete, and at the same instant.
    // Also later, for a time that has not come. Returns when the adapter has it: the time of the
    // posting is that of the doorbell.
    Instant add(Posting posting);
    void expect_completions(uint32_t count) { completions_ += count; }
    // The same of a queue pair that was connected later, which may complete so much at an instant;
    // others do so at another one.
    void make_room_for(uint32_t count);
    void add(const FixedPath& path) { paths_.push_back(path); }
    void begin();

    Instant advance(Instant until, Ends& ends);

    // What the object points to, what that points to, and so on; see Partition.
    void prefetch(uint32_t depth) const;

    uint32_t node() const { return plan_.node; }
    uint32_t port() const { return plan_.port; }
    uint64_t events() const { return events_; }
    uint64_t delivered() const { return delivered_; }
    // That its user posted, and that it saw come.
    uint64_t messages_sent() const { return messages_sent_; }
    uint64_t messages_received() const { return messages_received_; }
    const fabric::Intake& intake() const { return intake_; }
    // Where the time of its queue pairs goes; there from the first call on.
    HostAccount& account();
    const HostAccount* find_account() const { return account_.get(); }
    // By what switches trust: the DSCP, or the service level.
    uint8_t lane_of(uint8_t traffic_class, uint8_t service_level) const {
        return settings_.qos.trust == fabric::Trust::dscp
                   ? settings_.qos.lane_of_dscp[traffic_class >> 2]
                   : settings_.qos.lane_of_level[service_level];
    }
    void finish(Instant now);

private:
    // What happens next: four instants, looked at one by one. Of what is rare, the first.
    enum Source : uint32_t { kRare, kPackets, kLine, kDeadline, kSources };
    enum Rare : uint32_t {
        kControl,
        kReceived,   // a receiver that is slow has taken a packet
        kProcessed,  // the adapter's latency is over
        kPosting,
        kTimer,
        kChange,
        kRares
    };
    void set(Rare source, Instant at) {
        rare_[source] = at;
        next_[kRare] = *std::ranges::min_element(rare_);
    }
    void on_rare(Instant now, Ends& ends);
    template <bool kHasAccount>
    Instant act(Instant until, Ends& ends);

    TULLE_HOT void on_packet(Instant now, Ends& ends);
    void on_control(Instant now);
    void on_line_free(Instant now, Ends& ends);
    void on_received(Instant now, Ends& ends);
    void on_processed(Instant now, Ends& ends);
    TULLE_HOT void accept(Instant now, uint32_t index, Ends& ends);
    Instant stored_at(Instant now, uint32_t index);
    Instant fetched_at(const Posting& posting);
    void on_posting(Instant now);
    void on_timer(Instant now);
    void on_change(Instant now);

    TULLE_HOT void deliver(Instant now, uint32_t index, Ends& ends);
    // Where somebody looks: an account, or a timeline.
    void receive_observed(Instant now, uint32_t index);
    Instant transmit_observed(Instant now, uint32_t index);
    void store(Instant now, uint32_t index);
    void collect(Instant now, Ends& ends);
    void note(Instant now, const transport::Completion& completion, Ends& ends);
    Instant pay(Instant now, uint32_t index);
    void start(Instant now);
    void await_line() {
        port_->is_awaited = true;
        next_[kLine] = port_->busy_until;
    }
    TULLE_HOT void transmit(Instant now, uint32_t index);
    void post(const Posting& posting);
    uint32_t flow_of(const wire::Packet& packet, uint8_t& flags) const;
    // The adapter's deadline may have moved, and it may have something to send.
    void attend(Instant now) {
        if (!port_->is_awaited) start(now);
        next_[kDeadline] = adapter_.next_deadline();
    }
    void update_room(uint32_t lane);
    void sample_rate(Instant now, const wire::Packet& packet);

    const fabric::Settings& settings_;
    const Framing& framing_;
    fabric::Cabling& cabling_;
    HostPlan plan_;
    std::array<Instant, kSources> next_;
    std::array<Instant, kRares> rare_;
    fabric::Port* port_ = nullptr;  // of the cabling
    fabric::NodeTimers timers_;
    fabric::Intake intake_;
    transport::Adapter adapter_;
    transport::MemoryAccess memory_;
    uint32_t endpoint_;
    transport::PdId pd_;
    transport::CqId cq_;
    uint32_t key_ = 0;
    transport::Lanes room_;
    uint32_t answer_bytes_;          // what an adapter takes an acknowledgement to have
    std::vector<Posting> postings_;  // a heap, the next one first
    uint32_t completions_ = 1;
    uint32_t room_for_completions_ = 0;
    size_t next_change_ = 0;
    std::vector<FixedPath> paths_;
    std::optional<Toll> sender_;    // one that is slower than the line
    std::optional<Toll> receiver_;  // the same, or a slow receiver
    bool is_slow_receiver_ = false;
    fabric::Fifo waiting_;    // packets for the receiver
    fabric::Fifo processed_;  // packets on their way through the adapter and into memory
    Instant last_stored_{};
    std::vector<Instant> last_fetched_;  // of each queue pair, by its place in the adapter
    bool is_storming_ = false;
    bool receives_at_once_ = false;  // neither the adapter nor memory takes time
    bool is_observed_ = false;
    std::unique_ptr<HostAccount> account_;
    std::unique_ptr<Datagrams> datagrams_;
    uint64_t events_ = 0;
    uint64_t delivered_ = 0;
    uint64_t messages_sent_ = 0;
    uint64_t messages_received_ = 0;
};

}  // namespace tulle::cluster
