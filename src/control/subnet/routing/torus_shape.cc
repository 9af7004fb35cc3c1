#include "control/subnet/routing/torus_shape.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace tulle::control {
namespace {

constexpr size_t kMostNeighbours = 16;

class Sets {
public:
    explicit Sets(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
    uint32_t find(uint32_t i) {
        while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
        return i;
    }
    void join(uint32_t a, uint32_t b) { parent_[find(b)] = find(a); }

private:
    std::vector<uint32_t> parent_;
};

class ShapeFinder {
public:
    explicit ShapeFinder(const Subnet& subnet)
        : subnet_(subnet), neighbours_(subnet.switch_count()) {}

    std::optional<TorusShape> find() {
        if (subnet_.switch_count() < 2 || !find_pairs()) return std::nullopt;
        find_dimensions();
        for (uint32_t d = 0; d < dimension_count_; ++d)
            if (!number_slices(d)) return std::nullopt;
        if (!is_complete()) return std::nullopt;
        return shape();
    }

private:
    // Numbers the pairs of switches that one or more cables join. False: this is no torus.
    bool find_pairs() {
        for (uint32_t id = 0; id < subnet_.link_count(); ++id) {
            const auto& [from, to, port, to_port, cable] = subnet_.link(id);
            neighbours_[from].insert(to);
            if (neighbours_[from].size() > kMostNeighbours) return false;
            if (from < to) pairs_.try_emplace({from, to}, static_cast<uint32_t>(pairs_.size()));
        }
        return !pairs_.empty();
    }
    uint32_t pair(uint32_t a, uint32_t b) const {
        return pairs_.at({std::min(a, b), std::max(a, b)});
    }

    void find_dimensions() {
        Sets sets(pairs_.size());
        for (uint32_t a = 0; a < subnet_.switch_count(); ++a)
            for (const uint32_t b : neighbours_[a])
                for (const uint32_t d : neighbours_[a])
                    if (b < d) look_at_corner(a, b, d, sets);
        std::map<uint32_t, uint32_t> number;
        dimension_of_.resize(pairs_.size());
        for (const auto& [ends, id] : pairs_)
            dimension_of_[id] =
                number.try_emplace(sets.find(id), static_cast<uint32_t>(number.size()))
                    .first->second;
        dimension_count_ = static_cast<uint32_t>(number.size());
    }

    void look_at_corner(uint32_t a, uint32_t b, uint32_t d, Sets& sets) {
        bool is_square = false;
        for (const uint32_t c : neighbours_[b]) {
            if (c == a || !neighbours_[d].contains(c)) continue;
            is_square = true;
            sets.join(pair(a, b), pair(c, d));
            sets.join(pair(a, d), pair(b, c));
        }
        if (!is_square) sets.join(pair(a, b), pair(a, d));
    }

    // Numbers the slices of a dimension along their ring or line.
    bool number_slices(uint32_t dimension) {
        Sets sets(subnet_.switch_count());
        for (const auto& [ends, id] : pairs_)
            if (dimension_of_[id] != dimension) sets.join(ends.first, ends.second);
        std::map<uint32_t, std::set<uint32_t>> beside;  // by slice
        for (const auto& [ends, id] : pairs_) {
            if (dimension_of_[id] != dimension) continue;
            const uint32_t a = sets.find(ends.first);
            const uint32_t b = sets.find(ends.second);
            if (a == b) return false;
            beside[a].insert(b);
            beside[b].insert(a);
        }
        uint32_t start = beside.begin()->first;
        for (const auto& [slice, others] : beside) {
            if (others.size() > 2) return false;
            if (others.size() == 1) start = slice;
        }
        std::map<uint32_t, uint32_t> place;
        for (uint32_t at = start;;) {
            place.emplace(at, static_cast<uint32_t>(place.size()));
            uint32_t next = kNone;
            for (const uint32_t other : beside[at])
                if (!place.contains(other)) next = std::min(next, other);
            if (next == kNone) break;
            at = next;
        }
        if (place.size() != beside.size()) return false;
        dimensions_.push_back({static_cast<uint32_t>(place.size()), beside[start].size() == 2});
        for (uint32_t s = 0; s < subnet_.switch_count(); ++s) {
            const auto found = place.find(sets.find(s));
            if (found == place.end()) return false;
            coordinate_[dimension].push_back(found->second);
        }
        return true;
    }

    // Whether every place is taken once and no cable is missing.
    bool is_complete() {
        uint64_t places = 1;
        for (const TorusShape::Dimension& dimension : dimensions_) places *= dimension.size;
        if (places != subnet_.switch_count()) return false;
        std::set<uint64_t> taken;
        for (uint32_t s = 0; s < subnet_.switch_count(); ++s) {
            uint64_t place = 0;
            size_t wanted = 0;
            for (uint32_t d = 0; d < dimension_count_; ++d) {
                const uint32_t size = dimensions_[d].size;
                const uint32_t at = coordinate_[d][s];
                place = place * size + at;
                const bool is_inside = dimensions_[d].is_ring || (at > 0 && at + 1 < size);
                wanted += is_inside ? 2 : 1;
            }
            if (!taken.insert(place).second || neighbours_[s].size() != wanted) return false;
        }
        return true;
    }

    TorusShape shape() {
        TorusShape shape;
        shape.dimensions = dimensions_;
        for (uint32_t s = 0; s < subnet_.switch_count(); ++s)
            for (uint32_t d = 0; d < dimension_count_; ++d)
                shape.coordinates.push_back(coordinate_[d][s]);
        for (uint32_t id = 0; id < subnet_.link_count(); ++id)
            shape.dimension_of.push_back(static_cast<uint8_t>(
                dimension_of_[pair(subnet_.link(id).from, subnet_.link(id).to)]));
        return shape;
    }

    const Subnet& subnet_;
    std::vector<std::set<uint32_t>> neighbours_;               // by switch
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> pairs_;  // the lower switch first
    std::vector<uint32_t> dimension_of_;                       // by pair
    uint32_t dimension_count_ = 0;
    std::vector<TorusShape::Dimension> dimensions_;
    std::map<uint32_t, std::vector<uint32_t>> coordinate_;  // by dimension, then by switch
};

}  // namespace

std::optional<TorusShape> torus_shape(const Subnet& subnet) {
    return ShapeFinder(subnet).find();
}

}  // namespace tulle::control
