#include "make.h"

namespace tulle::swarm {
namespace {

using namespace transport;

class ActMaker {
public:
    explicit ActMaker(World& world) : world_(world), draw_(world.seed, Drawer::act, 0) {}

    void make() {
        for (uint32_t i = 0; i < world_.sides.size(); i += 2) make_for_connection(i);
        for (uint32_t i = 0; i < world_.ees.size(); ++i)
            if (draw_.percent(2)) add(ActKind::stop_ee, i, 80'000);
        for (uint32_t i = 0; i < world_.pools.size(); ++i) {
            const Pool& pool = world_.pools[i];
            if (pool.shared && draw_.percent(70))
                add(ActKind::watch_limit, i, 40'000, draw_.between(1, pool.depth));
        }
    }

private:
    void add(ActKind kind, uint32_t who, uint32_t latest_ns, uint32_t value = 0) {
        world_.acts.push_back({kind, who, draw_.between(1, latest_ns), value});
    }

    void make_for_connection(uint32_t first) {
        const uint32_t one = first + draw_.between(0, 1);
        const Side& side = world_.sides[one];
        const bool connected = side.type != QpType::ud && side.type != QpType::rd;
        const bool sends = side.type != QpType::xrc_target;
        if (side.is_reliable() && draw_.percent(2)) add(ActKind::give_up, one, 60'000);
        if (side.type != QpType::ud && sends && draw_.percent(10)) add(ActKind::drain, one, 30'000);
        if (connected && sends && draw_.percent(10)) arm(one);
        if (side.type == QpType::ud && !world_.groups.empty() && draw_.percent(30))
            for (uint32_t count = draw_.between(1, 4); count != 0; --count)
                add(ActKind::join, one, 60'000,
                    draw_.between(0, static_cast<uint32_t>(world_.groups.size()) - 1));
        const bool has_windows = world_.sides[first].has_window;
        if (!has_windows && draw_.percent(connected ? 3 : 6)) make_again(first, one, connected);
    }

    // Mostly both ends, for only then there is a path to migrate to.
    void arm(uint32_t side) {
        add(ActKind::arm_path, side, 20'000, static_cast<uint32_t>(draw_.word()));
        if (draw_.percent(90))
            add(ActKind::arm_path, side ^ 1, 20'000, static_cast<uint32_t>(draw_.word()));
        if (world_.sides[side].is_reliable() && draw_.percent(15))
            add(ActKind::cut_path, side, 40'000);
        if (draw_.percent(30)) add(ActKind::migrate, side ^ draw_.between(0, 1), 60'000);
    }

    // The ends of a connection go at different times, and only then come again.
    void make_again(uint32_t first, uint32_t one, bool connected) {
        const uint64_t start = draw_.between(1'000, 60'000);
        if (!connected) {
            world_.acts.push_back({ActKind::destroy, one, start});
            world_.acts.push_back({ActKind::create, one, start + draw_.between(1, 20'000)});
            return;
        }
        const uint64_t gap = draw_.between(1, 10'000);
        world_.acts.push_back({ActKind::destroy, one, start});
        world_.acts.push_back({ActKind::destroy, one ^ 1, start + gap});
        world_.acts.push_back({ActKind::create, first, start + gap + draw_.between(1, 10'000)});
    }

    World& world_;
    Draw draw_;
};

}  // namespace

void make_acts(World& world) {
    ActMaker(world).make();
}

}  // namespace tulle::swarm
