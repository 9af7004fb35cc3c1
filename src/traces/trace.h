// The work of each rank as a graph. All readers of this room produce it.
//
// A rank refers only to its own nodes. A collective names its group, a message its peer and tag.
// Their order tells which of them belong together (program.h): the third all-reduce of a group at
// one rank is the third of that group at every other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "workload/program.h"

namespace tulle::traces {

// The largest values of a node. More is usually a wrong unit, and a reader refuses it.
inline constexpr base::Duration kLongest{86'400'000'000'000'000};  // a day
inline constexpr uint64_t kMostBytes = 100'000'000'000'000;
// The most nodes of a rank.
inline constexpr uint64_t kMostNodes = 16'000'000;

struct Node {
    enum class Kind : uint8_t { nothing, compute, collective, send, receive };
    Kind kind = Kind::nothing;
    // For computation: nodes of a lane run one after another. A GPU and its processor are two
    // lanes.
    uint8_t lane = 0;
    workload::Collective collective = workload::Collective::all_reduce;
    workload::Purpose purpose = workload::Purpose::traced;
    uint32_t group = 0;  // for a collective: index into Trace::groups
    uint32_t peer = 0;   // for a message; for a broadcast, the root
    uint32_t tag = 0;
    uint64_t id = 0;          // its number in the file
    uint64_t bytes = 0;       // for a collective, of the larger of a rank's two buffers
    base::Duration duration;  // for computation
};

// The nodes of a rank. Needs are indices of nodes, and may refer to later nodes.
class RankGraph {
public:
    void add(const Node& node, std::span<const uint32_t> needs) {
        nodes_.push_back(node);
        needs_.insert(needs_.end(), needs.begin(), needs.end());
        first_need_.push_back(static_cast<uint32_t>(needs_.size()));
    }
    uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
    const Node& operator[](uint32_t node) const { return nodes_[node]; }
    std::span<const uint32_t> needs(uint32_t node) const {
        return std::span(needs_).subspan(first_need_[node],
                                         first_need_[node + 1] - first_need_[node]);
    }

private:
    std::vector<Node> nodes_;
    std::vector<uint32_t> first_need_{0};
    std::vector<uint32_t> needs_;
};

// The nodes that wait for each node of a graph: the inverse of its needs.
class Followers {
public:
    Followers() = default;
    explicit Followers(const RankGraph& graph);
    std::span<const uint32_t> of(uint32_t node) const {
        return std::span(followers_).subspan(first_[node], first_[node + 1] - first_[node]);
    }

private:
    std::vector<uint32_t> first_;  // of each node, plus the end
    std::vector<uint32_t> followers_;
};

// Ranks that do collectives together.
struct Group {
    std::string name;
    std::vector<uint32_t> ranks;  // ascending, each once
};

struct Trace {
    std::string format;
    std::string units;
    std::vector<std::string> notes;
    std::vector<Group> groups;
    std::vector<RankGraph> ranks;
    std::vector<std::string> files;  // by rank: its file, for error messages

    // The group with these ranks and this name; added if it is new.
    uint32_t group(const std::string& name, const std::vector<uint32_t>& members);
};

// "FILE: node 7: sentence".
base::Error at_node(const Trace& trace, uint32_t rank, const Node& node, std::string_view sentence);

}  // namespace tulle::traces
