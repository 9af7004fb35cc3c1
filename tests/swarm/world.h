// What a seed makes: adapters with memory, queue pairs that are connected, and all the work that
// they will be given. It is plain data. The run (run.h) posts the work, the model (model.h) keeps
// in it what is known of each piece of work.
//
// Every operation has memory of its own, with gaps between, at both ends: where it reads from and
// where it writes to. Memory is filled with noise, so that bytes at a wrong place show.
#pragma once

#include <string>
#include <vector>

#include "draw.h"
#include "transport/adapter.h"

namespace tulle::swarm {

using transport::QpType;
using transport::Work;

inline constexpr uint32_t kNone = UINT32_MAX;
inline constexpr uint64_t kBase = 0x4000'0000;  // where the memory begins for its keys
inline constexpr uint32_t kGrhBytes = 40;       // set aside in each receive of a datagram
inline constexpr uint32_t kOtherPort = 32;      // an adapter's second port has this much more
inline constexpr uint32_t kFirstGroup = 1000;   // groups as datagrams name them
inline constexpr uint32_t kDomains = 2;         // of XRC and of RD, in each adapter

struct Range {
    uint32_t offset = 0;
    uint32_t length = 0;
};
using Pieces = std::vector<Range>;

// One of the two ends of an operation somewhere else: it may be posted once that one is done.
struct Gate {
    uint32_t side = kNone;
    uint32_t operation = 0;
};

enum class Outcome : uint8_t { unposted, unknown, success, failed };

// What is wrong with an operation, so that it must not succeed.
enum class Bad : uint8_t {
    none,
    key,      // names a key that there is not, or not any more
    rights,   // asks a window for more than it allows
    domain,   // XRC: an SRQ of another domain; RD: a destination of another domain
    context,  // RD: an EE context of another domain
    qkey,     // UD and RD
};

struct Operation {
    Work work = Work::send;
    uint8_t flags = 0;
    Pieces local;  // in the memory of the side's adapter
    uint32_t length = 0;
    uint32_t remote_offset = 0;  // in the memory of the peer's adapter
    uint64_t compare_or_add = 0;
    uint64_t swap = 0;
    uint8_t flush_placement = 0;
    uint32_t counter = kNone;    // atomics: which one
    uint32_t to_side = 0;        // where it goes: the peer, or for datagrams anyone
    uint32_t to_pool = kNone;    // XRC: the shared queue that it names
    uint32_t to_group = kNone;   // UD: the group instead of one
    uint32_t ee = kNone;         // RD: the end of the EE context that it goes over
    uint32_t window = 0;         // goes through the peer's window, as it was bound for this time
    Range window_range;          // where that window lies, for whoever binds it
    uint32_t window_access = 0;  // and what it allows
    uint32_t read_back = kNone;  // the WRITE whose bytes this READ reads
    bool far_passing = false;    // its remote memory is in the passing region
    bool near_passing = false;   // its local memory is
    Bad bad = Bad::none;
    Gate gate;

    Outcome outcome = Outcome::unposted;
    uint32_t brought = 0;        // how often the network brought its first packet (UC and UD)
    uint32_t received = 0;       // how often it was received
    bool lost = false;           // its queue pair was destroyed before it said how it ended
    bool aborted = false;        // it is not received any more
    uint32_t troubles_then = 0;  // RD: of its EE context, when it was posted
    // To a group: how often each adapter was brought it, and each side received it.
    std::vector<uint32_t> brought_to;
    std::vector<uint32_t> received_by;
};

// A word that atomics change. A shared one is counted up by one by many; a private one belongs to
// one side, so that each value it will have is known.
struct Counter {
    uint32_t adapter = 0;
    uint32_t offset = 0;
    uint64_t initial = 0;
    bool shared = false;
    std::vector<uint64_t> originals;  // shared: what successes brought back
    uint32_t unknown = 0;             // shared: how many more may have happened
    uint32_t successes = 0;
    uint64_t planned = 0;            // private: its value if all goes well
    std::vector<uint64_t> possible;  // private: the values that it may have
    std::vector<uint64_t> furthest;  // private: those if all of this life that is unknown was done
};

struct Buffer {
    Pieces pieces;
    bool is_posted = false;
};

// A receive queue and its buffers: of one side, or shared by the sides of one service.
struct Pool {
    uint32_t adapter = 0;
    QpType type = QpType::rc;
    bool shared = false;
    uint32_t depth = 1;
    uint32_t sges = 1;
    uint32_t buffer_bytes = 0;
    uint32_t repost_delay_ns = 0;  // at most
    std::vector<Buffer> buffers;
    std::vector<uint32_t> posted;  // own queues: buffers in the order in which they were posted
    size_t first_posted = 0;
    uint32_t owner = kNone;  // own queues: the side
    uint32_t domain = 0;     // XRC
    uint32_t cq = 0;         // XRC: index into the adapter's
    uint32_t users = 0;      // sides
    bool torn = false;       // one that used it was destroyed: buffers may have been begun
    uint32_t limit = 0;      // an event is due when fewer wait
    bool is_low = false;     // fewer do
    transport::SrqId srq{};
};

// One end of an EE context, the connection of RD; the other one is its neighbour, as with sides.
struct EeEnd {
    uint32_t adapter = 0;
    uint32_t domain = 0;
    transport::QpAttributes attributes;
    wire::EeContext number{};
    uint32_t troubles = 0;   // the first end keeps it for both
    bool gave_up = false;    // the user stopped it
    bool failed = false;     // an event said so
    bool said_dead = false;  // a completion did
    // What the wire shows of the message that is under way from here.
    bool is_open = false;
    bool is_whole = false;  // its last packet was sent
    bool has_sent = false;
    transport::Psn last{};  // of what was sent

    bool is_dead() const { return gave_up || failed; }
};

// A multicast group: datagrams to it go to all adapters that have members.
struct Group {
    transport::QKey qkey{};
    std::vector<uint32_t> members;  // sides, now
};

// What the user does besides work.
enum class ActKind : uint8_t {
    give_up,      // a side goes to the error state
    drain,        // a side drains its send queue
    arm_path,     // a side is given an alternate path
    migrate,      // a side changes to it, if its peer has one too
    cut_path,     // the way of a side to its peer's first port is cut
    destroy,      // a side is destroyed
    create,       // and made again, connected as before with other PSNs
    stop_ee,      // an EE context goes to the error state
    join,         // a side joins a group, or leaves it if it is a member
    watch_limit,  // the limit of a shared queue is set
};

struct Act {
    ActKind kind = ActKind::give_up;
    uint32_t who = 0;
    uint64_t at_ns = 0;
    uint32_t value = 0;
};

struct Side {
    QpType type = QpType::rc;
    uint32_t adapter = 0;
    uint32_t peer = 0;  // the other side
    uint32_t pool = kNone;
    uint32_t cq_send = 0;  // indices into the adapter's
    uint32_t cq_receive = 0;
    transport::SendQueueSize send;
    bool signal_all = false;
    uint32_t max_burst = 1;
    uint32_t pause_ns = 1000;    // between bursts, at most
    uint32_t domain = 0;         // XRC targets and RD: index into the adapter's
    bool without_pd = false;     // XRC targets
    bool reuses_number = false;  // made again, it shall have the number that it had
    transport::QpAttributes attributes;
    transport::CongestionControl congestion;
    std::vector<Operation> operations;
    std::vector<uint32_t> messages;  // operations that take a receive at the peer
    bool has_window = false;
    transport::WindowType window_type = transport::WindowType::type2;

    transport::Qpn qpn{};
    std::vector<transport::Qpn> old_qpns;
    std::vector<uint32_t> window_keys;  // as it was created, and after each time it was bound
    uint32_t posted = 0;                // operations posted
    uint32_t settled = 0;               // operations whose outcome is known, in order
    uint32_t received = 0;              // messages of the peer that were received, in order
    uint32_t troubles = 0;        // packets of the connection that the network did not bring as
                                  // they were sent; the first side keeps it for both
    uint32_t troubles_then = 0;   // when work completed last
    bool has_failed = false;      // a completion said so
    bool gave_up = false;         // the user did, by the error state
    bool first_flush = true;      // no receive was flushed yet
    uint32_t posts_left = kNone;  // after its death only some more work is posted
    bool is_absent = false;       // destroyed and not made again
    bool was_reborn = false;
    bool was_armed = false;   // with an alternate path
    bool has_detour = false;  // which leads to the other port
    bool is_cut = false;      // its way to the first port of its peer

    bool is_reliable() const { return type != QpType::uc && type != QpType::ud; }
    bool is_dead() const { return has_failed || gave_up; }
};

struct Station {
    transport::AdapterConfig config;
    uint32_t picoseconds_per_byte = 0;
    uint32_t lanes_closed_percent = 0;
    uint32_t cqs = 1;
    uint32_t memory_bytes = 0;
    std::vector<std::byte> memory;
    std::vector<std::byte> shadow;  // what it should be
    uint32_t key = 0;
    uint32_t region_access = 0;
    // A region that is deregistered under traffic, in the same memory.
    Range passing;
    uint32_t passing_used = 0;
    uint32_t passing_key = 0;
    bool passing_gone = false;
    bool ee_said_dead = false;            // a receive ended because an EE context did
    std::vector<std::byte> passing_then;  // its bytes when it went: they do not change any more
};

// Chances in a million, for each packet.
struct Faults {
    uint32_t loss = 0;
    uint32_t doubling = 0;
    uint32_t reordering = 0;
    uint32_t delay = 0;
    uint32_t damage = 0;
    uint32_t trim = 0;        // the payload is cut off, and the headers go on
    uint32_t reorder_ns = 0;  // how much later, at most
    uint32_t delay_ns = 0;
    uint32_t mark = 0;  // congestion was met: no fault, but something to react to

    bool none() const { return loss + doubling + reordering + delay + damage + trim == 0; }
    bool keeps_order() const { return doubling + reordering == 0; }
};

struct World {
    uint64_t seed = 0;
    Faults faults;
    uint32_t link_ns = 1000;
    uint32_t bytes_percent = 5;  // packets that go through bytes both ways
    wire::Encapsulation encapsulation = wire::Encapsulation::roce_v2_ipv4;
    // Of queue pairs of RC, at all stations: both ends have to agree.
    transport::Delivery delivery = transport::Delivery::ordered;
    uint64_t cut_at_ns = 0;  // the run ends then, whatever is under way; 0: when all is done
    std::vector<Station> stations;
    std::vector<Side> sides;
    std::vector<Pool> pools;
    std::vector<Counter> counters;
    std::vector<EeEnd> ees;
    std::vector<Group> groups;
    std::vector<Act> acts;

    uint32_t& troubles(uint32_t side) { return sides[side & ~1u].troubles; }
    uint32_t& ee_troubles(uint32_t end) { return ees[end & ~1u].troubles; }
    // Whether messages may overtake one another.
    bool is_unordered(transport::QpType type) const {
        return type == transport::QpType::rc && delivery == transport::Delivery::unordered;
    }
    // kNone if there is none.
    uint32_t find_ee(uint32_t adapter, uint32_t number) const;
    // Where the receives of an operation's message come from.
    uint32_t pool_of(const Operation& operation) const {
        return operation.to_pool != kNone ? operation.to_pool : sides[operation.to_side].pool;
    }
    // kNone if there is none.
    uint32_t find_side(uint32_t adapter, transport::Qpn qpn) const;
};

World make_world(uint64_t seed);

bool takes_receive(Work work);
bool has_source(Work work);  // brings data along from the side's memory
bool is_atomic(Work work);
// A word that this atomic finds, when it is carried out.
uint64_t value_after(const Operation& operation, uint64_t before);

uint32_t length_of(const Pieces& pieces);
std::vector<std::byte> bytes_of(const std::vector<std::byte>& memory, const Pieces& pieces);
void put_bytes(std::vector<std::byte>& memory, const Pieces& pieces,
               std::span<const std::byte> bytes);

// Messages of the unreliable services and of RD carry their name: in their first eight bytes, or as
// immediate data where they have less.
uint64_t name_of(uint32_t side, uint32_t operation);

}  // namespace tulle::swarm
