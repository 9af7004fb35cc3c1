// Part of a cluster: nodes, their cables, and when each node acts next.
//
// Time advances by windows that are no longer than the delay of the shortest cable. What a node
// does in a window reaches other nodes in a later window. Nodes therefore act one after the other,
// each through the whole window, and their order does not matter. For the same reason partitions
// may run at the same time. Nodes with nothing to do cost nothing, and windows in which no node has
// anything to do are skipped.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "cluster/framing.h"
#include "cluster/host.h"
#include "cluster/wheel.h"
#include "fabric/cabling.h"
#include "fabric/switch.h"

namespace tulle::cluster {

class Partition {
public:
    Partition(const fabric::Settings& settings, uint32_t lanes, size_t partitions, Duration window,
              std::pmr::memory_resource* memory = std::pmr::new_delete_resource())
        : settings_(settings),
          framing_(settings),
          cabling_(settings, lanes, partitions, memory),
          window_(window) {}

    // Setup. A node's ports are added to the cabling right before the node.
    uint32_t next_place() const { return static_cast<uint32_t>(nodes_.size()); }
    void add_host(HostPlan plan, const transport::AdapterConfig& adapter);
    void add_switch(fabric::SwitchPlan plan);
    void begin();
    // Follows packets of watched queue pairs. To be called before anything happens.
    void keep_journal(bool notes_crossings, bool follows_few) {
        cabling_.journal = &journal_.emplace(notes_crossings, follows_few);
    }
    const std::optional<fabric::Journal>& journal() const { return journal_; }

    fabric::Cabling& cabling() { return cabling_; }
    const Framing& framing() const { return framing_; }
    std::deque<HostNode>& hosts() { return hosts_; }
    std::deque<fabric::Switch>& switches() { return switches_; }

    uint64_t first_window() const { return wheel_.first(); }
    // Does everything in this window, which must not be later than first_window().
    void advance(uint64_t window);
    // Takes what others have sent here, once all have advanced.
    void take_over(std::vector<fabric::Crossing>& crossings);

    // The end of the last window in which a node did anything.
    Instant acted_until() const { return acted_until_; }

    // Adds a message for a future window.
    void post(uint32_t host, const Posting& posting);

    Ends ends;  // of flows that began here, and what hosts here saw of tasks

private:
    struct Node {
        bool is_host = false;
        uint32_t index = 0;
    };

    uint64_t window_of(Instant at) const { return static_cast<uint64_t>(at.ps / window_.ps); }
    TULLE_HOT void note_woken();
    static constexpr uint32_t kDepths = 4;
    void prefetch(size_t turn, uint32_t depth) const;
    template <class Object>
    static void prefetch(const Object& object, uint32_t depth) {
        if (depth == 0)
            base::prefetch(&object, sizeof(Object));
        else
            object.prefetch(depth);
    }

    const fabric::Settings& settings_;
    Framing framing_;
    fabric::Cabling cabling_;
    std::optional<fabric::Journal> journal_;
    Duration window_;
    std::vector<Node> nodes_;
    std::deque<HostNode> hosts_;
    std::vector<uint32_t> host_places_;  // in nodes_
    std::deque<fabric::Switch> switches_;
    WindowWheel wheel_;
    std::vector<uint32_t> acting_;
    bool outgrows_cache_ = false;
    Instant acted_until_{};
};

}  // namespace tulle::cluster
