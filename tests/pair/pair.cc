#include "pair.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace tulle::transport {
namespace {

AdapterConfig config_of(EndpointIndex endpoint, const PairOptions& options) {
    AdapterConfig config;
    config.endpoint = endpoint;
    config.seed = 7;
    config.loss = options.loss;
    config.reorder_packets = options.reorder_packets;
    config.reorder_tolerance = options.reorder_tolerance;
    config.delivery = options.delivery;
    config.paths = options.paths;
    config.answers_apart = options.answers_apart;
    config.receiver_credit = options.receiver_credit;
    config.timeouts = options.timeouts;
    config.ack_every = options.ack_every;
    config.grants_credits = options.grants_credits;
    config.rnr_patience = options.rnr_patience;
    config.max_packets_outstanding = options.max_packets_outstanding;
    config.room_packets = options.room_packets;
    config.notifications = options.notifications;
    return config;
}

template <class T>
bool contains(const std::vector<T>& list, T value) {
    return std::find(list.begin(), list.end(), value) != list.end();
}

Completion next_of(std::deque<Completion>& list) {
    if (list.empty()) throw std::logic_error("there is no completion");
    const Completion completion = list.front();
    list.pop_front();
    return completion;
}

}  // namespace

std::byte Host::pattern(size_t i, uint32_t host) {
    return static_cast<std::byte>(host * 101 + i * 7 + (i >> 8));
}

Host::Host(EndpointIndex own_endpoint, const PairOptions& pair_options)
    : endpoint(own_endpoint),
      options(pair_options),
      adapter(config_of(own_endpoint, pair_options)),
      memory(kMemory) {
    for (size_t i = 0; i < memory.size(); ++i) memory[i] = pattern(i, endpoint.value);
    pd = adapter.memory().create_pd();
    key = *adapter.memory().register_region({pd, kBase, options.region_bytes,
                                             options.modelled ? nullptr : memory.data(),
                                             options.region_access});
    send_cq = adapter.completions().create(options.cq_capacity);
    receive_cq = adapter.completions().create(options.cq_capacity);
    if (options.shared_receives)
        srq = *adapter.shared_receives().create(pd, options.queue_depth, 4);
    if (options.type == QpType::xrc_target) {
        xrc_domain = adapter.xrc_domains().create();
        srq = create_xrc_srq(xrc_domain);
    }
    if (options.type == QpType::rd) {
        rd_domain = adapter.rd_domains().create();
        ee = *adapter.ee_contexts().create(rd_domain);
    }
    qpn = create_qp();
}

QpSetup Host::setup() const {
    QpSetup setup{.type = options.type, .pd = pd, .send_cq = send_cq, .receive_cq = receive_cq};
    setup.send = {.requests = options.queue_depth, .sges = 4, .inline_bytes = 64};
    setup.receive_requests = options.queue_depth;
    setup.receive_sges = 4;
    setup.signal_all = options.signal_all;
    setup.xrc_domain = xrc_domain;
    setup.rd_domain = rd_domain;
    if (options.type != QpType::xrc_target) setup.srq = srq;
    return setup;
}

Qpn Host::create_qp() {
    return create_qp(setup());
}

Qpn Host::create_qp(const QpSetup& setup) {
    return *adapter.queue_pairs().create(setup);
}

SrqId Host::create_xrc_srq(XrcDomainId domain) {
    return *adapter.shared_receives().create_for_xrc(domain, pd, receive_cq, options.queue_depth,
                                                     4);
}

Qpn Host::add_rd_qp(RdDomainId domain, QKey qkey) {
    QpSetup other = setup();
    other.rd_domain = domain;
    const Qpn added = create_qp(other);
    start_rd_qp(added, qkey);
    return added;
}

Refusal Host::go_to(QpState to, QpAttributes attributes, uint32_t mask) {
    attributes.state = to;
    return adapter.queue_pairs().modify(qpn, attributes, mask | kState);
}

uint64_t Host::word(size_t offset) const {
    uint64_t value = 0;
    std::memcpy(&value, memory.data() + offset, sizeof value);
    return value;
}

void Host::set_word(size_t offset, uint64_t value) {
    std::memcpy(memory.data() + offset, &value, sizeof value);
}

bool same_bytes(const Host& a, size_t a_offset, const Host& b, size_t b_offset, size_t length) {
    return std::memcmp(a.memory.data() + a_offset, b.memory.data() + b_offset, length) == 0;
}

namespace {

QpAttributes attributes_of(const PairOptions& options, EndpointIndex peer, Psn receive_psn,
                           Psn send_psn) {
    QpAttributes attributes;
    attributes.access = options.access;
    attributes.qkey = kPairQkey;
    attributes.pkey = options.pkey;
    attributes.address = {.endpoint = peer,
                          .service_level = options.service_level,
                          .ack_timeout = options.ack_timeout};
    attributes.path_mtu = options.mtu;
    attributes.receive_psn = receive_psn;
    attributes.send_psn = send_psn;
    attributes.max_reads = options.max_reads;
    attributes.max_incoming_reads = options.max_incoming_reads;
    attributes.min_rnr_timer = options.min_rnr_timer;
    attributes.retry_count = options.retry_count;
    attributes.rnr_retry = options.rnr_retry;
    return attributes;
}

void require_none(Refusal refusal) {
    if (refusal != Refusal::none) throw std::logic_error("the queue pair does not connect");
}

}  // namespace

void Host::connect(const Host& peer, Psn receive_psn, Psn send_psn) {
    adapter.queue_pairs().set_sharing_rooms(qpn, true);
    peer_key = peer.key;
    peer_qpn = peer.qpn;
    peer_srq = peer.srq;
    if (options.type == QpType::rd) return start_rd_qp(qpn);
    QpAttributes attributes = attributes_of(options, peer.endpoint, receive_psn, send_psn);
    attributes.dest_qpn = peer.qpn;
    const auto step = [&](QpState state, uint32_t mask) {
        attributes.state = state;
        require_none(adapter.queue_pairs().modify(qpn, attributes, mask | kState));
    };
    const bool datagram = options.type == QpType::ud;
    const bool answers = options.type == QpType::rc || options.type == QpType::xrc_target;
    const bool asks = options.type == QpType::rc || options.type == QpType::xrc_initiator;
    step(QpState::init, kPkeyIndex | kPort | (datagram ? kQkey : kAccessFlags));
    uint32_t to_rtr = datagram ? 0u : kAddress | kPathMtu | kDestQpn | kReceivePsn;
    if (answers) to_rtr |= kMaxIncomingReads | kMinRnrTimer;
    step(QpState::rtr, to_rtr);
    uint32_t to_rts = kSendPsn;
    if (options.type == QpType::xrc_target) to_rts |= kTimeout;
    if (asks) to_rts |= kTimeout | kRetryCount | kRnrRetry | kMaxReads;
    step(QpState::rts, to_rts);
}

void Host::start_rd_qp(Qpn rd_qpn, QKey qkey) {
    QpAttributes attributes = attributes_of(options, {}, {}, {});
    attributes.qkey = qkey;
    const auto step = [&](QpState state, uint32_t mask) {
        attributes.state = state;
        require_none(adapter.queue_pairs().modify(rd_qpn, attributes, mask | kState));
    };
    step(QpState::init, kQkey | kAccessFlags);
    step(QpState::rtr, kMinRnrTimer);
    step(QpState::rts, 0);
}

void Host::connect_ee(const Host& peer, Psn receive_psn, Psn send_psn) {
    QpAttributes attributes = attributes_of(options, peer.endpoint, receive_psn, send_psn);
    attributes.dest_ee = peer.ee;
    const auto step = [&](QpState state, uint32_t mask) {
        attributes.state = state;
        require_none(adapter.ee_contexts().modify(ee, attributes, mask | kState));
    };
    step(QpState::init, kPkeyIndex | kPort);
    step(QpState::rtr, kAddress | kPathMtu | kDestEe | kReceivePsn | kMaxIncomingReads);
    step(QpState::rts, kTimeout | kRetryCount | kRnrRetry | kSendPsn);
}

Refusal Host::post(const Post& post) {
    const Sge sge{kBase + post.offset, post.length, post.lkey.value_or(key)};
    SendRequest request;
    request.id = post.id;
    request.work = post.work;
    request.flags = post.flags;
    if (post.length != 0) request.sges = std::span(&sge, 1);
    if (!post.sges.empty()) request.sges = post.sges;
    if ((post.flags & kInline) != 0)
        request.inline_data = std::span(memory).subspan(post.offset, post.length);
    request.remote_address = kBase + post.remote_offset;
    request.rkey = post.rkey.value_or(peer_key);
    request.immediate = post.immediate;
    request.compare_or_add = post.compare_or_add;
    request.swap = post.swap;
    if (post.binding) request.binding = *post.binding;
    request.flush_placement = post.flush_placement;
    request.datagram =
        post.datagram.value_or(DatagramTarget{.endpoint = EndpointIndex{3 - endpoint.value},
                                              .qpn = post.to.value_or(peer_qpn),
                                              .qkey = post.qkey});
    request.remote_srq.value = post.srq.value_or(peer_srq).value;
    request.ee_context = post.ee.value_or(ee);
    return adapter.post_send(post.from.value_or(qpn), request);
}

Refusal Host::post_receive(uint32_t offset, uint32_t length, uint64_t id) {
    const Sge sge{kBase + offset, length, key};
    const ReceiveRequest request{id, length == 0 ? std::span<const Sge>() : std::span(&sge, 1)};
    return srq.value != 0 ? adapter.shared_receives().post(srq, request)
                          : adapter.post_receive(qpn, request);
}

Refusal Host::post_receive_to(SrqId shared, uint64_t id, uint32_t length) {
    const Sge sge{kBase + kReceiveArea + id * kReceiveBytes, length, key};
    return adapter.shared_receives().post(shared, {id, std::span(&sge, 1)});
}

Refusal Host::post_receive_to(Qpn own, uint64_t id, uint32_t length) {
    const Sge sge{kBase + kReceiveArea + id * kReceiveBytes, length, key};
    return adapter.post_receive(own, {id, std::span(&sge, 1)});
}

void Host::drain() {
    Completion completion;
    while (adapter.completions().poll(send_cq, {&completion, 1}) == 1) sends.push_back(completion);
    while (adapter.completions().poll(receive_cq, {&completion, 1}) == 1)
        receives.push_back(completion);
}

Completion Host::completion() {
    drain();
    return next_of(sends);
}

Completion Host::receive_completion() {
    drain();
    return next_of(receives);
}

std::vector<EventKind> Host::events() {
    std::vector<EventKind> kinds;
    while (const auto event = adapter.poll_event()) kinds.push_back(event->kind);
    return kinds;
}

uint64_t Wire::count(wire::Operation operation) const {
    return static_cast<uint64_t>(std::count_if(
        log.begin(), log.end(), [&](const Sent& sent) { return sent.operation() == operation; }));
}

uint64_t Wire::count_to(EndpointIndex endpoint) const {
    return static_cast<uint64_t>(std::count_if(
        log.begin(), log.end(), [&](const Sent& sent) { return sent.to == endpoint; }));
}

const Sent& Wire::find(wire::Operation operation, uint64_t n) const {
    for (const Sent& sent : log)
        if (sent.operation() == operation && --n == 0) return sent;
    throw std::logic_error("no such packet was sent");
}

// Whether the packet that was sent last is the one meant.
bool Wire::is_newest(const Nth& nth) const {
    return log.back().operation() == nth.operation && count(nth.operation) == nth.n;
}

bool Wire::loses() const {
    const auto is_meant = [&](const Nth& nth) { return is_newest(nth); };
    return contains(drop_, uint64_t{log.size()}) ||
           std::any_of(lost_.begin(), lost_.end(), is_meant) ||
           (condition_ && condition_(log.back().packet));
}

bool Wire::doubles() const {
    const auto is_meant = [&](const Nth& nth) { return is_newest(nth); };
    return contains(double_, uint64_t{log.size()}) ||
           std::any_of(doubled_.begin(), doubled_.end(), is_meant);
}

uint8_t Wire::refusal() const {
    for (const auto& [nth, syndrome] : refused_)
        if (is_newest(nth)) return syndrome;
    return 0;
}

base::Duration Wire::delays() const {
    for (const auto& [n, by] : delay_)
        if (n == log.size()) return by;
    for (const auto& [nth, by] : late_)
        if (is_newest(nth)) return by;
    return {};
}

Pair::Pair(const PairOptions& client_options, const PairOptions& options)
    : client(EndpointIndex{1}, client_options),
      server(EndpointIndex{2}, of_server(options)),
      delay_(options.delay) {
    connect();
    for (uint32_t i = 0; i < options.receives; ++i)
        server.post_receive(kReceiveArea + i * options.receive_bytes, options.receive_bytes, i);
}

PairOptions Pair::of_server(PairOptions options) {
    if (options.type == QpType::xrc_initiator) options.type = QpType::xrc_target;
    return options;
}

void Pair::connect() {
    const Psn client_psn = server.options.client_psn;
    const Psn server_psn = server.options.server_psn;
    client.connect(server, server_psn, client_psn);
    server.connect(client, client_psn, server_psn);
    if (client.options.type != QpType::rd) return;
    client.connect_ee(server, server_psn, client_psn);
    server.connect_ee(client, client_psn, server_psn);
}

// The first connection's numbers stand aside for as long as this one connects.
Pair::Connection Pair::connect_xrc(XrcDomainId domain, PdId target_pd) {
    const Connection first{client.qpn, server.qpn};
    QpSetup target = server.setup();
    target.xrc_domain = domain;
    target.pd = target_pd;
    const Connection made{client.create_qp(), server.create_qp(target)};
    client.qpn = made.initiator;
    server.qpn = made.target;
    connect();
    client.qpn = first.initiator;
    server.qpn = client.peer_qpn = first.target;
    server.peer_qpn = first.initiator;
    return made;
}

void Pair::launch(size_t index, base::Duration extra) {
    flying_.push({now + delay_ + extra, order_++, index});
}

void Pair::send_all(Host& host) {
    Packet packet;
    while (host.adapter.poll_transmit(now, host.lanes, packet)) {
        Sent sent{packet, {}, EndpointIndex{packet.destination}, now, 0};
        if (!packet.payload.is_modelled() && packet.payload_length != 0) {
            const std::byte* bytes = packet.payload.address();
            sent.payload.assign(bytes, bytes + packet.payload_length);
        }
        wire.log.push_back(std::move(sent));
        wire.log.back().refusal = wire.refusal();
        if (wire.loses()) continue;
        const base::Duration extra = wire.delays();
        launch(wire.log.size() - 1, extra);
        if (wire.doubles()) launch(wire.log.size() - 1, extra);
    }
}

void Pair::deliver(const Sent& sent) {
    Packet packet = sent.packet;
    if (!sent.payload.empty()) packet.payload = wire::Payload::memory(sent.payload.data());
    if (wire.change_) wire.change_(packet);
    if (sent.refusal != 0) return host(sent.to).adapter.refuse_packet(now, packet, sent.refusal);
    host(sent.to).adapter.on_packet(now, packet);
}

void Pair::inject(const Packet& packet, EndpointIndex to) {
    deliver({packet, {}, to, now, 0});
}

Packet Pair::forged(Host& to, wire::Operation operation, Psn psn, uint32_t length) {
    Packet packet;
    packet.source = 3 - to.endpoint.value;
    packet.destination = to.endpoint.value & 0xff'ffff;
    packet.opcode = wire::opcode_of(to.qp().service(), operation);
    packet.set_dest_qp(to.qpn);
    packet.set_psn(psn);
    packet.payload_length = length;
    if (length != 0) packet.payload = wire::Payload::memory(client.memory.data());
    return packet;
}

void Pair::run(base::Duration at_most) {
    const Instant end = now + at_most;
    while (true) {
        send_all(client);
        send_all(server);
        Instant next = std::min(client.adapter.next_deadline(), server.adapter.next_deadline());
        if (!flying_.empty()) next = std::min(next, flying_.top().at);
        if (next > end) {
            if (next != Instant::never()) now = end;
            break;
        }
        now = std::max(now, next);
        while (!flying_.empty() && flying_.top().at <= now) {
            const size_t index = flying_.top().index;
            flying_.pop();
            deliver(Sent(wire.log[index]));
        }
        client.adapter.on_timer(now);
        server.adapter.on_timer(now);
    }
    client.drain();
    server.drain();
}

uint32_t bind_window(Pair& pair, uint64_t offset, uint64_t length, uint32_t access) {
    const uint32_t window =
        *pair.server.adapter.memory().create_window(pair.server.pd, WindowType::type2);
    const uint32_t key = (window & ~0xffu) | kNewVariant;
    pair.server.post({.work = Work::bind_window,
                      .binding = WindowBinding{.window_rkey = window,
                                               .new_rkey = key,
                                               .region_lkey = pair.server.key,
                                               .address = Host::kBase + offset,
                                               .length = length,
                                               .access = access}});
    pair.run();
    EXPECT_EQ(pair.server.completion().status, Status::success);
    return key;
}

}  // namespace tulle::transport
