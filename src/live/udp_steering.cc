// Decides to which process of the machine the kernel gives a datagram; see udp_neighbours.h.
#include <linux/filter.h>

#include <algorithm>
#include <cstring>

#include "live/board.h"
#include "live/management_layout.h"
#include "live/udp_sockets.h"
#include "wire/packet.h"
#include "wire/transport_headers.h"

namespace tulle::live {
namespace {

// A probe is shorter than any packet of RoCE, and begins with an unused opcode.
constexpr std::array<uint8_t, 7> kProbe = {0xff, 't', 'u', 'l', 'l', 'e', 0};
constexpr size_t kProbeBytes = kProbe.size() + 1;
// A greeting begins like a probe, so that the steering program gives it to the place that it names.
// It goes to strangers. If a datagram is shorter than a base transport header, Linux (6.1 at least)
// drops it with a queue pair that it has not looked up, and panics over IPv6. So a greeting is not
// shorter.
constexpr size_t kGreetingBytes = kProbe.size() + 5;
static_assert(kGreetingBytes >= wire::Bth::kSize);
static_assert(kGreetingBytes < wire::Bth::kSize + wire::kIcrcSize);

constexpr uint32_t kNoPlace = UINT32_MAX;  // the kernel chooses by a hash
constexpr uint32_t kQueuePairMask = 0xff'ffff;

sock_filter instruction(int code, uint32_t value, uint8_t if_so = 0, uint8_t if_not = 0) {
    return {static_cast<uint16_t>(code), if_so, if_not, value};
}

using Program = std::vector<sock_filter>;

void give_if(Program& program, uint32_t value, uint32_t place) {
    program.push_back(instruction(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    program.push_back(instruction(BPF_RET | BPF_K, place));
}

// Adds the code for messages of the connection manager, with the same offsets as in UdpNeighbours.
// For messages that are not requests, the slot of the named ID is then in the register, and the
// program continues after this code.
void add_management(Program& program, std::span<const UdpSockets::PortSteering> ports) {
    constexpr uint32_t kMessage = wire::Bth::kSize + wire::Deth::kSize;
    // A request is for its port, and skips the instructions for other messages.
    program.push_back(instruction(BPF_LD | BPF_H | BPF_ABS, kMessage + management::kAttributeAt));
    program.push_back(instruction(BPF_JMP | BPF_JEQ | BPF_K, management::kConnectRequest, 7));
    program.push_back(instruction(BPF_JMP | BPF_JEQ | BPF_K, management::kServiceRequest, 6));
    program.push_back(instruction(BPF_JMP | BPF_JEQ | BPF_K, management::kServiceReply, 0, 2));
    program.push_back(instruction(BPF_LD | BPF_B | BPF_ABS, kMessage + management::kFirstIdAt));
    program.push_back(instruction(BPF_JMP | BPF_JA, 1));
    program.push_back(instruction(BPF_LD | BPF_B | BPF_ABS, kMessage + management::kSecondIdAt));
    program.push_back(instruction(BPF_ALU | BPF_LSH | BPF_K, kSlotShift));
    const auto request_bytes = static_cast<uint32_t>(2 * ports.size() + 2);
    program.push_back(instruction(BPF_JMP | BPF_JA, request_bytes));
    program.push_back(instruction(BPF_LD | BPF_W | BPF_ABS, kMessage + management::kServiceAt + 4));
    for (const auto& one : ports) give_if(program, management::kIpService | one.port, one.place);
    program.push_back(instruction(BPF_RET | BPF_K, kNoPlace));
}

}  // namespace

// The program sees the bytes after the UDP header. It reads words most significant byte first: the
// one at 4 is the BTH's reserved byte and the number of the queue pair.
void UdpSockets::steer(const wire::Gid& address, std::span<const Steering> slots,
                       std::span<const PortSteering> ports) {
    const auto all = own_receivers();
    const auto own =
        std::ranges::find_if(all, [&](const Receiver& one) { return one.address.gid == address; });
    if (own == all.end()) return;
    constexpr size_t kMostPorts = 1024;  // chosen: a program has 4,096 instructions
    Program management;
    add_management(management, ports.first(std::min(ports.size(), kMostPorts)));
    Program program = {
        instruction(BPF_LD | BPF_B | BPF_ABS, 0),
        instruction(BPF_JMP | BPF_JEQ | BPF_K, kProbe[0], 0, 2),
        instruction(BPF_LD | BPF_B | BPF_ABS, kProbe.size()),
        instruction(BPF_RET | BPF_A, 0),
        instruction(BPF_LD | BPF_W | BPF_ABS, 4),
        instruction(BPF_ALU | BPF_AND | BPF_K, kQueuePairMask),
        instruction(BPF_JMP | BPF_JEQ | BPF_K, management::kQueuePair, 2),
        instruction(BPF_ALU | BPF_AND | BPF_K, kSlotMask),
        instruction(BPF_JMP | BPF_JA, static_cast<uint32_t>(management.size())),
    };
    program.insert(program.end(), management.begin(), management.end());
    for (const Steering& one : slots) give_if(program, one.slot << kSlotShift, one.place);
    program.push_back(instruction(BPF_RET | BPF_K, kNoPlace));
    const sock_fprog filter{static_cast<uint16_t>(program.size()), program.data()};
    setsockopt(own->socket.get(), SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &filter, sizeof filter);
}

// Probes only work with a program, so one that knows no place is set first. All processes that
// share the port have the same program.
void UdpSockets::probe(uint32_t places) {
    for (const Receiver& receiver : own_receivers()) {
        const wire::Gid& address = receiver.address.gid;
        if (!is_steered_) steer(address, {});
        for (uint32_t place = 0; place < std::min(places, 256u); ++place) {
            std::array<std::byte, kProbeBytes> bytes{};
            std::memcpy(bytes.data(), kProbe.data(), kProbe.size());
            bytes[kProbe.size()] = static_cast<std::byte>(place);
            const Place to = reserve({address, address, 0, 0, bytes.size()});
            if (!to.bytes.empty()) std::ranges::copy(bytes, to.bytes.begin());
            flush();  // one by one: two that are sent together would arrive together
        }
    }
    is_steered_ = true;
}

std::optional<uint32_t> UdpSockets::place_in_probe(const UdpArrival& arrival) {
    if (arrival.body.size() != kProbeBytes || arrival.source != arrival.destination ||
        std::memcmp(arrival.body.data(), kProbe.data(), kProbe.size()) != 0)
        return std::nullopt;
    return std::to_integer<uint32_t>(arrival.body.back());
}

void UdpSockets::greet(const wire::Gid& from, const wire::Gid& to, const Greeting& greeting) {
    const Place room = reserve({from, to, 0, 0, kGreetingBytes});
    if (room.bytes.empty()) return;
    std::memcpy(room.bytes.data(), kProbe.data(), kProbe.size());
    const std::array<uint8_t, 5> rest = {greeting.is_answer ? greeting.place : uint8_t{0},
                                         greeting.is_answer, greeting.place, greeting.slot, 0};
    std::memcpy(room.bytes.data() + kProbe.size(), rest.data(), rest.size());
    flush();
}

std::optional<UdpSockets::Greeting> UdpSockets::greeting_in(const UdpArrival& arrival) {
    if (arrival.body.size() != kGreetingBytes ||
        std::memcmp(arrival.body.data(), kProbe.data(), kProbe.size()) != 0)
        return std::nullopt;
    const auto rest = arrival.body.subspan(kProbe.size());
    return Greeting{rest[1] != std::byte{0}, std::to_integer<uint8_t>(rest[2]),
                    std::to_integer<uint8_t>(rest[3])};
}

}  // namespace tulle::live
