// Adapters around a switch that computes: what a builder has to set up for groups, and what an
// all-reduce in the switch then takes.
#include <gtest/gtest.h>

#include "cluster/partition.h"
#include "topology/builders.h"

namespace tulle::cluster {
namespace {

using fabric::FlowControl;
using fabric::Group;
using fabric::kGroupBit;

constexpr uint32_t kGpus = 8;
constexpr uint32_t kMtu = 4096;
constexpr uint32_t kPieces = 16;            // that a rank owns
constexpr uint64_t kPieceBytes = 64 << 10;  // so 1 MiB of each rank's 8 MiB
constexpr Duration kDelay{150'000};

fabric::Settings settings_with(FlowControl flow_control) {
    fabric::Settings settings;
    settings.link.rate = base::Rate::bits_per_second(2'966'400'000'000);
    settings.link.gap_bytes = 0;
    settings.framing.envelope_bytes = 0;
    settings.framing.minimum_bytes = 0;
    settings.flow_control = flow_control;
    settings.pfc.priorities = 1;
    settings.pfc.dynamic_threshold = false;
    settings.pfc.xoff_bytes = 512 << 10;
    settings.credits.lane_buffer_bytes = 256 << 10;
    settings.node.reduction = true;
    settings.node.reduction_numerator = 85;
    settings.node.reduction_denominator = 100;
    return settings;
}

// Rank r owns part r of the data. Sum r is group r, and what r copies to all is group 8 + r.
class Server {
public:
    // What the first rank copies may be followed.
    explicit Server(FlowControl flow_control, bool is_watched = false)
        : is_watched_(is_watched),
          settings_(settings_with(flow_control)),
          graph_(*topology::build(topology::Islands{.islands = 1, .hosts = kGpus})),
          routes_(fabric::Routes::compute(graph_, fabric::RouteKind::shortest)),
          partition_(settings_, 1, 1, kDelay),
          groups_(2 * kGpus) {
        if (is_watched) partition_.keep_journal(false, false);
        partition_.cabling().reserve(2 * kGpus);
        for (uint32_t gpu = 0; gpu < kGpus; ++gpu) add_gpu(gpu);
        add_switch();
        for (uint32_t owner = 0; owner < kGpus; ++owner) add_groups(owner);
    }

    // Everything is posted at the beginning: the lines are all that counts.
    Instant run() {
        partition_.begin();
        Instant end{};
        while (partition_.first_window() != WindowWheel::kNone) {
            partition_.advance(partition_.first_window());
            end = partition_.acted_until();
        }
        return end;
    }

    Partition& partition() { return partition_; }

private:
    fabric::Port port_to(uint32_t peer, bool is_host) {
        fabric::Port port(settings_.link.rate);
        port.delay = port.arrival_delay = kDelay;
        port.peer = peer;
        port.is_host = is_host;
        port.is_watched = is_watched_;
        port.headroom_bytes = 192 << 10;
        if (settings_.flow_control == FlowControl::pfc) port.lossless = port.honours_pause = 1;
        port.settle();
        return port;
    }
    void add_port(uint32_t peer, bool is_host) {
        partition_.cabling().add_port(port_to(peer, is_host), settings_.link.rate,
                                      {0, 0, base::RandomStream({})}, partition_.next_place());
    }
    void add_gpu(uint32_t gpu) {
        add_port(kGpus + gpu, true);
        HostPlan plan;
        plan.node = plan.port = gpu;
        transport::AdapterConfig adapter;
        adapter.endpoint = {gpu};
        adapter.envelope_bytes = partition_.framing().adapter_envelope();
        partition_.add_host(plan, adapter);
    }
    void add_switch() {
        for (uint32_t gpu = 0; gpu < kGpus; ++gpu) add_port(gpu, false);
        fabric::SwitchPlan plan;
        plan.node = plan.first_port = kGpus;
        plan.port_count = kGpus;
        plan.routes = &routes_;
        plan.groups = &groups_;
        partition_.add_switch(plan);
    }

    // A queue pair whose peer is the group: it sends to that, and takes what comes out of it.
    transport::Qpn connect(uint32_t gpu, uint32_t group) {
        using namespace transport;
        HostNode& host = partition_.hosts()[gpu];
        QpSetup setup{.type = QpType::uc,
                      .pd = host.user().pd(),
                      .send_cq = host.user().cq(),
                      .receive_cq = host.user().cq()};
        setup.send.requests = setup.receive_requests = kPieces;
        const Qpn qpn = *host.adapter().queue_pairs().create(setup);
        QpAttributes attributes;
        attributes.access = kRemoteWrite;
        attributes.address.endpoint = {kGroupBit | group};
        attributes.path_mtu = kMtu;
        const auto step = [&](QpState state, uint32_t mask) {
            attributes.state = state;
            EXPECT_EQ(host.adapter().queue_pairs().modify(qpn, attributes, mask | kState),
                      Refusal::none);
        };
        step(QpState::init, kPkeyIndex | kPort | kAccessFlags);
        step(QpState::rtr, kAddress | kPathMtu | kDestQpn | kReceivePsn);
        step(QpState::rts, kSendPsn);
        return qpn;
    }
    void expect_messages(uint32_t gpu, transport::Qpn qpn) {
        HostNode& host = partition_.hosts()[gpu];
        host.user().expect_completions(kPieces);
        for (uint32_t i = 0; i < kPieces; ++i)
            EXPECT_EQ(host.adapter().post_receive(qpn, {}), transport::Refusal::none);
    }
    void send_pieces(uint32_t gpu, transport::Qpn qpn) {
        HostNode& host = partition_.hosts()[gpu];
        host.user().expect_completions(kPieces);
        for (uint32_t i = 0; i < kPieces; ++i)
            host.add(Posting{.qpn = qpn,
                             .work = transport::Work::write_with_immediate,
                             .bytes = kPieceBytes,
                             .lkey = host.user().key()});
    }
    wire::RKey key_of(uint32_t gpu) { return {partition_.hosts()[gpu].user().key()}; }
    void add_groups(uint32_t owner) {
        Group& sum = groups_[owner];
        Group& all = groups_[kGpus + owner];
        for (uint32_t gpu = 0; gpu < kGpus; ++gpu) {
            const transport::Qpn part = connect(gpu, owner);
            sum.contributors.push_back(gpu);
            send_pieces(gpu, part);
            if (gpu == owner) {
                sum.members = {{owner, part, key_of(gpu)}};
                expect_messages(gpu, part);
            }
            const transport::Qpn copy = connect(gpu, kGpus + owner);
            all.members.push_back({gpu, copy, key_of(gpu)});
            expect_messages(gpu, copy);
            if (gpu == owner) send_pieces(gpu, copy);
            if (is_watched_ && owner == 0) watch(gpu, copy);
        }
    }
    void watch(uint32_t gpu, transport::Qpn copy) {
        HostAccount& account = partition_.hosts()[gpu].account();
        if (gpu == 0) account.watch({copy, 0}, {});
        account.want(0, true);
    }

    bool is_watched_;
    fabric::Settings settings_;
    topology::Graph graph_;
    fabric::Routes routes_;
    Partition partition_;
    fabric::Groups groups_;
};

struct Count {
    uint64_t sent = 0;
    uint64_t delivered = 0;
    uint64_t reduced = 0;
    uint64_t replicated = 0;
    uint64_t refused = 0;  // by adapters, for whatever reason
};

Count count(Partition& partition) {
    Count count;
    for (uint32_t p = 0; p < partition.cabling().ports(); ++p) {
        count.reduced += partition.cabling().counters(p).reduced;
        count.replicated += partition.cabling().counters(p).replicated;
        if (partition.cabling().port(p).is_host)
            count.sent += partition.cabling().port(p).data_packets();
    }
    for (const HostNode& host : partition.hosts()) {
        const transport::Counters& counters = host.adapter().counters();
        count.delivered += host.delivered();
        count.refused += counters.dropped_silently + counters.dropped_bad_state +
                         counters.dropped_no_qp + counters.out_of_buffer + counters.out_of_sequence;
    }
    return count;
}

class InSwitch : public testing::TestWithParam<FlowControl> {};

TEST_P(InSwitch, sums_and_copies_reach_their_queue_pairs_and_no_packet_is_forgotten) {
    Server server(GetParam());
    server.run();
    constexpr uint64_t kPackets = kPieces * kPieceBytes / kMtu;  // of a part
    const Count found = count(server.partition());
    EXPECT_EQ(found.sent, kGpus * (kGpus + 1) * kPackets);
    EXPECT_EQ(found.reduced, kGpus * (kGpus - 1) * kPackets);
    EXPECT_EQ(found.replicated, kGpus * (kGpus - 1) * kPackets);
    EXPECT_EQ(found.delivered, found.sent + found.replicated - found.reduced);
    EXPECT_EQ(found.refused, 0u);
    EXPECT_EQ(server.partition().cabling().store.live(), 0u);
    for (HostNode& host : server.partition().hosts())  // all receives were used up
        EXPECT_EQ(host.adapter().counters().rx_write_requests, (kGpus + 1) * kPieces);
    for (uint32_t p = 0; p < server.partition().cabling().ports(); ++p) {
        EXPECT_EQ(server.partition().cabling().in(p, 0).credits.used_blocks, 0u);
        EXPECT_EQ(server.partition().cabling().in(p, 0).used_bytes, 0u);
        EXPECT_EQ(server.partition().cabling().in(p, 0).headroom_bytes, 0u);
    }
}

TEST_P(InSwitch, each_member_is_told_the_whole_time_of_its_copy) {
    Server server(GetParam(), true);
    server.run();
    for (uint32_t gpu = 1; gpu < kGpus; ++gpu) {
        const auto& notes = server.partition().hosts()[gpu].find_account()->notes;
        EXPECT_EQ(notes.size(), kPieces);
        for (const MessageNote& note : notes)
            EXPECT_EQ(Instant{} + note.story.total(), note.at) << "rank " << gpu;
    }
}

INSTANTIATE_TEST_SUITE_P(groups, InSwitch, testing::Values(FlowControl::pfc, FlowControl::credits));

// A port sends its 8 MiB to be added up and 1 MiB to be copied, and receives as much.
TEST(InSwitchRate, an_all_reduce_takes_what_the_lines_take_at_the_efficiency) {
    Server server(FlowControl::pfc);
    const Instant end = server.run();
    constexpr uint64_t kBytes = (kGpus + 1) * kPieces * kPieceBytes;
    const base::Rate rate = base::Rate::bits_per_second(2'966'400'000'000);
    const Duration lines = rate.time_for(kBytes / kMtu * (kMtu + 12) * 100 / 85);
    EXPECT_GT((end - Instant{}).ps, lines.ps);
    EXPECT_LT((end - Instant{}).ps, lines.ps * 103 / 100);
}

}  // namespace
}  // namespace tulle::cluster
