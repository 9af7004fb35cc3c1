// Two adapters and a scripted wire between them: the harness of the protocol tests, one rule each.
//
//     Pair pair({.mtu = 1024});
//     pair.wire.drop_nth(3);
//     pair.client.post_send({.work = Work::send, .length = 3000});
//     pair.run();
//     EXPECT_EQ(pair.client.completion().status, Status::success);
//
// Each host has one region of memory filled with a pattern, and one queue pair connected to the
// other's. Of XRC the client has an initiator, the server a target and a shared queue; of RD each
// has a queue pair and one end of an EE context. Time is simulated: nothing ever waits.
#pragma once

#include <deque>
#include <functional>
#include <queue>
#include <vector>

#include "transport/adapter.h"

namespace tulle::transport {

struct PairOptions {
    QpType type = QpType::rc;  // xrc_initiator: the server's is the target
    uint32_t mtu = 1024;
    base::Duration delay{1'000'000};
    LossPolicy loss = LossPolicy::go_back_n;
    uint32_t reorder_packets = 4096;
    uint32_t reorder_tolerance = 0;
    Delivery delivery = Delivery::ordered;
    PathSettings paths{};
    const RcccSettings* receiver_credit = nullptr;
    TimeoutSettings timeouts{};
    uint8_t ack_timeout = 14;
    uint8_t retry_count = 7;
    uint8_t rnr_retry = 7;
    uint8_t min_rnr_timer = 12;
    base::Duration rnr_patience{};
    uint8_t max_reads = 4;
    uint8_t max_incoming_reads = 4;
    uint32_t access = kRemoteWrite | kRemoteRead | kRemoteAtomic;
    uint32_t region_access = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic | kWindowBind;
    uint32_t queue_depth = 64;
    uint32_t receives = 16;         // posted at the server before the test begins
    uint32_t receive_bytes = 8192;  // of each
    uint32_t ack_every = 16;
    bool grants_credits = true;
    bool shared_receives = false;  // the server takes them from a shared queue
    Psn client_psn{0x10'0000};
    Psn server_psn{0x5a'0000};
    uint32_t cq_capacity = 1024;
    bool signal_all = false;
    wire::PKey pkey = wire::kDefaultPKey;
    uint8_t service_level = 0;
    uint32_t max_packets_outstanding = 1 << 15;
    uint32_t room_packets = 0;
    bool modelled = false;  // memory has no bytes: lengths are all that travels
    uint64_t region_bytes = 1 << 20;
    NotificationSettings notifications{};
    bool answers_apart = false;
};

inline constexpr QKey kPairQkey{0x1234};  // of datagrams, reliable or not

// A send request in short: data lies at `offset` of the sender's memory, and remote work goes to
// `remote_offset` of the peer's.
struct Post {
    Work work = Work::send;
    uint32_t length = 0;
    uint32_t offset = 0;
    uint64_t remote_offset = 0;
    uint8_t flags = kSignalled;
    uint32_t immediate = 0;
    uint64_t compare_or_add = 0;
    uint64_t swap = 0;
    uint64_t id = 0;
    std::optional<uint32_t> rkey{};  // the peer's region unless said
    std::optional<uint32_t> lkey{};  // one's own region unless said
    std::optional<WindowBinding> binding{};
    std::vector<Sge> sges{};  // instead of the one piece that `offset` and `length` name
    uint8_t flush_placement = 0;
    std::optional<DatagramTarget> datagram{};  // the peer's queue pair unless said
    std::optional<Qpn> from{};                 // one's own queue pair unless said
    std::optional<SrqId> srq{};                // XRC: the peer's shared queue unless said
    std::optional<Qpn> to{};                   // RD: instead of the peer's queue pair
    QKey qkey = kPairQkey;                     // RD
    std::optional<wire::EeContext> ee{};       // RD: one's own unless said
};

class Host {
public:
    Host(EndpointIndex endpoint, const PairOptions& options);

    // Connects to the peer and goes to RTS.
    void connect(const Host& peer, Psn receive_psn, Psn send_psn);
    Refusal post(const Post& post);
    Refusal post_receive(uint32_t offset, uint32_t length, uint64_t id = 0);
    // The receive of this number, in its place of the area for receives.
    Refusal post_receive_to(SrqId shared, uint64_t id, uint32_t length = kReceiveBytes);
    Refusal post_receive_to(Qpn own, uint64_t id, uint32_t length = kReceiveBytes);
    // The next completion, of the send or the receive queue; a test that asks for more than there
    // are fails.
    Completion completion();
    Completion receive_completion();
    size_t completions_waiting() const { return sends.size() + receives.size(); }
    const Counters& counters() const { return adapter.counters(); }
    const QueuePair& qp() { return *adapter.queue_pairs().find(qpn); }
    QpState state() { return qp().state; }
    // To another state, with these attributes besides it.
    Refusal go_to(QpState to, QpAttributes attributes = {}, uint32_t mask = 0);
    // One more queue pair, as the first one, in state RESET.
    Qpn create_qp();
    Qpn create_qp(const QpSetup& setup);
    QpSetup setup() const;
    // XRC: one more shared queue. RD: one more queue pair that sends and receives; the way there
    // from RESET; and the way of an EE context.
    SrqId create_xrc_srq(XrcDomainId domain);
    Qpn add_rd_qp(RdDomainId domain, QKey qkey = kPairQkey);
    void start_rd_qp(Qpn rd_qpn, QKey qkey = kPairQkey);
    void connect_ee(const Host& peer, Psn receive_psn, Psn send_psn);
    // A piece of this host's memory.
    Sge sge(uint32_t offset, uint32_t length) const { return {kBase + offset, length, key}; }
    uint64_t word(size_t offset) const;
    void set_word(size_t offset, uint64_t value);
    void drain();  // from the adapter's queues into the lists below
    std::vector<EventKind> events();

    static constexpr uint64_t kBase = 0x7000'0000;  // where the region begins for its keys
    static constexpr size_t kMemory = 1 << 20;
    static constexpr uint32_t kReceiveBytes = 8192;
    static std::byte pattern(size_t i, uint32_t host);

    EndpointIndex endpoint{};
    PairOptions options;
    Adapter adapter;
    std::vector<std::byte> memory;
    PdId pd{};
    CqId send_cq{};
    CqId receive_cq{};
    SrqId srq{};
    SrqId peer_srq{};
    XrcDomainId xrc_domain{};
    RdDomainId rd_domain{};
    wire::EeContext ee{};
    uint32_t key = 0;
    uint32_t peer_key = 0;
    Qpn qpn{};
    Qpn peer_qpn{};
    Lanes lanes = Lanes::open();
    std::deque<Completion> sends;
    std::deque<Completion> receives;
};

bool same_bytes(const Host& a, size_t a_offset, const Host& b, size_t b_offset, size_t length);

inline constexpr uint32_t kReceiveArea = 1 << 19;  // receives lie in the upper half of the memory

struct Sent {
    Packet packet;
    std::vector<std::byte> payload;
    EndpointIndex to{};
    Instant at{};
    uint8_t refusal = 0;  // the syndrome that its responder shall answer with

    wire::Operation operation() const {
        return wire::operation_of(static_cast<uint8_t>(packet.opcode));
    }
};

// What happens to packets on the way; those from the client and from the server are counted
// together, from 1, in the order in which they are sent.
class Wire {
public:
    // The nth packet of this operation, counted from 1.
    struct Nth {
        wire::Operation operation;
        uint64_t n = 1;
    };
    void drop(wire::Operation operation, uint64_t n = 1) { lost_.push_back({operation, n}); }
    void repeat(wire::Operation operation, uint64_t n = 1) { doubled_.push_back({operation, n}); }
    void delay(wire::Operation operation, uint64_t n, base::Duration by) {
        late_.push_back({{operation, n}, by});
    }
    // The responder refuses it, whatever it is.
    void refuse(wire::Operation operation, uint64_t n, uint8_t syndrome) {
        refused_.push_back({{operation, n}, syndrome});
    }
    void drop_nth(uint64_t n) { drop_.push_back(n); }
    void double_nth(uint64_t n) { double_.push_back(n); }
    void delay_nth(uint64_t n, base::Duration by) { delay_.push_back({n, by}); }
    void drop_if(std::function<bool(const Packet&)> condition) {
        condition_ = std::move(condition);
    }

    // What the network does to each packet that arrives.
    void change(std::function<void(Packet&)> change) { change_ = std::move(change); }

    uint64_t count(wire::Operation operation) const;
    uint64_t count_to(EndpointIndex endpoint) const;
    // The nth packet of this operation that was sent; a test that asks for one too many fails.
    const Sent& find(wire::Operation operation, uint64_t n = 1) const;

    std::vector<Sent> log;  // all that was sent, lost packets too

private:
    friend class Pair;
    bool is_newest(const Nth& nth) const;
    bool loses() const;
    bool doubles() const;
    base::Duration delays() const;
    uint8_t refusal() const;

    std::vector<Nth> lost_;
    std::vector<Nth> doubled_;
    std::vector<std::pair<Nth, base::Duration>> late_;
    std::vector<std::pair<Nth, uint8_t>> refused_;
    std::vector<uint64_t> drop_;
    std::vector<uint64_t> double_;
    std::vector<std::pair<uint64_t, base::Duration>> delay_;
    std::function<bool(const Packet&)> condition_;
    std::function<void(Packet&)> change_;
};

class Pair {
public:
    explicit Pair(const PairOptions& options = {}) : Pair(options, options) {}
    Pair(const PairOptions& client_options, const PairOptions& server_options);

    // Until nothing is on the way and nobody waits for anything, or until that much time passed.
    void run(base::Duration at_most = base::Duration{100'000'000'000'000});
    // A packet that nobody sent, for the host with this address.
    void inject(const Packet& packet, EndpointIndex to);
    // A packet as the peer of this host would send it now, to be made wrong and injected.
    Packet forged(Host& to, wire::Operation operation, Psn psn, uint32_t length = 0);
    // One more initiator and target of XRC, connected.
    struct Connection {
        Qpn initiator;
        Qpn target;
    };
    Connection connect_xrc(XrcDomainId domain, PdId target_pd);
    Host& host(EndpointIndex endpoint) { return endpoint == client.endpoint ? client : server; }

    Instant now{};
    Wire wire;
    Host client;
    Host server;

private:
    static PairOptions of_server(PairOptions options);
    void connect();

    struct Flying {
        Instant at;
        uint64_t order;
        size_t index;  // into wire.log
        bool operator<(const Flying& other) const {
            return at != other.at ? at > other.at : order > other.order;
        }
    };
    void send_all(Host& host);
    void launch(size_t index, base::Duration extra);
    void deliver(const Sent& sent);

    base::Duration delay_;
    std::priority_queue<Flying> flying_;
    uint64_t order_ = 0;
};

// A type-2 window of the server over [offset, offset + length), bound by its send queue.
inline constexpr uint32_t kNewVariant = 0x5a;  // the last byte of its key
uint32_t bind_window(Pair& pair, uint64_t offset, uint64_t length, uint32_t access);

}  // namespace tulle::transport
