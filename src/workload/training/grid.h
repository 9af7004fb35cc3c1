// The place of a rank in the layout: its coordinate on each axis, and the groups that it belongs
// to.
//
// The user gives the order of the axes: consecutive ranks differ in the first axis. Experts are
// spread over the ranks that have the same other parameters, those of the axes context and data,
// counted context first.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "workload/training/layout.h"

namespace tulle::workload {

enum class Axis : uint8_t { tensor, context, pipeline, data };
inline constexpr size_t kAxes = 4;
using AxisOrder = std::array<Axis, kAxes>;  // innermost first
// The order of Llama 3 (arXiv 2407.21783).
inline constexpr AxisOrder kUsualOrder = {Axis::tensor, Axis::context, Axis::pipeline, Axis::data};

std::string_view name_of(Axis axis);  // "tp"

struct GridPlace {
    uint32_t tensor = 0;
    uint32_t context = 0;
    uint32_t pipeline = 0;
    uint32_t data = 0;
};

class Grid {
public:
    Grid(const Layout& layout, const AxisOrder& order);

    uint32_t rank(const GridPlace& place) const;

    // A column is the number of a rank in its stage. Ranks with the same column pass activations on
    // from stage to stage.
    uint32_t columns() const { return layout_.tensor * replicas(); }
    uint32_t replicas() const { return layout_.context * layout_.data; }
    uint32_t rank(uint32_t stage, uint32_t column) const;

    // Groups of columns of a stage, each a list of columns.
    using Groups = std::vector<std::vector<uint32_t>>;
    Groups tensor_groups() const;
    Groups context_groups() const;
    // Columns with the same parameters, except experts.
    Groups replica_groups() const;
    // First: columns that have all experts between them. Second: columns with the same experts.
    Groups expert_groups() const;
    Groups expert_replica_groups() const;

private:
    // Columns with the same `key`, in order.
    template <class Key>
    Groups groups_by(Key key) const;

    Layout layout_;
    std::array<uint64_t, kAxes> stride_{};
};

}  // namespace tulle::workload
