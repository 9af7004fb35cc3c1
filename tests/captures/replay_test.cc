// Our engine against the kernel's, without a kernel: what the kernel's requester sent is fed to our
// responder, whose answers must be those that the kernel's responder gave; and the other way round,
// our requester does the same operations, is fed the kernel's answers, and must send the same
// requests and come to the same completions.
//
// Keys, queue pair numbers and addresses are those of the capture wherever a user can choose them;
// the rest is translated in the packets before they are fed.
//
// Differences that are meant:
//   - Which packets ask for an ACK is each requester's choice beyond the last of a message; it is
//   not
//     compared.
//   - A receive that is too short: the kernel completes it as "local QP operation error" without a
//     length and answers "remote operational error"; ours is a "local length error" and "invalid
//     request", as the specification has it (IBTA vol 1, table 58 and 11.6.2) and adapters do. The
//     kernel means the same, it has a case for it, but a check before it takes the receive for a
//     malformed one.
//   - Flags of receive completions: the kernel sets the GRH flag for connected services too.
//
// rc-corrupt-netem is replayed as far as it is determined: damaged packets are dropped, and what
// our responder says to the others is, each thing taken once, what the kernel said. Not determined
// is
//   - how often it is said: the kernel answers a request that comes twice while it is busy once;
//   - when, among the answers to other requests;
//   - what the first response to a READ is called that is asked for again from its middle: the
//     kernel goes on with "middle", ours begins anew with "first" (IBTA vol 1, 9.7.5.2);
//   - which requests go again, and when, which is a matter of the kernel's timers: it is not
//   replayed
//     to our requester.
//
// Not replayed on the requester's side either: rc-pipeline, whose operations are not listed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <set>
#include <string>
#include <tuple>

#include "capture.h"
#include "transport/adapter.h"
#include "wire/syndrome.h"

namespace tulle::transport {
namespace {

using wire::Operation;

constexpr uint32_t kServerMemory = 1 << 17;
constexpr uint32_t kReceiveBytes = 1 << 16;
constexpr uint64_t kReceiveBase = 0x1000'0000;
constexpr uint64_t kClientBase = 0x2000'0000;
constexpr EndpointIndex kClient{1};
constexpr EndpointIndex kServer{2};
constexpr uint8_t kRnrTimer = 12;  // 0.64 ms

// One line "op ..." of a .client.txt.
struct Op {
    Work work = Work::send;
    uint32_t length = 0;
    uint64_t remote_offset = 0;
    uint32_t immediate = 0;
    int status = 0;
    uint64_t original = 0;
};

// One line "recv wc ..." of a .server.txt.
struct Received {
    int kind = 0;
    int status = 0;
    uint32_t length = 0;
    uint32_t flags = 0;
    uint32_t immediate = 0;
};

// One connection of a capture.
struct Case {
    std::string name;
    uint32_t client_qpn = 0;
    uint32_t server_qpn = 0;
    uint32_t rkey = 0;
    uint64_t address = 0;     // of the server's memory
    uint32_t window_key = 0;  // of the window that the server bound, if it did
    std::vector<Op> ops;
    std::vector<Received> received;
};

struct Replayed {
    Packet packet;
    std::vector<std::byte> payload;
    bool request = false;
    bool damaged = false;
};

void read_client(const std::filesystem::path& path, std::vector<Case>& cases) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        char name[64];
        Case c;
        unsigned long long address = 0;
        if (std::sscanf(line.c_str(),
                        "CASE %63s local qpn %x psn %*x rkey %*x addr %*x | remote qpn %x psn %*x "
                        "rkey %x rorkey %*x addr %llx",
                        name, &c.client_qpn, &c.server_qpn, &c.rkey, &address) == 5) {
            c.name = name;
            c.address = address;
            cases.push_back(c);
        }
        Op op;
        unsigned work = 0;
        unsigned long long offset = 0;
        unsigned long long original = 0;
        if (std::sscanf(line.c_str(), " op %*u opcode %u len %u roff %llx imm %x status %d", &work,
                        &op.length, &offset, &op.immediate, &op.status) == 5) {
            op.work = static_cast<Work>(work);
            op.remote_offset = offset;
            if (const size_t at = line.find("orig "); at != std::string::npos)
                std::sscanf(line.c_str() + at, "orig %llx", &original);
            op.original = original;
            cases.back().ops.push_back(op);
        } else if (std::sscanf(line.c_str(), " op %*u UD len %u status %d", &op.length,
                               &op.status) == 2) {
            cases.back().ops.push_back(op);
        }
    }
}

void read_server(const std::filesystem::path& path, std::vector<Case>& cases) {
    std::ifstream file(path);
    size_t index = 0;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("CASE")) ++index;
        if (index == 0) continue;
        Received wc;
        Case& c = cases[index - 1];
        std::sscanf(line.c_str(), " bind_mw status 0 rkey %x", &c.window_key);
        if (std::sscanf(line.c_str(),
                        " recv wc op %d status %d (%*[^)]) len %u flags %u imm/inv %x", &wc.kind,
                        &wc.status, &wc.length, &wc.flags, &wc.immediate) == 5)
            c.received.push_back(wc);
    }
}

std::vector<Case> read_cases(const std::string& name) {
    const std::filesystem::path folder = TULLE_CAPTURES;
    std::vector<Case> cases;
    read_client(folder / (name + ".client.txt"), cases);
    read_server(folder / (name + ".server.txt"), cases);
    return cases;
}

bool is_from_client(const wire::Frame& frame) {
    return frame.network == wire::NetworkHeader::ipv4 ? frame.ipv4.source.bytes[3] == 2
                                                      : frame.grh.source.bytes[15] == 2;
}

// The packets of one connection, in the order in which they were captured.
std::vector<Replayed> packets_of_case(const std::string& name, const Case& c) {
    std::vector<Replayed> packets;
    const auto path = std::filesystem::path(TULLE_CAPTURES) / (name + ".pcap");
    for (const wire::Captured& bytes : wire::read_capture(path)) {
        const wire::Frame frame = wire::parse_frame(wire::LinkLayer::ethernet, bytes);
        Replayed replayed;
        replayed.packet = wire::packet_of(frame);
        replayed.payload.assign(frame.payload.begin(), frame.payload.end());
        replayed.request = is_from_client(frame);
        replayed.damaged = frame.icrc.value != wire::expected_icrc(frame, bytes);
        const uint32_t qpn = replayed.request ? c.server_qpn : c.client_qpn;
        if (replayed.packet.dest_qp().value == qpn) packets.push_back(std::move(replayed));
    }
    return packets;
}

QpType type_of(const Packet& packet) {
    switch (wire::service_of(static_cast<uint8_t>(packet.opcode))) {
        case wire::Service::uc: return QpType::uc;
        case wire::Service::ud: return QpType::ud;
        default: return QpType::rc;
    }
}

std::byte payload_byte(size_t operation, size_t i) {
    return static_cast<std::byte>(operation * 16 + i * 7 + (i >> 8));
}

// An adapter with one queue pair in RTS, as the programs that were captured had it.
class Engine {
public:
    Engine(EndpointIndex own, EndpointIndex peer, const Case& c, const Packet& sample, uint32_t mtu)
        : adapter({.endpoint = own, .seed = 3, .grants_credits = false}), peer_(peer) {
        pd = adapter.memory().create_pd();
        send_cq = adapter.completions().create(64);
        receive_cq = adapter.completions().create(256);
        QpSetup setup{
            .type = type_of(sample), .pd = pd, .send_cq = send_cq, .receive_cq = receive_cq};
        setup.receive_requests = 128;
        qpn = *adapter.queue_pairs().create(setup);
        const bool is_server = own == kServer;
        attributes_.address = {.endpoint = peer, .ack_timeout = 14};
        attributes_.access = kRemoteWrite | kRemoteAtomic | (c.name == "noread" ? 0u : kRemoteRead);
        attributes_.path_mtu = mtu;
        attributes_.min_rnr_timer = kRnrTimer;
        attributes_.max_reads = attributes_.max_incoming_reads = 16;
        attributes_.retry_count = 2;
        attributes_.rnr_retry = c.name == "rnr_exhaust" ? 1 : 7;
        attributes_.dest_qpn = Qpn{is_server ? c.client_qpn : c.server_qpn};
        attributes_.receive_psn = Psn{is_server ? 0x10'0000u : 0x5a'0000u};
        attributes_.send_psn = Psn{is_server ? 0x5a'0000u : 0x10'0000u};
        attributes_.qkey = sample.extended.send.qkey;
        connect(setup.type);
    }

    std::optional<Replayed> poll() {
        Packet packet;
        if (!adapter.poll_transmit(now, Lanes::open(), packet)) return std::nullopt;
        Replayed replayed{packet, {}};
        if (packet.payload_length != 0)
            replayed.payload.assign(packet.payload.address(),
                                    packet.payload.address() + packet.payload_length);
        return replayed;
    }

    void feed(const Replayed& replayed) {
        Packet packet = replayed.packet;
        packet.set_dest_qp(qpn);
        packet.source = peer_.value & 0xff'ffff;
        packet.payload = {};
        if (!replayed.payload.empty())
            packet.payload = wire::Payload::memory(replayed.payload.data());
        adapter.on_packet(now, packet);
    }

    std::optional<Completion> completion(CqId cq) {
        Completion completion;
        if (adapter.completions().poll(cq, {&completion, 1}) == 0) return std::nullopt;
        return completion;
    }

    // Lets time pass until something is due; false if nothing ever will be.
    bool wait() {
        if (adapter.next_deadline() == Instant::never()) return false;
        now = std::max(now, adapter.next_deadline());
        adapter.on_timer(now);
        return true;
    }

    Adapter adapter;
    PdId pd{};
    CqId send_cq{};
    CqId receive_cq{};
    Qpn qpn{};
    Instant now{};

private:
    void connect(QpType type) {
        const bool datagram = type == QpType::ud;
        const bool reliable = type == QpType::rc;
        step(QpState::init, kPkeyIndex | kPort | (datagram ? kQkey : kAccessFlags));
        uint32_t to_rtr = datagram ? 0u : kAddress | kPathMtu | kDestQpn | kReceivePsn;
        if (reliable) to_rtr |= kMaxIncomingReads | kMinRnrTimer;
        step(QpState::rtr, to_rtr);
        step(QpState::rts,
             kSendPsn | (reliable ? kTimeout | kRetryCount | kRnrRetry | kMaxReads : 0u));
    }

    void step(QpState state, uint32_t mask) {
        attributes_.state = state;
        EXPECT_EQ(adapter.queue_pairs().modify(qpn, attributes_, mask | kState), Refusal::none);
    }

    EndpointIndex peer_;
    QpAttributes attributes_;
};

// The responder's side.
class Responder {
public:
    Responder(const Case& c, const Packet& sample, uint32_t mtu)
        : engine(kServer, kClient, c, sample, mtu),
          memory(kServerMemory),
          receives(kReceiveBytes),
          case_(c) {
        for (size_t i = 0; i < 65536; ++i)
            memory[i] = static_cast<std::byte>(0xa0 + i * 3 + (i >> 8));
        const uint64_t word = 0x1122334455667788;
        std::memcpy(memory.data() + 0x8000, &word, sizeof word);
        Memory& keys = engine.adapter.memory();
        const uint32_t rights = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;
        key_ = *keys.register_region(
            {engine.pd, c.address, kServerMemory, memory.data(), rights | kWindowBind});
        receive_key_ = *keys.register_region(
            {engine.pd, kReceiveBase, kReceiveBytes, receives.data(), kLocalWrite});
        if (c.window_key != 0) bind_window();
        const bool waits = c.name.starts_with("rnr");
        for (int i = 0; i < (waits ? 0 : 120); ++i) post_receive();
    }

    void post_receive() {
        const Sge sge{kReceiveBase, case_.name == "short" ? 16u : kReceiveBytes, receive_key_};
        EXPECT_EQ(engine.adapter.post_receive(engine.qpn, {0, std::span(&sge, 1)}), Refusal::none);
    }

    // The kernel's key where the packet has one becomes ours.
    Replayed translated(Replayed replayed) const {
        Packet& packet = replayed.packet;
        const uint16_t headers = wire::opcode_info(static_cast<uint8_t>(packet.opcode)).headers;
        const auto ours = [&](uint32_t key) {
            if (key == case_.rkey) return key_;
            return key == case_.window_key && key != 0 ? window_ : key;
        };
        if ((headers & wire::kAtomicEth) != 0)
            packet.extended.atomic.rkey.value = ours(packet.extended.atomic.rkey.value);
        else if ((headers & wire::kReth) != 0)
            packet.extended.rdma.rkey.value = ours(packet.extended.rdma.rkey.value);
        else if ((headers & wire::kIeth) != 0)
            packet.extended.send.immediate_or_rkey = ours(packet.extended.send.immediate_or_rkey);
        return replayed;
    }

    uint32_t window() const { return window_; }

    Engine engine;
    std::vector<std::byte> memory;
    std::vector<std::byte> receives;

private:
    void bind_window() {
        const uint32_t window =
            *engine.adapter.memory().create_window(engine.pd, WindowType::type2);
        window_ = (window & ~0xffu) | 0x42;
        SendRequest request;
        request.work = Work::bind_window;
        request.binding = {.window_rkey = window,
                           .new_rkey = window_,
                           .region_lkey = key_,
                           .address = case_.address,
                           .length = 4096,
                           .access = kRemoteWrite | kRemoteRead};
        EXPECT_EQ(engine.adapter.post_send(engine.qpn, request), Refusal::none);
        EXPECT_FALSE(engine.poll());
        EXPECT_EQ(engine.completion(engine.send_cq)->status, Status::success);
    }

    const Case& case_;
    uint32_t key_ = 0;
    uint32_t receive_key_ = 0;
    uint32_t window_ = 0;
};

// What the kernel should have answered (see the head of this file).
uint8_t meant_by(uint8_t syndrome, const Case& c) {
    const bool is_malformed =
        syndrome == wire::syndrome_of(wire::NakCode::remote_operational_error);
    return c.name == "short" && is_malformed ? wire::syndrome_of(wire::NakCode::invalid_request)
                                             : syndrome;
}

void expect_same_response(const Replayed& ours, const Replayed& kernels, const Case& c,
                          const std::string& where) {
    const Packet& a = ours.packet;
    const Packet& b = kernels.packet;
    EXPECT_EQ(wire::opcode_name(static_cast<uint8_t>(a.opcode)),
              wire::opcode_name(static_cast<uint8_t>(b.opcode)))
        << where;
    EXPECT_EQ(a.psn(), b.psn()) << where;
    EXPECT_EQ(a.dest_qp(), b.dest_qp()) << where;
    EXPECT_EQ(ours.payload, kernels.payload) << where;
    const uint16_t headers = wire::opcode_info(static_cast<uint8_t>(b.opcode)).headers;
    if ((headers & wire::kAeth) != 0) {
        EXPECT_EQ(a.extended.ack.msn, b.extended.ack.msn) << where;
        EXPECT_EQ(a.extended.ack.syndrome, meant_by(b.extended.ack.syndrome, c)) << where;
    }
    if ((headers & wire::kAtomicAckEth) != 0) {
        EXPECT_EQ(uint64_t{a.extended.ack.original}, uint64_t{b.extended.ack.original}) << where;
    }
}

// What the server's program saw.
void expect_same_receives(Responder& responder, const Case& c) {
    for (const Received& wc : c.received) {
        const auto ours = responder.engine.completion(responder.engine.receive_cq);
        ASSERT_TRUE(ours);
        if (c.name == "short" && wc.status != 0) {  // see the head of this file
            EXPECT_EQ(ours->status, Status::local_length_error);
            continue;
        }
        EXPECT_EQ(static_cast<int>(ours->status), wc.status);
        EXPECT_EQ(static_cast<int>(ours->kind), wc.kind);
        EXPECT_EQ(ours->byte_count, wc.length);
        if ((wc.flags & 2) != 0) {
            EXPECT_EQ(ours->immediate_or_rkey, wc.immediate);
        }
        if ((wc.flags & 4) != 0) {
            EXPECT_EQ(ours->immediate_or_rkey, responder.window());
        }
    }
}

uint32_t mtu_of(const std::string& name) {
    return name.find("mtu256") != std::string::npos ? 256 : 1024;
}

class ReplayToResponder : public ::testing::TestWithParam<const char*> {};
class ReplayToRequester : public ::testing::TestWithParam<const char*> {};

TEST_P(ReplayToResponder, our_responder_answers_the_kernels_requests_as_the_kernel_does) {
    const std::string name = GetParam();
    for (const Case& c : read_cases(name)) {
        SCOPED_TRACE(c.name);
        const std::vector<Replayed> packets = packets_of_case(name, c);
        ASSERT_FALSE(packets.empty());
        Responder responder(c, packets[0].packet, mtu_of(name));
        std::deque<Replayed> ours;
        size_t refused = 0;
        for (const Replayed& replayed : packets) {
            if (!replayed.request) continue;
            if (c.name == "rnr" && refused == 2) responder.post_receive();
            responder.engine.feed(responder.translated(replayed));
            while (auto answer = responder.engine.poll()) {
                refused += answer->packet.extended.ack.syndrome >> 5 == 1;
                ours.push_back(std::move(*answer));
            }
        }
        std::deque<Replayed> kernels;
        for (const Replayed& replayed : packets)
            if (!replayed.request) kernels.push_back(replayed);
        if (name == "rc-retry-exhaust") ours.clear();  // the kernel's server was gone
        ASSERT_EQ(ours.size(), kernels.size());
        for (size_t i = 0; i < ours.size(); ++i)
            expect_same_response(ours[i], kernels[i], c, "answer " + std::to_string(i));
        expect_same_receives(responder, c);
    }
}

// What an answer says, whatever it is called. Of a READ's response it is the data.
auto content_of(const Replayed& answer) {
    const Packet& packet = answer.packet;
    const uint16_t headers = wire::opcode_info(static_cast<uint8_t>(packet.opcode)).headers;
    const bool is_read = (headers & wire::kAeth) == 0 || !answer.payload.empty();
    const bool is_atomic = (headers & wire::kAtomicAckEth) != 0;
    const Packet::Ack& ack = packet.extended.ack;
    return std::make_tuple(packet.psn().value, is_read, is_read ? 0u : ack.msn,
                           is_read ? 0 : ack.syndrome, is_atomic ? uint64_t{ack.original} : 0,
                           answer.payload);
}

TEST(ReplayOfDamage, our_responder_says_to_what_came_whole_what_the_kernel_said) {
    const std::string name = "rc-corrupt-netem";
    const std::vector<Case> cases = read_cases(name);
    ASSERT_EQ(cases.size(), 1u);
    const std::vector<Replayed> packets = packets_of_case(name, cases[0]);
    Responder responder(cases[0], packets[0].packet, mtu_of(name));
    std::set<decltype(content_of(packets[0]))> ours;
    std::set<decltype(content_of(packets[0]))> kernels;
    size_t damaged = 0;
    for (const Replayed& replayed : packets) {
        damaged += replayed.damaged;
        if (replayed.damaged) continue;
        if (!replayed.request) {
            kernels.insert(content_of(replayed));
            continue;
        }
        responder.engine.feed(responder.translated(replayed));
        while (const auto answer = responder.engine.poll()) ours.insert(content_of(*answer));
    }
    EXPECT_EQ(damaged, 14u);
    EXPECT_EQ(ours, kernels);
    expect_same_receives(responder, cases[0]);
    EXPECT_FALSE(responder.engine.completion(responder.engine.receive_cq));
}

// The requester's side: the operations of the program, one after the other.
class Requester {
public:
    Requester(const Case& c, const std::vector<Replayed>& packets, uint32_t mtu)
        : engine(kClient, kServer, c, packets[0].packet, mtu),
          memory(1 << 16),
          case_(c),
          packets_(packets),
          mtu_(mtu) {
        key_ = *engine.adapter.memory().register_region(
            {engine.pd, kClientBase, memory.size(), memory.data(), kLocalWrite});
    }

    // Posts the next operation, if there is one and the last is done.
    bool post_next() {
        if (next_ == case_.ops.size() || under_way_) return false;
        const Op& op = case_.ops[next_];
        for (size_t i = 0; i < op.length; ++i) memory[i] = payload_byte(next_, i);
        SendRequest request;
        request.id = next_;
        request.work = op.work;
        const Sge sge{kClientBase, op.length, key_};
        if (op.length != 0) request.sges = std::span(&sge, 1);
        request.remote_address = case_.address + op.remote_offset;
        request.rkey = rkey_of(op);
        request.immediate = op.immediate;
        request.datagram = {.endpoint = kServer,
                            .qpn = Qpn{case_.server_qpn},
                            .qkey = packets_[0].packet.extended.send.qkey};
        set_what_is_not_listed(request, op);
        EXPECT_EQ(engine.adapter.post_send(engine.qpn, request), Refusal::none);
        under_way_ = true;
        return true;
    }

    void take_completion() {
        const auto completion = engine.completion(engine.send_cq);
        if (!completion) return;
        const Op& op = case_.ops[next_];
        EXPECT_EQ(completion->id, next_);
        EXPECT_EQ(static_cast<int>(completion->status), op.status) << next_;
        if (op.original != 0) {
            uint64_t word = 0;
            std::memcpy(&word, memory.data(), sizeof word);
            EXPECT_EQ(word, op.original);
        }
        if (case_.name == "read")
            for (size_t i = 0; i < op.length; ++i) {
                const size_t at = i + op.remote_offset;
                ASSERT_EQ(memory[i], static_cast<std::byte>(0xa0 + at * 3 + (at >> 8))) << i;
            }
        under_way_ = false;
        ++next_;
    }

    // The next request packet: of what is posted, or of what is posted next, or after a while.
    std::optional<Replayed> next_request() {
        for (int tries = 0; tries < 4; ++tries) {
            if (auto packet = engine.poll()) return packet;
            take_completion();
            if (!post_next() && !engine.wait()) return std::nullopt;
        }
        return std::nullopt;
    }

    bool is_done() const { return next_ == case_.ops.size(); }

    Engine engine;
    std::vector<std::byte> memory;

private:
    uint32_t rkey_of(const Op& op) const {
        if (case_.name == "badrkey") return 0xdead00;
        if (op.work == Work::send_with_invalidate) return op.immediate;
        return case_.name == "mwinv" ? case_.window_key : case_.rkey;
    }

    // The operands of an atomic, and the wish for a solicited event, are taken from the captured
    // packet, the last of the message.
    void set_what_is_not_listed(SendRequest& request, const Op& op) {
        const Psn first = engine.adapter.queue_pairs().find(engine.qpn)->requester.next_psn;
        const bool one = op.work == Work::read || op.length == 0;
        const Psn last = wire::psn_plus(first, one ? 0 : (op.length - 1) / mtu_);
        for (const Replayed& replayed : packets_) {
            const Packet& packet = replayed.packet;
            if (!replayed.request || packet.psn() != last) continue;
            if (packet.solicited_event) request.flags |= kSolicited;
            const Packet::Atomic& eth = packet.extended.atomic;
            if (op.work == Work::fetch_add) request.compare_or_add = eth.swap_or_add;
            if (op.work != Work::compare_swap) continue;
            request.compare_or_add = eth.compare;
            request.swap = eth.swap_or_add;
        }
    }

    const Case& case_;
    const std::vector<Replayed>& packets_;
    uint32_t mtu_;
    uint32_t key_ = 0;
    size_t next_ = 0;
    bool under_way_ = false;
};

void expect_same_request(const Replayed& ours, const Replayed& kernels, const std::string& where) {
    const Packet& a = ours.packet;
    const Packet& b = kernels.packet;
    EXPECT_EQ(wire::opcode_name(static_cast<uint8_t>(a.opcode)),
              wire::opcode_name(static_cast<uint8_t>(b.opcode)))
        << where;
    EXPECT_EQ(a.psn(), b.psn()) << where;
    EXPECT_EQ(a.dest_qp(), b.dest_qp()) << where;
    EXPECT_EQ(a.pkey, b.pkey) << where;
    EXPECT_EQ(a.solicited_event, b.solicited_event) << where;
    EXPECT_EQ(ours.payload, kernels.payload) << where;
    const uint16_t headers = wire::opcode_info(static_cast<uint8_t>(b.opcode)).headers;
    if ((headers & wire::kAtomicEth) != 0) {
        const Packet::Atomic& x = a.extended.atomic;
        const Packet::Atomic& y = b.extended.atomic;
        EXPECT_EQ(uint64_t{x.virtual_address}, uint64_t{y.virtual_address}) << where;
        EXPECT_EQ(uint64_t{x.swap_or_add}, uint64_t{y.swap_or_add}) << where;
        EXPECT_EQ(uint64_t{x.compare}, uint64_t{y.compare}) << where;
        EXPECT_EQ(x.rkey, y.rkey) << where;
    }
    if ((headers & wire::kReth) != 0) {
        const Packet::Rdma& x = a.extended.rdma;
        const Packet::Rdma& y = b.extended.rdma;
        EXPECT_EQ(uint64_t{x.virtual_address}, uint64_t{y.virtual_address}) << where;
        EXPECT_EQ(x.rkey, y.rkey) << where;
        EXPECT_EQ(x.dma_length, y.dma_length) << where;
        if ((headers & wire::kImmDt) != 0) {
            EXPECT_EQ(x.immediate_or_flush, y.immediate_or_flush) << where;
        }
    } else if ((headers & (wire::kImmDt | wire::kIeth)) != 0) {
        EXPECT_EQ(a.extended.send.immediate_or_rkey, b.extended.send.immediate_or_rkey) << where;
    }
    if ((headers & wire::kDeth) != 0) {
        EXPECT_EQ(a.extended.send.qkey, b.extended.send.qkey) << where;
    }
}

TEST_P(ReplayToRequester, our_requester_sends_what_the_kernel_sent_and_comes_to_the_same_end) {
    const std::string name = GetParam();
    for (const Case& c : read_cases(name)) {
        SCOPED_TRACE(c.name);
        const std::vector<Replayed> packets = packets_of_case(name, c);
        Requester requester(c, packets, mtu_of(name));
        size_t index = 0;
        for (const Replayed& kernels : packets) {
            ++index;
            if (!kernels.request) {
                requester.engine.feed(kernels);
                requester.take_completion();
                continue;
            }
            const auto ours = requester.next_request();
            ASSERT_TRUE(ours) << "nothing instead of packet " << index;
            expect_same_request(*ours, kernels, "packet " + std::to_string(index));
            if (::testing::Test::HasFailure()) return;
        }
        while (!requester.is_done() && requester.engine.wait()) {
            EXPECT_FALSE(requester.engine.poll());
            requester.take_completion();
        }
        requester.take_completion();
        EXPECT_TRUE(requester.is_done());
    }
}

std::string test_name(const ::testing::TestParamInfo<const char*>& capture) {
    std::string name = capture.param;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

const auto kCaptures =
    ::testing::Values("rc-send", "rc-send-imm", "rc-write", "rc-write-imm", "rc-read", "rc-atomic",
                      "rc-mw-sendinv", "rc-mtu256", "rc-nak-badrkey-write", "rc-nak-noread-access",
                      "rc-nak-recv-too-short", "rc-rnr-nak", "rc-rnr-exhaust", "rc-retry-exhaust",
                      "ipv6-rc-mix", "uc-send", "uc-write", "ud-send");

INSTANTIATE_TEST_SUITE_P(Kernel, ReplayToResponder, kCaptures, test_name);
INSTANTIATE_TEST_SUITE_P(KernelPipeline, ReplayToResponder, ::testing::Values("rc-pipeline"),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Kernel, ReplayToRequester, kCaptures, test_name);

}  // namespace
}  // namespace tulle::transport
