// Rules of a faulty wire: which packets get a fault, and which fault.
//
// Rules are checked in order; the first rule that acts on a packet is the last that sees it. A rule
// matches on the packet, its ends and the time. It counts its matches, so it can act on the fifth,
// on every tenth, or on a share drawn from its own random stream. The same packets in the same
// order get the same faults, whoever asks.
//
// This file defines and matches rules. The caller carries out the fault (live/wire_path.h).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "wire/packet.h"

namespace tulle::transport {

// A set of opcodes.
class OpcodeSet {
public:
    static OpcodeSet all();
    // RC_SEND_ONLY; SEND_ONLY, of any service; or a group: data, ack, request, response, send,
    // write, read, atomic, cnp, all. Nothing for any other name.
    static std::optional<OpcodeSet> named(std::string_view name);
    static std::span<const std::string_view> group_names();

    void add(uint8_t opcode) { words[opcode / 64] |= uint64_t{1} << opcode % 64; }
    bool has(uint8_t opcode) const { return (words[opcode / 64] >> opcode % 64 & 1) != 0; }
    OpcodeSet& operator|=(const OpcodeSet& other);
    bool operator==(const OpcodeSet&) const = default;

    std::array<uint64_t, 4> words{};
};

// Whether a responder answers this opcode, so that its answer can be a refusal.
bool may_be_refused(uint8_t opcode);

enum class FaultAct : uint8_t {
    drop,
    double_it,
    reorder,  // delayed until others overtake it
    delay,
    damage,     // one bit
    mark,       // as a congested switch does
    refuse,     // the responder answers with `syndrome` and ignores the packet
    link_down,  // nothing leaves the sender or reaches it for `time`
    break_it,   // the part of the receiver that `syndrome` names breaks for good
};

// What breaks, as syndromes that no answer uses: their first bit is reserved.
enum class Breakage : uint8_t { queue_pair = 0x81, shared_queue, adapter };

struct FaultRule {
    static constexpr uint32_t kAny = UINT32_MAX;
    static constexpr uint32_t kMillion = 1'000'000;

    // What it matches.
    uint32_t program = kAny;  // the sender's, of those that a run has started
    uint32_t from = kAny;     // the sender's host
    uint32_t to = kAny;       // the receiver's
    uint32_t qp = kAny;       // the queue pair that it goes to
    OpcodeSet opcodes = OpcodeSet::all();
    uint32_t first_psn = 0;  // the range wraps if the last is less
    uint32_t last_psn = wire::kPsnMask;
    base::Duration after{};  // since the run began
    base::Duration until{INT64_MAX};
    // Which matches it acts on: from `first` to `last`, one in `every`, and what share.
    uint64_t first = 1;
    uint64_t last = UINT64_MAX;
    uint64_t every = 1;
    uint32_t per_million = kMillion;
    // What it does.
    FaultAct act = FaultAct::drop;
    base::Duration time{};
    uint8_t syndrome = 0;
    uint32_t line = 0;  // of its file; 0: of a command line

    bool operator==(const FaultRule&) const = default;
};

inline constexpr base::Duration kUsualLateness{100'000'000};  // delay of FaultAct::reorder: 100 us

// A packet on the wire, and what else is known about it.
struct Sighting {
    base::Duration since_start{};
    uint32_t program = 0;
    uint32_t from = 0;
    uint32_t to = 0;
    const wire::Packet* packet = nullptr;
};

class FaultRules {
public:
    // Each rule has its own random stream, by the seed and the owner.
    FaultRules(std::vector<FaultRule> rules, uint64_t seed, uint32_t owner);

    // The rule that acts on this packet; nullptr if none does.
    const FaultRule* judge(const Sighting& sighting);
    // A random number for what the rule does.
    uint64_t draw(const FaultRule& rule, uint64_t below);
    // Whether a rule does one of these.
    bool has(FaultAct one, FaultAct other) const;

private:
    struct Progress {
        uint64_t found = 0;
        base::RandomStream chance;
    };
    bool acts(const FaultRule& rule, Progress& progress) const;

    std::vector<FaultRule> rules_;
    std::vector<Progress> progress_;
};

// Rules as text for an environment variable: numbers only, not meant for people.
std::string to_text(std::span<const FaultRule> rules);
// The reverse; nothing if it is not the output of to_text().
std::optional<std::vector<FaultRule>> fault_rules_of(std::string_view text);

}  // namespace tulle::transport
