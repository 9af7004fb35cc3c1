#include <algorithm>

#include "make.h"

namespace tulle::swarm {
namespace {

using namespace transport;

class ConnectionMaker {
public:
    ConnectionMaker(World& world, uint32_t index)
        : world_(world),
          draw_(world.seed, Drawer::connection, index),
          first_(static_cast<uint32_t>(world.sides.size())) {}

    void make() {
        draw_types();
        const auto stations = static_cast<uint32_t>(world_.stations.size());
        const uint32_t a = draw_.between(0, stations - 1);
        const uint32_t b = draw_.percent(5) ? a : (a + draw_.between(1, stations - 1)) % stations;
        add_side(types_[0], a, first_ + 1);
        add_side(types_[1], b, first_);
        connect(world_.sides[first_], world_.sides[first_ + 1]);
        connect(world_.sides[first_ + 1], world_.sides[first_]);
        if (types_[0] == QpType::rd) find_or_add_ee();
    }

private:
    void draw_types() {
        const uint32_t kind = draw_.between(0, 99);
        if (kind < 45)
            types_ = {QpType::rc, QpType::rc};
        else if (kind < 60)
            types_ = {QpType::uc, QpType::uc};
        else if (kind < 74)
            types_ = {QpType::ud, QpType::ud};
        else if (kind < 87)
            types_ = {QpType::xrc_initiator, QpType::xrc_target};
        else
            types_ = {QpType::rd, QpType::rd};
    }

    void add_side(QpType type, uint32_t station, uint32_t peer) {
        Side side;
        side.type = type;
        side.congestion = draw_congestion(world_.seed, static_cast<uint32_t>(world_.sides.size()));
        side.adapter = station;
        side.peer = peer;
        side.cq_send = draw_.between(0, world_.stations[station].cqs - 1);
        side.cq_receive = draw_.between(0, world_.stations[station].cqs - 1);
        side.send = {.requests = draw_.percent(30) ? draw_.between(1, 4) : draw_.between(5, 40),
                     .sges = draw_.between(1, 4),
                     .inline_bytes = draw_.percent(50) ? draw_.between(8, 256) : 0};
        side.signal_all = draw_.percent(15);
        side.max_burst = draw_.between(1, 12);
        side.pause_ns = draw_.pick({100u, 2'000u, 20'000u});
        side.domain = draw_.percent(75) ? 0 : draw_.between(0, kDomains - 1);
        side.without_pd = type == QpType::xrc_target && draw_.percent(50);
        side.reuses_number = draw_.percent(40);
        draw_attributes(side.attributes);
        world_.sides.push_back(std::move(side));
    }

    void draw_attributes(QpAttributes& a) {
        a.access = kAllAccess;
        a.qkey = QKey{0x1000 + draw_.between(0, 3)};
        a.address = {
            .endpoint = {},
            .service_level = static_cast<uint8_t>(draw_.between(0, 7)),
            .entropy = static_cast<uint16_t>(0xc000 | draw_.between(0, 0x3fff)),
            .ack_timeout = static_cast<uint8_t>(draw_.between(draw_.percent(10) ? 3 : 5, 9))};
        a.send_psn =
            Psn{draw_.percent(30) ? 0xff'ffff - draw_.between(0, 20) : draw_.between(0, 0xff'ffff)};
        a.retry_count = static_cast<uint8_t>(draw_.percent(75) ? 7 : draw_.between(3, 6));
        a.rnr_retry = static_cast<uint8_t>(draw_.percent(90) ? 7 : draw_.between(4, 6));
        a.min_rnr_timer = static_cast<uint8_t>(draw_.between(1, 12));
        a.max_incoming_reads = static_cast<uint8_t>(draw_.between(1, 8));
        a.path_mtu = 256u << draw_.between(0, 4);
        if (world_.faults.none()) a.address.ack_timeout = 12;
    }

    void connect(Side& side, const Side& peer) {
        QpAttributes& a = side.attributes;
        a.address.endpoint = world_.stations[peer.adapter].config.endpoint;
        if (&side != &world_.sides[first_]) a.path_mtu = peer.attributes.path_mtu;
        if (side.type == QpType::ud) a.path_mtu = 4096;
        a.receive_psn = peer.attributes.send_psn;
        a.max_reads = static_cast<uint8_t>(draw_.between(1, peer.attributes.max_incoming_reads));
    }

    // Several queue pairs share an EE context, and between two adapters there may be several.
    void find_or_add_ee() {
        const Side& near = world_.sides[first_];
        const Side& far = world_.sides[first_ + 1];
        const bool shares = draw_.percent(60);
        for (uint32_t i = 0; shares && i < world_.ees.size(); ++i)
            if (is_at(world_.ees[i], near) && is_at(world_.ees[i ^ 1], far)) return;
        for (const Side* side : {&near, &far}) {
            EeEnd end;
            end.adapter = side->adapter;
            end.domain = side->domain;
            draw_attributes(end.attributes);
            // Some are hasty, so that answers come too late; some give up early, so that messages
            // are given up amid of them.
            if (!world_.faults.none() && draw_.percent(40))
                end.attributes.address.ack_timeout = static_cast<uint8_t>(draw_.between(2, 5));
            if (draw_.percent(25))
                end.attributes.retry_count = static_cast<uint8_t>(draw_.between(0, 2));
            world_.ees.push_back(std::move(end));
        }
        const size_t count = world_.ees.size();
        join(world_.ees[count - 2], world_.ees[count - 1]);
        join(world_.ees[count - 1], world_.ees[count - 2]);
        world_.ees[count - 1].attributes.path_mtu = world_.ees[count - 2].attributes.path_mtu;
    }

    static bool is_at(const EeEnd& end, const Side& side) {
        return end.adapter == side.adapter && end.domain == side.domain;
    }

    void join(EeEnd& end, const EeEnd& peer) {
        end.attributes.address.endpoint = world_.stations[peer.adapter].config.endpoint;
        end.attributes.receive_psn = peer.attributes.send_psn;
    }

    World& world_;
    Draw draw_;
    uint32_t first_;
    std::array<QpType, 2> types_{};
};

}  // namespace

void make_connection(World& world, uint32_t index) {
    ConnectionMaker(world, index).make();
}

// Some members have another Q_Key than the group, and receive nothing from it.
void make_groups(World& world, Draw& draw) {
    const uint32_t count = draw.between(0, 3);
    for (uint32_t i = 0; i < count; ++i) {
        Group group;
        group.qkey = QKey{0x1000 + draw.between(0, 3)};
        for (uint32_t k = 0; k < world.sides.size(); ++k) {
            if (world.sides[k].type != QpType::ud || draw.percent(40)) continue;
            group.members.push_back(k);
            if (draw.percent(80)) world.sides[k].attributes.qkey = group.qkey;
        }
        world.groups.push_back(std::move(group));
    }
}

}  // namespace tulle::swarm
