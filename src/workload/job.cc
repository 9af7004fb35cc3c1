#include "workload/job.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace tulle::workload {

JobBuilder::JobBuilder(Program& program, const Job& job, Placement placement,
                       uint16_t first_channel, Ledger* ledger)
    : program_(program),
      placement_(std::move(placement)),
      ledger_(ledger),
      job_(static_cast<uint32_t>(program.jobs.size())),
      first_channel_(first_channel),
      end_channel_(first_channel),
      entry_(placement_.size(), kNoTask) {
    program_.jobs.push_back(job);
}

JobBuilder::JobBuilder(Program& program, Placement placement, uint32_t job, uint16_t first_channel)
    : program_(program),
      placement_(std::move(placement)),
      ledger_(nullptr),
      job_(job),
      first_channel_(first_channel),
      end_channel_(first_channel),
      entry_(placement_.size(), kNoTask) {}

void JobBuilder::begin(Phase phase) {
    end();
    in_phase_ = true;
    phase.job = job_;
    phase.ranks = placement_.size();
    phase_ = static_cast<uint32_t>(program_.phases.size());
    phase_begin_ = program_.size();
    program_.phases.push_back(std::move(phase));
}

void JobBuilder::compute(const std::string& name, base::Duration duration) {
    Phase phase;
    phase.name = name;
    phase.collective = Collective::compute;
    begin(std::move(phase));
    Task task;
    task.kind = Task::Kind::compute;
    task.duration = duration;
    for (uint32_t i = 0; i < placement_.size(); ++i) add(task, i, i, {});
}

void JobBuilder::launch(base::Duration duration) {
    Task task;
    task.kind = Task::Kind::compute;
    task.duration = duration;
    task.is_launch = true;
    for (uint32_t i = 0; i < placement_.size(); ++i) entry_[i] = add(task, i, i, {});
}

// True if the member does one of these tasks in this phase, and so after its entry.
bool JobBuilder::is_entered(uint32_t member, std::span<const uint32_t> needs) const {
    return std::any_of(needs.begin(), needs.end(), [&](uint32_t need) {
        return need >= phase_begin_ && member_of_[need - phase_begin_] == member;
    });
}

uint32_t JobBuilder::add(Task task, uint32_t member, uint32_t peer, std::span<const uint32_t> needs,
                         const Content& content) {
    TULLE_CHECK(in_phase_);
    task.rank = placement_[member].rank;
    task.peer = placement_[peer].rank;
    task.phase = phase_;
    if (task.kind != Task::Kind::compute) {  // the channel of computing names a device of its rank
        task.channel = static_cast<uint16_t>(task.channel + first_channel_);
        end_channel_ = std::max<uint16_t>(end_channel_, static_cast<uint16_t>(task.channel + 1));
    }
    needs_.assign(needs.begin(), needs.end());
    std::sort(needs_.begin(), needs_.end());
    needs_.erase(std::unique(needs_.begin(), needs_.end()), needs_.end());
    if (entry_[member] != kNoTask && !is_entered(member, needs_)) needs_.push_back(entry_[member]);
    member_of_.push_back(member);
    peer_of_.push_back(peer);
    if (ledger_ != nullptr) {
        ledger_->resize(program_.size());
        ledger_->push_back(content);
    }
    return program_.add(task, needs_);
}

// For each member, the tasks of this phase that it sees and that none of its later tasks waits for.
std::vector<std::vector<uint32_t>> JobBuilder::last_tasks() const {
    const uint32_t end = program_.size();
    std::vector<uint8_t> waited_by_doer(end - phase_begin_);
    std::vector<uint8_t> waited_by_peer(end - phase_begin_);
    for (uint32_t t = phase_begin_; t < end; ++t)
        for (const uint32_t need : program_.needs(t)) {
            if (need < phase_begin_) continue;
            const uint32_t i = need - phase_begin_;
            const uint32_t waiter = member_of_[t - phase_begin_];
            // A reduction is named by its first contribution, which its owner does not make.
            (member_of_[i] == waiter ? waited_by_doer : waited_by_peer)[i] = 1;
        }
    std::vector<std::vector<uint32_t>> last(placement_.size());
    for (uint32_t t = phase_begin_; t < end; ++t) {
        const uint32_t i = t - phase_begin_;
        const Task& task = program_[t];
        if (task.kind == Task::Kind::multicast) {
            const uint32_t server = placement_.server_of(member_of_[i]);
            for (uint32_t j = 0; j < placement_.count_of(server); ++j)
                last[placement_.first_of(server) + j].push_back(t);
            continue;
        }
        if (task.kind == Task::Kind::sum_for_all) {
            last[member_of_[i]].push_back(task.reduction);
            continue;
        }
        if (waited_by_doer[i] == 0) last[member_of_[i]].push_back(t);
        const bool arrives = task.kind == Task::Kind::send ||
                             (task.kind == Task::Kind::contribute && task.reduction == t);
        if (arrives && waited_by_peer[i] == 0) last[peer_of_[i]].push_back(t);
    }
    return last;
}

void JobBuilder::end() {
    if (!in_phase_) return;
    Task wait;
    wait.kind = Task::Kind::compute;
    // An empty phase takes no time, but has a beginning and an end.
    if (program_.size() == phase_begin_)
        for (uint32_t i = 0; i < placement_.size(); ++i) add(wait, i, i, {});
    const std::vector<std::vector<uint32_t>> last = last_tasks();
    for (uint32_t i = 0; i < placement_.size(); ++i) {
        if (last[i].empty()) continue;
        const bool says_all = last[i].size() == 1 && is_entered(i, last[i]);
        entry_[i] = says_all ? last[i].front() : add(wait, i, i, last[i]);
    }
    in_phase_ = false;
    member_of_.clear();
    peer_of_.clear();
}

}  // namespace tulle::workload
