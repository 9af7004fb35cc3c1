#include <algorithm>

#include "make.h"

namespace tulle::swarm {
namespace {

using namespace transport;

void draw_sizes(Pool& pool, Draw& draw) {
    pool.depth = draw.percent(pool.type == QpType::rd ? 60 : 30)
                     ? draw.between(1, 3)
                     : draw.between(4, pool.shared ? 32 : 12);
    pool.sges = draw.between(1, 4);
    pool.repost_delay_ns = draw.pick({1u, 1'000u, 10'000u, 60'000u});
}

// Receive queues: some sides of a service share one of their adapter, the others have their own.
void choose(World& world, uint32_t index) {
    Side& side = world.sides[index];
    if (side.type == QpType::xrc_initiator || side.type == QpType::xrc_target) return;
    Draw draw(world.seed, Drawer::pool, index);
    const bool shares = draw.percent(35);
    for (uint32_t i = 0; shares && i < world.pools.size(); ++i) {
        const Pool& pool = world.pools[i];
        if (!pool.shared || pool.adapter != side.adapter || pool.type != side.type) continue;
        side.pool = i;
        return;
    }
    Pool pool;
    pool.adapter = side.adapter;
    pool.type = side.type;
    pool.shared = shares;
    draw_sizes(pool, draw);
    pool.owner = shares ? kNone : index;
    side.pool = static_cast<uint32_t>(world.pools.size());
    world.pools.push_back(std::move(pool));
}

bool may_take(const World& world, const Operation& operation, uint32_t index) {
    if (operation.to_group != kNone) return world.pools[index].type == QpType::ud;
    return world.pool_of(operation) == index;
}

void fill(World& world, uint32_t index) {
    Pool& pool = world.pools[index];
    Draw draw(world.seed, Drawer::pool, 1'000 + index);
    for (const Side& side : world.sides)
        for (const uint32_t message : side.messages) {
            const Operation& operation = side.operations[message];
            if (!may_take(world, operation, index)) continue;
            pool.buffer_bytes = std::max(pool.buffer_bytes, operation.length);
        }
    pool.buffer_bytes += draw.percent(50) ? 0 : draw.between(1, 64);
    if (pool.type == QpType::ud) pool.buffer_bytes += kGrhBytes;
    for (uint32_t i = 0; i < pool.depth; ++i)
        pool.buffers.push_back(
            {take_pieces(world.stations[pool.adapter], draw, pool.buffer_bytes, pool.sges), false});
    for (const Side& side : world.sides) {
        const bool targets = side.type == QpType::xrc_target && pool.type == QpType::xrc_target &&
                             side.adapter == pool.adapter;
        if (targets || side.pool == index) ++pool.users;
    }
}

}  // namespace

// Where there are targets there are queues of each domain, so that one can be missed.
void make_xrc_pools(World& world) {
    for (uint32_t station = 0; station < world.stations.size(); ++station) {
        const bool has_targets =
            std::any_of(world.sides.begin(), world.sides.end(), [&](const Side& side) {
                return side.type == QpType::xrc_target && side.adapter == station;
            });
        if (!has_targets) continue;
        Draw draw(world.seed, Drawer::pool, 2'000 + station);
        for (uint32_t domain = 0; domain < kDomains; ++domain)
            for (uint32_t count = draw.between(1, 3); count != 0; --count) {
                Pool pool;
                pool.adapter = station;
                pool.type = QpType::xrc_target;
                pool.shared = true;
                pool.domain = domain;
                pool.cq = draw.between(0, world.stations[station].cqs - 1);
                draw_sizes(pool, draw);
                world.pools.push_back(std::move(pool));
            }
    }
}

void make_pools(World& world) {
    for (uint32_t i = 0; i < world.sides.size(); ++i) choose(world, i);
    for (uint32_t i = 0; i < world.pools.size(); ++i) fill(world, i);
}

}  // namespace tulle::swarm
