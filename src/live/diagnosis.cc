#include "live/diagnosis.h"

#include <unistd.h>

#include <cerrno>
#include <cinttypes>

#include "live/printed.h"

namespace tulle::live {
namespace {

using transport::EndpointIndex;
using transport::Objection;
using transport::QpState;
using transport::Status;
using transport::Work;

const char* name_of(Work work) {
    switch (work) {
        case Work::write:
        case Work::write_with_immediate: return "WRITE";
        case Work::read: return "READ";
        case Work::compare_swap: return "COMPARE_SWAP";
        case Work::fetch_add: return "FETCH_ADD";
        case Work::flush: return "FLUSH";
        case Work::atomic_write: return "ATOMIC_WRITE";
        default: return "SEND";
    }
}

const char* words_for(GidKind kind) {
    switch (kind) {
        case GidKind::unknown: break;
        case GidKind::roce_v1: return "RoCE v1";
        case GidKind::roce_v2: return "RoCE v2";
        case GidKind::infiniband: return "InfiniBand";
    }
    return "an unknown type";
}

const char* right_for(Work work) {
    switch (work) {
        case Work::read: return "IBV_ACCESS_REMOTE_READ";
        case Work::compare_swap:
        case Work::fetch_add: return "IBV_ACCESS_REMOTE_ATOMIC";
        case Work::flush: return "IBV_ACCESS_FLUSH_GLOBAL or IBV_ACCESS_FLUSH_PERSISTENT";
        default: return "IBV_ACCESS_REMOTE_WRITE";
    }
}

std::string describe(const Objection& objection, const std::string& peer) {
    using Cause = Objection::Cause;
    const char* work = name_of(objection.work);
    switch (objection.cause) {
        case Cause::none: break;
        case Cause::ordered: return "a rule of --faults had the request refused";
        case Cause::receive_too_short:
            return "the message is longer than the receive buffer that " + peer + " had posted";
        case Cause::receive_wrong:
            return "the receive that " + peer +
                   " had posted names memory that its lkey does not cover or may not be written";
        case Cause::receives_broken: return "the shared receive queue of " + peer + " has failed";
        case Cause::not_offered:
            return printed("the queue pair of %s does not allow a %s: its qp_access_flags lack %s",
                           peer.c_str(), work, right_for(objection.work));
        case Cause::too_many_reads:
            return "more READs and atomics were under way than the max_dest_rd_atomic of " + peer +
                   " allows";
        case Cause::malformed:
            return printed("%s takes no such %s: its length, alignment or order is wrong",
                           peer.c_str(), work);
        case Cause::unknown_key:
            return printed(
                "%s knows no memory with the rkey 0x%x: it is wrong, or was deregistered",
                peer.c_str(), objection.rkey);
        case Cause::other_domain:
            return printed(
                "the rkey 0x%x is of another protection domain than the queue pair of %s",
                objection.rkey, peer.c_str());
        case Cause::other_queue_pair:
            return printed(
                "the rkey 0x%x is of a memory window that another queue pair of %s bound",
                objection.rkey, peer.c_str());
        case Cause::missing_right:
            return printed(
                "the memory with the rkey 0x%x does not allow a %s: %s had to register it "
                "with %s",
                objection.rkey, work, peer.c_str(), right_for(objection.work));
        case Cause::out_of_bounds:
            return printed(
                "the %s of %" PRIu64 " bytes at 0x%" PRIx64
                " is out of the bounds of the memory that %s registered with the rkey 0x%x",
                work, objection.length, objection.address, peer.c_str(), objection.rkey);
        case Cause::key_gone:
            return "the memory was deregistered at " + peer + " while it was being used";
    }
    return {};
}

const char* describe_local(const transport::Completion& completion) {
    const bool is_receive = (static_cast<uint8_t>(completion.kind) & 0x80) != 0;
    switch (completion.status) {
        case Status::local_length_error:
            return is_receive ? "the message is longer than the receive buffer posted for it"
                              : "the message is longer than the queue pair can send";
        case Status::local_protection_error:
            return is_receive ? "the receive names memory that its lkey does not cover, is of "
                                "another protection domain, or lacks IBV_ACCESS_LOCAL_WRITE"
                              : "a local piece of the request is not covered by its lkey, is of "
                                "another protection domain, or lacks IBV_ACCESS_LOCAL_WRITE";
        case Status::local_qp_operation_error:
            return "the request does not fit its queue pair: look at its operation and its pieces";
        case Status::window_bind_error:
            return "the window or the key could not be bound or invalidated: look at its rights, "
                   "its range and its protection domain";
        case Status::local_access_error:
            return "a WRITE with immediate data of the peer was refused: its rkey, range or right "
                   "was wrong";
        case Status::bad_response: return "the peer's answer does not fit the request";
        default: return "";
    }
}

}  // namespace

void Diagnosis::note_objection() {
    const Objection objection = adapter_.take_objection();
    const transport::QueuePair* qp = adapter_.queue_pairs().find(objection.qpn);
    if (qp == nullptr) return;
    put_objection(world_.own().grants(), qp->dest_qpn, objection);
    connections_.note(*qp);  // it has failed, and accepts nothing more from its peer
}

std::string Diagnosis::name_of(EndpointIndex endpoint) const {
    const Peer* found = world_.peer(endpoint);
    if (endpoint.value == 0) return "this process itself";
    if (found == nullptr) return "the peer";
    if (found->is_remote) return "the machine at " + text_of(found->facts.gids[0]);
    return printed("process %d of host %u", static_cast<int>(found->who.pid), found->facts.rank);
}

void Diagnosis::tell_way(EndpointIndex endpoint) {
    const Identity& who = world_.own().identity();
    if (!who.is_verbose || endpoint == World::kNowhere || endpoint.value >= world_.size()) return;
    const Choice choice = connections_.way_to(endpoint);
    Peer& peer = world_.at(endpoint.value);
    if (peer.told_way == static_cast<int>(choice.way)) return;
    peer.told_way = static_cast<int>(choice.way);
    const std::string line =
        printed("tulle: host %u, process %d: work for %s goes %s: %s.\n", who.rank,
                static_cast<int>(getpid()), name_of(endpoint).c_str(), live::name_of(choice.way),
                choice.why);
    (void)!write(STDERR_FILENO, line.data(), line.size());
}

// The queue pair was connected to an address without a process. The number of the peer's queue pair
// tells which process was meant.
std::string Diagnosis::why_nobody(const transport::QueuePair& qp) const {
    const bool is_ethernet = world_.own().identity().is_ethernet;
    if (const auto meant = world_.index_in(slot_of(qp.dest_qpn))) {
        const Facts& there = world_.facts_of(*meant);
        const auto layer = [](bool is) { return is ? "Ethernet" : "InfiniBand"; };
        if (there.is_ethernet != is_ethernet)
            return printed(
                "%s is on %s and this process on %s, which no switch joins: start both "
                "with the same --link-layer",
                name_of(*meant).c_str(), layer(there.is_ethernet), layer(is_ethernet));
    }
    const wire::Gid& address = connections_.of(qp.number).named;
    const bool is_loopback = wire::is_ipv4(address) && address.bytes[wire::kIpv4Prefix] == 127;
    const bool listens = !world_.own().identity().listens.empty();
    if (is_loopback && listens)
        return "the queue pair was connected to " + text_of(address) +
               ": the peer was not started by `tulle run --listen`, as this program was";
    if (address != wire::Gid{} && !is_loopback && !is_of_link(address) && !listens)
        return "the queue pair was connected to " + text_of(address) +
               " on another machine: start this program by `tulle run --listen`, too";
    return "nobody has the address that the queue pair was connected to";
}

// Packets were sent, and nothing came back.
std::string Diagnosis::why_silent(const transport::QueuePair& qp) {
    const EndpointIndex endpoint = qp.address.endpoint;
    const Peer* found = world_.peer(endpoint);
    if (found == nullptr) return why_nobody(qp);
    const std::string name = name_of(endpoint);
    const uint32_t number = qp.dest_qpn.value;
    if (world_.own().board().link_was_down.load() != 0)
        return "the link was down, as a rule of --faults says";
    if (found->is_remote) return why_remote_is_silent(*found, qp.mtu);
    if (found->is_gone && !found->has_board()) return "the peer, " + name + ", has ended";
    const Board& there = world_.board_of(endpoint);
    if (there.link_was_down.load() != 0)
        return "the link of " + name + " was down, as a rule of --faults says";
    if (found->is_gone) return "the peer, " + name + ", has ended";
    const uint32_t life = there.lives[place_of(there, qp.dest_qpn)].load();
    if (life == 0 || (life & 0xff'ffff) != number)
        return printed("%s has no queue pair 0x%06x, or has destroyed it", name.c_str(), number);
    const auto state = static_cast<QpState>((life >> 24) - 1);
    if (state == QpState::reset || state == QpState::init)
        return printed("the queue pair 0x%06x of %s was not in RTR yet", number, name.c_str());
    if (state == QpState::error)
        return printed("the queue pair 0x%06x of %s is in the error state", number, name.c_str());
    if (carrier_.wire() != nullptr && carrier_.wire()->may_lose())
        return "packets or their acknowledgements were lost again and again, as the faults that "
               "were asked for say";
    if (endpoint.value != 0 && found->is_behind())
        return name + " has not read what was sent to it: it is stopped, or has no time";
    const GidKind own = connections_.of(qp.number).ends.kind;
    const GidKind its = world_.ends_of(endpoint, qp.dest_qpn).kind;
    if (its != GidKind::unknown && its != own)
        return printed(
            "queue pair 0x%06x of %s has a source GID of %s, and this one has one of %s: "
            "give both the sgid_index of one type",
            number, name.c_str(), words_for(its), words_for(own));
    return why_ignored(qp, name);
}

std::string Diagnosis::why_remote_is_silent(const Peer& peer, uint32_t mtu) const {
    const std::string name = text_of(peer.facts.gids[0]);
    if (carrier_.wire() != nullptr && carrier_.wire()->may_lose())
        return "packets or their acknowledgements were lost again and again, as the faults that "
               "were asked for say";
    switch (carrier_.udp() != nullptr ? carrier_.udp()->sockets().error_of(peer.facts.gids[0])
                                      : 0) {
        case ECONNREFUSED:
            return "nobody listens on UDP port 4791 of " + name +
                   ": the peer has ended, or was not started by `tulle run --listen`";
        case EHOSTUNREACH:
        case ENETUNREACH: return name + " cannot be reached: there is no route, or no such host";
        case EMSGSIZE:
            return "a packet is too long for a link on the way to " + name +
                   ": give that link a larger MTU, or the queue pair a smaller path_mtu";
        case EPERM: return "a firewall of this machine keeps packets from " + name;
        default: break;
    }
    return printed(
        "no answer came from %s: the peer has ended, its host is not there, a firewall drops UDP "
        "port 4791, or a link on the way is too narrow for packets of %u bytes and does not say so",
        name.c_str(), mtu);
}

std::string Diagnosis::why_unheard(EndpointIndex endpoint) const {
    constexpr uint32_t kLeastMtu = 256;  // what the messages of the connection manager take
    const Peer* found = world_.peer(endpoint);
    return found != nullptr && found->is_remote ? why_remote_is_silent(*found, kLeastMtu)
                                                : std::string();
}

// The peer lives and is ready, but accepts nothing: its board tells which queue pair it is
// connected to, if we may read that.
std::string Diagnosis::why_ignored(const transport::QueuePair& qp, const std::string& name) {
    const EndpointIndex endpoint = qp.address.endpoint;
    const uint32_t number = qp.dest_qpn.value;
    const bool is_shown = endpoint.value == 0 || world_.at(endpoint.value).has_grants();
    if (!is_shown)
        return printed(
            "queue pair 0x%06x of %s is connected to another one, or its rq_psn is not the "
            "sq_psn of this one",
            number, name.c_str());
    const Grants& there =
        endpoint.value == 0 ? world_.own().grants() : world_.at(endpoint.value).grants();
    const QueuePairNote& note = there.queue_pairs[number % kQueuePairs];
    if (note.peer.load() != world_.own().outside_of(qp.number).value ||
        note.peer_instance.load() != world_.own().secret().instance)
        return printed("queue pair 0x%06x of %s is connected to another one, 0x%06x", number,
                       name.c_str(), note.peer.load());
    return printed(
        "queue pair 0x%06x of %s is connected to this one and takes none of its requests: "
        "its rq_psn is not the sq_psn of this one",
        number, name.c_str());
}

std::string Diagnosis::why_refused(const transport::QueuePair& qp) {
    const EndpointIndex endpoint = qp.address.endpoint;
    const Peer* found = world_.peer(endpoint);
    if (found == nullptr || (endpoint.value != 0 && !found->has_grants())) return {};
    const Grants& there = endpoint.value == 0 ? world_.own().grants() : found->grants();
    const auto objection = find_objection(there, world_.own().outside_of(qp.number));
    return objection ? describe(*objection, name_of(endpoint)) : std::string();
}

std::string Diagnosis::likely_cause(const transport::Completion& completion) {
    const transport::QueuePair* qp = adapter_.queue_pairs().find(completion.qpn);
    if (qp == nullptr) return {};
    connections_.note(*qp);  // its peer may read its state
    switch (completion.status) {
        case Status::retry_exceeded:
        case Status::response_timeout: return why_silent(*qp);
        case Status::rnr_retry_exceeded:
            if (carrier_.wire() != nullptr && carrier_.wire()->may_refuse())
                return "a rule of --faults had the receiver not ready";
            return printed(
                "%s had no receive posted on its queue pair 0x%06x, however often it was "
                "tried (rnr_retry)",
                name_of(qp->address.endpoint).c_str(), qp->dest_qpn.value);
        case Status::remote_invalid_request:
        case Status::remote_access_error:
        case Status::remote_operational_error: return why_refused(*qp);
        case Status::general_error: return "a rule of --faults broke the queue pair";
        case Status::fatal: return "a rule of --faults broke the adapter";
        default: return describe_local(completion);
    }
}

}  // namespace tulle::live
