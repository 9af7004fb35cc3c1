// What each rank does, as a graph: the shape that all readers of this room share.
//
// A rank knows nodes of its own only. A collective names its group, a message its peer and tag;
// which of them belong together follows from their order (program.h): the third all-reduce of a
// group at one rank is the third of that group at every other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "workload/program.h"

namespace tulle::traces {

// What a node takes and moves at most; a reader refuses more, which is a wrong unit as a rule.
inline constexpr base::Duration kLongest{86'400'000'000'000'000};  // a day
inline constexpr uint64_t kMostBytes = 100'000'000'000'000;
// Nodes of one rank at most.
inline constexpr uint64_t kMostNodes = 16'000'000;

struct Node {
    enum class Kind : uint8_t { nothing, compute, collective, send, receive };
    Kind kind = Kind::nothing;
    // Of computing: nodes of a lane follow one another. A GPU and its processor are two.
    uint8_t lane = 0;
    workload::Collective collective = workload::Collective::all_reduce;
    workload::Purpose purpose = workload::Purpose::traced;
    uint32_t group = 0;  // of a collective: of Trace::groups
    uint32_t peer = 0;   // of a message; of a broadcast: its root
    uint32_t tag = 0;
    uint64_t id = 0;          // as the file calls it
    uint64_t bytes = 0;       // of a collective: of the larger of a rank's two buffers
    base::Duration duration;  // of computing
};

// The nodes of a rank. Needs are indices of nodes, those behind a node included.
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

// Who waits for a node of a graph: its needs, seen from the other side.
class Followers {
public:
    Followers() = default;
    explicit Followers(const RankGraph& graph);
    std::span<const uint32_t> of(uint32_t node) const {
        return std::span(followers_).subspan(first_[node], first_[node + 1] - first_[node]);
    }

private:
    std::vector<uint32_t> first_;  // of each node, and the end
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
    std::vector<std::string> files;  // by rank: where it was read, for complaints

    // The group of these ranks and name; a new one where there is none.
    uint32_t group(const std::string& name, const std::vector<uint32_t>& members);
};

// "FILE: node 7: sentence".
base::Error at_node(const Trace& trace, uint32_t rank, const Node& node, std::string_view sentence);

}  // namespace tulle::traces
