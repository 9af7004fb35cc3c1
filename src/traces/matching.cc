#include "traces/matching.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <tuple>

#include "workload/collectives/collective.h"

namespace tulle::traces {
namespace {

using base::Error;

// Nodes of a group at one rank, in order.
using Sequence = std::vector<uint32_t>;
// Sender, receiver and tag.
using Connection = std::tuple<uint32_t, uint32_t, uint32_t>;

struct Messages {
    Sequence sent;
    Sequence received;
};

class Matcher {
public:
    explicit Matcher(const Trace& trace) : trace_(trace) {}

    base::Result<Matching> run() {
        for (const Group& group : trace_.groups) sequences_.emplace_back(group.ranks.size());
        found_.partner.resize(trace_.ranks.size());
        for (uint32_t rank = 0; rank < trace_.ranks.size(); ++rank) {
            const auto order = order_of(trace_, rank);
            if (!order) return order.error();
            found_.partner[rank].resize(trace_.ranks[rank].size());
            for (const uint32_t node : *order)
                if (auto error = note(rank, node)) return *error;
        }
        for (uint32_t group = 0; group < trace_.groups.size(); ++group)
            if (auto error = join_group(group)) return *error;
        for (const auto& [connection, messages] : messages_)
            if (auto error = join(connection, messages)) return *error;
        return std::move(found_);
    }

private:
    const Node& node_of(uint32_t rank, uint32_t node) const { return trace_.ranks[rank][node]; }

    std::optional<Error> note(uint32_t rank, uint32_t number) {
        const Node& node = node_of(rank, number);
        switch (node.kind) {
            case Node::Kind::collective: return note_collective(rank, number);
            case Node::Kind::send:
                if (auto error = check_peer(rank, node)) return error;
                messages_[{rank, node.peer, node.tag}].sent.push_back(number);
                return std::nullopt;
            case Node::Kind::receive:
                if (auto error = check_peer(rank, node)) return error;
                messages_[{node.peer, rank, node.tag}].received.push_back(number);
                return std::nullopt;
            default: return std::nullopt;
        }
    }

    std::optional<Error> note_collective(uint32_t rank, uint32_t number) {
        const Node& node = node_of(rank, number);
        const Group& group = trace_.groups[node.group];
        const auto member = std::ranges::lower_bound(group.ranks, rank);
        if (member == group.ranks.end() || *member != rank)
            return at_node(trace_, rank, node,
                           fmt::format("it is a collective of group '{}', which this rank is not "
                                       "in; name the ranks of that group",
                                       group.name));
        sequences_[node.group][static_cast<size_t>(member - group.ranks.begin())].push_back(number);
        return std::nullopt;
    }

    std::optional<Error> check_peer(uint32_t rank, const Node& node) const {
        if (node.peer == rank) return at_node(trace_, rank, node, "it is a message to itself");
        if (node.peer < trace_.ranks.size()) return std::nullopt;
        return at_node(trace_, rank, node,
                       fmt::format("it is a message with rank {}, but the trace has {} ranks; add "
                                   "the files of the others",
                                   node.peer, trace_.ranks.size()));
    }

    std::optional<Error> join_group(uint32_t number) {
        const Group& group = trace_.groups[number];
        const std::vector<Sequence>& members = sequences_[number];
        for (size_t turn = 0; turn < members.front().size(); ++turn) {
            const Node& first = node_of(group.ranks[0], members[0][turn]);
            const auto meeting = static_cast<uint32_t>(found_.meetings.size());
            found_.meetings.push_back({number, found_.nodes.size()});
            for (size_t i = 0; i < members.size(); ++i) {
                if (turn >= members[i].size()) return missing(group, first, group.ranks[i], turn);
                if (auto error = check_alike(group, first, group.ranks[i], members[i][turn]))
                    return error;
                found_.nodes.push_back(members[i][turn]);
                found_.partner[group.ranks[i]][members[i][turn]] = meeting;
            }
        }
        for (size_t i = 1; i < members.size(); ++i)
            if (members[i].size() > members[0].size())
                return missing(group, node_of(group.ranks[i], members[i][members[0].size()]),
                               group.ranks[0], members[0].size(), group.ranks[i]);
        return std::nullopt;
    }

    Error missing(const Group& group, const Node& node, uint32_t lacks, size_t turn,
                  std::optional<uint32_t> has = std::nullopt) const {
        return at_node(trace_, has.value_or(group.ranks[0]), node,
                       fmt::format("it is collective {} of group '{}', but rank {} has only {} of "
                                   "that group; all its ranks do the same ones in the same order",
                                   turn + 1, group.name, lacks, turn));
    }

    std::optional<Error> check_alike(const Group& group, const Node& first, uint32_t rank,
                                     uint32_t number) const {
        const Node& node = node_of(rank, number);
        if (node.collective == first.collective && node.bytes == first.bytes &&
            node.peer == first.peer)
            return std::nullopt;
        return at_node(
            trace_, rank, node,
            fmt::format("it is {} of {} bytes, but rank {} does {} of {} bytes at this "
                        "place (node {}) of group '{}'; all its ranks do the same",
                        workload::name_of(node.collective), node.bytes, group.ranks[0],
                        workload::name_of(first.collective), first.bytes, first.id, group.name));
    }

    std::optional<Error> join(const Connection& connection, const Messages& messages) {
        const auto [from, to, tag] = connection;
        for (size_t i = 0; i < std::max(messages.sent.size(), messages.received.size()); ++i) {
            if (i >= messages.received.size())
                return at_node(
                    trace_, from, node_of(from, messages.sent[i]),
                    fmt::format("rank {} never receives its message of tag {}", to, tag));
            if (i >= messages.sent.size())
                return at_node(trace_, to, node_of(to, messages.received[i]),
                               fmt::format("rank {} never sends the message of tag {} that it "
                                           "receives",
                                           from, tag));
            const Node& sent = node_of(from, messages.sent[i]);
            const Node& received = node_of(to, messages.received[i]);
            if (received.bytes != 0 && received.bytes != sent.bytes)
                return at_node(trace_, to, received,
                               fmt::format("it receives {} bytes, but rank {} sends {} (node {})",
                                           received.bytes, from, sent.bytes, sent.id));
            found_.partner[from][messages.sent[i]] = messages.received[i];
            found_.partner[to][messages.received[i]] = messages.sent[i];
        }
        return std::nullopt;
    }

    const Trace& trace_;
    Matching found_;
    std::vector<std::vector<Sequence>> sequences_;  // by group and member
    std::map<Connection, Messages> messages_;
};

}  // namespace

base::Result<std::vector<uint32_t>> order_of(const Trace& trace, uint32_t rank) {
    const RankGraph& graph = trace.ranks[rank];
    const Followers followers(graph);
    std::vector<size_t> waits(graph.size());
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
    for (uint32_t node = 0; node < graph.size(); ++node) {
        waits[node] = graph.needs(node).size();
        if (waits[node] == 0) ready.push(node);
    }
    std::vector<uint32_t> order;
    order.reserve(graph.size());
    while (!ready.empty()) {
        const uint32_t node = ready.top();
        ready.pop();
        order.push_back(node);
        for (const uint32_t follower : followers.of(node))
            if (--waits[follower] == 0) ready.push(follower);
    }
    for (uint32_t node = 0; node < graph.size() && order.size() < graph.size(); ++node)
        if (waits[node] != 0)
            return at_node(trace, rank, graph[node],
                           "it waits for itself, by way of the nodes that it depends on");
    return order;
}

base::Result<Matching> match(const Trace& trace) {
    return Matcher(trace).run();
}

}  // namespace tulle::traces
