// Any bytes through a socket: datagrams of UDP port 4791, read, checked and given to an adapter
// with queue pairs that are connected to their sender. It never crashes, and no byte outside the
// registered region changes.
//
// The input is a list of datagrams: a byte with flags, one with the length in units of four bytes,
// and the bytes from the BTH on. A flag has the ICRC put right, so that what stands behind that
// check is reached; another one names a queue pair that is there.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "live/udp_path.h"
#include "transport/adapter.h"
#include "wire/packet.h"

namespace tulle::live {
namespace {

using namespace transport;

constexpr uint64_t kBase = 0x10000;
constexpr size_t kRegion = 4096;
constexpr size_t kGuard = 1024;
constexpr std::byte kGuardByte{0xa5};
constexpr size_t kEthernet = 14;
constexpr size_t kEnvelope = wire::Ipv4::kSize + wire::Udp::kSize;
constexpr uint8_t kIsSealed = 1, kNamesQueuePair = 2, kNamesMemory = 4;

UdpAddress address_of(uint8_t host) {
    const auto process = static_cast<uint8_t>(getpid() % 250 + 1);
    UdpAddress address;
    address.gid = wire::gid_of(wire::Ipv4Address{{127, process, 77, host}});
    return address;
}

std::unique_ptr<UdpPath> open(uint8_t host) {
    auto opened = UdpPath::open({address_of(host)});
    TULLE_CHECK(opened.ok());
    return std::move(*opened);
}

class Driver {
public:
    Driver() : memory_(kRegion + 2 * kGuard, kGuardByte), adapter_(AdapterConfig{}) {
        pd_ = adapter_.memory().create_pd();
        key_ = *adapter_.memory().register_region(
            {pd_, kBase, kRegion, memory_.data() + kGuard,
             kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic});
        cq_ = adapter_.completions().create(64);
        for (const QpType type : {QpType::rc, QpType::uc, QpType::ud}) add(type);
    }

    void run(UdpPath& from, UdpPath& to, wire::Bytes input) {
        while (input.size() >= 2) {
            const auto flags = std::to_integer<uint8_t>(input[0]);
            const size_t wanted = std::to_integer<size_t>(input[1]) * 4;
            input = input.subspan(2);
            const size_t length = std::min(wanted, input.size());
            send(from, flags, {input.begin(), input.begin() + static_cast<ptrdiff_t>(length)});
            input = input.subspan(length);
            receive(to);
        }
        const auto is_guard = [](std::byte byte) { return byte == kGuardByte; };
        TULLE_CHECK(std::all_of(memory_.begin(), memory_.begin() + kGuard, is_guard));
        TULLE_CHECK(std::all_of(memory_.end() - kGuard, memory_.end(), is_guard));
    }

private:
    void add(QpType type) {
        QpSetup setup{.type = type, .pd = pd_, .send_cq = cq_, .receive_cq = cq_};
        const Qpn qpn = *adapter_.queue_pairs().create(setup);
        QpAttributes attributes;
        attributes.access = kRemoteWrite | kRemoteRead | kRemoteAtomic;
        attributes.address = {.endpoint = {2}};
        attributes.path_mtu = 256;
        attributes.dest_qpn = {17};
        const auto step = [&](QpState state, uint32_t mask) {
            attributes.state = state;
            (void)adapter_.queue_pairs().modify(qpn, attributes, mask | kState);
        };
        const bool ud = type == QpType::ud;
        const bool rc = type == QpType::rc;
        step(QpState::init, kPkeyIndex | kPort | (ud ? kQkey : kAccessFlags));
        step(QpState::rtr, (ud ? 0u : kAddress | kPathMtu | kDestQpn | kReceivePsn) |
                               (rc ? kMaxIncomingReads | kMinRnrTimer : 0u));
        const Sge sge{kBase, 512, key_};
        (void)adapter_.post_receive(qpn, {0, std::span(&sge, 1)});
        qpns_.push_back(qpn);
    }

    void send(UdpPath& from, uint8_t flags, std::vector<std::byte> body) {
        if (body.empty()) return;
        if ((flags & kNamesQueuePair) != 0 && body.size() >= wire::Bth::kSize) {
            const uint32_t qpn = qpns_[flags / 8 % qpns_.size()].value;
            for (size_t i = 0; i < 3; ++i)
                body[5 + i] = static_cast<std::byte>(qpn >> (16 - 8 * i));
        }
        if ((flags & kNamesMemory) != 0 && body.size() >= wire::Bth::kSize + wire::Reth::kSize)
            for (size_t i = 0; i < 4; ++i)
                body[wire::Bth::kSize + 8 + i] = static_cast<std::byte>(key_ >> (24 - 8 * i));
        const wire::Gid own = address_of(2).gid;
        const wire::Gid them = address_of(1).gid;
        if ((flags & kIsSealed) == 0 || body.size() < wire::Bth::kSize) {
            const auto place = from.sockets().reserve({own, them, 0, 0, body.size()});
            if (!place.bytes.empty()) std::ranges::copy(body, place.bytes.begin());
        } else {
            // A frame that is good stays good, whatever the headers before it.
            std::vector<std::byte> frame(kEthernet + kEnvelope);
            frame.insert(frame.end(), body.begin(), body.end());
            const uint32_t icrc =
                wire::icrc(wire::Encapsulation::roce_v2_ipv4, std::span(frame).subspan(kEthernet));
            const auto tail = std::as_bytes(std::span(&icrc, 1));
            frame.insert(frame.end(), tail.begin(), tail.end());
            from.send_frame(own, them, frame);
        }
        from.sockets().flush();
    }

    void receive(UdpPath& to) {
        pollfd wait{to.sockets().files()[0], POLLIN, 0};
        poll(&wait, 1, 20);
        const auto take = [&](const UdpArrival& arrival) {
            auto packet = to.read(arrival);
            if (!packet) return adapter_.on_damaged_packet();
            packet->source = 2;
            adapter_.on_packet(now_, *packet);
            now_.ps += 1'000'000;
        };
        while (to.sockets().receive(take)) continue;
        Packet packet;
        for (int i = 0; i < 64 && adapter_.poll_transmit(now_, Lanes::open(), packet); ++i)
            continue;
        std::array<Completion, 16> completions;
        while (adapter_.completions().poll(cq_, completions) != 0) continue;
        while (adapter_.poll_event()) continue;
    }

    std::vector<std::byte> memory_;
    Adapter adapter_;
    base::Instant now_{};
    PdId pd_;
    uint32_t key_ = 0;
    CqId cq_;
    std::vector<Qpn> qpns_;
};

}  // namespace
}  // namespace tulle::live

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace tulle::live;
    static const auto to = open(1);
    static const auto from = open(2);
    Driver().run(*from, *to, std::as_bytes(std::span(data, size)));
    return 0;
}
