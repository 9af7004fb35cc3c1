#include "control/distributed/speaker.h"

#include <algorithm>
#include <tuple>

namespace tulle::control {

using base::Instant;

namespace {

// An UPDATE has 4,096 bytes at most (RFC 4271, 4.1), of which 23 are header and lengths; a prefix
// of 24 bits takes four.
constexpr size_t kMostRoutes = (4096 - 23) / 4;

}  // namespace

Speaker::Speaker(const SpeakerSettings& settings, uint32_t system, uint16_t port_count,
                 Prefix prefix_count, Prefix own, AsPaths& paths)
    : settings_(settings),
      system_(system),
      own_(own),
      paths_(paths),
      sessions_(port_count),
      best_(prefix_count),
      table_(prefix_count),
      is_touched_(prefix_count) {
    if (own != kNoPrefix) best_[own] = {kOwnPath, 0};
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
    session.start_at = now + settings_.retry;  // again, if nobody answers
    set_deadline(session.start_at);
    send(port,
         {.kind = BgpMessage::Kind::open, .system = system_, .withdrawn = {}, .announced = {}});
}

void Speaker::reset(Instant now, uint16_t port) {
    Session& session = sessions_[port];
    for (Prefix prefix = 0; prefix < session.heard.size(); ++prefix)
        if (session.heard[prefix] != kNoPath) touch(prefix);
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
    settle();
}

// Both ends may begin; whoever hears an OPEN in the middle of a session has a neighbour that began
// anew.
void Speaker::on_open(Instant now, uint16_t port) {
    Session& session = sessions_[port];
    if (session.state == State::established || session.state == State::open_confirm)
        reset(now, port);
    if (session.state == State::idle) begin(now, port);
    session.state = State::open_confirm;
    session.start_at = Instant::never();
    session.hold_until = now + settings_.hold;
    set_deadline(session.hold_until);
    send(port, {.kind = BgpMessage::Kind::keepalive, .withdrawn = {}, .announced = {}});
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
    session.heard.assign(best_.size(), kNoPath);
    session.told.assign(best_.size(), kNoPath);
    for (Prefix prefix = 0; prefix < best_.size(); ++prefix) note_news(port, prefix);
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
        send(port, {.kind = BgpMessage::Kind::notification, .withdrawn = {}, .announced = {}});
        reset(now, port);
    }
    if (session.keepalive_at <= now) {
        session.keepalive_at = now + settings_.keepalive;
        send(port, {.kind = BgpMessage::Kind::keepalive, .withdrawn = {}, .announced = {}});
    }
    if (session.bfd_at <= now) {
        session.bfd_at = now + settings_.bfd;
        send(port, {.kind = BgpMessage::Kind::bfd, .withdrawn = {}, .announced = {}});
    }
    set_deadline(std::min({session.start_at, session.hold_until, session.keepalive_at,
                           session.bfd_at, session.bfd_until}));
}

void Speaker::send(uint16_t port, BgpMessage message) {
    switch (message.kind) {
        case BgpMessage::Kind::open: ++counters_.opens; break;
        case BgpMessage::Kind::keepalive: ++counters_.keepalives; break;
        case BgpMessage::Kind::update: ++counters_.updates; break;
        case BgpMessage::Kind::notification: ++counters_.notifications; break;
        case BgpMessage::Kind::bfd: ++counters_.bfd; break;
    }
    out_.push_back({port, std::move(message)});
}

// --- routes --------------------------------------------------------------------------------------

void Speaker::on_update(uint16_t port, const BgpMessage& update) {
    std::vector<PathId>& heard = sessions_[port].heard;
    const auto hear = [&](Prefix prefix, PathId path) {
        if (heard[prefix] == path) return;
        heard[prefix] = path;
        touch(prefix);
    };
    for (const Prefix prefix : update.withdrawn) hear(prefix, kNoPath);
    // RFC 4271, 9.1.2: a path that has been here leads in a circle.
    const bool is_looped = !update.announced.empty() && paths_.contains(update.path, system_);
    if (is_looped) counters_.looped += update.announced.size();
    for (const Prefix prefix : update.announced) hear(prefix, is_looped ? kNoPath : update.path);
}

void Speaker::touch(Prefix prefix) {
    if (is_touched_[prefix]) return;
    is_touched_[prefix] = true;
    touched_.push_back(prefix);
}

// After whatever was heard: decides anew, and tells neighbours what is news to them.
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

// Of equally short paths the one of the lowest port is told to others. True if that is another one.
bool Speaker::decide(Prefix prefix) {
    if (prefix == own_) return false;
    Best best;
    std::vector<uint16_t> ports;
    uint32_t shortest = UINT32_MAX;
    for (uint16_t port = 0; port < sessions_.size(); ++port) {
        const Session& session = sessions_[port];
        if (session.state != State::established || session.heard[prefix] == kNoPath) continue;
        const uint32_t length = paths_.length(session.heard[prefix]);
        if (length > shortest) continue;
        if (length < shortest) {
            ports.clear();
            best = {session.heard[prefix], port};
            shortest = length;
        }
        ports.push_back(port);
    }
    if (ports != table_[prefix]) {
        table_[prefix] = ports;
        entries_.push_back({prefix, std::move(ports)});
    }
    const bool is_news = best != best_[prefix];
    best_[prefix] = best;
    return is_news;
}

// A route is not told to whom it was learned from.
void Speaker::note_news(uint16_t port, Prefix prefix) {
    Session& session = sessions_[port];
    if (session.state != State::established) return;
    const Best& best = best_[prefix];
    const bool is_theirs = prefix != own_ && best.port == port;
    const PathId wanted =
        best.path == kNoPath || is_theirs ? kNoPath : paths_.prepend(system_, best.path);
    if (session.told[prefix] == wanted) return;
    session.told[prefix] = wanted;
    news_.push_back({port, wanted, prefix});
}

// Routes of one path go together (RFC 4271, 4.3). FRR waits for nothing between two UPDATEs
// (bgpd.h: BGP_DEFAULT_EBGP_ROUTEADV 0).
void Speaker::send_news() {
    std::ranges::sort(
        news_, {}, [](const News& news) { return std::tuple(news.port, news.path, news.prefix); });
    for (size_t i = 0; i < news_.size();) {
        BgpMessage update;
        update.kind = BgpMessage::Kind::update;
        const News first = news_[i];
        std::vector<Prefix>& list = first.path == kNoPath ? update.withdrawn : update.announced;
        update.path = first.path;
        for (; i < news_.size() && news_[i].port == first.port && news_[i].path == first.path &&
               list.size() < kMostRoutes;
             ++i)
            list.push_back(news_[i].prefix);
        send(first.port, std::move(update));
    }
    news_.clear();
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
