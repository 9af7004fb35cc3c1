#include "pair.h"

#include <algorithm>
#include <stdexcept>

namespace tulle::transport {
namespace {

constexpr uint32_t kReceiveArea = 1 << 19;  // receives lie in the upper half of the memory

AdapterConfig config_of(EndpointIndex endpoint, const PairOptions& options) {
    AdapterConfig config;
    config.endpoint = endpoint;
    config.seed = 7;
    config.loss = options.loss;
    config.ack_every = options.ack_every;
    config.grants_credits = options.grants_credits;
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
    key = *adapter.memory().register_region(
        {pd, kBase, memory.size(), memory.data(), options.region_access});
    send_cq = adapter.create_cq(options.cq_capacity);
    receive_cq = adapter.create_cq(options.cq_capacity);
    QpSetup setup{.type = options.type, .pd = pd, .send_cq = send_cq, .receive_cq = receive_cq};
    setup.send = {.requests = options.queue_depth, .sges = 4, .inline_bytes = 64};
    setup.receive_requests = options.queue_depth;
    setup.receive_sges = 4;
    if (options.shared_receives) {
        srq = *adapter.create_srq(pd, options.queue_depth, 4);
        setup.srq = srq;
    }
    qpn = *adapter.create_qp(setup);
}

void Host::connect(const Host& peer, Psn receive_psn, Psn send_psn) {
    peer_key = peer.key;
    QpAttributes attributes;
    attributes.access = options.access;
    attributes.qkey = QKey{0x1234};
    attributes.address = {.endpoint = peer.endpoint, .ack_timeout = options.ack_timeout};
    attributes.path_mtu = options.mtu;
    attributes.dest_qpn = peer.qpn;
    attributes.receive_psn = receive_psn;
    attributes.send_psn = send_psn;
    attributes.max_reads = options.max_reads;
    attributes.max_incoming_reads = options.max_incoming_reads;
    attributes.min_rnr_timer = options.min_rnr_timer;
    attributes.retry_count = options.retry_count;
    attributes.rnr_retry = options.rnr_retry;
    const auto step = [&](QpState state, uint32_t mask) {
        attributes.state = state;
        if (adapter.modify_qp(qpn, attributes, mask | kState) != Refusal::none)
            throw std::logic_error("the queue pair does not connect");
    };
    const bool datagram = options.type == QpType::ud;
    const bool reliable = options.type == QpType::rc;
    step(QpState::init, kPkeyIndex | kPort | (datagram ? kQkey : kAccessFlags));
    uint32_t to_rtr = datagram ? 0u : kAddress | kPathMtu | kDestQpn | kReceivePsn;
    if (reliable) to_rtr |= kMaxIncomingReads | kMinRnrTimer;
    step(QpState::rtr, to_rtr);
    step(QpState::rts, kSendPsn | (reliable ? kTimeout | kRetryCount | kRnrRetry | kMaxReads : 0u));
}

Refusal Host::post(const Post& post) {
    const Sge sge{kBase + post.offset, post.length, post.lkey.value_or(key)};
    SendRequest request;
    request.id = post.id;
    request.work = post.work;
    request.flags = post.flags;
    if (post.length != 0) request.sges = std::span(&sge, 1);
    if ((post.flags & kInline) != 0)
        request.inline_data = std::span(memory).subspan(post.offset, post.length);
    request.remote_address = kBase + post.remote_offset;
    request.rkey = post.rkey.value_or(peer_key);
    request.immediate = post.immediate;
    request.compare_or_add = post.compare_or_add;
    request.swap = post.swap;
    if (post.binding) request.binding = *post.binding;
    const QueuePair* qp = adapter.query_qp(qpn);
    request.datagram = {
        .endpoint = EndpointIndex{3 - endpoint.value}, .qpn = qp->dest_qpn, .qkey = qp->qkey};
    return adapter.post_send(qpn, request);
}

Refusal Host::post_receive(uint32_t offset, uint32_t length, uint64_t id) {
    const Sge sge{kBase + offset, length, key};
    const ReceiveRequest request{id, length == 0 ? std::span<const Sge>() : std::span(&sge, 1)};
    return options.shared_receives ? adapter.post_srq_receive(srq, request)
                                   : adapter.post_receive(qpn, request);
}

void Host::drain() {
    Completion completion;
    while (adapter.poll_completion(send_cq, {&completion, 1}) == 1) sends.push_back(completion);
    while (adapter.poll_completion(receive_cq, {&completion, 1}) == 1)
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

Pair::Pair(const PairOptions& options)
    : client(EndpointIndex{1}, options), server(EndpointIndex{2}, options), delay_(options.delay) {
    client.connect(server, options.server_psn, options.client_psn);
    server.connect(client, options.client_psn, options.server_psn);
    for (uint32_t i = 0; i < options.receives; ++i)
        server.post_receive(kReceiveArea + i * options.receive_bytes, options.receive_bytes, i);
}

void Pair::launch(size_t index, base::Duration extra) {
    flying_.push({now + delay_ + extra, order_++, index});
}

void Pair::send_all(Host& host) {
    Packet packet;
    while (host.adapter.poll_transmit(now, Lanes::open(), packet)) {
        Sent sent{packet, {}, EndpointIndex{packet.destination}};
        if (!packet.payload.is_modelled() && packet.payload_length != 0) {
            const std::byte* bytes = packet.payload.address();
            sent.payload.assign(bytes, bytes + packet.payload_length);
        }
        wire.log.push_back(std::move(sent));
        const uint64_t n = wire.log.size();
        if (contains(wire.drop_, n) || (wire.condition_ && wire.condition_(packet))) continue;
        base::Duration extra{};
        for (const auto& [nth, by] : wire.delay_)
            if (nth == n) extra = by;
        launch(n - 1, extra);
        if (contains(wire.double_, n)) launch(n - 1, extra);
    }
}

void Pair::deliver(const Sent& sent) {
    Packet packet = sent.packet;
    if (!sent.payload.empty()) packet.payload = wire::Payload::memory(sent.payload.data());
    host(sent.to).adapter.on_packet(now, packet);
}

void Pair::inject(const Packet& packet, EndpointIndex to) {
    deliver({packet, {}, to});
}

void Pair::run(base::Duration at_most) {
    const Instant end = now + at_most;
    while (true) {
        send_all(client);
        send_all(server);
        Instant next = std::min(client.adapter.next_deadline(), server.adapter.next_deadline());
        if (!flying_.empty()) next = std::min(next, flying_.top().at);
        if (next > end) break;
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

}  // namespace tulle::transport
