#include "live/peer.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

namespace tulle::live {
namespace {

// Whether the kernel lets us into the memory of that process: shown by reading a word there whose
// value we know.
bool reaches(pid_t pid, const Board& board) {
    if (pid <= 0) return false;
    uint64_t found = 0;
    const iovec here{&found, sizeof found};
    const iovec there{reinterpret_cast<void*>(board.cookie_place), sizeof found};
    return process_vm_readv(pid, &here, 1, &there, 1, 0) == sizeof found && found == board.instance;
}

}  // namespace

bool Peer::meet(Introduction& introduction, uint64_t my_instance) {
    if (board_) return true;
    board_ =
        SharedMemory::map(std::move(introduction.board), sizeof(Board), SharedMemory::Peers::read);
    if (!board_ || board().magic != kBoardMagic || board().instance != instance) {
        board_ = {};
        return false;
    }
    bell_ = std::move(introduction.bell);
    pid = introduction.pid;
    is_same_user = introduction.uid == geteuid();
    is_reachable = is_same_user && (instance == my_instance || reaches(pid, board()));
    return true;
}

bool Peer::take_outgoing(Introduction introduction, SharedMemory ring) {
    outgoing_socket_ = std::move(introduction.socket);
    outgoing_ = std::move(ring);
    writer_ = RingWriter(&outgoing());
    return true;
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

void Peer::stop_receiving() {
    incoming_socket_.reset();
    incoming_ = {};
}

bool Peer::is_dead() const {
    const Descriptor& socket = incoming_socket_ ? incoming_socket_ : outgoing_socket_;
    pollfd look{socket.get(), 0, 0};
    return poll(&look, 1, 0) == 1 && (look.revents & (POLLHUP | POLLERR)) != 0;
}

std::byte* Peer::reserve(size_t bytes) {
    if (backlog_.empty())
        if (std::byte* place = writer_.reserve(bytes)) return place;
    backlog_bytes_ += bytes;
    return backlog_.emplace_back(bytes).data();
}

void Peer::drain_backlog() {
    while (!backlog_.empty()) {
        const std::vector<std::byte>& oldest = backlog_.front();
        std::byte* place = writer_.reserve(oldest.size());
        if (place == nullptr) return;
        std::memcpy(place, oldest.data(), oldest.size());
        backlog_bytes_ -= oldest.size();
        backlog_.pop_front();
    }
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
    // The peer says that it sleeps, then looks at the ring once more; we write, then look whether
    // it sleeps. One of the two sees the other.
    if (!is_asleep()) return;
    if (outgoing().bell_rung.exchange(1) != 0) return;
    eventfd_write(bell_.get(), 1);
}

}  // namespace tulle::live
