// Packets as they are on the wire: cut at the path MTU, serialised, with ICRC and all. Used where a
// capture is asked for or faults are, which are wrappers around it: what is lost, doubled, delayed
// or damaged here is seen by the transport as if a network had done it.
//
// Chance comes from one stream of the process, so that a seed repeats what happens as long as the
// program sends the same packets in the same order.
#pragma once

#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "live/board.h"
#include "live/descriptor.h"
#include "live/identity.h"
#include "wire/packet.h"

namespace tulle::live {

struct WireSettings {
    bool is_on = false;
    std::string capture_file;  // exists already, with its head
    std::string log_file;
    uint32_t loss_ppm = 0;
    uint32_t duplicate_ppm = 0;
    uint32_t reorder_ppm = 0;
    uint32_t corrupt_ppm = 0;
    base::Duration delay{};
    uint64_t rate_bps = 0;  // 0: no limit
    uint64_t seed = 1;
};

// `tulle run` says it in TULLE_WIRE: "loss=10000 seed=7 pcap=/tmp/file", a file name last.
WireSettings wire_settings_from_environment();

class WirePath {
public:
    WirePath(const Identity& who, const WireSettings& settings);

    // Sends a packet to this peer of ours, whose board says where it is.
    void send(base::Instant now, uint32_t peer, const Board& there, const wire::Packet& packet,
              const wire::Gid* group);

    struct Sent {
        uint32_t peer = 0;
        std::vector<std::byte> bytes;
    };
    // What has arrived at the other end of the wire by now.
    std::optional<Sent> poll(base::Instant now);
    base::Instant next_deadline() const {
        return under_way_.empty() ? base::Instant::never() : under_way_.begin()->first.first;
    }

    // What came: the packet and the route header that datagrams show. Nothing if it was damaged.
    struct Received {
        wire::Packet packet;
        std::vector<std::byte> grh;
    };
    std::optional<Received> receive(std::span<const std::byte> bytes) const;

private:
    wire::Path path_to(const Board& there, const wire::Gid* group) const;
    void capture(std::span<const std::byte> bytes);
    void log(const char* action, const wire::Packet& packet);
    bool happens(uint32_t ppm) { return ppm != 0 && random_.chance(ppm, 1'000'000); }

    const Identity who_;
    const WireSettings settings_;
    base::RandomStream random_;
    Descriptor capture_;
    Descriptor log_;
    base::Instant line_free_{};
    uint64_t order_ = 0;
    std::map<std::pair<base::Instant, uint64_t>, Sent> under_way_;
};

}  // namespace tulle::live
