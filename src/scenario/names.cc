#include "scenario/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/words.h"
#include "scenario/notes.h"

namespace tulle::scenario {
namespace {

std::optional<uint64_t> number_of(std::string_view text) {
    uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (text.empty() || stop != end || error != std::errc()) return std::nullopt;
    return number;
}

std::string numbered_cables(uint64_t count) {
    if (count == 0) return "no cable";
    if (count == 1) return "one cable";
    return fmt::format("{} cables, #0 to #{}", count, count - 1);
}

}  // namespace

Names::Names(const topology::Graph& graph)
    : graph_(graph), endpoints_(graph.endpoints()), ranks_(graph.nodes.size(), topology::kNone) {
    for (uint32_t i = 0; i < endpoints_.size(); ++i) ranks_[endpoints_[i]] = i;
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) nodes_.emplace(graph.nodes[i].name, i);
}

base::Result<uint32_t> Names::host(std::string_view name) const {
    if (const auto number = number_of(name)) return host_number(*number);
    const auto found = nodes_.find(name);
    if (found == nodes_.end()) return unknown(name, "host", true, false);
    return endpoint_of(found->second);
}

base::Result<uint32_t> Names::node(std::string_view name) const {
    const auto found = nodes_.find(name);
    if (found != nodes_.end()) return found->second;
    const auto number = number_of(name);
    if (!number) return unknown(name, "node", true, true);
    const auto endpoint = host_number(*number);
    if (!endpoint) return endpoint.error();
    return node_of(*endpoint);
}

base::Result<uint32_t> Names::switch_node(std::string_view name) const {
    const auto found = nodes_.find(name);
    if (found == nodes_.end()) return unknown(name, "switch", false, true);
    if (graph_.nodes[found->second].is_host())
        return base::Error{fmt::format("'{}' is a host; only switches go down and up", name)};
    return found->second;
}

base::Result<uint32_t> Names::cable(std::string_view name) const {
    const size_t hash = name.rfind('#');
    uint64_t skip = 0;
    std::string_view ends = name;
    if (hash != std::string_view::npos) {
        const auto number = number_of(name.substr(hash + 1));
        if (number) {
            skip = *number;
            ends = name.substr(0, hash);
        }
    }
    // Names may contain dashes, so each dash is tried.
    for (size_t dash = ends.find('-'); dash != std::string_view::npos;
         dash = ends.find('-', dash + 1)) {
        const auto a = node(ends.substr(0, dash));
        const auto b = node(ends.substr(dash + 1));
        if (!a || !b) continue;
        uint64_t count = 0;
        for (uint32_t i = 0; i < graph_.cables.size(); ++i) {
            const topology::Cable& cable = graph_.cables[i];
            const bool is_it = (cable.a.node == *a && cable.b.node == *b) ||
                               (cable.a.node == *b && cable.b.node == *a);
            if (is_it && count++ == skip) return i;
        }
        return base::Error{fmt::format("there is no cable '{}'; {} and {} are joined by {}",
                                       name.substr(0, 60), graph_.nodes[*a].name,
                                       graph_.nodes[*b].name, numbered_cables(count))};
    }
    return base::Error{
        fmt::format("there is no cable '{}'; write the names of the nodes at its "
                    "ends, such as {}-{}",
                    name.substr(0, 60), graph_.nodes[graph_.cables[0].a.node].name,
                    graph_.nodes[graph_.cables[0].b.node].name)};
}

base::Result<uint32_t> Names::host_number(uint64_t number) const {
    if (number < endpoints_.size()) return static_cast<uint32_t>(number);
    return base::Error{fmt::format("there is no host {}; the {} hosts count from 0 to {}", number,
                                   endpoints_.size(), endpoints_.size() - 1)};
}

base::Result<uint32_t> Names::endpoint_of(uint32_t node) const {
    if (node < ranks_.size() && ranks_[node] != topology::kNone) return ranks_[node];
    if (node < ranks_.size())
        return base::Error{fmt::format("'{}' is a switch, not a host", graph_.nodes[node].name)};
    return base::Error{
        fmt::format("there is no node {}; the {} nodes count from 0", node, ranks_.size())};
}

base::Error Names::unknown(std::string_view name, std::string_view what, bool hosts,
                           bool switches) const {
    // To search a million names would take too long; the first thousand show the form.
    std::vector<std::string_view> names;
    for (const topology::Node& node : graph_.nodes)
        if ((node.is_host() ? hosts : switches) && names.size() < 1'000) names.push_back(node.name);
    const std::string called =
        names.empty() ? "there is none" : fmt::format("they are called {}, ...", names.front());
    return {fmt::format("there is no {} '{}'; {}", what, name.substr(0, 60),
                        base::did_you_mean(name, names, called))};
}

namespace {

// True for "8-15", where both are numbers; a name may contain a dash too.
bool is_range(std::string_view word) {
    const size_t dash = word.find('-');
    if (dash == 0 || dash == std::string_view::npos || dash + 1 == word.size()) return false;
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return std::count_if(word.begin(), word.end(), is_digit) + 1 ==
           static_cast<int64_t>(word.size());
}

}  // namespace

std::vector<uint32_t> read_list_of(std::string_view what, const Value& list, std::string_view key,
                                   const Lookup& one, Notes& notes) {
    std::vector<uint32_t> found;
    if (!notes.expect_list(list, key)) return found;
    const auto look_up = [&](const Value& item, std::string_view word) -> uint32_t {
        const auto number = one(word);
        if (number) return *number;
        notes.fail(item.line, fmt::format("{}: {}", key, number.error().message));
        return 0;
    };
    for (const Value& item : list.items) {
        if (notes.failed() || !notes.expect_text(item, key, "0")) break;
        const std::string_view word = item.text;
        const size_t dash = is_range(word) ? word.find('-') : word.size();
        const uint32_t last = look_up(item, dash == word.size() ? word : word.substr(dash + 1));
        const uint32_t first = look_up(item, word.substr(0, dash));
        if (first > last && !notes.failed())
            notes.fail(item.line,
                       fmt::format("{}: {} ends before it begins", key, word.substr(0, 40)));
        for (uint32_t i = first; i <= last && !notes.failed(); ++i) found.push_back(i);
    }
    std::sort(found.begin(), found.end());
    const auto twice = std::adjacent_find(found.begin(), found.end());
    if (twice != found.end())
        notes.fail(list.line, fmt::format("{}: {} {} is written twice", key, what, *twice));
    return found;
}

std::vector<uint32_t> read_hosts(const Value& list, std::string_view key, const Names& names,
                                 Notes& notes) {
    return read_list_of(
        "host", list, key, [&](std::string_view word) { return names.host(word); }, notes);
}

}  // namespace tulle::scenario
