#include <algorithm>

#include "make.h"

namespace tulle::swarm {
namespace {

using namespace transport;

constexpr uint32_t kWindowBytes = 3000;

bool is_connected_reliably(QpType type) {
    return type == QpType::rc || type == QpType::xrc_initiator;
}

// Makes the work of one side.
class WorkMaker {
public:
    WorkMaker(World& world, uint32_t index)
        : world_(world),
          side_(world.sides[index]),
          index_(index),
          draw_(world.seed, Drawer::side, index) {
        find_ways();
    }

    void make(uint32_t count) {
        if (side_.type == QpType::xrc_target) return;
        for (uint32_t i = 0; i < count; ++i) {
            add(draw_work());
            if (draw_.percent(is_connected_reliably(side_.type) ? 0 : 1)) add_bad();
        }
        if (draw_.percent(2) && side_.type != QpType::ud)
            for (uint32_t left = draw_.between(1, 6); left != 0; --left) add_passing();
        if (is_connected_reliably(side_.type) && draw_.percent(2)) add_bad();
        // The end of the work is signalled, so that the end is seen.
        if (!side_.operations.empty()) side_.operations.back().flags |= kSignalled;
    }

    // A window of this side, opened and closed some times, and what the peer does through it.
    void make_window(WorkMaker& peer) {
        side_.has_window = true;
        side_.window_type = draw_.percent(50) ? WindowType::type1 : WindowType::type2;
        const uint32_t rounds = draw_.between(1, 3);
        Gate closed;
        for (uint32_t round = 1; round <= rounds; ++round) {
            const uint32_t range = take(station(), kWindowBytes, 16, 8);
            const bool is_last = round == rounds;
            const uint32_t rights =
                is_last && draw_.percent(20) ? uint32_t{kRemoteRead} : kRemoteRead | kRemoteWrite;
            const Opening opening{round, {range, kWindowBytes}, rights, closed};
            if (side_.window_type == WindowType::type1)
                closed = open_type1(peer, opening);
            else
                closed = open_type2(peer, opening, is_last);
        }
    }

private:
    struct Opening {
        uint32_t round;
        Range range;
        uint32_t rights;
        Gate gate;
    };
    struct Way {
        uint32_t ee;
        uint32_t to_side;
    };

    Station& station() { return world_.stations[side_.adapter]; }
    Station& target(const Operation& operation) {
        return world_.stations[world_.sides[operation.to_side].adapter];
    }
    uint32_t mtu() const { return side_.attributes.path_mtu; }
    uint32_t last() const { return static_cast<uint32_t>(side_.operations.size() - 1); }

    // RD: over which EE contexts it reaches whom; and whom it must not, in another domain.
    void find_ways() {
        if (side_.type != QpType::rd) return;
        for (uint32_t e = 0; e < world_.ees.size(); ++e) {
            const EeEnd& near = world_.ees[e];
            const EeEnd& far = world_.ees[e ^ 1];
            if (near.adapter != side_.adapter) continue;
            for (uint32_t i = 0; i < world_.sides.size(); ++i) {
                const Side& other = world_.sides[i];
                if (other.type != QpType::rd || other.adapter != far.adapter) continue;
                const bool fits = other.domain == far.domain;
                if (near.domain != side_.domain)
                    no_contexts_.push_back({e, i});
                else
                    (fits ? ways_ : no_ways_).push_back({e, i});
            }
        }
    }

    // One operation of this work, with its memory.
    Operation& add(Work work) {
        Operation operation;
        operation.work = work;
        draw_destination(operation);
        if (draw_.percent(70)) operation.flags |= kSignalled;
        if (draw_.percent(10)) operation.flags |= kFence;
        if (draw_.percent(10)) operation.flags |= kSolicited;
        if (is_atomic(work))
            set_atomic(operation);
        else
            set_data(operation);
        const auto number = static_cast<uint32_t>(side_.operations.size());
        if (takes_receive(work)) side_.messages.push_back(number);
        side_.operations.push_back(std::move(operation));
        return side_.operations.back();
    }

    template <class T>
    const T& pick_of(const std::vector<T>& items) {
        return items[draw_.between(0, static_cast<uint32_t>(items.size()) - 1)];
    }

    void draw_destination(Operation& operation) {
        operation.to_side = side_.peer;
        if (side_.type == QpType::xrc_initiator) {
            operation.to_pool = draw_pool(world_.sides[side_.peer].domain);
        } else if (side_.type == QpType::rd) {
            const Way& way = pick_of(ways_);
            operation.ee = way.ee;
            operation.to_side = way.to_side;
        } else if (side_.type == QpType::ud) {
            std::vector<uint32_t> others;
            for (uint32_t i = 0; i < world_.sides.size(); ++i)
                if (world_.sides[i].type == QpType::ud) others.push_back(i);
            operation.to_side = pick_of(others);
            if (!world_.groups.empty() && draw_.percent(40)) set_group(operation);
        }
    }

    void set_group(Operation& operation) {
        operation.to_group = draw_.between(0, static_cast<uint32_t>(world_.groups.size()) - 1);
        operation.brought_to.resize(world_.stations.size());
        operation.received_by.resize(world_.sides.size());
    }

    uint32_t draw_pool(uint32_t domain) {
        std::vector<uint32_t> pools;
        for (uint32_t i = 0; i < world_.pools.size(); ++i) {
            const Pool& pool = world_.pools[i];
            if (pool.adapter == world_.sides[side_.peer].adapter && pool.domain == domain)
                pools.push_back(i);
        }
        return pick_of(pools);
    }

    // Something that must not succeed. It ends a connection, but no queue pair of RD.
    void add_bad() {
        const bool is_rd = side_.type == QpType::rd;
        if (side_.type == QpType::uc) return;
        if (side_.type == QpType::ud) {
            add(Work::send).bad = Bad::qkey;
            return;
        }
        const bool another = draw_.percent(50);
        const Work write = draw_.percent(30) ? Work::write_with_immediate : Work::write;
        Operation& bad = add(another && side_.type != QpType::rc ? draw_work() : write);
        if (is_rd && another) return set_bad_way(bad);
        if (side_.type == QpType::xrc_initiator && another) {
            bad.bad = Bad::domain;
            bad.to_pool = draw_pool(1 - world_.sides[side_.peer].domain);
        } else if (bad.length != 0) {
            bad.bad = Bad::key;
        }
    }

    void set_bad_way(Operation& bad) {
        const uint32_t kind = draw_.between(0, 2);
        bad.bad = kind == 0                            ? Bad::qkey
                  : kind == 1 && !no_ways_.empty()     ? Bad::domain
                  : kind == 2 && !no_contexts_.empty() ? Bad::context
                                                       : Bad::qkey;
        if (bad.bad == Bad::qkey) return;
        const Way& way = pick_of(bad.bad == Bad::domain ? no_ways_ : no_contexts_);
        bad.ee = way.ee;
        bad.to_side = way.to_side;
        if (is_atomic(bad.work)) bad.counter = kNone;
    }

    // Work with memory that will be deregistered meanwhile, here or there.
    void add_passing() {
        const bool near = side_.type != QpType::uc && draw_.percent(40);
        const bool reads = side_.type != QpType::uc && draw_.percent(40);
        Operation& operation = add(reads ? Work::read : Work::write);
        Station& where = near ? station() : target(operation);
        const uint32_t length = std::min(draw_.between(mtu(), 6 * mtu()), 8192u);
        const auto offset = take_passing(where, length);
        if (!offset) return;
        operation.length = length;
        operation.flags = static_cast<uint8_t>(operation.flags & ~kInline);
        operation.read_back = kNone;
        operation.local = {{near ? *offset : take(station(), length, 3), length}};
        operation.remote_offset = near ? take(target(operation), length, 3) : *offset;
        (near ? operation.near_passing : operation.far_passing) = true;
    }

    // Type 1: the user of the engine binds it when the first who uses it is posted.
    Gate open_type1(WorkMaker& peer, const Opening& opening) {
        peer.use_window(opening);
        const Gate done{peer.index_, peer.last()};
        if (draw_.percent(95)) return done;
        peer.miss_window(opening, opening.round > 1);
        return {peer.index_, peer.last()};
    }

    Gate open_type2(WorkMaker& peer, const Opening& opening, bool is_last) {
        Operation& bind = add(Work::bind_window);
        bind.flags = kSignalled;
        bind.gate = opening.gate;
        bind.window = opening.round;
        bind.window_range = opening.range;
        bind.window_access = opening.rights;
        bind.local = {opening.range};
        Opening bound = opening;
        bound.gate = {index_, last()};
        peer.use_window(bound);
        if (is_last && draw_.percent(7)) {
            peer.miss_window(bound, opening.round > 1);
            return {};
        }
        if (draw_.percent(50)) {
            Operation& invalidate = peer.add(Work::send_with_invalidate);
            invalidate.window = opening.round;
            // Without the fence it may overtake the READs before it (10.8.3.3).
            invalidate.flags |= kSignalled | kFence;
            return {peer.index_, peer.last()};
        }
        Operation& invalidate = add(Work::local_invalidate);
        invalidate.window = opening.round;
        invalidate.gate = {peer.index_, peer.last()};
        return {};
    }

    void use_window(const Opening& opening) {
        const uint32_t count = draw_.between(1, 3);
        const bool writes = (opening.rights & kRemoteWrite) != 0;
        uint32_t at = opening.range.offset;
        for (uint32_t i = 0; i < count; ++i) {
            Operation& operation = add(writes && draw_.percent(50) ? Work::write : Work::read);
            go_through(operation, opening, at);
            if (i == 0) operation.gate = opening.gate;
            if (i + 1 == count) operation.flags |= kSignalled;
            at += operation.length + draw_.between(0, 8);
        }
    }

    void go_through(Operation& operation, const Opening& opening, uint32_t at) {
        operation.length = draw_.between(1, kWindowBytes / 3 - 8);
        operation.local = take_pieces(station(), draw_, operation.length, side_.send.sges);
        operation.remote_offset = at;
        operation.read_back = kNone;
        operation.window = opening.round;
        operation.window_range = opening.range;
        operation.window_access = opening.rights;
        operation.flags = static_cast<uint8_t>(operation.flags & ~kInline);
    }

    // What the window does not allow, or does not any more.
    void miss_window(const Opening& opening, bool has_old_key) {
        const bool reads_only = (opening.rights & kRemoteWrite) == 0;
        if (!reads_only && !has_old_key) return;
        Operation& operation = add(Work::write);
        go_through(operation, opening, opening.range.offset);
        operation.gate = {index_, last() - 1};
        operation.bad = reads_only ? Bad::rights : Bad::key;
        if (operation.bad == Bad::key) --operation.window;
    }

    Work draw_work() {
        using enum Work;
        if (side_.type == QpType::ud) return draw_.pick({send, send_with_immediate});
        if (side_.type == QpType::uc)
            return draw_.pick({send, send_with_immediate, write, write_with_immediate});
        if (side_.type == QpType::rd)
            return draw_.pick(
                {send, send, send_with_immediate, write, write_with_immediate, read, fetch_add});
        return draw_.pick({send, send, send_with_immediate, write, write, write_with_immediate,
                           read, read, compare_swap, fetch_add, fetch_add, atomic_write,
                           transport::Work::flush});
    }

    uint32_t draw_length(Work work) {
        const uint32_t kind = draw_.between(0, 99);
        uint32_t most = kind < 10 ? 8 : kind < 55 ? 300 : kind < 85 ? 2 * mtu() : 6 * mtu();
        most = std::min(most, takes_receive(work) ? 4096u : 8192u);
        uint32_t length = draw_.percent(10) ? most : draw_.between(0, most);
        if (side_.type == QpType::ud) length = std::min(length, mtu());
        const bool unnamed = !is_connected_reliably(side_.type) && work == Work::send;
        return unnamed ? std::max(8u, length) : length;
    }

    void set_data(Operation& operation) {
        const Work work = operation.work;
        if (work == Work::bind_window || work == Work::local_invalidate) return;
        operation.length = work == Work::atomic_write ? 8 : draw_length(work);
        if (work == Work::flush) {
            operation.flush_placement = static_cast<uint8_t>(draw_.between(1, 3));
            operation.length = std::max(1u, operation.length);
        }
        operation.local = take_pieces(station(), draw_, operation.length, side_.send.sges);
        if (has_source(work) && operation.length <= side_.send.inline_bytes && draw_.percent(50))
            operation.flags |= kInline;
        if (work == Work::read && set_read_back(operation)) return;
        const bool to_memory = work != Work::send && work != Work::send_with_immediate &&
                               work != Work::send_with_invalidate;
        if (to_memory)
            operation.remote_offset = take(target(operation), operation.length, draw_.between(1, 9),
                                           work == Work::atomic_write ? 8 : 1);
    }

    // A READ of what an earlier WRITE of the same connection wrote.
    bool set_read_back(Operation& operation) {
        if (side_.type == QpType::rd || side_.operations.empty() || draw_.percent(70)) return false;
        const uint32_t number = draw_.between(0, last());
        const Operation& earlier = side_.operations[number];
        const bool fits = earlier.work == Work::write && earlier.window == 0 &&
                          earlier.bad == Bad::none && !earlier.far_passing && earlier.length != 0;
        if (!fits) return false;
        const uint32_t skipped = draw_.between(0, earlier.length - 1);
        operation.read_back = number;
        operation.length = earlier.length - skipped;
        operation.local = take_pieces(station(), draw_, operation.length, side_.send.sges);
        operation.remote_offset = earlier.remote_offset + skipped;
        return true;
    }

    void set_atomic(Operation& operation) {
        operation.length = 8;
        operation.local = take_pieces(station(), draw_, 8, side_.send.sges);
        const bool add = operation.work == Work::fetch_add;
        // Over several EE contexts a word would not be changed in order.
        const bool shared = side_.type == QpType::rd || (add && draw_.percent(60));
        const uint32_t adapter = world_.sides[operation.to_side].adapter;
        operation.counter = shared ? shared_counter(adapter) : private_counter(adapter);
        Counter& counter = world_.counters[operation.counter];
        operation.remote_offset = counter.offset;
        if (counter.shared) {
            operation.compare_or_add = 1;
            return;
        }
        const bool hits = draw_.percent(70);
        operation.compare_or_add = add || !hits ? draw_.word() : counter.planned;
        operation.swap = draw_.word();
        counter.planned = value_after(operation, counter.planned);
    }

    uint32_t shared_counter(uint32_t adapter) {
        for (uint32_t i = 0; i < world_.counters.size(); ++i)
            if (world_.counters[i].shared && world_.counters[i].adapter == adapter) return i;
        return add_counter(adapter, true);
    }

    uint32_t private_counter(uint32_t adapter) {
        if (private_ == kNone) private_ = add_counter(adapter, false);
        return private_;
    }

    uint32_t add_counter(uint32_t adapter, bool shared) {
        Counter counter;
        counter.adapter = adapter;
        counter.offset = take(world_.stations[adapter], 8, 8, 8);
        counter.shared = shared;
        // Close to where the word would wrap.
        counter.initial = counter.planned = uint64_t{0} - draw_.between(0, 100);
        counter.possible = counter.furthest = {counter.initial};
        world_.counters.push_back(std::move(counter));
        return static_cast<uint32_t>(world_.counters.size() - 1);
    }

    World& world_;
    Side& side_;
    uint32_t index_;
    Draw draw_;
    std::vector<Way> ways_;
    std::vector<Way> no_ways_;
    std::vector<Way> no_contexts_;
    uint32_t private_ = kNone;
};

}  // namespace

void make_work(World& world, Draw& draw) {
    std::vector<WorkMaker> makers;
    for (uint32_t i = 0; i < world.sides.size(); ++i) makers.emplace_back(world, i);
    for (uint32_t i = 0; i < world.sides.size(); i += 2) {
        const bool both = draw.percent(60);
        const bool windows = world.sides[i].type == QpType::rc && draw.percent(20);
        const uint32_t most = draw.pick({8u, 16u, 60u});
        makers[i].make(draw.between(1, most));
        if (both) makers[i + 1].make(draw.between(1, most));
        if (!windows) continue;
        makers[i].make_window(makers[i + 1]);
        makers[i].make(draw.between(0, 4));
        makers[i + 1].make(draw.between(0, 4));
    }
}

}  // namespace tulle::swarm
