// Where a rank stands in the layout: its place along each axis, and the groups that it talks in.
//
// The user says which axis is inside which: ranks that follow one another differ in the first axis
// of the order. Experts are spread over the ranks that have the same other parameters, those of the
// axes context and data, which are counted context first.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "workload/training/layout.h"

namespace tulle::workload {

enum class Axis : uint8_t { tensor, context, pipeline, data };
inline constexpr size_t kAxes = 4;
using AxisOrder = std::array<Axis, kAxes>;  // the innermost first
// As Llama 3 was trained (arXiv 2407.21783).
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

    // Ranks of a stage are columns; those of the same column of all stages pass activations on.
    uint32_t columns() const { return layout_.tensor * replicas(); }
    uint32_t replicas() const { return layout_.context * layout_.data; }
    uint32_t rank(uint32_t stage, uint32_t column) const;

    // Groups of the columns of a stage, each a list of columns.
    using Groups = std::vector<std::vector<uint32_t>>;
    Groups tensor_groups() const;
    Groups context_groups() const;
    // That have the same parameters, experts apart.
    Groups replica_groups() const;
    // That have all experts between them, and those that have the same experts.
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
