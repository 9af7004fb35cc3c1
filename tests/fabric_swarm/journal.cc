#include "journal.h"

#include <algorithm>
#include <map>
#include <set>

#include "cluster/framing.h"
#include "sim/cables.h"

namespace tulle::fabric_swarm {
namespace {

using base::Duration;
using base::Instant;
using sim::Result;
using workload::Task;
using workload::Tier;

constexpr Duration kRounding{100};

// Messages of one network by their numbers and who sent or received them; of each the first.
class Journal {
public:
    struct Entry {
        Instant at = Instant::never();
        uint32_t copies = 0;
    };
    using Entries = std::map<std::pair<uint32_t, uint32_t>, Entry>;

    Journal(const workload::Program& program, const sim::Setup& network, const Result& result,
            std::vector<uint32_t> rank_of_node)
        : program_(program),
          network_(network),
          framing_(network.fabric),
          rank_of_node_(std::move(rank_of_node)) {
        has_slow_receivers_ = std::ranges::any_of(network.faults, [](const sim::Fault& fault) {
            return fault.kind == sim::Fault::Kind::slow_receiver;
        });
        for (const sim::CapturedPacket& captured : result.captured) read(captured);
    }

    // When the last packet of a message had left its host.
    Instant left(uint32_t number, uint32_t rank) const { return find(left_, number, rank).at; }
    // When the receiver's user can know of it at the earliest.
    Instant arrived(uint32_t number, uint32_t rank) const {
        return find(arrived_, number, rank).at;
    }
    const Entries& arrivals() const { return arrived_; }

private:
    static const Entry& find(const Entries& entries, uint32_t number, uint32_t rank) {
        static const Entry kNever;
        const auto found = entries.find({number, rank});
        return found == entries.end() ? kNever : found->second;
    }

    static void note(Entries& entries, uint32_t number, uint32_t rank, Instant at) {
        Entry& entry = entries[{number, rank}];
        entry.at = std::min(entry.at, at);
        ++entry.copies;
    }

    void read(const sim::CapturedPacket& captured) {
        const wire::Packet& packet = captured.packet;
        const auto operation = wire::operation_of(static_cast<uint8_t>(packet.opcode));
        if (packet.kind != wire::PacketKind::transport ||
            (operation != wire::Operation::write_last_with_immediate &&
             operation != wire::Operation::write_only_with_immediate))
            return;
        const topology::Cable& cable = network_.graph.cables[captured.cable];
        const uint32_t from = (captured.from_a ? cable.a : cable.b).node;
        const uint32_t to = (captured.from_a ? cable.b : cable.a).node;
        // Where each packet says where its data goes, the last one does, too.
        const bool has_address = operation == wire::Operation::write_only_with_immediate ||
                                 (network_.host.delivery != transport::Delivery::ordered &&
                                  ((packet.source | packet.destination) & fabric::kGroupBit) == 0 &&
                                  network_.host.service != sim::Service::unreliable);
        const uint32_t number = has_address ? packet.extended.rdma.immediate_or_flush
                                            : packet.extended.send.immediate_or_rkey;
        if (rank_of_node_[from] != topology::kNone)
            note(left_, number, rank_of_node_[from], captured.at);
        if (rank_of_node_[to] != topology::kNone)
            note(arrived_, sum_of(number), rank_of_node_[to],
                 captured.at + cable_delay(network_, cable) + network_.fabric.link.fec_delay +
                     toll_after_last_bit(packet, cable_rate(network_, cable)) +
                     network_.host.receive_latency);
    }

    // The contribution that completed a sum stands for it: which one depends on the run.
    uint32_t sum_of(uint32_t number) const {
        const bool is_part = number < program_.size() && program_[number].is_part_of_sum();
        return is_part ? program_[number].reduction : number;
    }

    // A receiver takes what comes as it comes, so some of the toll is paid by then.
    Duration toll_after_last_bit(const wire::Packet& packet, base::Rate line) const {
        const sim::Toll& toll = network_.host.receive_toll;
        if (toll.is_free() || packet.trimmed || has_slow_receivers_) return {};
        Duration all = toll.per_packet;
        if (toll.rate) all += toll.rate->time_for(packet.payload_length);
        // What a switch sends on takes as much of the line as what came for it.
        wire::Packet sent = packet;
        if ((packet.source & fabric::kGroupBit) != 0) sent.destination = packet.source;
        const Duration on_line = line.time_for(framing_.wire_bytes(sent));
        return all > on_line ? all - on_line : Duration{};
    }

    const workload::Program& program_;
    const sim::Setup& network_;
    cluster::Framing framing_;
    std::vector<uint32_t> rank_of_node_;
    bool has_slow_receivers_ = false;
    Entries left_;
    Entries arrived_;
};

Journal read_journal(const sim::Setup& setup, const Result& result, Tier tier) {
    const bool is_up = tier == Tier::scale_up;
    const sim::Setup& network = is_up ? *setup.scale_up : setup;
    const std::vector<uint32_t> hosts = network.graph.endpoints();
    std::vector<uint32_t> ranks(network.graph.nodes.size(), topology::kNone);
    for (uint32_t rank = 0; rank < setup.ranks.size(); ++rank) {
        const sim::RankPlace& place = setup.ranks[rank];
        const uint32_t endpoint = is_up ? place.scale_up : place.endpoint;
        if (endpoint != topology::kNone) ranks[hosts[endpoint]] = rank;
    }
    return {setup.program, network, is_up ? *result.scale_up : result, std::move(ranks)};
}

class Auditor {
public:
    Auditor(const sim::Setup& setup, const Result& result)
        : setup_(setup), program_(setup.program) {
        journals_.push_back(read_journal(setup, result, Tier::scale_out));
        if (setup.scale_up) journals_.push_back(read_journal(setup, result, Tier::scale_up));
    }

    // Tasks come after what they wait for, so the earliest times follow one from another.
    std::string check_times() {
        posted_.resize(program_.size());
        for (uint32_t i = 0; i < program_.size(); ++i) {
            const Task& task = program_[i];
            Instant at = program_.jobs[program_.phases[task.phase].job].start;
            for (const uint32_t need : program_.needs(i)) at = std::max(at, seen(need, task.rank));
            posted_[i] = at == Instant::never() ? at : earliest_post(task, at);
            if (task.kind == Task::Kind::compute || task.kind == Task::Kind::read) continue;
            const Instant left = journal(task).left(i, task.rank);
            if (left == Instant::never()) continue;
            if (posted_[i] == Instant::never())
                return name(i) + " was sent, but what it waits for has not come";
            const Instant earliest = posted_[i] + time_to_leave(task);
            if (left + kRounding < earliest)
                return name(i) + " left after " + std::to_string(left.ps) +
                       " ps, but its rank cannot have sent it before " +
                       std::to_string(earliest.ps);
        }
        return {};
    }

    // Where nothing is lost nothing is sent twice.
    std::string check_single(Tier tier) const {
        for (const auto& [key, entry] : journals_[static_cast<size_t>(tier)].arrivals())
            if (entry.copies != 1)
                return name(key.first) + " came " + std::to_string(entry.copies) + " times";
        return {};
    }

private:
    std::string name(uint32_t task) const { return "task " + std::to_string(task); }
    const sim::Setup& network(const Task& task) const {
        return task.tier == Tier::scale_up ? *setup_.scale_up : setup_;
    }
    const Journal& journal(const Task& task) const {
        return journals_[static_cast<size_t>(task.tier)];
    }
    Duration copy(const Task& task) const {
        const sim::Staging& staging = setup_.host.staging;
        if (task.tier == Tier::scale_up || !staging.is_on) return {};
        return staging.latency + staging.rate.time_for(task.bytes);
    }

    // For computing: when it ends.
    Instant earliest_post(const Task& task, Instant ready) const {
        if (task.kind == Task::Kind::compute) return ready + task.duration;
        const sim::HostSettings& host = network(task).host;
        const Instant copied = task.kind == Task::Kind::read ? ready : ready + copy(task);
        return copied + host.reaction + host.send_latency;
    }

    // Each packet waits until those before it have paid, and then takes its time on the line.
    Duration time_to_leave(const Task& task) const {
        const sim::Setup& on = network(task);
        const uint64_t mtu = on.host.mtu;
        const uint64_t before = std::max<uint64_t>(1, (task.bytes + mtu - 1) / mtu) - 1;
        Duration toll = on.host.send_toll.per_packet * static_cast<int64_t>(before);
        if (on.host.send_toll.rate) toll += on.host.send_toll.rate->time_for(before * mtu);
        return toll;
    }

    // When a rank can know of it at the earliest.
    Instant seen(uint32_t number, uint32_t rank) const {
        const Task& task = program_[number];
        switch (task.kind) {
            case Task::Kind::read:
            case Task::Kind::compute: return posted_[number];
            case Task::Kind::multicast: return journal(task).arrived(number, rank);
            case Task::Kind::sum_for_all:
                if (task.reduction != number) return posted_[number];
                return journal(task).arrived(number, rank);
            case Task::Kind::contribute:
                return rank == task.rank ? posted_[number] : journal(task).arrived(number, rank);
            case Task::Kind::send: break;
        }
        if (rank == task.rank && network(task).host.service == sim::Service::unreliable)
            return posted_[number];
        const Instant arrived = journal(task).arrived(number, task.peer);
        // Who sent it hears of it without the receiver's copy.
        const bool is_told = rank == task.rank || arrived == Instant::never();
        return is_told ? arrived : arrived + copy(task);
    }

    const sim::Setup& setup_;
    const workload::Program& program_;
    std::vector<Journal> journals_;
    std::vector<Instant> posted_;
};

bool lost_nothing(const Result& result) {
    return result.totals.trimmed == 0 && result.totals.retransmitted == 0 &&
           std::ranges::all_of(result.totals.dropped, [](uint64_t count) { return count == 0; });
}

// Arrivals that ranks see on a network when all is done.
uint64_t arrivals_of(const sim::Setup& setup, Tier tier) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < setup.program.size(); ++i) {
        const Task& task = setup.program[i];
        if (task.tier != tier) continue;
        if (task.kind == Task::Kind::send) ++count;
        if (task.kind == Task::Kind::contribute && task.reduction == i) ++count;
        if (task.kind == Task::Kind::sum_for_all) ++count;  // each who gives a part gets the sum
        if (task.kind != Task::Kind::multicast) continue;
        const auto& graph = setup.scale_up->graph;
        const auto server_of = [&](uint32_t endpoint) {
            return graph.nodes[graph.endpoints()[endpoint]].server;
        };
        const uint32_t server = server_of(setup.ranks[task.rank].scale_up);
        for (uint32_t other = 0; other < graph.host_count(); ++other)
            count += server_of(other) == server ? 1 : 0;
    }
    return count;
}

std::string check_counts(const sim::Setup& setup, const Result& result) {
    const bool is_done = std::ranges::all_of(result.phases, &sim::PhaseResult::finished);
    const auto is_wrong = [&](uint64_t seen, Tier tier) {
        const uint64_t asked = arrivals_of(setup, tier);
        return is_done ? seen != asked : seen > asked;
    };
    if (is_wrong(result.message_latency.count(), Tier::scale_out))
        return "ranks saw " + std::to_string(result.message_latency.count()) +
               " messages arrive, but there are " +
               std::to_string(arrivals_of(setup, Tier::scale_out));
    if (setup.scale_up && is_wrong(result.scale_up->message_latency.count(), Tier::scale_up))
        return "ranks saw " + std::to_string(result.scale_up->message_latency.count()) +
               " messages arrive inside servers, but there are " +
               std::to_string(arrivals_of(setup, Tier::scale_up));
    return {};
}

struct Roles {
    std::set<uint32_t> do_something;  // ranks with a task
    std::set<uint32_t> take_time;     // with one that is not only a meeting point
    std::set<uint32_t> see_something;
    uint64_t messages = 0;
};

std::vector<Roles> find_roles(const sim::Setup& setup) {
    std::vector<Roles> roles(setup.program.phases.size());
    for (const Task& task : setup.program.tasks()) {
        Roles& role = roles[task.phase];
        const bool is_message = task.kind != Task::Kind::compute;
        role.do_something.insert(task.rank);
        role.see_something.insert(task.rank);
        if (is_message || task.duration.ps != 0) role.take_time.insert(task.rank);
        const bool has_peer =
            task.kind != Task::Kind::multicast && task.kind != Task::Kind::sum_for_all;
        if (is_message && has_peer) role.see_something.insert(task.peer);
        role.messages += is_message ? 1 : 0;
    }
    return roles;
}

std::string check_phases(const sim::Setup& setup, const Result& result) {
    const std::vector<Roles> roles = find_roles(setup);
    for (size_t i = 0; i < result.phases.size(); ++i) {
        const std::string name = "phase " + std::to_string(i);
        const sim::PhaseResult& phase = result.phases[i];
        if (phase.messages > roles[i].messages) return name + " sent more than it has";
        if (!phase.finished) continue;
        if (phase.messages != roles[i].messages) return name + " ended before all was sent";
        if (phase.end < phase.begin) return name + " ends before it begins";
        const uint32_t job = setup.program.phases[i].job;
        if (phase.begin < setup.program.jobs[job].start) return name + " begins before its job";
        if (i == 0 || setup.program.phases[i - 1].job != job) continue;
        const sim::PhaseResult& before = result.phases[i - 1];
        if (!before.finished) continue;
        // A rank that has nothing to do in a phase does not wait for it.
        if (std::ranges::includes(roles[i - 1].do_something, roles[i].do_something) &&
            phase.begin < before.begin)
            return name + " begins before the one before";
        if (std::ranges::includes(roles[i].take_time, roles[i - 1].see_something) &&
            phase.end < before.end)
            return name + " ends before the one before";
    }
    return {};
}

}  // namespace

std::string check_program(const sim::Setup& setup, const Result& result) {
    if (setup.program.empty()) return {};
    Auditor auditor(setup, result);
    if (std::string wrong = auditor.check_times(); !wrong.empty()) return wrong;
    // In any order means that a packet may be taken for lost.
    if (lost_nothing(result) && setup.host.delivery == transport::Delivery::ordered)
        if (std::string wrong = auditor.check_single(Tier::scale_out); !wrong.empty()) return wrong;
    if (setup.scale_up && lost_nothing(*result.scale_up))
        if (std::string wrong = auditor.check_single(Tier::scale_up); !wrong.empty()) return wrong;
    if (std::string wrong = check_counts(setup, result); !wrong.empty()) return wrong;
    return check_phases(setup, result);
}

}  // namespace tulle::fabric_swarm
