#include "live/peer.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

#include <string_view>
#include <utility>

#include "live/clock.h"
#include "live/identity.h"

namespace tulle::live {
namespace {

constexpr base::Duration kStuckAfter{100'000'000'000};  // 100 ms, chosen
// A peer that is rung reads all acknowledgements before it looks at its timers (packets.cc).
constexpr size_t kQuietBytes = 4 << 10;

// The secret in the memory of a process; zeros if the kernel refuses. The instance next to it shows
// that it is the right process.
Secret read_secret(pid_t pid, uint64_t place, uint64_t instance) {
    if (pid <= 0) return {};
    Secret found;
    const iovec here{&found, sizeof found};
    const iovec there{reinterpret_cast<void*>(place), sizeof found};
    const bool is_read = process_vm_readv(pid, &here, 1, &there, 1, 0) == sizeof found;
    return is_read && found.instance == instance ? found : Secret{};
}

bool has_good_ports(const Facts& facts) {
    if (facts.port_count < 1 || facts.port_count > kMaxPorts) return false;
    const auto more = std::span(facts.more_ports).first(facts.port_count - 1);
    return std::ranges::all_of(more, [](const PortFacts& port) {
        return port.gid_count >= 1 && port.gid_count <= kGidsOfPort;
    });
}

// The facts of a board. Its owner may change them at any time, so they are copied, then checked.
bool copy_facts(const Board& board, Facts& facts) {
    std::memcpy(static_cast<void*>(&facts), static_cast<const void*>(&board), sizeof facts);
    facts.counters_file[kPathRoom - 1] = 0;
    if (!has_good_ports(facts)) return false;
    if (facts.device >= kMaxDevices) return false;
    return facts.rank <= kMaxRank && facts.gid_count >= 1 && facts.gid_count <= kGids;
}

// A pipe could end us with a signal, or block us when it is full.
bool is_eventfd(int file) {
    char text[32] = {};
    const std::string link = "/proc/self/fd/" + std::to_string(file);
    const ssize_t length = readlink(link.c_str(), text, sizeof text);
    return length > 0 && std::string_view(text, static_cast<size_t>(length)) ==
                             std::string_view("anon_inode:[eventfd]");
}

}  // namespace

bool Peer::meet(Introduction& introduction, const Realm& world) {
    if (board_) return true;
    using Peers = SharedMemory::Peers;
    board_ = SharedMemory::map(std::move(introduction.board), sizeof(Board), Peers::read);
    if (!board_ || board().magic != kBoardMagic || board().instance != instance ||
        !copy_facts(board(), facts)) {
        board_ = {};
        return false;
    }
    if (!world.is_own(who)) return true;
    if (introduction.grants)
        grants_ = SharedMemory::map(std::move(introduction.grants), sizeof(Grants), Peers::read);
    if (grants_ && grants().magic != kGrantsMagic) grants_ = {};
    if (introduction.bell && is_eventfd(introduction.bell.get())) {
        bell_ = std::move(introduction.bell);
        fcntl(bell_.get(), F_SETFL, O_RDWR | O_NONBLOCK);
    }
    secret_ = read_secret(who.pid, facts.secret_place, instance);
    is_reachable = grants_ && secret_.word != 0;
    return true;
}

void Peer::take_outgoing(Descriptor socket, SharedMemory ring) {
    outgoing_socket_ = std::move(socket);
    outgoing_ = std::move(ring);
    outgoing_.close_file();
    outgoing().proof.store(secret_.word);
    writer_ = RingWriter(&outgoing());
}

bool Peer::take_incoming(Introduction introduction) {
    if (incoming_) return false;
    incoming_ = SharedMemory::map(std::move(introduction.ring), sizeof(RingMemory),
                                  SharedMemory::Peers::write);
    if (!incoming_) return false;
    incoming_socket_ = std::move(introduction.socket);
    reader = RingReader(&incoming());
    return true;
}

std::array<Descriptor, 2> Peer::part() {
    bell_.reset();
    incoming_ = SharedMemory();
    outgoing_ = SharedMemory();
    counters.clear();
    std::deque<std::vector<std::byte>>().swap(backlog_);
    backlog_bytes_ = 0;
    return {std::move(incoming_socket_), std::move(outgoing_socket_)};
}

void Peer::forget() {
    board_ = SharedMemory();
    grants_ = SharedMemory();
}

bool Peer::is_dead() const {
    return has_left((incoming_socket_ ? incoming_socket_ : outgoing_socket_).get());
}

std::byte* Peer::reserve(size_t bytes) {
    is_loud_ = true;
    if (std::byte* place = reserve_in_ring(bytes)) return place;
    backlog_bytes_ += bytes;
    return backlog_.emplace_back(bytes).data();
}

void Peer::drain_backlog() {
    while (!backlog_.empty() && !stream.is_taking_back()) {
        const std::vector<std::byte>& oldest = backlog_.front();
        std::byte* place = writer_.reserve(oldest.size());
        if (place == nullptr) return;
        std::memcpy(place, oldest.data(), oldest.size());
        backlog_bytes_ -= oldest.size();
        backlog_.pop_front();
    }
}

bool Peer::is_stuck(base::Instant now) {
    const uint64_t read = outgoing().read.load(std::memory_order_acquire);
    if (read != read_to_ || read_at_ == base::Instant{}) read_at_ = now;
    read_to_ = read;
    return now > read_at_ + kStuckAfter;
}

void Peer::publish() {
    writer_.publish();
    is_untold_ = true;
    if (writer_.unread() > kRingBytes / 2) flush();
}

void Peer::flush() {
    if (!can_send() || is_gone) return;
    if (!backlog_.empty()) drain_backlog();
    if (!writer_.has_unpublished() && !is_untold_) return;
    writer_.publish();
    is_untold_ = false;
    const bool is_quiet = !std::exchange(is_loud_, !backlog_.empty());
    // The peer announces that it sleeps, then looks at the ring once more. We write, then look
    // whether it sleeps. One of the two sees the other.
    if (shall_ring(is_quiet) && outgoing().bell_rung.exchange(1) == 0) ring();
}

bool Peer::shall_ring(bool is_quiet) const {
    const Sleep sleep = board().sleep.load();
    if (sleep == Sleep::awake) return false;
    return sleep != Sleep::undisturbed || !is_quiet || writer_.unread() > kQuietBytes;
}

void Peer::ring() {
    if (bell_)
        eventfd_write(bell_.get(), 1);
    else
        ring_through(outgoing_socket_.get());
}

}  // namespace tulle::live
