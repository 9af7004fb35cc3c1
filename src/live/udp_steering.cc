// Which process of the machine the kernel gives a datagram to; see udp_neighbours.h.
#include <linux/filter.h>

#include <algorithm>
#include <cstring>

#include "live/board.h"
#include "live/udp_sockets.h"
#include "wire/packet.h"

namespace tulle::live {
namespace {

// Shorter than any packet of RoCE, and begins with an opcode that nobody has.
constexpr std::array<uint8_t, 7> kProbe = {0xff, 't', 'u', 'l', 'l', 'e', 0};
constexpr size_t kProbeBytes = kProbe.size() + 1;
// A greeting begins alike, so that the program of steering gives it to the place that it names. It
// goes to strangers. Linux (6.1 at least) drops what is shorter than a base transport header by a
// queue pair that it has not looked for, and panics over IPv6; so a greeting is no shorter.
constexpr size_t kGreetingBytes = kProbe.size() + 5;
static_assert(kGreetingBytes >= wire::Bth::kSize);
static_assert(kGreetingBytes < wire::Bth::kSize + wire::kIcrcSize);

constexpr uint32_t kNoPlace = UINT32_MAX;  // the kernel chooses by a hash

sock_filter instruction(int code, uint32_t value, uint8_t if_so = 0, uint8_t if_not = 0) {
    return {static_cast<uint16_t>(code), if_so, if_not, value};
}

}  // namespace

// The program sees what stands behind the UDP header. Words are read most significant byte first:
// that at 4 is the BTH's reserved byte and the number of the queue pair.
void UdpSockets::steer(const wire::Gid& address, std::span<const Steering> table) {
    const auto own = std::ranges::find_if(
        receivers_, [&](const Receiver& one) { return one.address.gid == address; });
    if (own == receivers_.end()) return;
    std::vector<sock_filter> program = {
        instruction(BPF_LD | BPF_B | BPF_ABS, 0),
        instruction(BPF_JMP | BPF_JEQ | BPF_K, kProbe[0], 0, 2),
        instruction(BPF_LD | BPF_B | BPF_ABS, kProbe.size()),
        instruction(BPF_RET | BPF_A, 0),
        instruction(BPF_LD | BPF_W | BPF_ABS, 4),
        instruction(BPF_ALU | BPF_AND | BPF_K, kSlotMask),
    };
    for (const Steering& one : table) {
        program.push_back(instruction(BPF_JMP | BPF_JEQ | BPF_K, one.slot << kSlotShift, 0, 1));
        program.push_back(instruction(BPF_RET | BPF_K, one.place));
    }
    program.push_back(instruction(BPF_RET | BPF_K, kNoPlace));
    const sock_fprog filter{static_cast<uint16_t>(program.size()), program.data()};
    setsockopt(own->socket.get(), SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &filter, sizeof filter);
}

// Without a program there is nobody who would obey the probes: one that knows no place is set
// first. The program is that of all who share the port.
void UdpSockets::probe(uint32_t places) {
    for (const Receiver& receiver : receivers_) {
        const wire::Gid& address = receiver.address.gid;
        if (!is_steered_) steer(address, {});
        for (uint32_t place = 0; place < std::min(places, 256u); ++place) {
            std::array<std::byte, kProbeBytes> bytes{};
            std::memcpy(bytes.data(), kProbe.data(), kProbe.size());
            bytes[kProbe.size()] = static_cast<std::byte>(place);
            const Place to = reserve({address, address, 0, 0, bytes.size()});
            if (!to.bytes.empty()) std::ranges::copy(bytes, to.bytes.begin());
            flush();  // two that went together would come together
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
