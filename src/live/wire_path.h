// Packets in their form on the wire: cut at the path MTU and serialised, with ICRC. This path is
// used if a capture or faults are requested; both are wrappers around it. If a packet is lost,
// duplicated, delayed or damaged here, the transport sees it as if a network had done it.
//
// All random draws of a process come from one stream, so a seed repeats a run as long as the
// program sends the same packets in the same order.
#pragma once

#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "live/board.h"
#include "live/descriptor.h"
#include "live/identity.h"
#include "transport/fault_rules.h"
#include "wire/packet.h"

namespace tulle::live {

struct WireSettings {
    bool is_on = false;
    bool is_strict = false;    // also inside the process, so that all checks of an adapter are made
    std::string capture_file;  // exists already, with its header
    std::string log_file;
    std::string whole_file;  // is removed when one of the two cannot be written
    std::vector<transport::FaultRule> rules;
    base::Duration delay{};
    uint64_t rate_bps = 0;  // 0: no limit
    uint64_t seed = 1;
    uint32_t program = 0;   // number of this program among those of the run
    base::Instant start{};  // of the run, on the clock of this process
};

// `tulle run` sets TULLE_WIRE: "seed=7 delay_ps=5000000 pcap=/tmp/file", with a file name last.
WireSettings wire_settings_from_environment();

class WirePath {
public:
    WirePath(const Identity& who, const WireSettings& settings);

    // Sends a packet to a peer, from port to port. `there`: the facts on its board.
    void send(base::Instant now, uint32_t peer, const Facts& there, const wire::Packet& packet,
              const wire::Gid* group, const Ends& ends = {});

    // Captures a packet that this peer has sent without a wire path of its own, so that the capture
    // contains the answers to requests.
    void overhear(const Facts& there, const wire::Packet& packet);
    // Captures a frame that it has sent over its own wire path, which has another capture or none.
    void overhear(const Facts& there, std::span<const std::byte> frame) {
        if (there.capture != capture_number_) capture(frame);
    }
    // The number of the capture file; processes that write one file have the same. 0: no capture.
    uint64_t capture_number() const { return capture_number_; }

    struct Sent {
        uint32_t peer = 0;
        std::vector<std::byte> bytes;
        // The syndrome with which its responder must answer, or a transport::Breakage; 0 is none.
        uint8_t refusal = 0;
    };
    // What has arrived at the other end of the wire by now.
    std::optional<Sent> poll(base::Instant now);
    base::Instant next_deadline() const {
        return under_way_.empty() ? base::Instant::never() : under_way_.begin()->first.first;
    }

    // A received packet, and the route header that datagrams show. Nothing if it was damaged.
    struct Received {
        wire::Packet packet;
        std::vector<std::byte> grh;
        wire::Gid destination;  // as its network header says
    };
    std::optional<Received> receive(std::span<const std::byte> bytes) const;
    // Whether a packet that arrives now is lost, because the link is down.
    bool loses_arrival(base::Instant now, const wire::Packet& packet);
    // Whether rules may lose packets, may refuse requests, or have taken the link down.
    bool may_lose() const {
        return rules_.has(transport::FaultAct::drop, transport::FaultAct::damage);
    }
    bool may_refuse() const {
        return rules_.has(transport::FaultAct::refuse, transport::FaultAct::refuse);
    }
    bool was_down() const { return down_until_ != base::Instant{}; }

private:
    wire::Path path_to(const Facts& there, const wire::Gid* group, const Ends& ends) const;
    void capture(std::span<const std::byte> bytes);
    // Appends to a file. If there is no room any more, prints that and gives up.
    void append(Descriptor& file, const void* bytes, size_t length);
    void log(const char* action, const wire::Packet& packet, const transport::FaultRule* rule);
    void mark(wire::Packet& packet) const;
    base::Instant arrival(base::Instant now, size_t bytes);

    const Identity who_;
    const WireSettings settings_;
    transport::FaultRules rules_;
    Descriptor capture_;
    uint64_t capture_number_ = 0;
    Descriptor log_;
    base::Instant line_free_{};
    base::Instant down_until_{};
    uint64_t order_ = 0;
    std::map<std::pair<base::Instant, uint64_t>, Sent> under_way_;
};

}  // namespace tulle::live
