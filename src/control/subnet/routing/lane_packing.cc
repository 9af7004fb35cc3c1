#include "control/subnet/routing/lane_packing.h"

#include <algorithm>
#include <functional>

#include "control/subnet/routing/lanes.h"
#include "control/subnet/routing/link_pairs.h"

namespace tulle::control {
namespace {

struct LinkPair {
    uint32_t in = 0;
    uint32_t out = 0;
};

// The number of links that all searches together may visit: some seconds. Chosen.
constexpr uint64_t kMostLooks = 500'000'000;

// The pairs of links that the paths of one lane need; they form no cycle.
class Lane {
public:
    Lane(const Subnet& subnet, const LinkPairs& pairs, uint64_t& looks)
        : subnet_(subnet),
          pairs_(pairs),
          looks_(looks),
          state_(pairs.count(), State::absent),
          place_(subnet.link_count()),
          is_seen_(subnet.link_count()) {
        for (uint32_t link = 0; link < subnet.link_count(); ++link) place_[link] = link;
    }

    // Adds a path. False, without changes: it would close a cycle.
    bool add(const std::vector<LinkPair>& path) {
        added_.clear();
        for (const LinkPair& pair : path) {
            State& state = state_[pairs_.number(pair.in, pair.out)];
            if (state == State::present) continue;
            if (state == State::absent && can_order(pair)) {
                state = State::present;
                added_.push_back(pairs_.number(pair.in, pair.out));
                continue;
            }
            for (const uint32_t number : added_) state_[number] = State::absent;
            // The path's own pairs may have been in the way.
            if (!added_.empty() && state == State::absent && can_order(pair)) return false;
            state = State::refused;
            return false;
        }
        return true;
    }

    LinkLayers layers() const {
        std::vector<uint32_t> order(subnet_.link_count());
        for (uint32_t link = 0; link < order.size(); ++link) order[place_[link]] = link;
        return layers_in_order(subnet_, order,
                               [&](uint32_t in, uint32_t out) { return has(in, out); });
    }

private:
    enum class State : uint8_t { absent, present, refused };

    // Reorders links so that the first of the pair comes before the second; false: a cycle.
    bool can_order(const LinkPair& pair) {
        if (place_[pair.in] < place_[pair.out]) return true;
        const bool closes_circle = !search_forward(pair.out, pair.in);
        if (!closes_circle) {
            search_backward(pair.in, place_[pair.out]);
            reorder();
        }
        for (const uint32_t link : after_) is_seen_[link] = false;
        for (const uint32_t link : before_) is_seen_[link] = false;
        after_.clear();
        before_.clear();
        return !closes_circle;
    }

    // Finds the links after a link, up to the place of `end`; false: `end` is one of them.
    bool search_forward(uint32_t from, uint32_t end) {
        see(from, after_);
        for (size_t i = 0; i < after_.size(); ++i) {
            const uint32_t link = after_[i];
            const uint32_t s = subnet_.link(link).to;
            looks_ += subnet_.links_of(s).size();
            for (uint32_t next = subnet_.first_link(s); next < subnet_.end_link(s); ++next) {
                if (is_seen_[next] || place_[next] > place_[end] || !has(link, next)) continue;
                if (next == end) return false;
                see(next, after_);
            }
        }
        return true;
    }

    void search_backward(uint32_t from, uint32_t lowest) {
        see(from, before_);
        for (size_t i = 0; i < before_.size(); ++i) {
            const uint32_t link = before_[i];
            const uint32_t s = subnet_.link(link).from;
            looks_ += subnet_.links_of(s).size();
            for (uint32_t out = subnet_.first_link(s); out < subnet_.end_link(s); ++out) {
                const uint32_t next = subnet_.back(out);
                if (is_seen_[next] || place_[next] < lowest || !has(next, link)) continue;
                see(next, before_);
            }
        }
    }

    void see(uint32_t link, std::vector<uint32_t>& list) {
        is_seen_[link] = true;
        list.push_back(link);
    }
    bool has(uint32_t in, uint32_t out) const {
        return state_[pairs_.number(in, out)] == State::present;
    }

    // Redistributes the places of both lists: first to those before, then to those after.
    void reorder() {
        const auto by_place = [&](uint32_t a, uint32_t b) { return place_[a] < place_[b]; };
        std::ranges::sort(before_, by_place);
        std::ranges::sort(after_, by_place);
        places_.clear();
        for (const auto* list : {&before_, &after_})
            for (const uint32_t link : *list) places_.push_back(place_[link]);
        std::ranges::sort(places_);
        size_t next = 0;
        for (const auto* list : {&before_, &after_})
            for (const uint32_t link : *list) place_[link] = places_[next++];
    }

    const Subnet& subnet_;
    const LinkPairs& pairs_;
    uint64_t& looks_;
    std::vector<State> state_;     // by pair
    std::vector<uint32_t> place_;  // by link: its place in an order that fits all pairs
    std::vector<bool> is_seen_;    // by link
    std::vector<uint32_t> added_;  // pairs of the path being added
    std::vector<uint32_t> before_;
    std::vector<uint32_t> after_;
    std::vector<uint32_t> places_;
};

class Packer {
public:
    Packer(const Subnet& subnet, const ForwardingTables& tables)
        : subnet_(subnet), tables_(tables), pairs_(subnet) {}

    std::optional<Lanes> pack(uint8_t max_lanes) {
        Lanes lanes;
        lanes.service_levels.assign(size_t{subnet_.switch_count()} * subnet_.lid_end(), 0);
        std::vector<Path> left = paths();
        for (lanes.count = 0; !left.empty(); ++lanes.count) {
            if (lanes.count == max_lanes) return std::nullopt;
            Lane lane(subnet_, pairs_, looks_);
            std::erase_if(left, [&](const Path& path) {
                walk(path.lid, path.source);
                if (looks_ > kMostLooks || !lane.add(walked_)) return false;
                lanes.service_levels[size_t{path.lid} * subnet_.switch_count() + path.source] =
                    lanes.count;
                return true;
            });
            if (looks_ > kMostLooks) return std::nullopt;
            lanes.layers.push_back(lane.layers());
        }
        if (lanes.count < 2) lanes.service_levels.clear();
        lanes.count = std::max<uint8_t>(lanes.count, 1);
        return lanes;
    }

private:
    struct Path {
        uint16_t lid = 0;
        uint16_t source = 0;
        uint16_t pairs = 0;
    };

    // The paths that need any pairs, longest first: this order fits into few lanes.
    std::vector<Path> paths() {
        std::vector<Path> all;
        for (uint32_t s = 0; s < subnet_.switch_count(); ++s)
            for (uint32_t lid = 0; lid < subnet_.lid_end(); ++lid) {
                if (subnet_.place(lid).home == kNone || !path_counts(subnet_, s, lid)) continue;
                walk(lid, s);
                if (!walked_.empty())
                    all.push_back({static_cast<uint16_t>(lid), static_cast<uint16_t>(s),
                                   static_cast<uint16_t>(walked_.size())});
            }
        std::ranges::stable_sort(all, std::ranges::greater(), &Path::pairs);
        return all;
    }

    void walk(uint32_t lid, uint32_t source) {
        walked_.clear();
        for_each_dependency(subnet_, tables_, lid, source, [&](uint32_t in, uint32_t out) {
            walked_.push_back({in, out});
        });
    }

    const Subnet& subnet_;
    const ForwardingTables& tables_;
    LinkPairs pairs_;
    uint64_t looks_ = 0;
    std::vector<LinkPair> walked_;  // of the last path
};

}  // namespace

std::optional<Lanes> pack_lanes(const Subnet& subnet, const ForwardingTables& tables,
                                uint8_t max_lanes) {
    return Packer(subnet, tables).pack(max_lanes);
}

}  // namespace tulle::control
