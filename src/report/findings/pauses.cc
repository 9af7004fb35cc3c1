// Who held up whom. A blame says that a port could not send because of another port, one cable
// further on. Following blames from port to port leads to the root: a port that is not held up
// itself, or a host that does not accept what arrives. Everything else is a symptom.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/units.h"
#include "report/findings/findings.h"
#include "report/findings/phase_traffic.h"

namespace tulle::report {
namespace {

using sim::Blame;
using PortKey = std::pair<uint32_t, uint16_t>;

constexpr size_t kMostRoots = 5;    // findings of this kind
constexpr size_t kMostHeldUp = 64;  // ports searched for victims
// A port is part of the chain, not its root, if it was itself held up for at least this part of the
// time that it held up another one.
constexpr int64_t kPassedOn = 4;
constexpr uint64_t kBusyPermille = 500;
constexpr int64_t kMinorPart = 10;  // of the worst root; less is a side effect of it

struct Root {
    PortKey port;  // sends to the host, if the root is a host
    std::optional<uint32_t> host;
    uint8_t lane = 0;
    Duration paused{};   // of all ports that it held up
    Duration longest{};  // of one of them
    std::map<PortKey, Duration> held_up;
};

class PauseTree {
public:
    explicit PauseTree(const Facts& facts) : facts_(facts) {
        for (const Blame& blame : facts.result.blames) {
            const Blame*& most = held_by_[{blame.node, blame.port}];
            if (most == nullptr || blame.paused > most->paused) most = &blame;
        }
    }

    // The largest first.
    std::vector<Root> roots() const {
        std::map<PortKey, Root> found;
        for (const Blame& blame : facts_.result.blames) add(blame, found);
        std::vector<Root> sorted;
        for (auto& [key, root] : found) sorted.push_back(std::move(root));
        std::stable_sort(sorted.begin(), sorted.end(),
                         [](const Root& a, const Root& b) { return a.paused > b.paused; });
        return sorted;
    }

private:
    // The target of a port's blames: a port, or the host behind its cable.
    struct End {
        PortKey port;
        std::optional<uint32_t> host;
        uint8_t lane = 0;
    };

    // The blamed port. If it was mostly idle and never held up, the full buffer must have waited
    // for another port of that switch: the one that was held up most.
    PortKey suspect(const Blame& blame) const {
        const PortKey blamed{blame.culprit_node, blame.culprit_port};
        const sim::LinkResult* link = facts_.link_at(blamed.first, blamed.second);
        if (link == nullptr || link->paused.ps != 0 || facts_.busy_permille(*link) >= kBusyPermille)
            return blamed;
        const auto ports = facts_.names.ports().of(blamed.first);
        const sim::LinkResult* most = link;
        for (uint16_t port = 0; port < ports.size(); ++port) {
            const sim::LinkResult* other = facts_.link_at(blamed.first, port);
            if (other != nullptr && other->paused > most->paused) most = other;
        }
        const bool explains = most->paused * kPassedOn >= blame.paused;
        return explains ? PortKey{most->node, most->port} : blamed;
    }

    End end_of_chain(const Blame& first) const {
        const Blame* blame = &first;
        std::set<PortKey> seen;
        for (;;) {
            if (facts_.is_host(blame->culprit_node))
                return {{blame->node, blame->port}, blame->culprit_node, blame->lane};
            const PortKey culprit = suspect(*blame);
            const sim::LinkResult* link = facts_.link_at(culprit.first, culprit.second);
            const bool is_root = link == nullptr || link->paused * kPassedOn < blame->paused;
            if (is_root || !seen.insert(culprit).second) return {culprit, {}, blame->lane};
            const auto next = held_by_.find(culprit);
            if (next == held_by_.end()) {
                const bool to_host = facts_.is_host(link->peer_node);
                return {culprit, to_host ? std::optional(link->peer_node) : std::nullopt,
                        blame->lane};
            }
            blame = next->second;
        }
    }

    void add(const Blame& blame, std::map<PortKey, Root>& found) const {
        const End end = end_of_chain(blame);
        Root& root = found[end.port];
        root.port = end.port;
        root.lane = end.lane;
        root.host = end.host;
        root.paused += blame.paused;
        Duration& held_up = root.held_up[{blame.node, blame.port}];
        held_up += blame.paused;
        root.longest = std::max(root.longest, held_up);
    }

    const Facts& facts_;
    std::map<PortKey, const Blame*> held_by_;  // the worst for each port
};

std::vector<std::pair<PortKey, Duration>> longest_held_up(const Root& root) {
    std::vector<std::pair<PortKey, Duration>> sorted(root.held_up.begin(), root.held_up.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    return sorted;
}

std::string held_up_text(const Facts& facts, const Root& root) {
    std::string text;
    const auto sorted = longest_held_up(root);
    for (size_t i = 0; i < std::min(sorted.size(), kMostNamed); ++i) {
        const auto& [port, paused] = sorted[i];
        text += fmt::format("{}{} for {}", i == 0 ? "" : ", ",
                            facts.names.port(port.first, port.second), base::to_string(paused));
    }
    if (sorted.size() > kMostNamed) text += fmt::format(" and {} more", sorted.size() - kMostNamed);
    return text;
}

std::string culprit_of(const Facts& facts, const Root& root) {
    return root.host ? facts.names.node(*root.host)
                     : facts.names.link(root.port.first, root.port.second);
}

Finding of_host(const Facts& facts, const Root& root) {
    const sim::LinkResult* link = facts.link_at(root.port.first, root.port.second);
    const uint64_t share = facts.permille(link == nullptr ? root.longest : link->paused);
    // An adapter that accepts nothing is broken; one that accepts less than arrives is slow.
    const char* what = share >= 900
                           ? "pauses its link nearly all the time, as a broken adapter does"
                           : "is a slow receiver: it pauses its link";
    return {FindingKind::slow_receiver,
            Severity::warning,
            facts.names.node(*root.host),
            {},
            fmt::format("host {} {} ({} of the time, {}); held up: {}",
                        facts.names.node(*root.host), what, percent_text(share),
                        facts.names.lane(root.lane), held_up_text(facts, root))};
}

// A step repeats its phases; each name is said once.
std::string joined(const std::vector<std::string>& all) {
    std::vector<std::string> names;
    std::set<std::string_view> seen;
    for (const std::string& name : all)
        if (seen.insert(name).second) names.push_back(name);
    std::string text;
    for (size_t i = 0; i < std::min(names.size(), kMostNamed); ++i)
        text.append(i == 0 ? "" : ", ").append(names[i]);
    if (names.size() > kMostNamed) text += fmt::format(" and {} more", names.size() - kMostNamed);
    return text;
}

// The phases whose messages pass the congested port.
std::vector<size_t> filled_by(const Facts& facts, const PhaseTraffic& traffic, const Root& root) {
    std::vector<size_t> phases;
    for (size_t i = 0; i < facts.collectives.size(); ++i)
        if (traffic.lane_of(i) == root.lane &&
            traffic.may_cross(i, root.port.first, root.port.second))
            phases.push_back(i);
    return phases;
}

std::vector<std::string> phase_names(const Facts& facts, const std::vector<size_t>& phases) {
    std::vector<std::string> names;
    for (const size_t phase : phases) names.push_back(facts.collectives[phase].name);
    return names;
}

Finding of_port(const Facts& facts, const Root& root, const std::vector<std::string>& phases) {
    const sim::LinkResult* link = facts.link_at(root.port.first, root.port.second);
    const std::string name = facts.names.link(root.port.first, root.port.second);
    const uint64_t busy = link == nullptr ? 0 : facts.busy_permille(*link);
    const bool is_full = busy >= kBusyPermille;
    std::string sentence =
        fmt::format("{} {}{} ({} busy, {}{}{}); held up: {}",
                    is_full ? "more was sent to" : "buffers were full of packets for", name,
                    is_full ? " than it carries" : "", percent_text(busy),
                    counted(link == nullptr ? 0 : link->flows, "flow"),
                    phases.empty() ? "" : " of ", joined(phases), held_up_text(facts, root));
    return {FindingKind::pauses, Severity::note, name, {}, std::move(sentence)};
}

void add_root(const Facts& facts, const PhaseTraffic& traffic, const Root& root,
              std::vector<Finding>& findings) {
    std::vector<std::string> phases = phase_names(facts, filled_by(facts, traffic, root));
    Finding finding = root.host ? of_host(facts, root) : of_port(facts, root, phases);
    std::vector<std::string> names;
    for (const auto& [port, paused] : longest_held_up(root))
        names.push_back(facts.names.port(port.first, port.second));
    finding.fields = {{"root", culprit_of(facts, root)},
                      {"lane", uint64_t{root.lane}},
                      {"paused_ns", whole_nanoseconds(root.paused)},
                      {"longest_ns", whole_nanoseconds(root.longest)},
                      {"held_up", std::move(names)},
                      {"filled_by", std::move(phases)}};
    findings.push_back(std::move(finding));
}

// Flows that do not pass the congested port, but queued behind packets that do.
std::vector<size_t> victims_of(const Facts& facts, const std::vector<Root>& roots,
                               const Root& worst) {
    auto held_up = longest_held_up(worst);
    if (held_up.size() > kMostHeldUp) held_up.resize(kMostHeldUp);
    std::vector<size_t> victims;
    for (size_t i = 0; i < facts.flows(); ++i) {
        const sim::Flow& flow = facts.setup.flows[i];
        if (facts.slowdown_permille(i) < kSlowedPermille || facts.is_refused(i)) continue;
        if (facts.lane_of(flow) != worst.lane) continue;
        const auto crosses = [&](PortKey port) {
            return facts.may_cross(flow, port.first, port.second);
        };
        if (std::any_of(roots.begin(), roots.end(),
                        [&](const Root& root) { return crosses(root.port); }))
            continue;
        if (std::any_of(held_up.begin(), held_up.end(),
                        [&](const auto& held) { return crosses(held.first); }))
            victims.push_back(i);
    }
    std::stable_sort(victims.begin(), victims.end(), [&](size_t a, size_t b) {
        return facts.slowdown_permille(a) > facts.slowdown_permille(b);
    });
    return victims;
}

void find_victims(const Facts& facts, const std::vector<Root>& roots,
                  std::vector<Finding>& findings) {
    const std::vector<size_t> victims = victims_of(facts, roots, roots.front());
    if (victims.empty()) return;
    const std::string culprit = culprit_of(facts, roots.front());
    std::vector<std::string> names;
    for (const size_t victim : victims) names.push_back(facts.names.flow(victim));
    const std::string shown = joined(names);
    const uint64_t worst = facts.slowdown_permille(victims.front());
    findings.push_back(
        {FindingKind::victims,
         Severity::warning,
         culprit,
         {{"root", culprit},
          {"count", uint64_t{victims.size()}},
          {"worst_slowdown_permille", worst},
          {"flows", std::move(names)}},
         fmt::format(
             "{} not {} {}, but stood behind packets that do, up to {} times slower than "
             "alone: {}",
             victims.size() == 1 ? "1 flow does" : fmt::format("{} flows do", victims.size()),
             roots.front().host ? "go to" : "cross", culprit, ratio_text(worst), shown)});
}

// Phases that ran at the same time as one that fills a port, in the same lane and through the ports
// that were held up, without passing the congested port themselves.
std::vector<size_t> stalled_phases(const Facts& facts, const PhaseTraffic& traffic,
                                   const std::vector<Root>& roots,
                                   const std::vector<size_t>& guilty) {
    const auto crosses_root = [&](size_t phase) {
        return std::any_of(roots.begin(), roots.end(), [&](const Root& root) {
            return traffic.may_cross(phase, root.port.first, root.port.second);
        });
    };
    auto held_up = longest_held_up(roots.front());
    if (held_up.size() > kMostHeldUp) held_up.resize(kMostHeldUp);
    std::vector<size_t> stalled;
    for (size_t i = 0; i < facts.collectives.size(); ++i) {
        if (traffic.slowdown_permille(i) < kSlowedPermille ||
            traffic.lane_of(i) != roots.front().lane || crosses_root(i))
            continue;
        const bool met = std::any_of(guilty.begin(), guilty.end(),
                                     [&](size_t phase) { return traffic.overlap(i, phase); });
        const bool crosses = std::any_of(held_up.begin(), held_up.end(), [&](const auto& held) {
            return traffic.may_cross(i, held.first.first, held.first.second);
        });
        if (met && crosses) stalled.push_back(i);
    }
    std::stable_sort(stalled.begin(), stalled.end(), [&](size_t a, size_t b) {
        return traffic.slowdown_permille(a) > traffic.slowdown_permille(b);
    });
    return stalled;
}

void find_stalled_phases(const Facts& facts, const PhaseTraffic& traffic,
                         const std::vector<Root>& roots, std::vector<Finding>& findings) {
    const std::vector<size_t> guilty = filled_by(facts, traffic, roots.front());
    const std::vector<size_t> stalled = stalled_phases(facts, traffic, roots, guilty);
    if (stalled.empty()) return;
    std::set<PortKey> ports;
    for (const Root& root : roots)
        for (const auto& [port, paused] : root.held_up) ports.insert(port);
    const std::string culprit = culprit_of(facts, roots.front());
    const uint64_t worst = traffic.slowdown_permille(stalled.front());
    std::vector<std::string> names = phase_names(facts, stalled);
    std::vector<std::string> filled = phase_names(facts, guilty);
    std::string sentence = fmt::format(
        "{} filled {}, and others stood behind it in {}: {} took up to {} times the limit",
        joined(filled), culprit, counted(ports.size(), "port"), joined(names), ratio_text(worst));
    findings.push_back({FindingKind::victims,
                        Severity::warning,
                        culprit,
                        {{"root", culprit},
                         {"count", uint64_t{stalled.size()}},
                         {"worst_slowdown_permille", worst},
                         {"phases", std::move(names)},
                         {"filled_by", std::move(filled)},
                         {"ports", uint64_t{ports.size()}}},
                        std::move(sentence)});
}

// Pauses without a blamed port are still reported.
void find_unexplained(const Facts& facts, std::vector<Finding>& findings) {
    const auto& links = facts.result.links;
    const auto most =
        std::max_element(links.begin(), links.end(),
                         [](const auto& a, const auto& b) { return a.paused < b.paused; });
    if (most == links.end() || facts.permille(most->paused) < kNoticeablePermille) return;
    const std::string& peer = facts.names.node(most->peer_node);
    findings.push_back(
        {facts.is_host(most->peer_node) ? FindingKind::slow_receiver : FindingKind::pauses,
         Severity::note,
         peer,
         {{"root", peer}, {"paused_ns", whole_nanoseconds(most->paused)}},
         fmt::format("{} {} {} for {}", facts.names.link(*most),
                     facts.has_credits() ? "waited for credits of" : "was paused by", peer,
                     base::to_string(most->paused))});
}

}  // namespace

void find_pauses(const Facts& facts, std::vector<Finding>& findings) {
    std::vector<Root> roots = PauseTree(facts).roots();
    const Duration most = roots.empty() ? Duration{} : roots.front().paused;
    std::erase_if(roots, [&](const Root& root) {
        return facts.permille(root.longest) < kNoticeablePermille ||
               root.paused * kMinorPart < most;
    });
    if (roots.empty()) {
        if (facts.result.blames.empty()) find_unexplained(facts, findings);
        return;
    }
    const PhaseTraffic traffic(facts);
    for (size_t i = 0; i < std::min(roots.size(), kMostRoots); ++i)
        add_root(facts, traffic, roots[i], findings);
    find_victims(facts, roots, findings);
    find_stalled_phases(facts, traffic, roots, findings);
}

}  // namespace tulle::report
