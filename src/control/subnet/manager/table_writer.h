// Writes the tables that nodes should hold: it asks for a Set of each block that differs from what
// the node is known to hold, and remembers what nodes acknowledged.
#pragma once

#include <vector>

#include "control/subnet/manager/found.h"
#include "control/subnet/manager/plan.h"
#include "control/subnet/manager/smp_window.h"
#include "control/subnet/manager/written.h"

namespace tulle::control {

class TableWriter {
public:
    // All three are the manager's, and outlive the writer.
    TableWriter(const FoundFabric& fabric, SubnetPlan& plan, SmpWindow& window)
        : fabric_(fabric), plan_(plan), window_(window) {}

    void begin_sweep() { lane_rounds_ = 0; }
    // Another manager may have written to any node.
    void distrust() { other_wrote_ = true; }
    void forget_lost(uint64_t own_guid, LidsByGuid& lids);
    void write();
    // True: there are maps to write.
    bool write_lanes();
    void write_congestion();
    void write_groups();
    // A node has acknowledged a Set.
    void note(const SmpRequest& request);

    // False: these are the groups already.
    bool set_groups(std::vector<MulticastGroup> groups);
    bool groups_changed() const { return groups_changed_; }

private:
    uint64_t hash_of_block(const SmpRequest& set) const;
    void ask_unless_written(const std::vector<SmpRequest>& sets);
    void note_lanes(const SmpRequest& request);

    const FoundFabric& fabric_;
    SubnetPlan& plan_;
    SmpWindow& window_;
    WrittenTables written_;
    std::vector<MulticastGroup> groups_;
    bool groups_changed_ = false;
    bool other_wrote_ = false;
    uint8_t lane_rounds_ = 0;  // in this sweep
};

}  // namespace tulle::control
