#include <algorithm>

#include "runner.h"

namespace tulle::swarm {

using namespace transport;

void Run::set_up() {
    for (uint32_t i = 0; i < world_.stations.size(); ++i) create_host(i);
    for (Pool& pool : world_.pools)
        if (pool.shared) create_srq(pool);
    for (EeEnd& end : world_.ees) create_ee(end);
    for (uint32_t i = 0; i < world_.ees.size(); ++i) connect_ee(i);
    for (Side& side : world_.sides) create_qp(side);
    for (Side& side : world_.sides) connect(side);
    for (uint32_t i = 0; i < world_.sides.size(); ++i) join_groups(i);
    for (uint32_t i = 0; i < world_.pools.size(); ++i) fill_pool(i);
    for (uint32_t i = 0; i < world_.sides.size(); ++i) {
        posters_.emplace_back(world_.seed, Drawer::poster, i);
        plan(now_ + nanoseconds(posters_[i].between(0, 20'000)), Kind::post, i);
    }
    for (uint32_t i = 0; i < world_.acts.size(); ++i)
        plan(now_ + nanoseconds(world_.acts[i].at_ns), Kind::act, i);
}

void Run::create_host(uint32_t index) {
    Station& station = world_.stations[index];
    Host host{.adapter = std::make_unique<Adapter>(station.config),
              .pd = {},
              .cqs = {},
              .xrc_domains = {},
              .rd_domains = {},
              .link_free = {},
              .draw = Draw(world_.seed, Drawer::poster, 1'000 + index)};
    Memory& memory = host.adapter->memory();
    host.pd = memory.create_pd();
    const auto key = memory.register_region(
        {host.pd, kBase, station.memory.size(), station.memory.data(), station.region_access});
    require(key.has_value(), "a region was not registered");
    station.key = *key;
    if (station.passing.length != 0) {
        const auto passing = memory.register_region(
            {host.pd, kBase + station.passing.offset, station.passing.length,
             station.memory.data() + station.passing.offset, station.region_access});
        require(passing.has_value(), "a region was not registered");
        station.passing_key = *passing;
    }
    for (uint32_t i = 0; i < station.cqs; ++i)
        host.cqs.push_back(host.adapter->completions().create(kCqEntries));
    for (uint32_t i = 0; i < kDomains; ++i) {
        host.xrc_domains.push_back(host.adapter->xrc_domains().create());
        host.rd_domains.push_back(host.adapter->rd_domains().create());
    }
    hosts_.push_back(std::move(host));
}

void Run::create_srq(Pool& pool) {
    Host& host = hosts_[pool.adapter];
    const auto srq =
        pool.type == QpType::xrc_target
            ? host.adapter->shared_receives().create_for_xrc(
                  host.xrc_domains[pool.domain], host.pd, host.cqs[pool.cq], pool.depth, pool.sges)
            : host.adapter->shared_receives().create(host.pd, pool.depth, pool.sges);
    require(srq.has_value(), "a shared queue was not created");
    pool.srq = *srq;
}

void Run::create_ee(EeEnd& end) {
    Host& host = hosts_[end.adapter];
    const auto number = host.adapter->ee_contexts().create(host.rd_domains[end.domain]);
    require(number.has_value(), "an EE context was not created");
    end.number = *number;
}

void Run::connect_ee(uint32_t index) {
    EeEnd& end = world_.ees[index];
    QpAttributes attributes = end.attributes;
    attributes.dest_ee = world_.ees[index ^ 1].number;
    const auto step = [&](QpState state, uint32_t mask) {
        attributes.state = state;
        require(hosts_[end.adapter].adapter->ee_contexts().modify(end.number, attributes,
                                                                  mask | kState) == Refusal::none,
                "a change of an EE context was refused");
    };
    step(QpState::init, kPkeyIndex | kPort);
    step(QpState::rtr, kAddress | kPathMtu | kDestEe | kReceivePsn | kMaxIncomingReads);
    step(QpState::rts, kTimeout | kRetryCount | kRnrRetry | kSendPsn);
}

QpSetup Run::setup_of(const Side& side) const {
    const Host& host = hosts_[side.adapter];
    QpSetup setup{.type = side.type,
                  .pd = side.without_pd ? PdId{} : host.pd,
                  .send_cq = host.cqs[side.cq_send],
                  .receive_cq = host.cqs[side.cq_receive],
                  .send = side.send,
                  .signal_all = side.signal_all};
    if (side.type == QpType::xrc_target) setup.xrc_domain = host.xrc_domains[side.domain];
    if (side.type == QpType::rd) setup.rd_domain = host.rd_domains[side.domain];
    if (side.pool == kNone) return setup;
    const Pool& pool = world_.pools[side.pool];
    setup.srq = pool.srq;
    setup.receive_requests = pool.depth;
    setup.receive_sges = pool.sges;
    return setup;
}

bool Run::was_given(const Side& side, Qpn qpn) const {
    return std::any_of(world_.sides.begin(), world_.sides.end(), [&](const Side& other) {
        const auto& old = other.old_qpns;
        return other.adapter == side.adapter && std::find(old.begin(), old.end(), qpn) != old.end();
    });
}

// One that shall have the number of the one before it comes and goes until it does; packets for the
// old one, which may still be under way, then find the new one. It does not get the number that
// another side had: what comes late for that one might not fit.
void Run::create_qp(Side& side) {
    constexpr uint32_t kPatience = 3'000;
    const uint32_t tries = side.reuses_number && !side.old_qpns.empty() ? kPatience : 0;
    for (uint32_t i = 0;; ++i) {
        const auto qpn = adapter_of(side).queue_pairs().create(setup_of(side));
        require(qpn.has_value(), "a queue pair was not created");
        const bool had_it = !side.old_qpns.empty() && side.old_qpns.back() == *qpn;
        side.qpn = *qpn;
        if (had_it || (i >= tries && !was_given(side, *qpn))) break;
        require(adapter_of(side).queue_pairs().destroy(*qpn) == Refusal::none,
                "a queue pair cannot be destroyed");
    }
    adapter_of(side).queue_pairs().set_congestion_control(side.qpn, side.congestion);
    if (side.has_window) create_window(side);
}

void Run::create_window(Side& side) {
    const auto key =
        adapter_of(side).memory().create_window(hosts_[side.adapter].pd, side.window_type);
    require(key.has_value(), "a window was not created");
    side.window_keys = {*key};
    // Of type 2 the user chooses the keys.
    if (side.window_type == WindowType::type1) return;
    for (const Operation& operation : side.operations)
        if (operation.work == Work::bind_window)
            side.window_keys.push_back((*key & ~0xffu) | ((*key + operation.window) & 0xff));
}

void Run::change_state(Side& side, QpState state, uint32_t mask) {
    side.attributes.state = state;
    require(adapter_of(side).queue_pairs().modify(side.qpn, side.attributes, mask | kState) ==
                Refusal::none,
            "a change of state was refused");
}

void Run::connect(Side& side) {
    if (side.type == QpType::rd) return connect_rd(side);
    side.attributes.dest_qpn = world_.sides[side.peer].qpn;
    const bool datagram = side.type == QpType::ud;
    const bool answers = side.type == QpType::rc || side.type == QpType::xrc_target;
    const bool asks = side.type == QpType::rc || side.type == QpType::xrc_initiator;
    change_state(side, QpState::init, kPkeyIndex | kPort | (datagram ? kQkey : kAccessFlags));
    uint32_t to_rtr = datagram ? 0u : kAddress | kPathMtu | kDestQpn | kReceivePsn;
    if (answers) to_rtr |= kMaxIncomingReads | kMinRnrTimer;
    change_state(side, QpState::rtr, to_rtr);
    uint32_t to_rts = kSendPsn;
    if (asks) to_rts |= kTimeout | kRetryCount | kRnrRetry | kMaxReads;
    if (side.type == QpType::xrc_target) to_rts |= kTimeout;
    change_state(side, QpState::rts, to_rts);
}

void Run::connect_rd(Side& side) {
    change_state(side, QpState::init, kQkey | kAccessFlags);
    change_state(side, QpState::rtr, kMinRnrTimer);
    change_state(side, QpState::rts);
}

void Run::join_groups(uint32_t index) {
    for (uint32_t g = 0; g < world_.groups.size(); ++g) {
        const auto& members = world_.groups[g].members;
        if (std::find(members.begin(), members.end(), index) == members.end()) continue;
        Side& side = world_.sides[index];
        require(adapter_of(side).multicast().attach(side.qpn, {kFirstGroup + g}) == Refusal::none,
                "a queue pair cannot join a group");
    }
}

void Run::fill_pool(uint32_t index) {
    const auto count = static_cast<uint32_t>(world_.pools[index].buffers.size());
    for (uint32_t i = 0; i < count; ++i) post_receive(index, i);
}

// ---------------------------------------------------------------------------------------------
// Ends and new beginnings

// A queue pair that is a member of a group stays until it has left.
void Run::destroy_side(uint32_t index) {
    Side& side = world_.sides[index];
    drain(side.adapter);
    bool is_member = false;
    for (uint32_t g = 0; g < world_.groups.size(); ++g) {
        auto& members = world_.groups[g].members;
        if (std::erase(members, index) == 0) continue;
        if (!is_member)
            require(adapter_of(side).queue_pairs().destroy(side.qpn) == Refusal::busy,
                    "a member of a group was destroyed");
        is_member = true;
        require(adapter_of(side).multicast().detach(side.qpn, {kFirstGroup + g}) == Refusal::none,
                "a member cannot leave its group");
    }
    require(adapter_of(side).queue_pairs().destroy(side.qpn) == Refusal::none,
            "a queue pair cannot be destroyed");
    if (trace_ != nullptr) std::fprintf(trace_, "side %u is destroyed\n", index);
    side.old_qpns.push_back(side.qpn);
    side.qpn = Qpn{};
    model_.on_destroy(index);
    drain(side.adapter);
}

void Run::create_again(uint32_t index) {
    const bool connected =
        world_.sides[index].type != QpType::ud && world_.sides[index].type != QpType::rd;
    std::vector<uint32_t> both = {index};
    if (connected) both.push_back(index ^ 1);
    // PSNs of the old connection are none of the new one.
    constexpr uint32_t kFarAway = 1 << 22;
    for (const uint32_t i : both) {
        Side& side = world_.sides[i];
        create_qp(side);
        if (side.qpn == side.old_qpns.back()) ++model_.tally.numbers_reused;
        const uint32_t away = posters_[i].percent(50) ? kFarAway : wire::kPsnMask - kFarAway;
        side.attributes.send_psn = wire::psn_plus(side.attributes.send_psn, away);
        world_.sides[side.peer].attributes.receive_psn = side.attributes.send_psn;
        model_.on_create(i);
    }
    for (const uint32_t i : both) {
        Side& side = world_.sides[i];
        connect(side);
        const bool own = side.pool != kNone && !world_.pools[side.pool].shared;
        if (own) fill_pool(side.pool);
        if (trace_ != nullptr)
            std::fprintf(trace_, "side %u is made again as qp %u\n", i, side.qpn.value);
        plan(now_ + nanoseconds(posters_[i].between(0, 20'000)), Kind::post, i);
        drain(side.adapter);
    }
}

void Run::end_side(uint32_t index) {
    Side& side = world_.sides[index];
    if (side.is_absent) return;
    side.gave_up = true;
    change_state(side, QpState::error);
    drain(side.adapter);
    require(adapter_of(side).queue_pairs().find(side.qpn)->state == QpState::error,
            "a queue pair is not in the error state");
}

void Run::tear_down() {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < world_.sides.size(); ++i) order.push_back(i);
    Draw(world_.seed, Drawer::world, 1).shuffle(order);
    for (const uint32_t index : order) end_side(index);
    destroy_all(order);
    // What is still on its way finds nobody.
    while (!queue_.empty()) {
        const Event event = queue_.pop();
        now_ = event.at;
        if (static_cast<Kind>(event.kind) == Kind::arrive) arrive(event.who);
    }
    for (const Pool& pool : world_.pools)
        if (pool.shared) destroy_srq(pool);
    for (uint32_t i = 0; i < hosts_.size(); ++i) destroy_host(i);
    model_.check_end();
}

// All that was posted and has not completed is still there: so much more goes in, and no more.
void Run::destroy_srq(const Pool& pool) {
    Adapter& adapter = *hosts_[pool.adapter].adapter;
    for (const Buffer& buffer : pool.buffers)
        require(buffer.is_posted || adapter.shared_receives().post(pool.srq, {}) == Refusal::none,
                "a shared queue has lost a place");
    require(adapter.shared_receives().post(pool.srq, {}) == Refusal::queue_full,
            "a shared queue has lost a receive");
    require(adapter.shared_receives().destroy(pool.srq) == Refusal::none,
            "a shared queue cannot be destroyed");
}

void Run::destroy_all(const std::vector<uint32_t>& order) {
    for (const uint32_t index : order) {
        Side& side = world_.sides[index];
        if (!side.is_absent) destroy_side(index);
        if (!side.has_window) continue;
        uint32_t round = 0;
        for (const Operation& operation : side.operations)
            if (operation.work == Work::bind_window && operation.outcome == Outcome::success)
                round = operation.window;
        const uint32_t key = side.window_type == WindowType::type1 ? side.window_keys.back()
                                                                   : side.window_keys[round];
        require(adapter_of(side).memory().destroy_window(key) == Refusal::none,
                "a window cannot be destroyed");
    }
    for (const EeEnd& end : world_.ees)
        require(hosts_[end.adapter].adapter->ee_contexts().destroy(end.number) == Refusal::none,
                "an EE context cannot be destroyed");
}

void Run::destroy_host(uint32_t index) {
    Adapter& adapter = *hosts_[index].adapter;
    const Station& station = world_.stations[index];
    const auto clean = [](Refusal refusal) {
        require(refusal == Refusal::none, "something cannot be destroyed");
    };
    for (const CqId cq : hosts_[index].cqs) clean(adapter.completions().destroy(cq));
    for (const XrcDomainId domain : hosts_[index].xrc_domains)
        clean(adapter.xrc_domains().destroy(domain));
    for (const RdDomainId domain : hosts_[index].rd_domains)
        clean(adapter.rd_domains().destroy(domain));
    clean(adapter.memory().deregister_region(station.key));
    if (station.passing.length != 0 && !station.passing_gone)
        clean(adapter.memory().deregister_region(station.passing_key));
    clean(adapter.memory().destroy_pd(hosts_[index].pd));
    model_.tally.notified += adapter.counters().rp_cnp_handled;
    model_.tally.too_early += adapter.counters().dropped_too_early;
    require(adapter.queue_pairs().count() == 0, "queue pairs are left over");
    require(adapter.memory().live() == 0, "regions or windows are left over");
}

}  // namespace tulle::swarm
