#include "topology/hpcc.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "topology/builders.h"
#include "topology/quantities.h"
#include "topology/text.h"
#include "topology/tiers.h"

namespace tulle::topology {
namespace {

class Reader {
public:
    Reader(std::string_view content, std::string_view name) : name_(name) {
        size_t line = 0;
        for (const std::string_view one : split(content, '\n')) {
            ++line;
            for (const std::string_view word : words_of(one)) words_.push_back({word, line});
        }
    }

    base::Result<Graph> read() {
        if (auto error = read_header()) return *error;
        if (auto error = read_switches()) return *error;
        graph_.cables.reserve(links_);
        for (uint64_t i = 0; i < links_; ++i)
            if (auto error = read_link(i)) return *error;
        if (next_ < words_.size())
            return wrong(text("'", words_[next_].text.substr(0, 40),
                              "' comes after the last of the ", links_,
                              " links that the first line promises"));
        assign_tiers(graph_);
        assign_names(graph_);
        return std::move(graph_);
    }

private:
    struct Word {
        std::string_view text;
        size_t line;
    };

    base::Error wrong(std::string_view what) const {
        const size_t line = words_.empty() ? 1 : words_[std::min(next_, words_.size() - 1)].line;
        return {text(name_, ":", line, ": ", what)};
    }

    // The next word as a number below `limit`, else an error that names `what`.
    base::Result<uint64_t> take_number(std::string_view what, uint64_t limit) {
        if (next_ == words_.size()) return wrong(text("the file ends before ", what));
        const auto number = parse_number<uint64_t>(words_[next_].text);
        if (!number || *number >= limit)
            return wrong(text("'", words_[next_].text.substr(0, 40), "' is not ", what,
                              ", a number below ", limit));
        ++next_;
        return *number;
    }

    std::optional<base::Error> read_header() {
        if (words_.size() > 5 && words_[5].line == words_[0].line)
            return wrong(
                "the first line has six words, as SimAI's topologies have; the three words that "
                "can be read are: nodes switches links");
        for (uint64_t* const value : {&nodes_, &switches_, &links_}) {
            const char* const what = value == &nodes_      ? "the number of nodes"
                                     : value == &switches_ ? "the number of switches"
                                                           : "the number of links";
            const auto number = take_number(what, kMaxCables + 1);
            if (!number) return number.error();
            *value = *number;
        }
        next_ = 0;  // errors from here on refer to the first line
        if (switches_ > nodes_)
            return wrong(text("there cannot be ", switches_, " switches among ", nodes_, " nodes"));
        // Checked before anything of that size is allocated.
        if (words_.size() < 3 + switches_ + 5 * links_)
            return wrong(text("the file ends early: ", switches_, " switches and ", links_,
                              " links were promised"));
        if (nodes_ > 2 * links_)
            return wrong(text(nodes_, " nodes with ", links_, " links: some have no cable"));
        next_ = 3;
        graph_.nodes.resize(nodes_);
        return std::nullopt;
    }

    std::optional<base::Error> read_switches() {
        for (uint64_t i = 0; i < switches_; ++i) {
            const auto id = take_number("the id of a switch", nodes_);
            if (!id) return id.error();
            if (!graph_.nodes[*id].is_host()) {
                --next_;
                return wrong(text("switch ", *id, " is listed twice"));
            }
            graph_.nodes[*id].kind = NodeKind::switch_node;
        }
        uint32_t host = 0;
        for (Node& node : graph_.nodes)
            if (node.is_host()) node.server = host++;
        return std::nullopt;
    }

    std::optional<base::Error> read_link(uint64_t i) {
        const auto a = take_number("the id of a node", nodes_);
        if (!a) return a.error();
        const auto b = take_number("the id of a node", nodes_);
        if (!b) return b.error();
        if (*a == *b) return wrong(text("link ", i, " leads from node ", *a, " to itself"));
        for (const uint64_t id : {*a, *b})
            if (graph_.nodes[id].port_count == kMaxPorts)
                return wrong(text("node ", id, " has more than ", kMaxPorts, " links"));
        const auto rate = parse_rate_bps(words_[next_].text);
        if (!rate) return wrong(rate.error().message);
        const auto delay = parse_delay(words_[++next_].text);
        if (!delay) return wrong(delay.error().message);
        const auto loss = parse_loss(words_[++next_].text);
        if (!loss) return wrong(loss.error().message);
        ++next_;
        Cable& cable = graph_.connect(static_cast<uint32_t>(*a), static_cast<uint32_t>(*b));
        cable.rate_bps = *rate;
        // Zero would mean the delay of the profile; a picosecond is the closest delay.
        cable.delay = std::max(*delay, base::Duration{1});
        cable.loss_per_trillion = *loss;
        return std::nullopt;
    }

    std::string_view name_;
    std::vector<Word> words_;
    size_t next_ = 0;
    uint64_t nodes_ = 0;
    uint64_t switches_ = 0;
    uint64_t links_ = 0;
    Graph graph_;
};

}  // namespace

base::Result<Graph> read_hpcc(std::string_view text, std::string_view name) {
    return Reader(text, name).read();
}

base::Result<std::string> write_hpcc(const Graph& graph) {
    std::string out =
        text(graph.nodes.size(), " ", graph.switch_count(), " ", graph.cables.size(), "\n");
    std::string_view blank;
    for (size_t i = 0; i < graph.nodes.size(); ++i)
        if (!graph.nodes[i].is_host()) {
            out += text(blank, i);
            blank = " ";
        }
    out += '\n';
    for (const Cable& cable : graph.cables) {
        if (cable.rate_bps == 0 || cable.delay == base::Duration{})
            return base::Error{text("the cable between ", graph.nodes[cable.a.node].name, " and ",
                                    graph.nodes[cable.b.node].name,
                                    " has no rate or no delay, which this format needs; write "
                                    "--rate 100Gbps --delay 1us")};
        out += text(cable.a.node, " ", cable.b.node, " ", rate_text(cable.rate_bps), " ",
                    delay_text(cable.delay), " ", loss_text(cable.loss_per_trillion), "\n");
    }
    return out;
}

}  // namespace tulle::topology
