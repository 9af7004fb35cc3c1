#include "workload/training/grid.h"

#include <map>

namespace tulle::workload {
namespace {

uint32_t size_of(Axis axis, const Layout& layout) {
    switch (axis) {
        case Axis::tensor: return layout.tensor;
        case Axis::context: return layout.context;
        case Axis::pipeline: return layout.pipeline;
        case Axis::data: return layout.data;
    }
    return 1;
}

}  // namespace

std::string_view name_of(Axis axis) {
    switch (axis) {
        case Axis::tensor: return "tp";
        case Axis::context: return "cp";
        case Axis::pipeline: return "pp";
        case Axis::data: return "dp";
    }
    return "";
}

Grid::Grid(const Layout& layout, const AxisOrder& order) : layout_(layout) {
    uint64_t stride = 1;
    for (const Axis axis : order) {
        stride_[static_cast<size_t>(axis)] = stride;
        stride *= size_of(axis, layout);
    }
}

uint32_t Grid::rank(const GridPlace& place) const {
    const auto stride = [&](Axis axis) { return stride_[static_cast<size_t>(axis)]; };
    return static_cast<uint32_t>(
        place.tensor * stride(Axis::tensor) + place.context * stride(Axis::context) +
        place.pipeline * stride(Axis::pipeline) + place.data * stride(Axis::data));
}

uint32_t Grid::rank(uint32_t stage, uint32_t column) const {
    GridPlace place;
    place.pipeline = stage;
    place.tensor = column % layout_.tensor;
    place.context = column / layout_.tensor % layout_.context;
    place.data = column / layout_.tensor / layout_.context;
    return rank(place);
}

template <class Key>
Grid::Groups Grid::groups_by(Key key) const {
    std::map<uint32_t, std::vector<uint32_t>> found;
    for (uint32_t column = 0; column < columns(); ++column) found[key(column)].push_back(column);
    Groups groups;
    for (auto& [unused, members] : found) groups.push_back(std::move(members));
    return groups;
}

Grid::Groups Grid::tensor_groups() const {
    return groups_by([&](uint32_t column) { return column / layout_.tensor; });
}

Grid::Groups Grid::context_groups() const {
    return groups_by([&](uint32_t column) {
        const uint32_t data = column / layout_.tensor / layout_.context;
        return data * layout_.tensor + column % layout_.tensor;
    });
}

Grid::Groups Grid::replica_groups() const {
    return groups_by([&](uint32_t column) { return column % layout_.tensor; });
}

Grid::Groups Grid::expert_groups() const {
    return groups_by([&](uint32_t column) {
        const uint32_t replica = column / layout_.tensor;
        return replica / layout_.expert * layout_.tensor + column % layout_.tensor;
    });
}

Grid::Groups Grid::expert_replica_groups() const {
    return groups_by([&](uint32_t column) {
        const uint32_t replica = column / layout_.tensor;
        return replica % layout_.expert * layout_.tensor + column % layout_.tensor;
    });
}

}  // namespace tulle::workload
