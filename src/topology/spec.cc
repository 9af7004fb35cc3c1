#include "topology/spec.h"

#include <array>
#include <string>
#include <vector>

#include "base/words.h"
#include "topology/builders.h"
#include "topology/quantities.h"
#include "topology/text.h"

namespace tulle::topology {
namespace {

base::Error wrong_spec(std::string_view spec, std::string_view what) {
    return {text("'", spec, "': ", what)};
}

struct Setting {
    std::string_view key;
    uint32_t* value;
    bool is_set = false;
};

std::string keys_of(const std::vector<Setting>& settings) {
    std::string keys;
    for (const Setting& setting : settings)
        keys.append(keys.empty() ? "" : ", ").append(setting.key);
    return keys;
}

// The words of a spec after its name. Builders take the words they know; finish() reports the rest.
class Words {
public:
    explicit Words(std::string_view spec) : spec_(spec) {
        const size_t colon = spec.find(':');
        if (colon != std::string_view::npos && colon + 1 < spec.size())
            words_ = split(spec.substr(colon + 1), ',');
    }

    // The first word if it has no key, as in `star:16`.
    std::optional<std::string_view> take_bare() {
        if (words_.empty() || words_.front().find('=') != std::string_view::npos)
            return std::nullopt;
        const std::string_view word = words_.front();
        words_.erase(words_.begin());
        return word;
    }

    // Reads key=number words into the settings. The first setting may also be a bare first word.
    std::optional<base::Error> read(std::vector<Setting> settings, bool first_may_be_bare = false) {
        if (first_may_be_bare)
            if (const auto bare = take_bare())
                if (auto error = set(settings.front(), *bare)) return error;
        for (const std::string_view word : words_) {
            const size_t equals = word.find('=');
            const std::string_view key = word.substr(0, equals);
            if (key == "uplink" && equals != std::string_view::npos) {
                if (auto error = set_uplink(word.substr(equals + 1))) return error;
                continue;
            }
            Setting* found = nullptr;
            for (Setting& setting : settings)
                if (setting.key == key) found = &setting;
            if (found == nullptr || equals == std::string_view::npos)
                return wrong_spec(spec_, text("'", word, "' is not one of its settings; they are ",
                                              keys_of(settings),
                                              ", each written as key=number, and uplink=800Gbps"));
            if (auto error = set(*found, word.substr(equals + 1))) return error;
        }
        return std::nullopt;
    }

    std::string_view spec() const { return spec_; }
    // The rate of cables between switches; 0 if not given.
    uint64_t uplink_bps() const { return uplink_bps_; }

private:
    // "800Gbps", or "800G" for short.
    std::optional<base::Error> set_uplink(std::string_view written) {
        if (uplink_bps_ != 0) return wrong_spec(spec_, "uplink is set twice");
        const bool is_short = written.ends_with('G') || written.ends_with('T');
        const auto rate = parse_rate_bps(is_short ? text(written, "bps") : std::string(written));
        if (!rate) return wrong_spec(spec_, text("uplink: ", rate.error().message));
        uplink_bps_ = *rate;
        return std::nullopt;
    }

    std::optional<base::Error> set(Setting& setting, std::string_view digits) {
        const std::string_view key = setting.key;
        if (setting.is_set) return wrong_spec(spec_, text(key, " is set twice"));
        const auto value = parse_number<uint32_t>(digits);
        if (!value && !digits.empty() &&
            digits.find_first_not_of("0123456789") == std::string::npos)
            return wrong_spec(spec_, text(key, "=", digits, " is too large"));
        if (!value)
            return wrong_spec(
                spec_, text(key, " is a whole number such as ", key, "=4, not '", digits, "'"));
        *setting.value = *value;
        setting.is_set = true;
        return std::nullopt;
    }

    std::string_view spec_;
    std::vector<std::string_view> words_;
    uint64_t uplink_bps_ = 0;
};

template <class Options>
base::Result<Graph> finish(const Words& words, const std::optional<base::Error>& error,
                           const Options& options) {
    if (error) return *error;
    auto graph = build(options);
    if (!graph) return wrong_spec(words.spec(), graph.error().message);
    if (words.uplink_bps() == 0) return graph;
    bool is_used = false;
    for (Cable& cable : graph->cables) {
        if (graph->nodes[cable.a.node].is_host() || graph->nodes[cable.b.node].is_host()) continue;
        cable.rate_bps = words.uplink_bps();
        is_used = true;
    }
    if (is_used) return graph;
    return wrong_spec(words.spec(), "uplink has no effect: there is no cable between switches");
}

base::Result<Graph> fat_tree(std::string_view spec) {
    FatTree o;
    Words words(spec);
    const auto error = words.read(
        {{"k", &o.k}, {"tiers", &o.tiers}, {"oversubscription", &o.oversubscription}}, true);
    return finish(words, error, o);
}

base::Result<Graph> leaf_spine(std::string_view spec) {
    LeafSpine o;
    Words words(spec);
    const auto error = words.read(
        {{"leaves", &o.leaves}, {"spines", &o.spines}, {"hosts", &o.hosts}, {"cables", &o.cables}});
    return finish(words, error, o);
}

base::Result<Graph> rail(std::string_view spec) {
    RailOptimised o;
    Words words(spec);
    const auto error = words.read({{"servers", &o.servers},
                                   {"rails", &o.rails},
                                   {"group", &o.group},
                                   {"spines", &o.spines},
                                   {"cables", &o.cables},
                                   {"storage", &o.storage}});
    return finish(words, error, o);
}

base::Result<Graph> dragonfly(std::string_view spec) {
    Dragonfly o;
    Words words(spec);
    const auto error = words.read({{"a", &o.a}, {"p", &o.p}, {"h", &o.h}, {"groups", &o.groups}});
    return finish(words, error, o);
}

base::Result<Graph> dragonfly_plus(std::string_view spec) {
    DragonflyPlus o;
    Words words(spec);
    const auto error = words.read({{"leaves", &o.leaves},
                                   {"spines", &o.spines},
                                   {"hosts", &o.hosts},
                                   {"global", &o.global},
                                   {"groups", &o.groups}});
    return finish(words, error, o);
}

base::Result<Graph> torus(std::string_view spec) {
    Torus o;
    o.sizes.clear();
    Words words(spec);
    const auto bare = words.take_bare();
    if (!bare) return wrong_spec(spec, "a torus needs its dimensions, such as torus:4x4x4");
    for (const std::string_view part : split(*bare, 'x')) {
        const auto size = parse_number<uint32_t>(part);
        if (!size)
            return wrong_spec(
                spec,
                text("the dimensions of a torus are numbers such as 4x4x4, not '", *bare, "'"));
        o.sizes.push_back(*size);
    }
    const auto error = words.read({{"hosts", &o.hosts}});
    return finish(words, error, o);
}

base::Result<Graph> star(std::string_view spec) {
    Star o;
    Words words(spec);
    const auto error = words.read({{"hosts", &o.hosts}}, true);
    return finish(words, error, o);
}

base::Result<Graph> pair(std::string_view spec) {
    if (spec.find(':') != std::string_view::npos)
        return wrong_spec(spec, "this topology has no settings; write pair");
    return build(BackToBack{});
}

base::Result<Graph> ring(std::string_view spec) {
    Ring o;
    Words words(spec);
    const auto error = words.read({{"switches", &o.switches}, {"hosts", &o.hosts}}, true);
    return finish(words, error, o);
}

base::Result<Graph> line(std::string_view spec) {
    Line o;
    Words words(spec);
    const auto error = words.read({{"switches", &o.switches}, {"hosts", &o.hosts}}, true);
    return finish(words, error, o);
}

struct Builder {
    std::string_view name;
    base::Result<Graph> (*build)(std::string_view spec);
};

constexpr std::array kBuilders{
    Builder{"fat-tree", fat_tree}, Builder{"leaf-spine", leaf_spine},
    Builder{"rail", rail},         Builder{"dragonfly", dragonfly},
    Builder{"torus", torus},       Builder{"dragonfly+", dragonfly_plus},
    Builder{"star", star},         Builder{"pair", pair},
    Builder{"ring", ring},         Builder{"line", line},
};

const Builder* find_builder(std::string_view spec) {
    const std::string_view name = spec.substr(0, spec.find(':'));
    for (const Builder& builder : kBuilders)
        if (builder.name == name) return &builder;
    return nullptr;
}

}  // namespace

bool is_spec(std::string_view text) {
    return find_builder(text) != nullptr;
}

base::Result<Graph> build_spec(std::string_view spec) {
    if (const Builder* builder = find_builder(spec)) return builder->build(spec);
    std::vector<std::string_view> names;
    for (const Builder& builder : kBuilders) names.push_back(builder.name);
    return wrong_spec(spec, text("there is no such topology; ",
                                 base::did_you_mean(spec.substr(0, spec.find(':')), names,
                                                    "there are " + base::joined(names))));
}

std::string_view spec_help() {
    return R"(  fat-tree:k=8                        three tiers of 8-port switches, 128 hosts
  fat-tree:k=8,oversubscription=2     half of the uplinks; tiers=2 for two tiers
  leaf-spine:leaves=4,spines=2,hosts=16  hosts per leaf; cables=2 for two cables
  rail:servers=16,rails=8,group=8,spines=8  a leaf per rail and group of
                                      servers; storage=4 adds nodes with one
                                      adapter
  dragonfly:a=4,p=2,h=2               a routers per group, p hosts and h global
                                      cables per router; groups=9
  dragonfly+:leaves=2,spines=2,hosts=2,global=1  leaves and spines; groups=3
  torus:4x4x4,hosts=1                 hosts per switch
  star:16                             hosts at one switch
  pair                                two hosts and a cable
  ring:4,hosts=1                      hosts per switch
  line:3,hosts=1                      hosts per switch
  ...,uplink=800Gbps                  the rate of cables between switches
)";
}

}  // namespace tulle::topology
