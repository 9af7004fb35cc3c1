#include "live/software_adapter.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "live/clock.h"
#include "live/fault_guard.h"

namespace tulle::live {
namespace {

using base::Instant;
using transport::EndpointIndex;
using transport::QpState;
using transport::Refusal;

constexpr uint32_t kPiece = 32 << 10;  // payload per packet where the path MTU does not apply
// The window of one queue pair. It fits into a ring with room to spare: what does not fit is copied
// twice more, to a backlog and back. Packets in their form on the wire are smaller.
constexpr uint32_t kPiecesOutstanding = 12;
constexpr uint32_t kPacketsOutstanding = 32;
static_assert(kPiecesOutstanding * kPiece <= kRingBytes / 2);
constexpr base::Duration kBacklogLook{100'000'000};      // 100 us
constexpr base::Duration kStuckLook{10'000'000'000};     // 10 ms, chosen
constexpr base::Duration kRnrPatience{500'000'000'000};  // 500 ms

transport::AdapterConfig config_for(const WireSettings& settings, bool listens) {
    transport::AdapterConfig config;
    while (getrandom(&config.seed, sizeof config.seed, 0) != sizeof config.seed) continue;
    config.first_use = static_cast<uint8_t>(config.seed >> 56);
    config.max_payload = kPiece;
    config.max_packets_outstanding = settings.is_on ? kPacketsOutstanding : kPiecesOutstanding;
    if (listens) {
        config.max_packets_outstanding = UdpSockets::window();
        config.room_packets = UdpSockets::room();
        // The most that a peer can make us keep: twice the window of our own queue pairs.
        config.reorder_packets = 2 * UdpSockets::kMostUnderWay;
    }
    if (!settings.is_on) config.rnr_patience = kRnrPatience;
    if (transport::nature_of(Pacing::wanted()).wants_marks_in_answers)
        config.notifications.way = transport::NotificationSettings::Way::answer;
    return config;
}

}  // namespace

SoftwareAdapter::SoftwareAdapter(const Identity& who, Listener& listener,
                                 const WireSettings& settings)
    : listener_(listener),
      adapter_(config_for(settings, !who.listens.empty())),
      services_(adapter_),
      world_(who, lock_, *this),
      ports_(world_),
      connections_(world_, adapter_, {settings.is_on, settings.is_strict}),
      carrier_(world_, connections_, adapter_, *this, settings),
      diagnosis_(world_, connections_, carrier_, adapter_),
      imports_(world_, lock_),
      pacing_(who.listens.empty() ? transport::Algorithm::none : Pacing::wanted(), who.listens),
      memory_(world_, lock_, carrier_, progress_, *this),
      tally_(adapter_, carrier_),
      posting_(adapter_, world_, connections_, carrier_, direct_, progress_, *this),
      progress_(lock_, world_, direct_, *this) {}

std::unique_ptr<SoftwareAdapter> SoftwareAdapter::open(const Identity& who, Listener& listener) {
    std::unique_ptr<SoftwareAdapter> host(
        new SoftwareAdapter(who, listener, wire_settings_from_environment()));
    if (host->set_up()) return host;
    const int error = errno;  // for the caller; closing what was opened may change it
    host.reset();
    errno = error;
    return nullptr;
}

SoftwareAdapter::~SoftwareAdapter() {
    progress_.stop();  // while everything that it uses still exists
    if (carrier_.wire() != nullptr && world_.size() != 0) {
        // Packets on the wire arrive, even if their sender has left meanwhile.
        carrier_.deliver_wire(Instant::never());
        carrier_.flush();
    }
    finish();
}

void SoftwareAdapter::finish() {
    carrier_.send_held_back();
    tally_.show();
}

bool SoftwareAdapter::set_up() {
    if (!pacing_.problem().empty()) {
        std::fprintf(stderr, "tulle: %s\n", pacing_.problem().c_str());
        return false;
    }
    auto door = world_.open();
    if (!door || !services_.open()) return false;
    connections_.resize(world_.own().room());
    tally_.open(identity(), world_.own().slot());
    direct_.set_counters(tally_.slots());
    if (!identity().listens.empty()) {
        if (const auto opened = carrier_.open_udp(); !opened) {
            std::fprintf(stderr, "tulle: %s\n", opened.error().message.c_str());
            return false;
        }
        progress_.hear_also(carrier_.udp()->sockets().files());
    }
    const WirePath* wire = carrier_.wire();
    world_.show_facts(tally_.is_open(), wire != nullptr,
                      wire != nullptr ? wire->capture_number() : 0);
    guard_against_faults();
    return progress_.start(std::move(*door));
}

void SoftwareAdapter::abandon() {
    imports_.abandon();
    ports_.abandon();
    progress_.abandon();
    world_.abandon();
    tally_.abandon();
}

// What a peer sent before it left is still valid.
void SoftwareAdapter::on_leaving(uint32_t peer, Instant time) {
    memory_.drain(peer, time);
}

// Its queue pairs are silent from now on. Their peers notice that after the timeouts that they have
// set.
void SoftwareAdapter::on_left(uint32_t peer, Instant time) {
    carrier_.on_left(peer);
    direct_.leave(adapter_, world_.at(peer), time);
    connections_.on_left(peer, time);
    listener_.on_gone(EndpointIndex{peer});
}

void SoftwareAdapter::on_management() {
    services_.receive(
        [&](const ManagementMessage& message) { return listener_.on_management(message); });
}

bool SoftwareAdapter::send_management(EndpointIndex to, std::span<const std::byte> bytes) {
    if (to.value >= world_.size() || world_.at(to.value).is_gone) return true;  // lost
    const bool is_posted = services_.send(to, bytes);
    carrier_.transmit(now());
    return is_posted;
}

void SoftwareAdapter::on_unreachable(uint32_t peer, int error, std::span<const std::byte> quoted) {
    const bool is_refused = error == ECONNREFUSED;
    if (is_refused || error == EHOSTUNREACH || error == ENETUNREACH)
        listener_.on_unreachable(EndpointIndex{peer}, is_refused, quoted);
}

// ---- queue pairs --------------------------------------------------------------------------------

std::optional<wire::Qpn> SoftwareAdapter::create_qp(const transport::QpSetup& setup) {
    const auto qpn = adapter_.queue_pairs().create(setup);
    if (qpn && transport::Core::index_of(*qpn) >= connections_.size() && !world_.add_block()) {
        (void)adapter_.queue_pairs().destroy(*qpn);
        return std::nullopt;
    }
    connections_.resize(world_.own().room());
    if (qpn) connections_.note(*adapter_.queue_pairs().find(*qpn));
    return qpn;
}

Refusal SoftwareAdapter::modify_qp(wire::Qpn qpn, transport::QpAttributes attributes, uint32_t mask,
                                   const Addressing& addressing) {
    Connections::Route& route = connections_.of(qpn);
    const transport::QueuePair* qp = adapter_.queue_pairs().find(qpn);
    if (qp == nullptr) return Refusal::invalid_argument;
    posting_.release(qpn);
    posting_.expect_packets();
    carrier_.send_held_back();
    const bool is_datagram = qp->type == transport::QpType::ud;
    const EndpointIndex endpoint =
        (mask & transport::kAddress) != 0 ? attributes.address.endpoint : qp->address.endpoint;
    const bool is_shared = endpoint != kNowhere && !connections_.cuts_packets(endpoint);
    if (is_shared && !is_datagram && (mask & transport::kPathMtu) != 0)
        attributes.path_mtu = kPiece;
    const uint8_t timeout = attributes.address.ack_timeout;
    const bool is_alive = is_shared && (endpoint.value == 0 || !world_.at(endpoint.value).is_gone);
    if (is_alive) attributes.address.ack_timeout = patient(timeout);
    // These two changes take no other attribute, and without one they are never refused. Work that
    // the engine flushes was posted later.
    const bool fails = attributes.state == QpState::error;
    if (mask == transport::kState && (fails || attributes.state == QpState::reset))
        direct_.stop(adapter_, qpn, fails);
    if (mask == transport::kState && attributes.state == QpState::reset)
        adapter_.queue_pairs().forget_completions(qpn);
    const Refusal refusal = adapter_.queue_pairs().modify(qpn, attributes, mask);
    if (refusal != Refusal::none) return refusal;
    if ((mask & transport::kAddress) != 0) {
        connections_.connect(route, endpoint);
        const uint32_t last = world_.facts_of({0}).gid_count - 1;
        route.ends = {gid_kind_of(identity().is_ethernet, std::min(addressing.gid_index, last)),
                      addressing.port, addressing.peer_port};
        route.is_agreed = false;
        route.named = addressing.peer_address;
        if (!is_datagram) prepare_for_wire(qpn, endpoint);
        diagnosis_.tell_way(endpoint);
    } else if ((mask & transport::kPort) != 0) {
        route.ends.port = addressing.port;
    }
    if ((mask & transport::kTimeout) != 0) route.ack_timeout = timeout;
    route.qpn = qpn;
    connections_.note(*qp);
    return Refusal::none;
}

// Queue pairs to another machine are paced if that was requested, and retransmit in the way that
// the peer understands.
void SoftwareAdapter::prepare_for_wire(wire::Qpn qpn, EndpointIndex endpoint) {
    const bool is_remote = connections_.way_to(endpoint).way == Way::udp;
    adapter_.queue_pairs().set_sharing_rooms(qpn, is_remote);
    if (!is_remote) return;
    if (pacing_.is_on()) adapter_.queue_pairs().set_congestion_control(qpn, pacing_.control());
    Peer& peer = world_.at(endpoint.value);
    adapter_.queue_pairs().set_loss_policy(qpn, peer.is_ours
                                                    ? transport::LossPolicy::selective_repeat
                                                    : transport::LossPolicy::go_back_n);
    carrier_.udp()->greet(now(), peer);
}

Refusal SoftwareAdapter::destroy_qp(wire::Qpn qpn) {
    carrier_.send_held_back();
    posting_.release(qpn);
    direct_.stop(adapter_, qpn, false);
    adapter_.queue_pairs().forget_completions(qpn);
    const Refusal refusal = adapter_.queue_pairs().destroy(qpn);
    if (refusal == Refusal::none) connections_.forget(qpn);
    return refusal;
}

Refusal SoftwareAdapter::attach_multicast(wire::Qpn qpn, const wire::Gid& group) {
    const Refusal refusal = adapter_.multicast().attach(qpn, world_.groups().number_of(group));
    if (refusal != Refusal::none) return refusal;
    const int file = carrier_.udp() != nullptr ? carrier_.udp()->join(group) : -1;
    if (file >= 0) progress_.watch().hear_more(file);
    world_.meet_all();
    ports_.show_group();
    return refusal;
}

Refusal SoftwareAdapter::detach_multicast(wire::Qpn qpn, const wire::Gid& group) {
    const Refusal refusal = adapter_.multicast().detach(qpn, world_.groups().number_of(group));
    if (refusal == Refusal::none && carrier_.udp() != nullptr) carrier_.udp()->leave(group);
    return refusal;
}

// The thread handles packets for this process itself: the owner is still inside a call.
void SoftwareAdapter::flush_management() {
    if (carrier_.wire() != nullptr) carrier_.deliver_wire(now());
    carrier_.flush();
    if (carrier_.has_local()) return progress_.watch().wake();
    progress_.wake_thread_in_time();
}

// ---- progress -----------------------------------------------------------------------------------

// Takes callers, then processes that have left. In this order, because a caller may send something
// and end.
void SoftwareAdapter::take_news() {
    std::vector<Introduction> callers;
    std::vector<int> closed;
    progress_.watch().take_news(callers, closed);
    for (Introduction& caller : callers) world_.on_introduced(std::move(caller));
    for (const int socket : closed) world_.on_socket_closed(socket);
}

void SoftwareAdapter::work(bool by_program) {
    if (progress_.watch().has_news()) take_news();
    posting_.end_of_list();
    carrier_.send_held_back();
    const Instant time = now();
    const bool was_amid_progress = std::exchange(lock_.is_amid_progress, true);
    do {
        // Goes before answers to work that was posted later.
        if (direct_.is_awaiting()) direct_.settle(adapter_, time);
        carrier_.receive_all(time);
        if (adapter_.next_deadline() <= time) {
            connections_.excuse_slow_peers(time);
            adapter_.on_timer(time);
        }
        if (extra_deadline_ <= time) {
            extra_deadline_ = Instant::never();
            listener_.on_progress();
        }
        posting_.advance();
        carrier_.transmit(time);
        if (carrier_.wire() != nullptr) carrier_.deliver_wire(time);
        tell_events();
    } while (carrier_.has_local());
    lock_.is_amid_progress = was_amid_progress;
    carrier_.flush(by_program && progress_.will_answer());
    tally_.look(time);
    pacing_.end_if_failed(adapter_);
}

bool SoftwareAdapter::has_arrivals() {
    for (const uint32_t index : world_.receiving()) world_.at(index).incoming().bell_rung.store(0);
    if (progress_.watch().has_news()) return true;
    return std::ranges::any_of(world_.receiving(),
                               [&](uint32_t index) { return !world_.at(index).reader.empty(); });
}

Instant SoftwareAdapter::next_deadline() const {
    Instant at = std::min({adapter_.next_deadline(), extra_deadline_, tally_.next_deadline(),
                           carrier_.borrower().next_look()});
    if (carrier_.udp() != nullptr) at = std::min(at, carrier_.udp()->next_deadline());
    if (carrier_.wire() != nullptr) at = std::min(at, carrier_.wire()->next_deadline());
    if (carrier_.has_backlog() || direct_.is_awaiting()) at = std::min(at, now() + kBacklogLook);
    if (carrier_.has_stuck_peers()) at = std::min(at, now() + kStuckLook);
    return at;
}

void SoftwareAdapter::tell_events() {
    while (const auto event = adapter_.poll_event()) {
        posting_.on_event(*event);
        listener_.on_event(*event);
    }
}

}  // namespace tulle::live
