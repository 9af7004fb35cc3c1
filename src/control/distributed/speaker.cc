#include "control/distributed/speaker.h"

#include <algorithm>
#include <utility>

namespace tulle::control {

using base::Instant;

namespace {

// An UPDATE has 4,096 bytes at most (RFC 4271, 4.1), of which 23 are header and lengths; a prefix
// of 24 bits takes four.
constexpr uint32_t kMostBytes = 4096;
constexpr uint32_t kUpdateBytes = 23;
constexpr uint32_t kPrefixBytes = 4;

// OPEN with the capabilities route refresh, four-byte numbers and multiprotocol: 29 and 4, 8 and 8
// bytes (RFC 4271, 4.2; RFC 2918, 6793 and 4760). KEEPALIVE and NOTIFICATION without data (4.4 and
// 4.5). A control packet of BFD (RFC 5880, 4.1).
uint32_t fixed_bytes(BgpMessage::Kind kind) {
    switch (kind) {
        case BgpMessage::Kind::open: return 49;
        case BgpMessage::Kind::keepalive: return 19;
        case BgpMessage::Kind::update: return 0;
        case BgpMessage::Kind::notification: return 21;
        case BgpMessage::Kind::bfd: return 24;
    }
    return 0;
}

// ORIGIN, AS_PATH of four-byte numbers and NEXT_HOP of a path of this length (RFC 4271, 4.3 and
// 5.1; RFC 6793). An attribute of more than 255 bytes has a longer header.
uint32_t attribute_bytes(uint32_t path_length) {
    const uint32_t as_path = 2 + 4 * path_length;
    return 4 + (as_path > 255 ? 4 : 3) + as_path + 7;
}

// Ethernet's header and FCS, preamble and gap; IPv4; UDP; TCP with timestamps, and with the options
// of a SYN.
constexpr uint32_t kFrame = 14 + 4 + 20;
constexpr uint32_t kIp = 20;
constexpr uint32_t kUdp = 8;
constexpr uint32_t kTcp = 32;
constexpr uint32_t kTcpSyn = 40;
// SONiC's MTU of ports is 9,100 bytes (sonic-swss, portmgr.h: DEFAULT_MTU_STR).
constexpr uint32_t kSegment = 9100 - kIp - kTcp;

uint32_t segments_of(const BgpMessage& message) {
    return (message.bytes + kSegment - 1) / kSegment;
}

}  // namespace

// An OPEN comes after the sender's half of TCP's handshake.
uint32_t wire_bytes(const BgpMessage& message) {
    if (message.kind == BgpMessage::Kind::bfd) return kFrame + kIp + kUdp + message.bytes;
    const uint32_t handshake = message.kind == BgpMessage::Kind::open ? kFrame + kIp + kTcpSyn : 0;
    return handshake + segments_of(message) * (kFrame + kIp + kTcp) + message.bytes;
}

// RFC 5681, 4.2: at least every second full segment is acknowledged.
uint32_t acknowledgement_bytes(const BgpMessage& message) {
    if (message.kind == BgpMessage::Kind::bfd) return 0;
    return (segments_of(message) + 1) / 2 * (kFrame + kIp + kTcp);
}

Speaker::Speaker(const SpeakerSettings& settings, uint32_t system, uint16_t port_count,
                 Prefix prefix_count, Prefix own, AsPaths& paths)
    : settings_(settings),
      system_(system),
      own_(own),
      paths_(paths),
      sessions_(port_count),
      heard_(size_t{prefix_count} * port_count, kNoPath),
      told_(heard_),
      best_(prefix_count),
      table_(prefix_count),
      is_touched_(prefix_count) {
    if (own != kNoPrefix) best_[own] = {kOwnPath, paths.prepend(system, kOwnPath), 0};
}

// --- sessions ------------------------------------------------------------------------------------

void Speaker::on_link(Instant now, uint16_t port, bool is_up) {
    Session& session = sessions_[port];
    session.has_light = is_up;
    // FRR: fast-external-failover, a session ends with the light of its cable.
    if (!is_up || session.state != State::idle) reset(now, port);
    session.start_at = is_up ? now + settings_.start_delay : Instant::never();
    set_deadline(session.start_at);
    settle();
}

void Speaker::begin(Instant now, uint16_t port) {
    Session& session = sessions_[port];
    session.state = State::open_sent;
    session.start_at = now + settings_.retry;  // retry if nobody answers
    set_deadline(session.start_at);
    send(port, {.kind = BgpMessage::Kind::open});
}

void Speaker::reset(Instant now, uint16_t port) {
    Session& session = sessions_[port];
    for (Prefix prefix = 0; prefix < best_.size(); ++prefix)
        if (std::exchange(heard(port, prefix), kNoPath) != kNoPath) touch(prefix);
    if (session.state != State::idle) resets_.push_back(port);
    const bool has_light = session.has_light;
    session = {};
    session.has_light = has_light;
    if (has_light) session.start_at = now + settings_.retry;
    set_deadline(session.start_at);
}

void Speaker::on_message(Instant now, uint16_t port, const BgpMessage& message) {
    Session& session = sessions_[port];
    if (!session.has_light) return;
    switch (message.kind) {
        case BgpMessage::Kind::open: on_open(now, port); break;
        case BgpMessage::Kind::keepalive: on_keepalive(now, port); break;
        case BgpMessage::Kind::update:
            if (session.state != State::established) break;
            session.hold_until = now + settings_.hold;
            on_update(port, message);
            break;
        case BgpMessage::Kind::notification:
            if (session.state != State::idle) reset(now, port);
            break;
        case BgpMessage::Kind::bfd:
            if (session.bfd_until != Instant::never())
                session.bfd_until = now + settings_.bfd * settings_.bfd_multiplier;
            break;
    }
}

// Both ends may open a session. An OPEN during a session means that the neighbour has restarted.
void Speaker::on_open(Instant now, uint16_t port) {
    Session& session = sessions_[port];
    if (session.state == State::established || session.state == State::open_confirm)
        reset(now, port);
    if (session.state == State::idle) begin(now, port);
    session.state = State::open_confirm;
    session.start_at = Instant::never();
    session.hold_until = now + settings_.hold;
    set_deadline(session.hold_until);
    send(port, {.kind = BgpMessage::Kind::keepalive});
}

void Speaker::on_keepalive(Instant now, uint16_t port) {
    Session& session = sessions_[port];
    if (session.state != State::open_confirm && session.state != State::established) return;
    session.hold_until = now + settings_.hold;
    if (session.state == State::established) return;
    session.state = State::established;
    session.keepalive_at = now + settings_.keepalive;
    set_deadline(session.keepalive_at);
    if (settings_.bfd.ps > 0) {
        session.bfd_at = now;
        session.bfd_until = now + settings_.bfd * settings_.bfd_multiplier;
        set_deadline(session.bfd_at);
    }
    for (Prefix prefix = 0; prefix < best_.size(); ++prefix) {
        told(port, prefix) = kNoPath;
        note_news(port, prefix);
    }
}

void Speaker::on_timer(Instant now) {
    deadline_ = Instant::never();
    for (uint16_t port = 0; port < sessions_.size(); ++port) run_timers(now, port);
    settle();
}

void Speaker::run_timers(Instant now, uint16_t port) {
    Session& session = sessions_[port];
    if (session.start_at <= now) begin(now, port);
    if (session.hold_until <= now || session.bfd_until <= now) {
        send(port, {.kind = BgpMessage::Kind::notification});
        reset(now, port);
    }
    if (session.keepalive_at <= now) {
        session.keepalive_at = now + settings_.keepalive;
        send(port, {.kind = BgpMessage::Kind::keepalive});
    }
    if (session.bfd_at <= now) {
        session.bfd_at = now + settings_.bfd;
        send(port, {.kind = BgpMessage::Kind::bfd});
    }
    set_deadline(std::min({session.start_at, session.hold_until, session.keepalive_at,
                           session.bfd_at, session.bfd_until}));
}

void Speaker::send(uint16_t port, BgpMessage message) {
    message.bytes += fixed_bytes(message.kind);
    switch (message.kind) {
        case BgpMessage::Kind::open: ++counters_.opens; break;
        case BgpMessage::Kind::keepalive: ++counters_.keepalives; break;
        case BgpMessage::Kind::update: counters_.updates += message.updates; break;
        case BgpMessage::Kind::notification: ++counters_.notifications; break;
        case BgpMessage::Kind::bfd: ++counters_.bfd; break;
    }
    out_.push_back({port, std::move(message)});
}

// --- routes --------------------------------------------------------------------------------------

void Speaker::on_update(uint16_t port, const BgpMessage& update) {
    for (const BgpRoute& route : update.routes) {
        PathId path = route.path;
        // RFC 4271, 9.1.2: a path with the own system in it is a loop.
        if (path != kNoPath && paths_.contains(path, system_)) {
            ++counters_.looped;
            path = kNoPath;
        }
        if (heard(port, route.prefix) == path) continue;
        heard(port, route.prefix) = path;
        touch(route.prefix);
    }
}

void Speaker::touch(Prefix prefix) {
    if (is_touched_[prefix]) return;
    is_touched_[prefix] = true;
    touched_.push_back(prefix);
}

void Speaker::settle() {
    std::ranges::sort(touched_);
    for (const Prefix prefix : touched_) {
        is_touched_[prefix] = false;
        if (!decide(prefix)) continue;
        for (uint16_t port = 0; port < sessions_.size(); ++port) note_news(port, prefix);
    }
    touched_.clear();
    send_news();
}

// Of equally short paths, the previous best one is announced if it is still among them (RFC 5004),
// else that of the lowest port. True if the best one changed.
bool Speaker::decide(Prefix prefix) {
    if (prefix == own_) return false;
    Best best;
    uint32_t shortest = UINT32_MAX;
    equal_.clear();
    const PathId* own = &heard(0, prefix);
    for (uint16_t port = 0; port < sessions_.size(); ++port) {
        if (own[port] == kNoPath) continue;
        const uint32_t length = paths_.length(own[port]);
        if (length > shortest) continue;
        const bool is_shorter = length < shortest;
        if (is_shorter) equal_.clear();
        if (is_shorter || port == best_[prefix].port) best = {own[port], kNoPath, port};
        shortest = length;
        equal_.push_back(port);
    }
    if (best.path != kNoPath)
        best.told = best.path == best_[prefix].path ? best_[prefix].told
                                                    : paths_.prepend(system_, best.path);
    if (equal_ != table_[prefix]) {
        table_[prefix] = equal_;
        entries_.push_back({prefix, equal_});
    }
    const bool is_news = best != best_[prefix];
    best_[prefix] = best;
    return is_news;
}

// A route is not announced to the neighbour that it came from.
void Speaker::note_news(uint16_t port, Prefix prefix) {
    if (sessions_[port].state != State::established) return;
    const Best& best = best_[prefix];
    const bool is_theirs = prefix != own_ && best.port == port;
    const PathId wanted = is_theirs ? kNoPath : best.told;
    if (told(port, prefix) == wanted) return;
    told(port, prefix) = wanted;
    sessions_[port].news.push_back({prefix, wanted});
}

// FRR does not wait between two UPDATEs (bgpd.h: BGP_DEFAULT_EBGP_ROUTEADV 0).
void Speaker::send_news() {
    for (uint16_t port = 0; port < sessions_.size(); ++port)
        if (!sessions_[port].news.empty()) send_news(port);
}

// Routes with one path share an UPDATE (RFC 4271, 4.3).
void Speaker::send_news(uint16_t port) {
    BgpMessage message{.kind = BgpMessage::Kind::update};
    message.routes = std::exchange(sessions_[port].news, {});
    std::ranges::sort(message.routes, {}, [](const BgpRoute& route) {
        return uint64_t{route.path} << 32 | route.prefix;
    });
    uint32_t of_update = kMostBytes;
    PathId path = kNoPath;
    for (const BgpRoute& route : message.routes) {
        if (route.path != path || of_update + kPrefixBytes > kMostBytes) {
            ++message.updates;
            of_update = kUpdateBytes;
            if (route.path != kNoPath) of_update += attribute_bytes(paths_.length(route.path));
            message.bytes += of_update;
        }
        path = route.path;
        of_update += kPrefixBytes;
        message.bytes += kPrefixBytes;
    }
    send(port, std::move(message));
}

// --- out -----------------------------------------------------------------------------------------

namespace {

template <class T>
std::optional<T> take_first(std::deque<T>& queue) {
    if (queue.empty()) return std::nullopt;
    T first = std::move(queue.front());
    queue.pop_front();
    return first;
}

}  // namespace

std::optional<BgpOut> Speaker::poll_transmit() {
    return take_first(out_);
}

std::optional<TableEntry> Speaker::poll_table() {
    return take_first(entries_);
}

std::optional<uint16_t> Speaker::poll_reset() {
    return take_first(resets_);
}

}  // namespace tulle::control
