#include "report/causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <tuple>

#include "base/units.h"
#include "report/time_shares.h"
#include "sim/cables.h"

namespace tulle::report {
namespace {

using fabric::Drop;
using fabric::Place;
using fabric::ShareKind;
using workload::Tier;

constexpr uint64_t kFullPermille = 700;  // of the time that the chain lasted: it had enough to do
constexpr uint64_t kIdlePart = 800;      // of the fullest: an equal path had room to spare
constexpr int64_t kFarLonger = 4;        // times the usual cable
constexpr int64_t kHeldPart = 10;  // of the time that a port had something to send: held that long
constexpr uint64_t kRepairPermille = 100;  // of a line's time that go to repairs: worth a name
// At the limit, what the work itself takes is named if nothing else takes so large a part.
constexpr int64_t kWorthNaming = 5;
constexpr uint64_t kAtLimitPermille = 950;

// Work, distance and software are there on the best of fabrics.
bool is_avoidable(CauseKind kind) {
    return kind < CauseKind::software;
}

// Shares that were spent because of one port.
struct Trouble {
    Duration held{};
    Duration queue{};
    Duration congestion{};
    Duration serialization{};
    Duration propagation{};
    Duration bus{};
    Duration retries{};

    Duration contention() const { return held + queue + congestion; }
};

class Investigation {
public:
    explicit Investigation(const Facts& facts) : facts_(facts), account_(facts.result.account) {
        for (const sim::TimeShare& share : account_.shares) sort(share);
        for (const fabric::CrossingRecord& crossing : account_.crossings)
            crossings_[crossing.place].insert({crossing.source, crossing.destination});
        find_usual();
        follow_pauses();
        for (const auto& [place, trouble] : troubles_) distance_ += trouble.propagation;
        for (const ShareKind kind : {ShareKind::switching, ShareKind::software, ShareKind::start})
            distance_ += nowhere_[kind];
    }

    std::vector<Cause> causes() {
        for (const auto& [place, trouble] : troubles_) explain_place(place, trouble);
        explain_inside();
        explain_loss();
        explain_senders();
        explain_ranks();
        explain_rest();
        std::stable_sort(found_.begin(), found_.end(),
                         [&](const Cause& a, const Cause& b) { return weight(a) > weight(b); });
        return std::move(found_);
    }

private:
    using Pair = std::pair<uint32_t, uint32_t>;  // endpoints that send and receive

    void sort(const sim::TimeShare& share) {
        if (share.tier == Tier::scale_up && share.place != fabric::kNowhere) {
            inside_[share.kind] += share.time;
            return;
        }
        Trouble* at = share.place == fabric::kNowhere ? nullptr : &troubles_[share.place];
        switch (share.kind) {
            case ShareKind::held: (at ? at->held : nowhere_[share.kind]) += share.time; break;
            case ShareKind::queue: (at ? at->queue : nowhere_[share.kind]) += share.time; break;
            case ShareKind::congestion:
                (at ? at->congestion : nowhere_[share.kind]) += share.time;
                break;
            case ShareKind::serialization:
                (at ? at->serialization : nowhere_[share.kind]) += share.time;
                break;
            case ShareKind::propagation:
                (at ? at->propagation : nowhere_[share.kind]) += share.time;
                break;
            case ShareKind::bus: (at ? at->bus : nowhere_[share.kind]) += share.time; break;
            case ShareKind::loss: (at ? at->retries : nowhere_[share.kind]) += share.time; break;
            case ShareKind::compute: computing_[share.rank] += share.time; break;
            default: nowhere_[share.kind] += share.time;
        }
    }

    // What most cables of a kind are like: those of hosts, and those between switches.
    void find_usual() {
        for (const bool at_host : {false, true}) {
            std::vector<Duration> delays;
            std::vector<base::Rate> rates;
            for (uint32_t i = 0; i < facts_.setup.graph.cables.size(); ++i) {
                if (is_at_host(i) != at_host) continue;
                delays.push_back(sim::cable_delay(facts_.setup, i));
                rates.push_back(sim::cable_rate(facts_.setup, i));
            }
            if (delays.empty()) continue;
            std::sort(delays.begin(), delays.end());
            std::sort(rates.begin(), rates.end());
            usual_delay_[at_host] = delays[(delays.size() - 1) / 2];
            usual_rate_[at_host] = rates[rates.size() / 2];
        }
    }

    bool is_at_host(uint32_t cable) const {
        const topology::Cable& ends = facts_.setup.graph.cables[cable];
        return facts_.is_host(ends.a.node) || facts_.is_host(ends.b.node);
    }
    bool is_slow(uint32_t cable) const {
        const auto& usual = usual_rate_[is_at_host(cable)];
        return usual && sim::cable_rate(facts_.setup, cable) < *usual;
    }
    bool is_far(uint32_t cable) const {
        return sim::cable_delay(facts_.setup, cable) > usual_delay_[is_at_host(cable)] * kFarLonger;
    }

    // How busy a link was while the chain lasted.
    uint64_t busy_permille(topology::CableEnd end) const {
        const sim::LinkResult* link = facts_.link_at(end.node, end.port);
        const int64_t whole = (account_.end - facts_.begin).ps;
        if (link == nullptr || whole <= 0) return 0;
        return std::min<uint64_t>(
            1000, static_cast<uint64_t>(link->busy.ps) * 1000 / static_cast<uint64_t>(whole));
    }

    // By time. What could have been saved counts more than twice; of what there was to send, only
    // what the limit does not ask for, or at the limit a small part.
    Duration weight(const Cause& cause) const {
        const Duration whole = account_.end - Instant{};
        if (cause.kind != CauseKind::own_bytes) return cause.time + cause.avoidable * 3 / 2;
        if (facts_.permille(facts_.limit) >= kAtLimitPermille)
            return std::min(cause.time, whole / kWorthNaming);
        return cause.time - std::min(cause.time, facts_.limit);
    }

    void add(CauseKind kind, const std::string& place, Duration time, std::string sentence,
             Place at = fabric::kNowhere, std::optional<uint32_t> node = {},
             std::optional<uint32_t> group = {}, Duration inherent = {}) {
        if (time.ps <= 0) return;
        const Duration avoidable =
            is_avoidable(kind) ? time - std::min(time, inherent) : Duration{};
        for (Cause& cause : found_)
            if (cause.kind == kind && cause.place == place) {
                cause.time += time;
                cause.avoidable += avoidable;
                return;
            }
        found_.push_back({kind, place, time, avoidable, std::move(sentence), at, node, group});
    }
    // How long a host's link was busy: that the work asks for.
    Duration busy_time(topology::CableEnd end) const {
        const sim::LinkResult* link = facts_.link_at(end.node, end.port);
        return link == nullptr ? Duration{} : link->busy;
    }

    // A port that was held for long is not what its packets waited for: whatever held it is.
    void follow_pauses() {
        std::vector<std::pair<Place, Duration>> moved;
        for (auto& [place, trouble] : troubles_) {
            const Place root = root_of(place);
            if (root == place || trouble.contention().ps == 0) continue;
            moved.push_back({root, trouble.contention()});
            trouble.held = trouble.queue = trouble.congestion = {};
        }
        for (const auto& [root, time] : moved) troubles_[root].held += time;
    }
    Place root_of(Place place) const {
        for (size_t hops = 0; hops < facts_.setup.graph.nodes.size(); ++hops) {
            const topology::CableEnd end = end_at(facts_.setup, place);
            const sim::LinkResult* link = facts_.link_at(end.node, end.port);
            if (facts_.is_host(end.node) || link == nullptr ||
                link->paused * kHeldPart < link->busy + link->paused)
                return place;
            const sim::Blame* most = nullptr;
            for (const sim::Blame& blame : facts_.result.blames)
                if (blame.node == end.node && blame.port == end.port &&
                    (most == nullptr || blame.paused > most->paused))
                    most = &blame;
            place = most != nullptr ? place_at({most->culprit_node, most->culprit_port})
                                    : next_after(place, *link);
        }
        return place;
    }
    // Nobody is blamed where credits came back slowly but steadily: of the ports that packets go on
    // to, the one that was busy or held longest.
    Place next_after(Place place, const sim::LinkResult& link) const {
        if (facts_.is_host(link.peer_node)) return place_at({link.peer_node, link.peer_port});
        const std::vector<Pair> pairs = pairs_at(place);
        Place next = place;
        Duration most{-1};
        for (const sim::LinkResult& other : facts_.result.links) {
            if (other.node != link.peer_node || other.paused + other.busy <= most) continue;
            const Place candidate = place_at({other.node, other.port});
            const auto crossing = crossings_.find(candidate);
            if (crossing == crossings_.end()) continue;
            if (std::none_of(pairs.begin(), pairs.end(),
                             [&](const Pair& pair) { return crossing->second.contains(pair); }))
                continue;
            next = candidate;
            most = other.paused + other.busy;
        }
        return next;
    }
    Place place_at(topology::CableEnd end) const {
        const uint32_t cable = facts_.names.ports().at(end).cable;
        return fabric::place_of(cable, facts_.setup.graph.cables[cable].a == end);
    }

    // A port.

    void explain_place(Place place, const Trouble& trouble) {
        const topology::CableEnd end = end_at(facts_.setup, place);
        const uint32_t cable = place / 2;
        add(CauseKind::link_retries, link_name(end), trouble.retries, retries_text(end), place);
        if (is_far(cable))
            explain_far(place, trouble.propagation);
        else
            latency_ += trouble.propagation;
        if (is_slow(cable) && !facts_.is_host(end.node)) return explain_slow(place, trouble);
        if (facts_.is_host(end.node)) return explain_host(place, end, trouble);
        own_bytes_ += trouble.serialization;
        if (trouble.contention().ps == 0) return;
        if (repair_permille(cable) >= kRepairPermille)
            return add(CauseKind::link_retries, link_name(end), trouble.contention(),
                       retries_text(end), place);
        explain_contention(place, end, trouble);
    }

    // Either the port had more to send than it could; or senders were held back although it had
    // room. A port that nobody else uses has no more to send than it can. Where the work itself
    // asks for more than a host's link can carry, what is too much is that the link fell idle.
    void explain_contention(Place place, topology::CableEnd end, const Trouble& trouble) {
        const uint64_t busy = busy_permille(end);
        const bool is_mine = crosses_chain(place);
        if (is_mine && messages_at(place) <= 1) return explain_thin(place, end, trouble, busy);
        if (!is_mine || !is_thin(trouble))
            return explain_full(place, end, trouble.contention(), busy);
        const bool slows = trouble.congestion > trouble.held;
        if (!is_of_own_work(place, end)) {
            if (slows || busy >= kFullPermille)
                return explain_full(place, end, trouble.contention(), busy);
            return explain_thin(place, end, trouble, busy);
        }
        const Duration idle = (account_.end - facts_.begin) - busy_time(end) - distance_;
        Trouble slowed;
        (slows ? slowed.congestion : slowed.held) =
            std::clamp(idle, Duration{}, slows ? trouble.congestion : trouble.held);
        explain_thin(place, end, slowed, busy);
        explain_full(place, end, trouble.contention() - slowed.contention(), busy);
    }
    // The link to a host, and no other work has as many senders.
    bool is_of_own_work(Place place, topology::CableEnd end) const {
        const sim::LinkResult* link = facts_.link_at(end.node, end.port);
        const Sharers sharers = sharers_at(place);
        return link != nullptr && facts_.is_host(link->peer_node) && !sharers.is_of_others();
    }
    bool crosses_chain(Place place) const {
        const std::vector<Pair> pairs = pairs_at(place);
        return std::any_of(pairs.begin(), pairs.end(),
                           [&](const Pair& pair) { return is_of_chain(pair); });
    }
    // How many flows go through a port; of a program, how many pairs of ranks.
    size_t messages_at(Place place) const {
        size_t count = 0;
        for (const Pair& pair : pairs_at(place)) {
            const auto flows = std::count_if(
                facts_.setup.flows.begin(), facts_.setup.flows.end(), [&](const sim::Flow& flow) {
                    return pair == Pair{flow.source, flow.destination} ||
                           pair == Pair{flow.destination, flow.source};
                });
            count += static_cast<size_t>(std::max<std::ptrdiff_t>(1, flows));
        }
        return count;
    }

    // How much of a line's time goes to packets that the link sends again, and to the wait for the
    // far end's answer.
    uint64_t repair_permille(uint32_t number) const {
        const fabric::LinkSettings& link = facts_.setup.fabric.link;
        if (link.bit_errors != fabric::BitErrors::retransmitted) return 0;
        const topology::Cable& cable = facts_.setup.graph.cables[number];
        const uint64_t bytes = facts_.setup.host.mtu;
        const uint64_t hit_e9 =
            std::min<uint64_t>(1'000'000'000, cable.loss_per_trillion / 1'000 +
                                                  link.error_rate_e18 / 1'000'000'000 * bytes * 8);
        const Duration once = sim::cable_rate(facts_.setup, number).time_for(bytes);
        const Duration again = once + 2 * (sim::cable_delay(facts_.setup, number) + link.fec_delay);
        const auto repairs = static_cast<uint64_t>(again.ps) * hit_e9 / 1'000'000'000;
        return repairs * 1000 / (repairs + static_cast<uint64_t>(once.ps));
    }

    // A host's own bits on its line. Of those that the link repairs, some went twice.
    void explain_sent(Place place, topology::CableEnd end, Duration time) {
        const auto repair = static_cast<int64_t>(repair_permille(place / 2));
        const Duration repairs = time * repair / 1000;
        add(CauseKind::link_retries, link_name(end), repairs, retries_text(end), place);
        own_bytes_ += time - repairs;
    }

    // Flow control or congestion control held senders back, and not queues.
    static bool is_thin(const Trouble& trouble) { return trouble.queue < trouble.contention() / 2; }

    // One that is far longer than others, on the way of the chain: what fills the way there and
    // back is more than windows and credits are made for.
    std::optional<uint32_t> far_cable() const {
        for (const auto& [place, trouble] : troubles_)
            if (is_far(place / 2) && trouble.propagation.ps != 0) return place / 2;
        return std::nullopt;
    }
    void explain_far(Place place, Duration time) {
        const uint32_t cable = place / 2;
        const Duration usual = usual_delay_[is_at_host(cable)];
        const Duration delay = sim::cable_delay(facts_.setup, cable);
        const Duration excess{time.ps - time.ps / delay.ps * usual.ps};
        latency_ += time - excess;
        add(CauseKind::long_cable, facts_.names.cable(cable), excess, far_text(cable), place);
    }
    std::string far_text(uint32_t cable) const {
        return fmt::format("the cable {} takes {}, others {}", facts_.names.cable(cable),
                           base::to_string(sim::cable_delay(facts_.setup, cable)),
                           base::to_string(usual_delay_[is_at_host(cable)]));
    }

    void explain_slow(Place place, const Trouble& trouble) {
        const uint32_t cable = place / 2;
        add(CauseKind::slow_cable, facts_.names.cable(cable),
            trouble.contention() + trouble.serialization, slow_text(cable), place);
    }
    std::string slow_text(uint32_t cable) const {
        return fmt::format("the cable {} runs at {}, others at {}", facts_.names.cable(cable),
                           base::to_string(sim::cable_rate(facts_.setup, cable)),
                           base::to_string(*usual_rate_[is_at_host(cable)]));
    }

    bool has_fault(sim::Fault::Kind kind, uint32_t subject) const {
        return std::any_of(facts_.setup.faults.begin(), facts_.setup.faults.end(),
                           [&](const sim::Fault& fault) {
                               return fault.kind == kind && fault.subject == subject;
                           });
    }

    // Why a host holds up the link to it.
    CauseKind why_it_does_not_take(uint32_t node) const {
        if (has_fault(sim::Fault::Kind::pause_storm, node)) return CauseKind::pause_storm;
        const bool is_slow = has_fault(sim::Fault::Kind::slow_receiver, node);
        return is_slow || facts_.setup.host.receive_toll.is_free() ? CauseKind::slow_receiver
                                                                   : CauseKind::host_bus;
    }
    static std::string receiving_text(CauseKind kind, const std::string& name) {
        if (kind == CauseKind::pause_storm)
            return fmt::format("host {} paused its link for no reason", name);
        if (kind == CauseKind::slow_receiver)
            return fmt::format("host {} does not take what arrives as fast as it comes", name);
        return fmt::format("host {} moves data between memory and adapter no faster", name);
    }

    void explain_not_taken(Place place, uint32_t node, Duration time) {
        const CauseKind kind = why_it_does_not_take(node);
        const bool is_its_fault =
            kind != CauseKind::slow_receiver || has_fault(sim::Fault::Kind::slow_receiver, node);
        if (const auto far = far_cable(); far && !is_its_fault)
            return add(CauseKind::long_cable, facts_.names.cable(*far), time, far_text(*far),
                       2 * *far);
        const std::string& name = facts_.names.node(node);
        add(kind, name, time, receiving_text(kind, name), place, node);
    }

    // The port of a host: what it sends, and what it does not take.
    void explain_host(Place place, topology::CableEnd end, const Trouble& trouble) {
        const std::string& name = facts_.names.node(end.node);
        const uint32_t cable = place / 2;
        explain_not_taken(place, end.node, trouble.held);
        const CauseKind moving = has_fault(sim::Fault::Kind::slow_receiver, end.node)
                                     ? CauseKind::slow_receiver
                                     : CauseKind::host_bus;
        add(moving, name, trouble.bus, receiving_text(moving, name), place, end.node);
        add(CauseKind::shared_adapter, name, trouble.queue,
            fmt::format("the adapter of {} sent other packets first", name), place, end.node, {},
            busy_time(end));
        add(CauseKind::congestion_control, name, trouble.congestion,
            fmt::format("congestion control slowed the sender because of {}", name), place);
        if (!is_slow(cable)) return explain_sent(place, end, trouble.serialization);
        add(CauseKind::slow_cable, facts_.names.cable(cable), trouble.serialization,
            slow_text(cable), place);
    }

    std::string retries_text(topology::CableEnd end) const {
        return fmt::format("bit errors on {}: the link sent packets again", link_name(end));
    }
    std::string link_name(topology::CableEnd end) const {
        return facts_.names.link(end.node, end.port);
    }

    void explain_thin(Place place, topology::CableEnd end, const Trouble& trouble, uint64_t busy) {
        if (trouble.congestion > trouble.held)
            return add(CauseKind::congestion_control, link_name(end), trouble.contention(),
                       fmt::format("congestion control slowed the sender more than {} asked for, "
                                   "which was {} busy",
                                   link_name(end), percent_text(busy)),
                       place);
        if (const auto far = far_cable(); far && trouble.held.ps != 0)
            return add(CauseKind::long_cable, facts_.names.cable(*far), trouble.contention(),
                       far_text(*far), 2 * *far);
        add(CauseKind::small_buffer, link_name(end), trouble.contention(),
            fmt::format("buffers before {} are too small: it was {} busy, and yet senders {}",
                        link_name(end), percent_text(busy),
                        facts_.has_credits() ? "lacked credits" : "were paused"),
            place);
    }

    // Who sends through a port; endpoints that are in no flow or rank are passed over.
    std::vector<Pair> pairs_at(Place place) const {
        const auto found = crossings_.find(place);
        if (found == crossings_.end()) return {};
        return {found->second.begin(), found->second.end()};
    }

    // The pieces of work between two endpoints: groups of flows, then jobs of the program.
    std::set<uint32_t> work_of(const Pair& pair) const {
        build_work();
        const auto found = work_.find(pair);
        return found == work_.end() ? std::set<uint32_t>{} : found->second;
    }
    void build_work() const {
        if (!work_.empty()) return;
        for (const sim::Flow& flow : facts_.setup.flows) {
            work_[{flow.source, flow.destination}].insert(flow.group);
            work_[{flow.destination, flow.source}].insert(flow.group);
        }
        const auto first = static_cast<uint32_t>(facts_.setup.groups.size());
        for (const workload::Task& task : facts_.setup.program.tasks()) {
            if (task.kind == workload::Task::Kind::compute || task.tier == Tier::scale_up) continue;
            const uint32_t from = facts_.setup.ranks[task.rank].endpoint;
            const uint32_t to = facts_.setup.ranks[task.peer].endpoint;
            const uint32_t job = facts_.setup.program.phases[task.phase].job;
            work_[{from, to}].insert(first + job);
            work_[{to, from}].insert(first + job);
        }
    }
    std::string work_name(uint32_t work) const {
        const auto& groups = facts_.setup.groups;
        if (work < groups.size())
            return groups[work].empty() ? fmt::format("work {}", work + 1) : groups[work];
        const auto& jobs = facts_.setup.program.jobs;
        const size_t job = work - groups.size();
        return job < jobs.size() && !jobs[job].name.empty() ? jobs[job].name
                                                            : fmt::format("job {}", job + 1);
    }
    // Whether messages of the chain go from one to the other.
    bool is_of_chain(const Pair& pair) const {
        return std::any_of(
            account_.chain.begin(), account_.chain.end(), [&](const sim::ChainLink& link) {
                if (!link.is_task) {
                    const sim::Flow& flow = facts_.setup.flows[link.id];
                    return pair == Pair{flow.source, flow.destination} ||
                           pair == Pair{flow.destination, flow.source};
                }
                const workload::Task& task = facts_.setup.program[link.id];
                if (task.kind == workload::Task::Kind::compute || task.tier == Tier::scale_up)
                    return false;
                const uint32_t from = facts_.setup.ranks[task.rank].endpoint;
                const uint32_t to = facts_.setup.ranks[task.peer].endpoint;
                return pair == Pair{from, to} || pair == Pair{to, from};
            });
    }
    uint32_t own_work() const {
        const sim::ChainLink& last = account_.chain.back();
        if (!last.is_task) return facts_.setup.flows[last.id].group;
        const uint32_t phase = facts_.setup.program[last.id].phase;
        return static_cast<uint32_t>(facts_.setup.groups.size()) +
               facts_.setup.program.phases[phase].job;
    }

    // Whose messages go through a port.
    struct Sharers {
        size_t sources = 0;  // hosts
        size_t own_pairs = 0;
        size_t other_pairs = 0;  // of the piece of work that has most, of all others
        uint32_t other = 0;

        bool is_of_others() const { return other_pairs != 0 && own_pairs <= other_pairs; }
    };
    Sharers sharers_at(Place place) const {
        Sharers sharers;
        std::set<uint32_t> sources;
        std::map<uint32_t, size_t> others;
        for (const Pair& pair : pairs_at(place)) {
            sources.insert(pair.first);
            const std::set<uint32_t> works = work_of(pair);
            if (works.contains(own_work()))
                ++sharers.own_pairs;
            else
                for (const uint32_t work : works) ++others[work];
        }
        sharers.sources = sources.size();
        for (const auto& [work, pairs] : others)
            if (pairs > sharers.other_pairs) {
                sharers.other_pairs = pairs;
                sharers.other = work;
            }
        return sharers;
    }

    // A link that had more to carry than it could. Whose traffic it was tells why.
    void explain_full(Place place, topology::CableEnd end, Duration time, uint64_t busy) {
        const std::vector<Pair> pairs = pairs_at(place);
        const sim::LinkResult* link = facts_.link_at(end.node, end.port);
        const Sharers sharers = sharers_at(place);
        const bool to_host = link != nullptr && facts_.is_host(link->peer_node);
        const bool is_mine = crosses_chain(place);
        if (sharers.is_of_others())
            return add(
                CauseKind::other_work, link_name(end), time,
                fmt::format("{} uses {} too ({} of {} senders, {} busy)", work_name(sharers.other),
                            link_name(end), sharers.other_pairs, pairs.size(), percent_text(busy)),
                place, {}, sharers.other);
        if (!is_mine && !pairs.empty())
            return add(CauseKind::victim, link_name(end), time,
                       fmt::format("it stood behind packets for {}, which its own do not cross "
                                   "({} busy, {} senders)",
                                   link_name(end), percent_text(busy), pairs.size()),
                       place, link->peer_node);
        if (to_host)
            return add(
                CauseKind::incast, link_name(end), time,
                fmt::format("{} send to {} at once: {} was {} busy", counted_hosts(sharers.sources),
                            facts_.names.node(link->peer_node), link_name(end), percent_text(busy)),
                place, link->peer_node, {}, link->busy);
        explain_between(place, end, time, busy, pairs);
    }

    static std::string counted_hosts(size_t count) {
        return count == 1 ? "1 host" : fmt::format("{} hosts", count);
    }

    // Hops from each node to a host.
    std::vector<uint32_t> hops_to(uint32_t host) const {
        std::vector<uint32_t> hops(facts_.setup.graph.nodes.size(), UINT32_MAX);
        std::queue<uint32_t> next;
        hops[host] = 0;
        next.push(host);
        for (; !next.empty(); next.pop())
            for (const auto& link : facts_.names.ports().of(next.front()))
                if (link.is_cabled() && hops[link.peer.node] == UINT32_MAX) {
                    hops[link.peer.node] = hops[next.front()] + 1;
                    next.push(link.peer.node);
                }
        return hops;
    }

    // Links that a message could take instead of this one: on paths of equal length, as far from
    // where it goes.
    std::set<Place> equals_of(topology::CableEnd end, const Pair& pair) const {
        const uint32_t source = facts_.names.hosts()[pair.first];
        const uint32_t destination = facts_.names.hosts()[pair.second];
        const std::vector<uint32_t> hops = hops_to(destination);
        std::set<Place> equals;
        for (const sim::LinkResult& link : facts_.result.links) {
            const topology::CableEnd other{link.node, link.port};
            if (hops[link.node] != hops[end.node] || hops[link.peer_node] + 1 != hops[link.node] ||
                other == end || !facts_.routes.may_cross(source, destination, other))
                continue;
            const topology::Cable& cable = facts_.setup.graph.cables[link.cable];
            equals.insert(fabric::place_of(link.cable, cable.a == other));
        }
        return equals;
    }

    // Between switches: were there equal paths, and did they have room?
    void explain_between(Place place, topology::CableEnd end, Duration time, uint64_t busy,
                         const std::vector<Pair>& pairs) {
        std::set<Place> equal;
        for (const Pair& pair : pairs)
            if (is_of_chain(pair)) equal.merge(equals_of(end, pair));
        uint64_t others = 0;
        for (const Place other : equal) {
            if (const auto down = what_was_down(other / 2))
                return add(
                    CauseKind::link_down, *down, time,
                    fmt::format("{} was down, and {} carried its part too", *down, link_name(end)),
                    other);
            others += busy_permille(end_at(facts_.setup, other));
        }
        if (!equal.empty() && others * 1000 < busy * kIdlePart * equal.size())
            return add(
                CauseKind::uneven_paths, link_name(end), time,
                fmt::format("{} flows met on {} ({} busy), while {} {} busy on average",
                            pairs.size(), link_name(end), percent_text(busy),
                            equal.size() == 1 ? "1 equal path was"
                                              : fmt::format("{} equal paths were", equal.size()),
                            percent_text(others / equal.size())),
                place);
        add(CauseKind::oversubscribed, link_name(end), time,
            fmt::format("{}{} more to carry than it could ({} busy, {} flows)", link_name(end),
                        equal.empty() ? " had" : " and its equals had", percent_text(busy),
                        pairs.size()),
            place);
    }

    // Inside servers.
    void explain_inside() {
        if (!facts_.setup.scale_up) return;
        const std::string& name = facts_.setup.scale_up->fabric_name;
        Duration contention{};
        for (const auto& [kind, time] : inside_) {
            if (fabric::is_wait(kind))
                contention += time;
            else if (kind == ShareKind::propagation)
                latency_ += time;
            else
                own_bytes_ += time;
        }
        add(CauseKind::oversubscribed, name, contention,
            fmt::format("{} inside servers was full", name));
    }

    // Losses.

    void explain_loss() {
        const Duration time = nowhere_[ShareKind::loss];
        if (time.ps == 0) return;
        const sim::TimeAccount::Loss* most = nullptr;
        for (const auto& loss : account_.losses)
            if (most == nullptr || loss.packets > most->packets) most = &loss;
        if (most == nullptr) return explain_resending(time);
        const topology::CableEnd end = end_at(facts_.setup, most->place);
        add(kind_of(*most), place_of_loss(*most), time,
            fmt::format("{} of its packets were lost at {} ({})", most->packets, link_name(end),
                        drop_name(most->cause)),
            most->place);
    }
    CauseKind kind_of(const sim::TimeAccount::Loss& loss) const {
        switch (loss.cause) {
            case Drop::buffer_full:
                return facts_.result.disagreements.empty() ? CauseKind::buffer_overflow
                                                           : CauseKind::settings_disagree;
            case Drop::headroom_full:
                if (facts_.result.totals.watchdog_fired != 0) return CauseKind::watchdog;
                return facts_.result.disagreements.empty() ? CauseKind::headroom_overflow
                                                           : CauseKind::settings_disagree;
            case Drop::corrupted: return CauseKind::lossy_cable;
            case Drop::link_down: return CauseKind::link_down;
            case Drop::no_route:
            case Drop::hop_limit: return first_down() ? CauseKind::link_down : CauseKind::no_route;
            case Drop::head_of_queue: return CauseKind::head_of_queue;
            case Drop::watchdog: return CauseKind::watchdog;
        }
        return CauseKind::unexplained;
    }
    // Damage is found where a cable ends, and is that cable's. Pauses that one end does not heed
    // are the fault of their cable, too.
    std::string place_of_loss(const sim::TimeAccount::Loss& loss) const {
        const topology::CableEnd end = end_at(facts_.setup, loss.place);
        switch (kind_of(loss)) {
            case CauseKind::lossy_cable: return facts_.names.cable(loss.place / 2);
            case CauseKind::link_down:
                if (loss.cause != Drop::link_down) return *first_down();
                return what_was_down(loss.place / 2).value_or(facts_.names.cable(loss.place / 2));
            case CauseKind::watchdog: return link_name(watchdog_at(end));
            case CauseKind::settings_disagree: return facts_.names.cable(disagreement_at(end.node));
            default: return link_name(end);
        }
    }
    // Of the cables whose ends disagree, one of this node, if any.
    uint32_t disagreement_at(uint32_t node) const {
        for (const sim::Disagreement& found : facts_.result.disagreements) {
            const topology::Cable& cable = facts_.setup.graph.cables[found.cable];
            if (cable.a.node == node || cable.b.node == node) return found.cable;
        }
        return facts_.result.disagreements.front().cable;
    }
    // Whose watchdog threw away most; a port whose watchdog has fired heeds no pauses, and what
    // overruns headroom then is its fault.
    topology::CableEnd watchdog_at(topology::CableEnd end) const {
        uint64_t most = 0;
        for (const sim::LinkResult& link : facts_.result.links)
            if (const uint64_t lost = link.dropped[static_cast<size_t>(Drop::watchdog)];
                lost > most) {
                most = lost;
                end = {link.node, link.port};
            }
        return end;
    }
    // What went down first, cable or switch: why there is no way.
    std::optional<std::string> first_down() const {
        const sim::Fault* first = nullptr;
        for (const sim::Fault& fault : facts_.setup.faults)
            if ((fault.kind == sim::Fault::Kind::cable_down ||
                 fault.kind == sim::Fault::Kind::switch_down) &&
                (first == nullptr || fault.at < first->at))
                first = &fault;
        if (first == nullptr) return std::nullopt;
        return first->kind == sim::Fault::Kind::cable_down ? facts_.names.cable(first->subject)
                                                           : facts_.names.node(first->subject);
    }
    // The switch at an end of a cable, or the cable itself.
    std::optional<std::string> what_was_down(uint32_t number) const {
        const topology::Cable& cable = facts_.setup.graph.cables[number];
        for (const uint32_t node : {cable.a.node, cable.b.node})
            if (has_fault(sim::Fault::Kind::switch_down, node)) return facts_.names.node(node);
        if (has_fault(sim::Fault::Kind::cable_down, number)) return facts_.names.cable(number);
        return std::nullopt;
    }
    void explain_resending(Duration time) {
        const bool reorders = facts_.setup.fabric.route.choice != fabric::PathChoice::ecmp;
        if (reorders)
            return add(CauseKind::reordering, "", time,
                       "packets took several paths, and what came out of order was taken for lost");
        add(CauseKind::early_timeout, "", time,
            "packets were sent again although none was lost: answers came after the timeout");
    }

    // What a sender imposes on itself.
    void explain_senders() {
        const Duration window = nowhere_[ShareKind::window];
        if (const auto far = far_cable())
            add(CauseKind::long_cable, facts_.names.cable(*far), window, far_text(*far), 2 * *far);
        else
            add(CauseKind::window, "", window,
                "the window was full: more would have to be in flight to fill the way there and "
                "back");
        add(CauseKind::rate_limit, "", nowhere_[ShareKind::rate_limit],
            "the sender keeps to its own rate limit");
        add(CauseKind::congestion_control, "", nowhere_[ShareKind::congestion],
            "congestion control slowed the sender");
        add(CauseKind::not_ready, "", nowhere_[ShareKind::not_ready],
            "the receiver had no buffer posted");
        add(CauseKind::small_buffer, "", nowhere_[ShareKind::held],
            "senders were held up by flow control");
        add(CauseKind::late_start, "", nowhere_[ShareKind::start], "it began late");
    }

    // A rank that computes for longer than most of its phase.
    void explain_ranks() {
        for (const auto& [rank, time] : computing_) {
            const Duration excess = excess_of(rank);
            add(CauseKind::slow_rank, fmt::format("rank {}", rank), excess,
                fmt::format("rank {} computes for longer than others", rank), fabric::kNowhere,
                rank);
            add(CauseKind::compute, "", time - std::min(time, excess), "ranks compute");
        }
    }
    Duration excess_of(uint32_t rank) const {
        std::map<uint32_t, std::vector<Duration>> by_phase;
        for (const workload::Task& task : facts_.setup.program.tasks())
            if (task.kind == workload::Task::Kind::compute && task.duration.ps != 0)
                by_phase[task.phase].push_back(task.duration);
        Duration excess{};
        for (const sim::ChainLink& link : account_.chain) {
            if (!link.is_task) continue;
            const workload::Task& task = facts_.setup.program[link.id];
            if (task.kind != workload::Task::Kind::compute || task.rank != rank) continue;
            auto& durations = by_phase[task.phase];
            std::sort(durations.begin(), durations.end());
            if (!durations.empty())
                excess += std::max(Duration{}, task.duration - durations[durations.size() / 2]);
        }
        return excess;
    }

    void explain_rest() {
        add(CauseKind::software, "", nowhere_[ShareKind::software],
            "software at the ends: reaction, launch and adapter latency");
        add(CauseKind::latency, "", latency_ + nowhere_[ShareKind::switching],
            "the way itself: cables, FEC and switches");
        add(CauseKind::own_bytes, "", own_bytes_, "there was that much to send");
        add(CauseKind::unexplained, "", nowhere_[ShareKind::unexplained], "unexplained");
    }

    const Facts& facts_;
    const sim::TimeAccount& account_;
    std::map<Place, Trouble> troubles_;
    std::map<ShareKind, Duration> nowhere_;
    std::map<ShareKind, Duration> inside_;
    std::map<uint32_t, Duration> computing_;  // by rank
    std::map<Place, std::set<Pair>> crossings_;
    mutable std::map<Pair, std::set<uint32_t>> work_;
    Duration usual_delay_[2]{};
    std::optional<base::Rate> usual_rate_[2];
    Duration
        distance_{};  // the chain's time that no line is busy for: the way, the ends, the start
    Duration latency_{};
    Duration own_bytes_{};
    std::vector<Cause> found_;
};

}  // namespace

std::vector<Cause> find_causes(const Facts& facts) {
    if (facts.result.account.shares.empty()) return {};
    return Investigation(facts).causes();
}

const char* cause_name(CauseKind kind) {
    switch (kind) {
        case CauseKind::incast: return "incast";
        case CauseKind::other_work: return "other_work";
        case CauseKind::victim: return "victim";
        case CauseKind::uneven_paths: return "uneven_paths";
        case CauseKind::oversubscribed: return "oversubscribed";
        case CauseKind::shared_adapter: return "shared_adapter";
        case CauseKind::slow_cable: return "slow_cable";
        case CauseKind::long_cable: return "long_cable";
        case CauseKind::slow_receiver: return "slow_receiver";
        case CauseKind::pause_storm: return "pause_storm";
        case CauseKind::small_buffer: return "small_buffer";
        case CauseKind::congestion_control: return "congestion_control";
        case CauseKind::rate_limit: return "rate_limit";
        case CauseKind::window: return "window";
        case CauseKind::host_bus: return "host_bus";
        case CauseKind::lossy_cable: return "lossy_cable";
        case CauseKind::link_retries: return "link_retries";
        case CauseKind::buffer_overflow: return "buffer_overflow";
        case CauseKind::headroom_overflow: return "headroom_overflow";
        case CauseKind::settings_disagree: return "settings_disagree";
        case CauseKind::link_down: return "link_down";
        case CauseKind::no_route: return "no_route";
        case CauseKind::watchdog: return "watchdog";
        case CauseKind::head_of_queue: return "head_of_queue";
        case CauseKind::reordering: return "reordering";
        case CauseKind::early_timeout: return "early_timeout";
        case CauseKind::not_ready: return "not_ready";
        case CauseKind::slow_rank: return "slow_rank";
        case CauseKind::software: return "software";
        case CauseKind::latency: return "latency";
        case CauseKind::compute: return "compute";
        case CauseKind::late_start: return "late_start";
        case CauseKind::own_bytes: return "own_bytes";
        case CauseKind::unexplained: return "unexplained";
    }
    return "";
}

}  // namespace tulle::report
