#include "live/host.h"

#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>

#include "live/clock.h"
#include "live/record.h"
#include "live/watch.h"

namespace tulle::live {
namespace {

using base::Instant;
using transport::EndpointIndex;
using transport::QpState;
using transport::Refusal;

constexpr uint32_t kPiece = 32 << 10;  // packets are cut at this where they travel uncut
// What one queue pair has under way, so that it fits into a ring with room to spare: what does not
// is copied twice more, to a backlog and back. Packets as they are on the wire are smaller.
constexpr uint32_t kPiecesOutstanding = 12;
constexpr uint32_t kPacketsOutstanding = 32;
static_assert(kPiecesOutstanding * kPiece <= kRingBytes / 2);
constexpr uint32_t kPollsToTrust = 64;
constexpr uint32_t kPollsToYield = 256;
constexpr uint32_t kLooksToYield = 16;
constexpr uint32_t kFindsToTrust = 8;
constexpr uint32_t kPostsToStream = 8;
constexpr uint32_t kLooksAnswering = 4;
constexpr uint32_t kVainLooks = 4;  // before it looks only now and then
constexpr uint32_t kVainLooksToTry = 16;
constexpr base::Duration kBacklogLook{100'000'000};    // 100 us
constexpr base::Duration kStuckLook{10'000'000'000};   // 10 ms, chosen
constexpr base::Duration kPatience{50'000'000};        // 50 us
constexpr base::Duration kTallyAfter{10'000'000'000};  // 10 ms

constexpr uint8_t kLeastAckTimeout = 14;                 // 67 ms
constexpr base::Duration kRnrPatience{500'000'000'000};  // 500 ms

// A process that shares a CPU with others answers later than an adapter would.
uint8_t patient(uint8_t ack_timeout) {
    return ack_timeout == 0 ? ack_timeout : std::max(ack_timeout, kLeastAckTimeout);
}

uint64_t random_word() {
    uint64_t word = 0;
    while (getrandom(&word, sizeof word, 0) != sizeof word) continue;
    return word | 1;
}

}  // namespace

Host::Host(const Identity& who, Listener& listener)
    : who_(who), listener_(listener), world_(world_of(who)) {}

std::unique_ptr<Host> Host::open(const Identity& who, Listener& listener) {
    std::unique_ptr<Host> host(new Host(who, listener));
    if (!host->set_up()) return nullptr;
    return host;
}

Host::~Host() {
    if (watch_) watch_->stop();  // while all that it uses is still here
    if (wire_) {
        // What is on the wire arrives, whoever has gone meanwhile.
        deliver_wire(Instant::never());
        flush_all();
    }
    if (adapter_) show_counters();
}

bool Host::set_up() {
    board_ = SharedMemory::create(sizeof(Board), SharedMemory::Peers::read);
    grants_ = SharedMemory::create(sizeof(Grants), SharedMemory::Peers::read);
    bell_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    auto door = Door::open(world_);
    if (!board_ || !grants_ || !bell_ || !door) return false;
    slot_ = door->slot();
    add_slot(slot_);
    variant_ = door->variant();
    secret_ = {random_word(), random_word()};
    counters_ = PortCounters(who_.counters_file, slot_);
    direct_.set_counters(&counters_);
    if (const WireSettings settings = wire_settings_from_environment(); settings.is_on) {
        wire_ = std::make_unique<WirePath>(who_, settings);
        is_strict_ = settings.is_strict;
    }
    show_facts();
    // Where a security module restricts it, peers of this user may reach our memory all the same.
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);

    transport::AdapterConfig config;
    config.seed = random_word();
    config.max_payload = kPiece;
    config.max_packets_outstanding = wire_ ? kPacketsOutstanding : kPiecesOutstanding;
    if (!wire_) config.rnr_patience = kRnrPatience;
    adapter_ = std::make_unique<transport::Adapter>(config);
    peers_.push_back(
        std::make_unique<Peer>(secret_.instance, slot_, Credentials{getpid(), world_.uid}));
    peers_[0]->facts = board();
    watch_ = std::make_unique<Watch>(*this, std::move(*door));
    return watch_->start();
}

void Host::show_facts() {
    Board& shown = board();
    shown.instance = secret_.instance;
    shown.secret_place = reinterpret_cast<uint64_t>(&secret_);
    shown.rank = who_.rank;
    shown.gid_count = static_cast<uint32_t>(std::min<size_t>(who_.gids.size(), kGids));
    std::copy_n(who_.gids.begin(), shown.gid_count, shown.gids);
    shown.lid = who_.lid;
    shown.is_ethernet = who_.is_ethernet;
    if (counters_ && who_.counters_file.size() < kPathRoom)
        std::ranges::copy(who_.counters_file, shown.counters_file);
    shown.cuts_packets = wire_ != nullptr;
    grants().magic = kGrantsMagic;
    shown.magic = kBoardMagic;
}

Card Host::card() const {
    return {secret_.instance, slot_, board_.file(), -1, bell_.get(), grants_.file()};
}

void Host::abandon() {
    waiting_.clear();
    watch_->abandon();
    bell_.reset();
    for (auto& peer : peers_) peer.reset();
    board_ = {};
    grants_ = {};
    counters_ = {};
}

// ---- queue pairs --------------------------------------------------------------------------------

void Host::add_slot(uint32_t slot) {
    slots_.push_back(slot);
    board().blocks[slot].store(static_cast<uint8_t>(slots_.size()));
    routes_.resize(slots_.size() * kQueuePairsOfSlot);
    by_slot_[slot] = 0;
}

// False if the world has no slot left, or this process has as many as one may have.
bool Host::add_block() {
    if (slots_.size() == kBlocks) return false;
    auto door = Door::open(world_);
    if (!door) return false;
    const uint32_t slot = door->slot();
    if (!watch_->add_door(std::move(*door))) return false;
    add_slot(slot);
    return true;
}

std::optional<wire::Qpn> Host::create_qp(const transport::QpSetup& setup) {
    const auto qpn = adapter_->create_qp(setup);
    if (qpn && transport::Core::index_of(*qpn) >= routes_.size() && !add_block()) {
        (void)adapter_->destroy_qp(*qpn);
        return std::nullopt;
    }
    if (qpn) note_qp(*adapter_->query_qp(*qpn));
    return qpn;
}

bool Host::wants_cut_packets(EndpointIndex endpoint) const {
    if (endpoint == kNowhere) return false;
    if (endpoint.value == 0) return is_strict_;
    return wire_ != nullptr || facts_of(endpoint).cuts_packets;
}

Refusal Host::modify_qp(wire::Qpn qpn, transport::QpAttributes attributes, uint32_t mask,
                        uint32_t gid_index) {
    QpRoute& route = routes_[transport::Core::index_of(qpn)];
    const transport::QueuePair* qp = adapter_->query_qp(qpn);
    if (qp == nullptr) return Refusal::invalid_argument;
    posts_packets_ = true;
    const bool is_datagram = qp->type == transport::QpType::ud;
    const EndpointIndex endpoint =
        (mask & transport::kAddress) != 0 ? attributes.address.endpoint : qp->address.endpoint;
    const bool is_shared = endpoint != kNowhere && !wants_cut_packets(endpoint);
    if (is_shared && !is_datagram && (mask & transport::kPathMtu) != 0)
        attributes.path_mtu = kPiece;
    const uint8_t timeout = attributes.address.ack_timeout;
    const bool is_alive = is_shared && (endpoint.value == 0 || !peers_[endpoint.value]->is_gone);
    if (is_alive) attributes.address.ack_timeout = patient(timeout);
    // These two changes take no other attribute, and are never refused without one. What the engine
    // flushes was posted later.
    const bool fails = attributes.state == QpState::error;
    if (mask == transport::kState && (fails || attributes.state == QpState::reset))
        direct_.stop(*adapter_, qpn, fails);
    if (mask == transport::kState && attributes.state == QpState::reset)
        adapter_->forget_completions(qpn);
    const Refusal refusal = adapter_->modify_qp(qpn, attributes, mask);
    if (refusal != Refusal::none) return refusal;
    if ((mask & transport::kAddress) != 0) {
        connect_route(route, endpoint);
        const uint32_t last = facts_of({0}).gid_count - 1;
        route.gid_kind = gid_kind_of(who_.is_ethernet, std::min(gid_index, last));
        route.is_agreed = false;
    }
    if ((mask & transport::kTimeout) != 0) route.ack_timeout = timeout;
    route.qpn = qpn;
    note_qp(*qp);
    return Refusal::none;
}

// A peer that has not read what we wrote is not silent: it had no time, or was stopped. Silence
// counts from when it has.
void Host::excuse_slow_peers(Instant time) {
    for (uint32_t index = 1; index < peers_.size(); ++index) {
        Peer& peer = *peers_[index];
        if (peer.is_gone || !peer.can_send() || !peer.is_behind()) continue;
        for (const QpRoute& route : routes_)
            if (route.endpoint.value == index && route.qpn.value != 0)
                adapter_->set_ack_timeout(time, route.qpn, ack_timeout_of(route));
    }
}

uint8_t Host::ack_timeout_of(const QpRoute& route) const {
    return wants_cut_packets(route.endpoint) ? route.ack_timeout : patient(route.ack_timeout);
}

void Host::connect_route(QpRoute& route, EndpointIndex endpoint) {
    if (route.is_connected) {
        --peers_[route.endpoint.value]->connections;
        forget_if_unused(route.endpoint.value);
    }
    route.endpoint = endpoint;
    route.is_connected = endpoint.value < peers_.size();
    if (route.is_connected) ++peers_[endpoint.value]->connections;
}

// Whether both ends send from addresses of one kind: RoCE v1 and v2 do not understand each other.
// A peer whose kind is not known yet has nothing to disagree with.
bool Host::agrees(QpRoute& route) {
    if (route.is_agreed) return true;
    const transport::QueuePair* qp = adapter_->query_qp(route.qpn);
    const bool is_connected =
        qp != nullptr && (qp->type == transport::QpType::rc || qp->type == transport::QpType::uc);
    if (!is_connected || !route.is_connected) return true;
    const Peer& peer = *peers_[route.endpoint.value];
    if (route.endpoint.value != 0 && !peer.has_board()) return true;
    const auto kind =
        static_cast<GidKind>(board_of(route.endpoint)
                                 .gid_kinds[place_of(board_of(route.endpoint), qp->dest_qpn)]
                                 .load());
    route.is_agreed = kind == route.gid_kind;
    return route.is_agreed || kind == GidKind::unknown;
}

void Host::note_qp(const transport::QueuePair& qp) {
    const uint32_t place = transport::Core::index_of(qp.number);
    QueuePairNote& note = grants().queue_pairs[place];
    note.number.store(0);
    board().lives[place].store(life_of(outside_of(qp.number), qp.state));
    board().gid_kinds[place].store(static_cast<uint8_t>(routes_[place].gid_kind));
    const EndpointIndex endpoint = qp.address.endpoint;
    const bool is_connected = qp.type == transport::QpType::rc || qp.type == transport::QpType::uc;
    if (!is_connected || !qp.receives() || endpoint == kNowhere) return;
    note.peer.store(qp.dest_qpn.value);
    note.peer_instance.store(peers_[endpoint.value]->instance);
    if (wants_cut_packets(endpoint)) return;
    note.access.store(qp.access);
    note.pd.store(qp.pd.value);
    note.number.store(outside_of(qp.number).value);
}

Refusal Host::destroy_qp(wire::Qpn qpn) {
    direct_.stop(*adapter_, qpn, false);
    adapter_->forget_completions(qpn);
    const Refusal refusal = adapter_->destroy_qp(qpn);
    if (refusal != Refusal::none) return refusal;
    const uint32_t place = transport::Core::index_of(qpn);
    grants().queue_pairs[place].number.store(0);
    board().lives[place].store(0);
    board().gid_kinds[place].store(0);
    connect_route(routes_[place], kNowhere);
    routes_[place] = {};
    return refusal;
}

// ---- memory -------------------------------------------------------------------------------------

void Host::publish_region(uint32_t rkey, const transport::RegionRequest& request) {
    constexpr uint32_t kOpen = transport::kRemoteRead | transport::kRemoteWrite;
    if ((request.access & kOpen) == 0) return;
    put_region(grants(), rkey, request.pd.value, request.access, request.address, request.length,
               reinterpret_cast<uint64_t>(request.host));
}

transport::MulticastGroup Host::group_of(const wire::Gid& gid) {
    const auto known = std::ranges::find(groups_, gid);
    if (known != groups_.end()) return {static_cast<uint32_t>(known - groups_.begin() + 1)};
    groups_.push_back(gid);
    return {static_cast<uint32_t>(groups_.size())};
}

// ---- work ---------------------------------------------------------------------------------------

Refusal Host::post_send(wire::Qpn qpn, const transport::SendRequest& request) {
    const transport::QueuePair* qp = adapter_->query_qp(qpn);
    if (qp == nullptr) return Refusal::invalid_argument;
    const uint32_t index = qp->address.endpoint.value;
    ++posts_in_a_row_;
    if (index < peers_.size() && qp->requester.oldest == qp->requester.end) {
        Peer& peer = *peers_[index];
        if (peer.is_reachable && !peer.is_gone && peer.can_send() && wire_ == nullptr &&
            agrees(routes_[transport::Core::index_of(qpn)]) && open_counters(peer)) {
            if (direct_.add(peer, *adapter_, *qp, outside_of(qpn), secret_.instance, request))
                return Refusal::none;
        }
    }
    (void)direct_.flush(*adapter_);  // work completes in the order in which it was posted
    posts_packets_ = true;
    return adapter_->post_send(qpn, request);
}

void Host::finish_posting() {
    awaits_answer_ = true;
    direct_.set_streaming(posts_in_a_row_ > kPostsToStream);
    if (direct_.flush(*adapter_)) posts_packets_ = true;
    if (posts_packets_ || adapter_->has_work()) {
        posts_packets_ = false;
        const Instant time = now();
        transmit(time);
        if (wire_) deliver_wire(time);
        if (!local_.empty()) return progress(true);
        flush_all();
    }
    tell_events();
    wake_thread_in_time();
}

void Host::settle() {
    posts_in_a_row_ = 0;
    if (direct_.is_awaiting()) direct_.settle(*adapter_, now());
}

void Host::wake_thread_in_time() {
    if (sleeps_until_ == kOftenAwake) return;
    const Instant deadline = next_deadline();
    if (deadline >= sleeps_until_) return;
    sleeps_until_ = deadline;
    watch_->wake();
}

// What is for ourselves is looked at by the thread: the owner is amid a call of its own.
void Host::flush_management() {
    if (wire_) deliver_wire(now());
    flush_all();
    if (!local_.empty()) return watch_->wake();
    wake_thread_in_time();
}

// ---- progress -----------------------------------------------------------------------------------

void Host::progress(bool by_program) {
    if (by_program)
        polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (watch_->has_news()) {
        std::vector<Introduction> callers;
        std::vector<int> closed;
        watch_->take_news(callers, closed);
        for (const int socket : closed) on_socket_closed(socket);
        for (Introduction& caller : callers) on_introduced(std::move(caller));
    }
    posts_in_a_row_ = 0;
    const Instant time = now();
    const bool was_amid_progress = std::exchange(is_amid_progress_, true);
    do {
        direct_.settle(*adapter_, time);  // before answers to what was posted later
        receive_all(time);
        if (adapter_->next_deadline() <= time) {
            excuse_slow_peers(time);
            adapter_->on_timer(time);
        }
        if (extra_deadline_ <= time) {
            extra_deadline_ = Instant::never();
            listener_.on_progress();
        }
        transmit(time);
        if (wire_) deliver_wire(time);
        tell_events();
    } while (!local_.empty());
    is_amid_progress_ = was_amid_progress;
    flush_all();
    tally(time);
    if (by_program) wake_thread_in_time();
}

// What the adapter counts is shown now and then, and once more when it has become quiet.
void Host::tally(Instant time) {
    const transport::Counters& now_counted = adapter_->counters();
    const uint64_t sum = now_counted.port_xmit_packets + now_counted.port_rcv_packets +
                         now_counted.req_cqe_error + now_counted.local_ack_timeout_err;
    if (sum == tallied_) return;
    if (tally_at_ == Instant::never()) tally_at_ = time + kTallyAfter;
    if (time < tally_at_) return;
    show_counters();
    tallied_ = sum;
    tally_at_ = Instant::never();
}

bool Host::on_empty_poll() {
    if (++empty_polls_ < kPollsToTrust) return false;
    trust_program();
    // What is in rings is soon done or taken back.
    return empty_polls_ >= kPollsToYield && !direct_.is_awaiting();
}

void Host::trust_program() {
    if (is_polled_) return;
    is_polled_ = true;
    board().wants_bell.store(0);
    watch_->wake();
}

void Host::on_armed() {
    // A program that will wait in sleep() turns the bell on there, and only if it does have to.
    if (is_polled_ && sleeps_in_verbs_) return tell_events();
    empty_polls_ = 0;
    is_polled_ = false;
    board().wants_bell.store(1);
    if (has_arrivals()) return progress(true);
    tell_events();
}

bool Host::show_bell_in(int epoll) {
    return watch_->show_bell_in(epoll);
}

void Host::hide_bell_in(int epoll) {
    watch_->hide_bell_in(epoll);
}

void Host::answer_bell() {
    watch_->clear_bell();
    is_polled_ = sleeps_in_verbs_ = false;
    board().wants_bell.store(1);
    progress(true);
    for (uint32_t looks = 0; has_arrivals() && looks < kLooksAnswering; ++looks) progress(true);
    if (has_arrivals()) watch_->ring_bell();
    watch_->on_answer();
}

bool Host::look_before_sleep(std::unique_lock<std::mutex>& guard,
                             const std::function<bool()>& is_there) {
    if (!std::exchange(awaits_answer_, false)) return false;
    if (vain_looks_ >= kVainLooks && ++vain_looks_ % kVainLooksToTry != 0) return false;
    const Instant end = now() + kPatience;
    board().wants_bell.store(0);
    bool is_found = false;
    for (uint32_t looks = 1; !is_found && now() < end; ++looks) {
        progress(true);
        is_found = is_there();
        if (is_found || looks % kLooksToYield != 0) continue;
        guard.unlock();
        sched_yield();
        guard.lock();
    }
    vain_looks_ = is_found ? 0 : vain_looks_ + 1;
    board().wants_bell.store(1);
    if (has_arrivals()) progress(true);
    return is_found || is_there();
}

bool Host::look_awhile(const std::function<bool()>& is_there) {
    const Instant end = now() + kPatience;
    bool is_found = is_there();
    for (uint32_t looks = 1; !is_found && now() < end; ++looks) {
        {
            const std::lock_guard guard(lock_);
            board().wants_bell.store(0);
            progress(true);
        }
        is_found = is_there();
        if (!is_found && looks % kLooksToYield == 0) sched_yield();
    }
    const std::lock_guard guard(lock_);
    sleeps_in_verbs_ = true;
    quick_finds_ = is_found ? quick_finds_ + 1 : 0;
    if (quick_finds_ >= kFindsToTrust) trust_program();
    if (is_polled_) return is_found;
    board().wants_bell.store(1);
    if (has_arrivals()) watch_->wake();
    return is_found;
}

bool Host::sleep(const std::function<bool()>& is_there, int file) {
    std::unique_lock guard(lock_);
    is_polled_ = false;
    board().wants_bell.store(1);
    watch_->lend_bell();
    auto woken_by = Watch::Waker::bell;
    while (woken_by == Watch::Waker::bell) {
        const bool has_more = has_arrivals();
        if (has_more) progress(true);
        if (is_there()) break;
        if (has_more) continue;
        guard.unlock();
        woken_by = watch_->sleep_for_bell(file);
        guard.lock();
        progress(true);
    }
    watch_->take_bell_back();
    return woken_by != Watch::Waker::signal;
}

bool Host::has_arrivals() {
    for (const uint32_t index : receiving_) peers_[index]->incoming().bell_rung.store(0);
    if (watch_->has_news()) return true;
    return std::ranges::any_of(receiving_,
                               [&](uint32_t index) { return !peers_[index]->reader.empty(); });
}

Instant Host::next_deadline() const {
    Instant at = std::min({adapter_->next_deadline(), extra_deadline_, tally_at_});
    if (wire_) at = std::min(at, wire_->next_deadline());
    if (backlog_bytes_ != 0 || direct_.is_awaiting()) at = std::min(at, now() + kBacklogLook);
    if (has_stuck_peers_) at = std::min(at, now() + kStuckLook);
    return at;
}

void Host::tell_events() {
    while (const auto event = adapter_->poll_event()) listener_.on_event(*event);
}

}  // namespace tulle::live
