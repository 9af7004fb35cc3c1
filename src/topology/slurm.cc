#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "topology/exports.h"
#include "topology/text.h"

namespace tulle::topology {
namespace {

// Names in Slurm have no blanks, commas or brackets.
std::string plain(std::string_view name) {
    std::string out(name);
    for (char& c : out) {
        const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
        if (!is_plain) c = '_';
    }
    return out;
}

// The trailing digits of a name as a number, at most as many as fit.
size_t digits_at_end(std::string_view name) {
    size_t count = 0;
    while (count < 9 && count < name.size() && name[name.size() - 1 - count] >= '0' &&
           name[name.size() - 1 - count] <= '9')
        ++count;
    // The zeros of "node007" must stay, but a range of numbers does not keep them.
    while (count > 1 && name[name.size() - count] == '0') --count;
    return count;
}

// h0, h1, h2, h7 in Slurm's notation: h[0-2,7].
std::string name_list(const std::vector<std::string>& names) {
    std::string out;
    std::vector<std::string> order;
    std::map<std::string, std::vector<uint32_t>> numbers;
    for (const std::string& name : names) {
        const size_t digits = digits_at_end(name);
        const std::string stem = name.substr(0, name.size() - digits);
        if (digits == 0) {
            out += text(out.empty() ? "" : ",", name);
            continue;
        }
        if (!numbers.contains(stem)) order.push_back(stem);
        numbers[stem].push_back(
            *parse_number<uint32_t>(std::string_view(name).substr(stem.size())));
    }
    for (const std::string& stem : order) {
        auto& mine = numbers[stem];
        std::sort(mine.begin(), mine.end());
        std::string ranges;
        for (size_t i = 0; i < mine.size();) {
            size_t last = i;
            while (last + 1 < mine.size() && mine[last + 1] <= mine[last] + 1) ++last;
            ranges += text(ranges.empty() ? "" : ",", mine[i]);
            if (mine[last] != mine[i]) ranges += text("-", mine[last]);
            i = last + 1;
        }
        const bool is_one = ranges.find_first_of(",-") == std::string::npos;
        out += text(out.empty() ? "" : ",", stem, is_one ? "" : "[", ranges, is_one ? "" : "]");
    }
    return out;
}

// Switches of one tier with the same children, merged into one switch of Slurm.
struct Merged {
    std::vector<std::string> members;
    std::vector<std::string> children;
    bool is_leaf = false;
    bool has_parent = false;
};

class Writer {
public:
    explicit Writer(const Graph& graph) : graph_(graph), ports_(graph) { name_hosts(); }

    base::Result<std::string> write() {
        uint8_t highest = 0;
        for (const Node& node : graph_.nodes) highest = std::max(highest, node.tier);
        merged_of_.assign(graph_.nodes.size(), kNone);
        for (uint32_t tier = kLeafTier; tier <= highest; ++tier) merge(tier);
        if (merged_.empty()) return base::Error{"a fabric without switches is no tree"};
        return print();
    }

private:
    // One name for all adapters of a server: the beginning of their names, up to a blank or a rail.
    void name_hosts() {
        std::map<uint32_t, uint32_t> adapters;
        for (const Node& node : graph_.nodes)
            if (node.is_host()) ++adapters[node.server];
        for (const Node& node : graph_.nodes) {
            std::string name = node.name.substr(0, node.name.find(' '));
            const std::string rail = text("r", node.rail);
            if (node.is_host() && adapters[node.server] > 1 && name.ends_with(rail))
                name.resize(name.size() - rail.size());
            names_.push_back(plain(node.is_host() ? name : node.name));
        }
    }

    void merge(uint32_t tier) {
        std::map<std::pair<bool, std::vector<uint32_t>>, uint32_t> known;  // has hosts; children
        for (uint32_t i = 0; i < graph_.nodes.size(); ++i) {
            if (graph_.nodes[i].is_host() || graph_.nodes[i].tier != tier) continue;
            std::set<std::string> hosts;
            std::set<uint32_t> below;
            for (const auto& link : ports_.of(i)) {
                if (!link.is_cabled()) continue;
                const Node& peer = graph_.nodes[link.peer.node];
                if (peer.is_host()) hosts.insert(names_[link.peer.node]);
                if (!peer.is_host() && peer.tier < tier) below.insert(merged_of_[link.peer.node]);
            }
            // A switch of Slurm has nodes or switches, not both.
            std::vector<uint32_t> key(below.begin(), below.end());
            std::vector<std::string> children(hosts.begin(), hosts.end());
            if (!hosts.empty()) {
                key.assign(1, host_set(children));
            } else {
                if (key.empty()) continue;
                children.clear();
                for (const uint32_t child : below) children.push_back(merged_[child].members[0]);
            }
            const auto next = static_cast<uint32_t>(merged_.size());
            const auto [place, is_new] = known.try_emplace({!hosts.empty(), key}, next);
            if (is_new) merged_.push_back({{}, children, !hosts.empty(), false});
            merged_[place->second].members.push_back(names_[i]);
            merged_of_[i] = place->second;
            if (hosts.empty())
                for (const uint32_t child : below) merged_[child].has_parent = true;
        }
    }

    uint32_t host_set(const std::vector<std::string>& hosts) {
        return host_sets_.try_emplace(hosts, static_cast<uint32_t>(host_sets_.size()))
            .first->second;
    }

    std::string print() const {
        std::string out = "# topology.conf for topology/tree\n";
        std::vector<std::string> roots;
        for (const Merged& one : merged_) {
            if (one.members.size() > 1)
                out += text("# ", one.members[0], " stands for ", name_list(one.members), "\n");
            out += text("SwitchName=", one.members[0],
                        one.is_leaf ? " Nodes=" : " Switches=", name_list(one.children), "\n");
            if (!one.has_parent) roots.push_back(one.members[0]);
        }
        if (roots.size() > 1) out += text("SwitchName=top Switches=", name_list(roots), "\n");
        return out;
    }

    const Graph& graph_;
    Ports ports_;
    std::vector<std::string> names_;   // by node
    std::vector<uint32_t> merged_of_;  // by node
    std::vector<Merged> merged_;
    std::map<std::vector<std::string>, uint32_t> host_sets_;
};

}  // namespace

base::Result<std::string> write_slurm(const Graph& graph) {
    return Writer(graph).write();
}

}  // namespace tulle::topology
