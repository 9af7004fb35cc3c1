// A process's place in its world: the adapter that its program uses, the processes that it talks
// to, and who makes progress.
//
// One lock guards all of it. Whoever calls verbs takes it and makes progress inline; where no one
// does, a thread that sleeps in the kernel is woken by peers (watch.h). The engine below is
// transport's, untouched: its packets go through rings in shared memory (peer.h) uncut, or as they
// would be on the wire where a capture or faults are asked for (wire_path.h), and WRITEs and
// READs go the short way where they may (direct.h).
//
// The engine's table of end points is `peers_`: an end point is a process. One that has died stays
// in its place as long as a queue pair is connected to it and a while longer, so that nothing
// reaches whoever takes its slot later; what it shared is given back at once.
//
// Nobody waits for another process with the lock held: calls that have to wait (resolve(),
// meet_all(), find_port(), withdraw_region()) let go of it meanwhile, and take it again.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "live/direct.h"
#include "live/identity.h"
#include "live/peer.h"
#include "live/record.h"
#include "live/wire_path.h"
#include "transport/adapter.h"

namespace tulle::live {

class Watch;

// Where a queue pair's packets or a datagram go, as verbs says it.
struct Destination {
    bool has_gid = false;
    wire::Gid gid;
    wire::Lid lid;
};

// A message of the connection manager. `peer` is an end point.
struct ManagementMessage {
    transport::EndpointIndex peer;
    std::span<const std::byte> bytes;
};

// What the owner is told while the host makes progress, with the lock held.
class Listener {
public:
    virtual ~Listener() = default;
    virtual void on_event(const transport::AdapterEvent& event) = 0;
    virtual void on_management(const ManagementMessage& message) = 0;
    virtual void on_gone(transport::EndpointIndex peer) = 0;
    // The time that it asked for has come.
    virtual void on_progress() = 0;
};

class Host {
public:
    static constexpr transport::EndpointIndex kNowhere{0xff'ffff};
    static constexpr uint32_t kLastGid = UINT32_MAX;

    // Takes a slot of the world and starts the thread. Nothing if the world is full or memory is.
    static std::unique_ptr<Host> open(const Identity& who, Listener& listener);
    ~Host();

    std::mutex& lock() { return lock_; }
    const Identity& identity() const { return who_; }
    uint32_t slot() const { return slot_; }
    // The calls below are made with the lock held.
    transport::Adapter& adapter() { return *adapter_; }

    // Queue pairs. Numbers are the adapter's; outside() is what the world knows.
    std::optional<wire::Qpn> create_qp(const transport::QpSetup& setup);
    // `gid_index`: of the address that it sends from, where the mask has an address.
    transport::Refusal modify_qp(wire::Qpn qpn, transport::QpAttributes attributes, uint32_t mask,
                                 uint32_t gid_index = kLastGid);
    transport::Refusal destroy_qp(wire::Qpn qpn);
    wire::Qpn outside_of(wire::Qpn qpn) const {
        return outside(qpn, slots_[transport::Core::index_of(qpn) / kQueuePairsOfSlot]);
    }
    // Nothing if that number is not of one of our slots.
    std::optional<wire::Qpn> inside_of(wire::Qpn qpn) {
        const uint32_t block = board().blocks[slot_of(qpn)].load(std::memory_order_relaxed);
        if (block == 0) return std::nullopt;
        return inside(qpn, block - 1);
    }

    // The end point that serves this queue pair at this address; kNowhere if there is none.
    transport::EndpointIndex resolve(const Destination& destination, wire::Qpn qpn);
    // Before a queue pair is connected: the process in its slot may have just ended, and another
    // one taken its place.
    void notice_death(wire::Qpn qpn);
    // The process in this slot.
    transport::EndpointIndex resolve_slot(uint32_t slot);
    const Peer* peer(transport::EndpointIndex index) const {
        return index.value < peers_.size() ? peers_[index.value].get() : nullptr;
    }

    // Regions that peers may reach by themselves. withdraw_region() returns when none does; one
    // that says for long that it is about to is given up.
    void publish_region(uint32_t rkey, const transport::RegionRequest& request);
    void withdraw_region(uint32_t rkey);

    // Ports of the connection manager, named by protocol and number. One listener a host and port.
    bool take_port(uint8_t protocol, uint16_t port, Descriptor& held) const;
    bool show_port(uint8_t protocol, uint16_t port, const wire::Gid& address);
    void hide_port(uint8_t protocol, uint16_t port);
    // A queue pair waits for what is sent to a multicast group.
    void show_group();
    // The end point whose program listens there; kNowhere if none does.
    transport::EndpointIndex find_port(uint8_t protocol, uint16_t port, const wire::Gid& address);
    const Board& board_of(transport::EndpointIndex index) {
        return index.value == 0 ? board() : peers_[index.value]->board();
    }
    // What an end point has said of itself; our own facts for one that does not exist.
    const Facts& facts_of(transport::EndpointIndex index) const {
        return peers_[index.value < peers_.size() ? index.value : 0]->facts;
    }

    // Multicast groups have an index each, the same for sending and receiving.
    transport::MulticastGroup group_of(const wire::Gid& gid);
    void meet_all();

    // Work. After the last of a list comes finish_posting().
    transport::Refusal post_send(wire::Qpn qpn, const transport::SendRequest& request);
    void finish_posting();
    // Completes what has come about without packets: before completions are looked for.
    void settle();
    void send_management(transport::EndpointIndex to, std::span<const std::byte> bytes);
    void flush_management();

    // Does what there is to do. `by_program`: a thread of the program, which will come again.
    void progress(bool by_program);
    // Nothing came of it: after some of these in a row the program is taken to be polling, and
    // peers no longer ring. True if it has polled for long: the CPU may be of use to others, the
    // peer that it waits for among them.
    bool on_empty_poll();
    void on_full_poll() { empty_polls_ = 0; }
    // The program has asked to be told of completions, and will sleep until it is.
    void on_armed();
    // A set of descriptors that the program sleeps on shows the bell from now on, so that a peer
    // wakes the program itself and not first the thread. There is room for one such set.
    bool show_bell_in(int epoll);
    void hide_bell_in(int epoll);
    // The program has woken, or looks whether there is a reason to.
    void answer_bell();
    // Before the program sleeps: it has posted something, and an answer often comes soon. Looks for
    // a while, unless that was in vain the last times. Gives up the lock now and then.
    void on_received() { awaits_answer_ = false; }
    bool look_before_sleep(std::unique_lock<std::mutex>& guard,
                           const std::function<bool()>& is_there);
    // For a thread of the program that has nothing else to do. Looks whether that is there, and
    // makes progress, for a while: an answer that comes soon is found before anybody is woken.
    bool look_awhile(const std::function<bool()>& is_there);
    // Returns when it is there, or the file can be read. False, and errno, if a signal came that
    // ends such waits.
    bool sleep(const std::function<bool()>& is_there, int file);
    base::Instant next_deadline() const;
    // Another time at which the owner wants to be told of progress, for timers of its own.
    void set_extra_deadline(base::Instant at) { extra_deadline_ = at; }

    // The likeliest cause of a completion that failed, in words (cause.cc); empty if nothing is
    // known of it.
    std::string likely_cause(const transport::Completion& completion);

    // Shows what was counted to whoever reads the port's counters: before the process ends.
    void show_counters() { counters_.publish(adapter_->counters()); }

    // In the child of a fork: lets go of everything that it shares with the parent.
    void abandon();

private:
    friend class Watch;
    struct QpRoute {
        wire::Qpn qpn{};
        transport::EndpointIndex endpoint{};
        uint8_t ack_timeout = 0;    // what the program asked for
        bool is_connected = false;  // `endpoint` counts it
        GidKind gid_kind = GidKind::unknown;
        bool is_agreed = false;  // the peer's is of the same kind
    };
    struct Mute {
        Credentials who;
        base::Instant until;
    };
    struct Call {
        uint32_t slot = 0;
        Line line;
        SharedMemory ring;
    };
    struct LocalPacket {
        wire::Packet packet;
        std::vector<std::byte> grh;
        std::vector<std::byte> payload;
        bool is_management = false;
    };

    Host(const Identity& who, Listener& listener);
    bool set_up();
    void show_facts();
    Descriptor waiting_name(uint32_t number) const;
    transport::EndpointIndex find_listener(uint32_t number, const wire::Gid& address);
    Card card() const;
    Board& board() { return *reinterpret_cast<Board*>(board_.data()); }
    Grants& grants() { return *reinterpret_cast<Grants*>(grants_.data()); }
    // Meeting others (encounters.cc).
    bool is_known(uint32_t slot);
    std::optional<uint32_t> index_for(Introduction& introduction);
    std::optional<uint32_t> place_for_new_peer(const Introduction& introduction);
    bool may_be_reused(uint32_t index, base::Instant now) const;
    void meet_slots(std::span<const uint32_t> slots);
    std::optional<Call> begin_call(uint32_t slot, uint32_t variants);
    void end_call(Call call);
    void await_other_callers(std::span<const uint32_t> slots);
    bool call_peer(Peer& peer);
    void on_introduced(Introduction introduction);
    void on_socket_closed(int socket);
    void lose_peer(uint32_t index);
    void drain(uint32_t index, base::Instant now);
    void forget_if_unused(uint32_t index);
    bool open_counters(Peer& peer);
    // Waits for others without the lock.
    template <class Wait>
    void without_lock(Wait&& wait) {
        if (is_amid_progress_) return wait();
        lock_.unlock();
        wait();
        lock_.lock();
    }
    void excuse_slow_peers(base::Instant now);
    void add_slot(uint32_t slot);
    bool add_block();
    void note_qp(const transport::QueuePair& qp);
    bool wants_cut_packets(transport::EndpointIndex endpoint) const;

    void receive_all(base::Instant now);
    bool receive_from(uint32_t index, base::Instant now);
    void receive_record(uint32_t index, base::Instant now, std::span<const std::byte> record);
    void receive_packet(uint32_t index, base::Instant now, const RecordHead& head,
                        std::span<const std::byte> record);
    bool is_overrun(Peer& peer);
    void receive_write(Peer& peer, std::span<const std::byte> record);
    void receive_local(base::Instant now);
    void deliver(uint32_t source, base::Instant now, wire::Packet packet,
                 std::span<const std::byte> grh, uint8_t refusal = 0);
    void transmit(base::Instant now);
    void send(const wire::Packet& packet);
    void send_to(uint32_t index, const wire::Packet& packet, std::span<const std::byte> grh);
    void send_over_wire(uint32_t index, const wire::Packet& packet, const wire::Gid* group);
    void receive_frame(uint32_t index, base::Instant now, std::span<const std::byte> bytes,
                       uint8_t refusal);
    void deliver_wire(base::Instant now);
    void send_management_datagram(uint32_t index, std::span<const std::byte> bytes);
    static bool is_management(const wire::Packet& packet);
    uint8_t ack_timeout_of(const QpRoute& route) const;
    void note_objection();
    void tally(base::Instant now);
    std::string name_of(transport::EndpointIndex endpoint) const;
    std::string why_silent(const transport::QueuePair& qp);
    std::string why_ignored(const transport::QueuePair& qp, const std::string& name);
    std::string why_refused(const transport::QueuePair& qp);
    void flush_all();
    void tell_events();
    bool has_arrivals();
    void wake_thread_in_time();
    void trust_program();  // to look again soon
    bool is_copying(uint32_t index, uint64_t instance);
    void await_copies_of(uint32_t index, uint64_t instance, base::Instant end);
    // Whether both ends of a connection send from addresses of one kind.
    bool agrees(QpRoute& route);
    void connect_route(QpRoute& route, transport::EndpointIndex endpoint);
    // The thread looks again and again, as long as there is something to look at.
    static constexpr base::Instant kOftenAwake{0};

    const Identity who_;
    Listener& listener_;
    std::mutex lock_;
    const World world_;
    Secret secret_;
    uint32_t slot_ = 0;
    std::vector<uint32_t> slots_;  // that one first, and one more for each further block
    uint32_t variant_ = 0;         // of the slot's name (meeting.h)
    SharedMemory board_;
    SharedMemory grants_;
    Descriptor bell_;
    std::unique_ptr<transport::Adapter> adapter_;
    std::vector<std::unique_ptr<Peer>> peers_;  // 0 is this process itself
    std::vector<uint32_t> receiving_;           // peers with an incoming ring
    std::vector<uint32_t> sending_;             // peers that something was written for
    std::map<uint32_t, uint32_t> by_slot_;
    std::set<uint32_t> being_called_;  // slots
    std::map<uint32_t, Mute> mute_;    // those who did not answer, by slot
    std::condition_variable called_;
    std::vector<std::byte> parsed_;  // a record that is taken apart: a copy, which nobody changes
    bool is_amid_progress_ = false;
    std::vector<QpRoute> routes_;  // by index of the queue pair
    std::vector<wire::Gid> groups_;
    std::map<uint32_t, Descriptor> waiting_;  // names, by port; 0 for multicast
    std::deque<LocalPacket> local_;
    DirectPath direct_;
    size_t backlog_bytes_ = 0;  // of all peers, when they were last looked at
    bool has_stuck_peers_ = false;
    base::Instant extra_deadline_ = base::Instant::never();
    base::Instant sleeps_until_ = base::Instant::never();  // the thread
    std::atomic<bool> is_polled_{false};                   // by the program, again and again
    std::atomic<uint64_t> polls_{0};
    uint32_t empty_polls_ = 0;
    uint32_t quick_finds_ = 0;      // of look_awhile(), in a row
    bool sleeps_in_verbs_ = false;  // the program, in sleep(); otherwise in poll() and the like
    bool awaits_answer_ = false;    // something was posted and nothing has come since
    uint32_t vain_looks_ = 0;       // of look_before_sleep(), in a row
    uint32_t posts_in_a_row_ = 0;
    bool posts_packets_ = false;      // some of what was posted goes by packets
    bool took_writes_ = false;        // out of rings, since the thread last looked
    uint64_t page_there_ = 0;         // was mapped when the ring's reader came to it
    base::Instant time_{};            // of the progress that is being made
    std::unique_ptr<WirePath> wire_;  // where a capture or faults are asked for
    bool is_strict_ = false;          // packets within the process are cut too
    std::unique_ptr<WirePath> wire_reader_;
    uint32_t management_psn_ = 0;
    PortCounters counters_;
    uint64_t tallied_ = 0;                             // what was counted when it was last shown
    base::Instant tally_at_ = base::Instant::never();  // when it will be shown
    std::unique_ptr<Watch> watch_;
};

}  // namespace tulle::live
