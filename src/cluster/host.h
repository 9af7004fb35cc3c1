// A host: an RDMA adapter behind a port, and the actions of its user. The adapter's packets leave
// when line, lane and pace allow. Packets that arrive go to the adapter.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
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

struct HostChange {
    enum class Kind : uint8_t {
        port_down,
        port_up,
        pause_storm,
        pause_storm_end,
        slow_receiver,
        management  // a management packet leaves
    };
    Instant at{};
    Kind kind = Kind::port_down;
    std::optional<base::Rate> rate;
};

// Fixed paths: the one that packets with this entropy take to an endpoint.
struct FixedPath {
    uint32_t endpoint = 0;
    uint16_t entropy = 0;
    uint32_t path = 0;  // index of fabric::FixedPaths
};

struct HostPlan {
    uint32_t node = 0;  // of the graph
    uint32_t port = 0;  // of the cabling
    uint64_t receive_buffer_bytes = 1 << 20;
    Duration send_latency{};  // from the doorbell to the first bit, or to the fetch of payload
    Duration receive_latency{};
    uint32_t mtu = 4096;
    bool completes_when_sent = false;  // its queue pairs do not wait for answers
    bool answers_pass_pauses = false;  // a paused lane still sends acknowledgements
    TollPlan send_toll;                // paid for payload
    TollPlan receive_toll;
    std::vector<HostChange> changes;  // by time
    std::vector<fabric::TraceSample>* trace = nullptr;
    bool has_tenants = false;  // packets of other tenants are counted by sender
    // The lane of each service level, written by a subnet manager; null: as the settings say.
    const std::array<uint8_t, 16>* lane_of_level = nullptr;
};

class HostNode {
public:
    HostNode(const fabric::Settings& settings, const Framing& framing, fabric::Cabling& cabling,
             HostPlan plan, const transport::AdapterConfig& adapter);

    transport::Adapter& adapter() { return adapter_; }
    const transport::Adapter& adapter() const { return adapter_; }
    transport::PdId pd() const { return pd_; }
    // State of reliable datagrams; created on first use.
    Datagrams& datagrams() {
        if (datagrams_ == nullptr) datagrams_ = std::make_unique<Datagrams>(adapter_);
        return *datagrams_;
    }
    bool has_datagrams() const { return datagrams_ != nullptr; }
    transport::CqId cq() const { return cq_; }
    uint32_t key() const { return key_; }
    // Adds a posting, at setup or later for a future time. Everything that is posted, receives too,
    // may complete at the same instant: see expect_completions(). Returns when the adapter has the
    // posting; the posting's own time is that of the doorbell.
    Instant add(Posting posting);
    void expect_completions(uint32_t count) { completions_ += count; }
    // The same for a queue pair that is connected later and may complete this much at one instant;
    // others complete at another.
    void make_room_for(uint32_t count);
    void add(const FixedPath& path) { paths_.push_back(path); }
    void begin();

    Instant advance(Instant until, Ends& ends);

    // Prefetches what the object points to, what that points to, and so on; see Partition.
    void prefetch(uint32_t depth) const;

    uint32_t node() const { return plan_.node; }
    uint32_t port() const { return plan_.port; }
    uint64_t events() const { return events_; }
    uint64_t delivered() const { return delivered_; }
    // Messages that its user posted, and messages that arrived for it.
    uint64_t messages_sent() const { return messages_sent_; }
    uint64_t messages_received() const { return messages_received_; }
    const fabric::Intake& intake() const { return intake_; }
    uint32_t endpoint() const { return endpoint_; }
    // Where the time of its queue pairs goes; created by the first call.
    HostAccount& account();
    const HostAccount* find_account() const { return account_.get(); }
    // The lane, by what switches trust: the DSCP or the service level.
    uint8_t lane_of(uint8_t traffic_class, uint8_t service_level) const {
        if (plan_.lane_of_level != nullptr) return (*plan_.lane_of_level)[service_level];
        return settings_.qos.trust == fabric::Trust::dscp
                   ? settings_.qos.lane_of_dscp[traffic_class >> 2]
                   : settings_.qos.lane_of_level[service_level];
    }
    void finish(Instant now);

private:
    // The next instant of each source: four, checked one by one. kRare is the first of the rare
    // ones.
    enum Source : uint32_t { kRare, kPackets, kLine, kDeadline, kSources };
    enum Rare : uint32_t {
        kControl,
        kReceived,   // a slow receiver has taken a packet
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
    TULLE_HOT void process(Instant now, uint32_t index, Ends& ends);
    Instant stored_at(Instant now, uint32_t index);
    Instant fetched_at(const Posting& posting);
    void on_posting(Instant now);
    void on_timer(Instant now);
    void on_change(Instant now);

    TULLE_HOT void hand_to_adapter(Instant now, uint32_t index, Ends& ends);
    // These run only if something is observed: an account, a timeline, tenants, or telemetry for
    // senders.
    void receive_observed(Instant now, uint32_t index);
    void take_packet(Instant now, uint32_t index);
    void begin_telemetry(uint32_t index);
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
    bool is_data(const wire::Packet& packet) const {
        return (framing_.flags(packet) & fabric::Transit::kData) != 0;
    }
    uint32_t flow_of(const wire::Packet& packet, uint8_t& flags) const;
    // The adapter's deadline may have moved, and it may have something to send.
    void attend(Instant now) {
        if (!port_->is_awaited) start(now);
        next_[kDeadline] = adapter_.next_deadline();
    }
    void update_room(uint32_t lane);
    void hold_full_lanes(Instant now);
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
    uint32_t answer_bytes_;          // what the adapter assumes for an acknowledgement
    std::vector<Posting> postings_;  // a heap, the next one first
    uint32_t completions_ = 1;
    uint32_t room_for_completions_ = 0;
    size_t next_change_ = 0;
    std::vector<FixedPath> paths_;
    std::optional<Toll> sender_;    // only if slower than the line
    std::optional<Toll> receiver_;  // the same, or for a slow receiver
    bool is_slow_receiver_ = false;
    fabric::Fifo waiting_;    // packets for the receiver
    fabric::Fifo processed_;  // packets in the adapter, or on their way into memory
    Instant last_stored_{};
    std::vector<Instant> last_fetched_;  // by queue pair, as the adapter numbers them
    bool is_storming_ = false;
    bool receives_at_once_ = false;  // the adapter and memory take no time
    bool is_recorded_ = false;       // for a timeline, tenants, or telemetry for senders
    bool is_observed_ = false;       // so, or for an account
    // By peer: telemetry of the latest data packet of each connection, for the next answer.
    std::unordered_map<uint64_t, wire::Telemetry> to_return_;
    std::unique_ptr<HostAccount> account_;
    std::unique_ptr<Datagrams> datagrams_;
    uint64_t events_ = 0;
    uint64_t delivered_ = 0;
    uint64_t messages_sent_ = 0;
    uint64_t messages_received_ = 0;
};

}  // namespace tulle::cluster
