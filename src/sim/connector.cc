#include "sim/connector.h"

#include <algorithm>
#include <map>

#include "base/random.h"

namespace tulle::sim {
namespace {

using cluster::kMessageBytes;
using transport::Qpn;

constexpr uint32_t kFlowStream = 3;
constexpr uint32_t kConnectionStream = 5;
constexpr uint16_t kFirstEntropy = 0xc000;  // UDP source ports of RoCE v2 (IBTA annex A17)
// Receives that wait on a connection. The host reposts them at once, but one retransmitted packet
// may complete several messages that came after it.
constexpr uint32_t kReceives = 16;
// Room for the usual number of messages under way. A collective may have some hundred, but hardly
// ever does. Chosen.
constexpr uint32_t kSendsAtFirst = 8;
constexpr uint8_t kRnrTimer = 12;  // 0.64 ms, the value of NCCL (net_ib)

uint16_t draw_entropy(base::RandomStream& random) {
    return static_cast<uint16_t>(kFirstEntropy + random.below(0x4000));
}

// On Ethernet every packet has the default key: switches handle VLANs.
wire::PKey pkey_of(const fabric::Tenancy* tenancy, uint32_t from, uint32_t to) {
    if (tenancy == nullptr || tenancy->means() != fabric::Tenancy::Means::partitions)
        return wire::kDefaultPKey;
    return tenancy->key_for(from, to);
}

void post_receives(cluster::HostNode& host, Qpn qpn) {
    host.user().expect_completions(kReceives);
    for (uint32_t i = 0; i < kReceives; ++i) host.adapter().post_receive(qpn, {});
}

}  // namespace

uint8_t level_of(const fabric::Settings& fabric, uint8_t service_level, uint8_t traffic_class) {
    const fabric::QosSettings& qos = fabric.qos;
    return qos.trust == fabric::Trust::dscp ? qos.lane_of_dscp[traffic_class >> 2] : service_level;
}

uint8_t Connector::level_for(uint32_t from, uint32_t to, uint8_t service_level,
                             uint8_t traffic_class) const {
    return lanes_ == nullptr ? level_of(setup_.fabric, service_level, traffic_class)
                             : lanes_->level(from, to);
}

Qpn Connector::create(cluster::HostNode& host, uint32_t sends, uint32_t receives,
                      Service service) const {
    constexpr transport::QpType kTypes[] = {transport::QpType::rc, transport::QpType::uc,
                                            transport::QpType::rd};
    transport::QpSetup setup{.type = kTypes[static_cast<size_t>(service)],
                             .pd = host.user().pd(),
                             .send_cq = host.user().cq(),
                             .receive_cq = host.user().cq()};
    if (setup.type == transport::QpType::rd) setup.rd_domain = host.user().datagrams().domain();
    setup.send.requests = sends;
    setup.send.at_first = kSendsAtFirst;
    setup.receive_requests = receives;
    return *host.adapter().queue_pairs().create(setup);
}

transport::QpAttributes Connector::attributes_for(const End& from, const End& to,
                                                  uint8_t service_level,
                                                  uint8_t traffic_class) const {
    using namespace transport;
    QpAttributes attributes;
    attributes.access = kRemoteWrite | kRemoteRead;
    attributes.pkey = pkey_of(tenancy_, from.endpoint, to.endpoint);
    attributes.address.endpoint = {to.endpoint};
    attributes.address.service_level =
        level_for(from.endpoint, to.endpoint, service_level, traffic_class);
    attributes.address.traffic_class = traffic_class;
    if (setup_.fabric.marking == fabric::Marking::ecn)
        attributes.address.traffic_class =
            static_cast<uint8_t>((traffic_class & ~3) | 2);  // ECT(0)
    attributes.address.entropy = from.entropy;
    attributes.address.ack_timeout = setup_.host.ack_timeout;
    attributes.path_mtu = setup_.host.mtu;
    attributes.retry_count = setup_.host.retry_count;
    attributes.dest_qpn = to.qpn;
    attributes.max_reads = attributes.max_incoming_reads = 16;
    attributes.min_rnr_timer = kRnrTimer;
    return attributes;
}

void Connector::connect(const End& from, const End& to, uint8_t service_level,
                        uint8_t traffic_class, Service service) const {
    using namespace transport;
    QpAttributes attributes = attributes_for(from, to, service_level, traffic_class);
    if (service == Service::datagram) return connect_datagrams(from, to, attributes);
    const auto step = [&](QpState state, uint32_t mask) {
        attributes.state = state;
        TULLE_CHECK(from.host.adapter().queue_pairs().modify(from.qpn, attributes, mask | kState) ==
                    Refusal::none);
    };
    const bool is_reliable = service == Service::reliable;
    constexpr uint32_t kAnswering = kMaxIncomingReads | kMinRnrTimer;
    constexpr uint32_t kRetrying = kTimeout | kRetryCount | kRnrRetry | kMaxReads;
    step(QpState::init, kPkeyIndex | kPort | kAccessFlags);
    step(QpState::rtr,
         kAddress | kPathMtu | kDestQpn | kReceivePsn | (is_reliable ? kAnswering : 0));
    step(QpState::rts, kSendPsn | (is_reliable ? kRetrying : 0));
    control_congestion(from.host, from.qpn);
}

namespace {

cluster::Datagrams::Peer peer_of(uint32_t endpoint, const transport::QpAttributes& attributes) {
    return {endpoint, attributes.address.service_level, attributes.address.traffic_class};
}

void connect_context(cluster::HostNode& host, wire::EeContext own, wire::EeContext peer,
                     transport::QpAttributes attributes) {
    using namespace transport;
    attributes.dest_ee = peer;
    const auto step = [&](QpState state, uint32_t mask) {
        attributes.state = state;
        TULLE_CHECK(host.adapter().ee_contexts().modify(own, attributes, mask | kState) ==
                    Refusal::none);
    };
    step(QpState::init, kPkeyIndex | kPort);
    step(QpState::rtr, kAddress | kPathMtu | kDestEe | kReceivePsn | kMaxIncomingReads);
    step(QpState::rts, kTimeout | kRetryCount | kRnrRetry | kSendPsn);
}

}  // namespace

void Connector::connect_datagrams(const End& from, const End& to,
                                  transport::QpAttributes attributes) const {
    using namespace transport;
    const cluster::Datagrams::Peer peer = peer_of(to.endpoint, attributes);
    if (!from.host.user().datagrams().find(peer)) open_contexts(from, to, attributes);
    const auto step = [&](QpState state, uint32_t mask) {
        attributes.state = state;
        TULLE_CHECK(from.host.adapter().queue_pairs().modify(from.qpn, attributes, mask | kState) ==
                    Refusal::none);
    };
    step(QpState::init, kQkey | kAccessFlags);
    step(QpState::rtr, kMinRnrTimer);
    step(QpState::rts, 0);
    from.host.user().datagrams().set_route(from.qpn, {peer, to.qpn});
}

void Connector::open_contexts(const End& from, const End& to,
                              const transport::QpAttributes& attributes) const {
    const wire::EeContext own = from.host.user().datagrams().open(peer_of(to.endpoint, attributes));
    transport::QpAttributes back = attributes;
    back.address.endpoint = {from.endpoint};
    back.address.entropy = to.entropy;
    if (lanes_ != nullptr) back.address.service_level = lanes_->level(to.endpoint, from.endpoint);
    back.pkey = pkey_of(tenancy_, to.endpoint, from.endpoint);
    const wire::EeContext other = to.host.user().datagrams().open(peer_of(from.endpoint, back));
    connect_context(from.host, own, other, attributes);
    connect_context(to.host, other, own, back);
}

void Connector::control_congestion(cluster::HostNode& host, Qpn qpn) const {
    const HostSettings& own = setup_.host_of(host.plan().node);
    if (own.congestion == transport::Algorithm::none) return;
    host.adapter().queue_pairs().set_congestion_control(
        qpn, transport::CongestionControl(own.congestion, own.algorithms));
}

Qpn Connector::add_flow(uint32_t number) const {
    const Flow& flow = setup_.flows[number];
    base::RandomStream random({setup_.seed, kFlowStream, number});
    const auto messages = static_cast<uint32_t>(flow.bytes / kMessageBytes + 1);
    End from{host_(flow.source), flow.source};
    End to{host_(flow.destination), flow.destination};
    from.entropy = flow.port != 0 ? flow.port : draw_entropy(random);
    to.entropy = draw_entropy(random);
    from.qpn = create(from.host, messages, messages, setup_.host.service);
    to.qpn = create(to.host, messages, messages, setup_.host.service);
    const Service service = setup_.host.service;
    connect(from, to, flow.service_level, flow.traffic_class, service);
    connect(to, from, flow.service_level, flow.traffic_class, service);
    from.host.user().expect_completions(messages);
    if (flow.operation == Verb::send) {
        to.host.user().expect_completions(messages);
        const auto bytes = static_cast<uint32_t>(std::min(flow.bytes, kMessageBytes));
        const transport::Sge sge{0, bytes, to.host.user().key()};
        for (uint32_t i = 0; i < messages; ++i)
            to.host.adapter().post_receive(to.qpn, {.id = number, .sges = std::span(&sge, 1)});
    }
    if (flow.path >= 0) {
        const auto path = static_cast<uint32_t>(flow.path);
        from.host.ways().add(cluster::FixedPath{flow.destination, from.entropy, 2 * path});
        to.host.ways().add(cluster::FixedPath{flow.source, to.entropy, 2 * path + 1});
    }
    constexpr transport::Work kWork[] = {transport::Work::write, transport::Work::send,
                                         transport::Work::read};
    from.host.add(cluster::Posting{.at = flow.start,
                                   .id = number,
                                   .qpn = from.qpn,
                                   .work = kWork[static_cast<size_t>(flow.operation)],
                                   .bytes = flow.bytes,
                                   .lkey = from.host.user().key(),
                                   .rkey = to.host.user().key()});
    return from.qpn;
}

void Connector::connect(Connection& connection) const {
    base::RandomStream random({setup_.seed, kConnectionStream, connection.number});
    End from{host_(connection.source), connection.source};
    End to{host_(connection.destination), connection.destination};
    from.entropy = draw_entropy(random);
    to.entropy = draw_entropy(random);
    const Service service = setup_.host.service;
    from.qpn = create(from.host, connection.messages, 1, service);
    to.qpn = create(to.host, 1, kReceives, service);
    connect(from, to, connection.service_level, connection.traffic_class, service);
    connect(to, from, connection.service_level, connection.traffic_class, service);
    from.host.user().expect_completions(connection.messages);
    post_receives(to.host, to.qpn);
    connection.qpn = from.qpn;
    connection.lkey = from.host.user().key();
    connection.rkey = to.host.user().key();
}

// For its members and its senders a group is the peer, by its address. Nobody acknowledges for a
// group, so its queue pairs are UC on any network.
fabric::Group::Member Connector::receive_from(uint32_t address, uint32_t endpoint) const {
    End member{host_(endpoint), endpoint};
    const End peer{member.host, address};
    member.qpn = create(member.host, 1, kReceives, Service::unreliable);
    connect(member, peer, 0, 0, Service::unreliable);
    member.host.adapter().queue_pairs().keep_marks_to_itself(member.qpn);
    post_receives(member.host, member.qpn);
    return {endpoint, member.qpn, {member.host.user().key()}};
}

void Connector::add_group(SwitchGroup& group, fabric::Groups& table) const {
    group.address = fabric::kGroupBit | static_cast<uint32_t>(table.size());
    fabric::Group& entry = table.emplace_back();
    entry.contributors = group.contributors;
    for (const uint32_t endpoint : group.members)
        entry.members.push_back(receive_from(group.address, endpoint));
    group.qpn = entry.members.front().qpn;
    group.rkey = entry.members.front().rkey.value;
}

// A switch has an address for sums and, unless it is the root, another one for copies. Hosts use
// only the first.
void Connector::add_tree(SwitchGroup& group, const TableOf& table_of,
                         const SwitchOf& switch_of) const {
    const fabric::ReductionTree& tree = *group.tree;
    std::map<uint32_t, uint32_t> down;  // by switch: its place for copies
    const auto make = [&](uint32_t node) {
        fabric::Groups& table = table_of(node);
        group.address_at[node] = fabric::kGroupBit | static_cast<uint32_t>(table.size());
        table.emplace_back();
        down[node] = static_cast<uint32_t>(table.size()) - 1;
        if (node == tree.root) return;
        down[node] = static_cast<uint32_t>(table.size());
        table.emplace_back().source = group.address_at[node];
    };
    const auto sums = [&](uint32_t node) -> fabric::Group& {
        return table_of(node)[group.address_at[node] & ~fabric::kGroupBit];
    };
    const auto copies = [&](uint32_t node) -> fabric::Group& { return table_of(node)[down[node]]; };
    make(tree.root);
    for (const auto& link : tree.links) make(link.child);
    for (const auto& link : tree.links) {
        const uint32_t itself = fabric::kGroupBit | link.child;
        sums(link.child).source = itself;
        sums(link.child).members = {{group.address_at[link.parent], {}, {}, link.up}};
        sums(link.parent).contributors.push_back(itself);
        copies(link.parent)
            .members.push_back({fabric::kGroupBit | down[link.child], {}, {}, link.down});
    }
    for (const uint32_t endpoint : group.members) {
        const uint32_t node = switch_of(endpoint);
        sums(node).contributors.push_back(endpoint);
        const auto member = receive_from(group.address_at[node], endpoint);
        copies(node).members.push_back(member);
        group.qpn = member.qpn;
        group.rkey = member.rkey.value;
    }
}

void Connector::join(Connection& connection, const SwitchGroup& group) const {
    End from{host_(connection.source), connection.source};
    from.qpn = create(from.host, connection.messages, 1, Service::unreliable);
    connect(from, {from.host, group.address, group.qpn}, connection.service_level,
            connection.traffic_class, Service::unreliable);
    from.host.user().expect_completions(connection.messages);
    connection.qpn = from.qpn;
    connection.lkey = from.host.user().key();
    connection.rkey = group.rkey;
}

}  // namespace tulle::sim
