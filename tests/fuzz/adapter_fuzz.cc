// An adapter driven through its public calls by arbitrary bytes, packets of any peer among them: it
// never crashes, and no byte outside the registered region changes.
#include <algorithm>
#include <cstring>
#include <vector>

#include "transport/adapter.h"
#include "wire/packet.h"

namespace tulle::transport {
namespace {

constexpr uint64_t kBase = 0x10000;
constexpr size_t kRegion = 4096;
constexpr size_t kGuard = 1024;
constexpr std::byte kGuardByte{0xa5};

// Takes numbers off the front of the input; zeros once it is used up.
class Input {
public:
    explicit Input(wire::Bytes bytes) : rest_(bytes) {}

    bool empty() const { return rest_.empty(); }
    template <class T>
    T take() {
        T value{};
        const size_t count = std::min(sizeof value, rest_.size());
        std::memcpy(&value, rest_.data(), count);
        rest_ = rest_.subspan(count);
        return value;
    }

private:
    wire::Bytes rest_;
};

class Driver {
public:
    explicit Driver(wire::Bytes bytes)
        : input_(bytes), memory_(kRegion + 2 * kGuard, kGuardByte), adapter_(config()) {
        pd_ = adapter_.memory().create_pd();
        key_ = *adapter_.memory().register_region(
            {pd_, kBase, kRegion, memory_.data() + kGuard,
             kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic | kWindowBind});
        cq_ = adapter_.completions().create(64);
        for (const QpType type : {QpType::rc, QpType::uc, QpType::ud}) add(type);
    }

    void run() {
        for (int steps = 0; !input_.empty() && steps < 300; ++steps) step();
        check_guards();
    }

private:
    AdapterConfig config() {
        AdapterConfig config;
        config.endpoint = {1};
        config.loss =
            input_.take<uint8_t>() % 2 == 0 ? LossPolicy::go_back_n : LossPolicy::selective_repeat;
        config.reorder_packets = 16;
        return config;
    }

    void add(QpType type) {
        QpSetup setup{.type = type, .pd = pd_, .send_cq = cq_, .receive_cq = cq_};
        setup.send = {.requests = 8, .sges = 2, .inline_bytes = 16};
        setup.receive_requests = 8;
        setup.receive_sges = 2;
        qpns_.push_back(*adapter_.queue_pairs().create(setup));
        connect(qpns_.back(), type);
    }

    void connect(Qpn qpn, QpType type) {
        QpAttributes attributes;
        attributes.access = kRemoteWrite | kRemoteRead | kRemoteAtomic;
        attributes.address = {.endpoint = {2}, .ack_timeout = 5};
        attributes.path_mtu = 256;
        attributes.dest_qpn = {17};
        attributes.max_reads = attributes.max_incoming_reads = 2;
        attributes.retry_count = attributes.rnr_retry = 2;
        const auto step = [&](QpState state, uint32_t mask) {
            attributes.state = state;
            adapter_.queue_pairs().modify(qpn, attributes, mask | kState);
        };
        const bool ud = type == QpType::ud;
        const bool rc = type == QpType::rc;
        step(QpState::init, kPkeyIndex | kPort | (ud ? kQkey : kAccessFlags));
        step(QpState::rtr, (ud ? 0u : kAddress | kPathMtu | kDestQpn | kReceivePsn) |
                               (rc ? kMaxIncomingReads | kMinRnrTimer : 0u));
        step(QpState::rts, kSendPsn | (rc ? kTimeout | kRetryCount | kRnrRetry | kMaxReads : 0u));
    }

    Qpn any_qpn() { return qpns_[input_.take<uint8_t>() % qpns_.size()]; }
    uint32_t any_key() { return input_.take<uint8_t>() % 8 != 0 ? key_ : input_.take<uint32_t>(); }
    uint64_t any_address() { return kBase - 64 + input_.take<uint16_t>() % (kRegion + 128); }

    void step() {
        switch (input_.take<uint8_t>() % 8) {
            case 0: return post_send();
            case 1: return post_receive();
            case 2: return advance();
            case 3: return poll();
            case 4: return modify();
            default: return receive();
        }
    }

    void post_send() {
        const Sge sge{any_address(), input_.take<uint16_t>() % 2048u, any_key()};
        SendRequest request;
        request.work = static_cast<Work>(input_.take<uint8_t>() % 16);
        request.flags = input_.take<uint8_t>() & 0x0f;
        request.sges = std::span(&sge, 1);
        request.remote_address = any_address();
        request.rkey = any_key();
        request.datagram = {.endpoint = {2}, .qpn = {17}};
        adapter_.post_send(any_qpn(), request);
    }

    void post_receive() {
        const Sge sge{any_address(), input_.take<uint16_t>() % 2048u, any_key()};
        adapter_.post_receive(any_qpn(), {0, std::span(&sge, 1)});
    }

    void advance() {
        now_.ps += input_.take<uint32_t>();
        adapter_.on_timer(now_);
    }

    void poll() {
        Packet packet;
        for (int i = 0; i < 64 && adapter_.poll_transmit(now_, Lanes::open(), packet); ++i) {
            if (packet.payload.is_modelled() || packet.payload_length == 0) continue;
            // Whatever is sent may be read.
            volatile std::byte last = packet.payload.address()[packet.payload_length - 1];
            static_cast<void>(last);
        }
        std::array<Completion, 16> completions;
        while (adapter_.completions().poll(cq_, completions) != 0) {
        }
        while (adapter_.poll_event()) {
        }
    }

    void modify() {
        QpAttributes attributes;
        attributes.state = static_cast<QpState>(input_.take<uint8_t>() % 7);
        attributes.path_mtu = 256;
        adapter_.queue_pairs().modify(any_qpn(), attributes, kState | input_.take<uint32_t>());
    }

    // A packet of the peer or of anybody else, every field as the input has it.
    void receive() {
        Packet packet;
        packet.source = input_.take<uint8_t>() % 8 != 0 ? 2 : 3;
        packet.set_dest_qp(input_.take<uint8_t>() % 16 != 0 ? any_qpn() : Qpn{0xff'ffff});
        packet.opcode = input_.take<uint8_t>();
        packet.set_psn(Psn{static_cast<uint32_t>(input_.take<int8_t>())});
        packet.ack_request = input_.take<uint8_t>() % 2;
        for (uint8_t& byte : std::span(extended_)) byte = input_.take<uint8_t>();
        std::memcpy(&packet.extended, extended_.data(), extended_.size());
        if (input_.take<uint8_t>() % 4 != 0) {
            packet.extended.rdma.virtual_address = any_address();
            packet.extended.rdma.rkey.value = any_key();
            packet.extended.rdma.dma_length = input_.take<uint16_t>() % 2048;
        }
        packet.payload_length =
            input_.take<uint8_t>() % 4 == 0 ? input_.take<uint16_t>() % 600 : 256;
        packet.payload = wire::Payload::memory(payload_.data());
        adapter_.on_packet(now_, packet);
    }

    void check_guards() const {
        const auto is_guard = [](std::byte byte) { return byte == kGuardByte; };
        TULLE_CHECK(std::all_of(memory_.begin(), memory_.begin() + kGuard, is_guard));
        TULLE_CHECK(std::all_of(memory_.end() - kGuard, memory_.end(), is_guard));
    }

    Input input_;
    std::vector<std::byte> memory_;
    std::vector<std::byte> payload_ = std::vector<std::byte>(1024, std::byte{0x11});
    std::array<uint8_t, sizeof(Packet::Extended)> extended_{};
    Adapter adapter_;
    Instant now_{};
    PdId pd_;
    uint32_t key_ = 0;
    CqId cq_;
    std::vector<Qpn> qpns_;
};

}  // namespace
}  // namespace tulle::transport

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace tulle::transport;
    Driver(std::as_bytes(std::span(data, size))).run();
    return 0;
}
