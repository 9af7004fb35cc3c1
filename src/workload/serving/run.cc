#include "workload/serving/run.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "base/check.h"

namespace tulle::workload {

using base::Duration;
using base::Instant;

ServingRun::ServingRun(const Program& program, uint32_t job)
    : program_(program),
      job_(*program.jobs[job].serving),
      instances_(job_.instances.size()),
      requests_(job_.requests.size()),
      computed_(job_.requests.size()),
      made_(job_.requests.size()),
      second_token_(job_.requests.size()) {
    for (size_t i = 0; i < requests_.size(); ++i)
        requests_[i].arrival = program.jobs[job].start + job_.requests[i].arrival;
    for (size_t i = 0; i < instances_.size(); ++i) {
        const ServingInstance& shape = job_.instances[i];
        instances_[i].replicas.resize(shape.replicas());
        instances_[i].saying.resize(shape.pieces);
        for (Replica& replica : instances_[i].replicas) {
            replica.room = shape.kv_room;
            replica.computing.resize(shape.pieces);
        }
    }
    find_meanings(program);
}

void ServingRun::find_meanings(const Program& program) {
    meanings_.resize(program.size() - job_.first_task);
    const auto mean = [&](uint32_t task, Meaning meaning) {
        meanings_[task - job_.first_task] = meaning;
    };
    for (uint32_t i = 0; i < job_.requests.size(); ++i) {
        mean(job_.first_arrival + i, {Role::arrival, job_.answer_instance(i), i, 0});
        if (!job_.is_separate()) continue;
        mean(job_.first_ask + i, {Role::ask, job_.prompt_instance(i), i, 0});
        mean(job_.first_ready + i, {Role::ready, job_.answer_instance(i), i, 0});
    }
    for (uint32_t n = 0; n < instances_.size(); ++n) {
        const ServingInstance& shape = job_.instances[n];
        for (uint32_t i = 0; i < shape.size(); ++i) {
            if (i > 0) mean(shape.first_go + i - 1, {Role::go, n, i, 0});
            if (i > 0) mean(shape.first_done + i - 1, {Role::done, n, i, 0});
            for (uint32_t piece = 0; piece < shape.pieces; ++piece) {
                const uint32_t at = i * shape.pieces + piece;
                mean(shape.first_computing + at, {Role::computing, n, i, piece});
                mean(shape.first_saying + at, {Role::saying, n, i, piece});
            }
        }
    }
}

void ServingRun::see(uint32_t task, Instant at, std::vector<Release>& releases) {
    const Meaning& meaning = meanings_[task - job_.first_task];
    const uint32_t n = meaning.instance;
    switch (meaning.role) {
        case Role::none: return;
        case Role::arrival:
            instances_[n].outside.push_back(meaning.index);
            admit(n, at, releases);
            return begin_step(n, at, releases);
        case Role::ask:
            instances_[n].prompts.push_back(meaning.index);
            return begin_step(n, at, releases);
        case Role::ready:
            made_[meaning.index] = 1;
            if (job_.requests[meaning.index].output == 1)
                finish(n, meaning.index, at, releases);
            else
                instances_[n].answers.push_back(meaning.index);
            return begin_step(n, at, releases);
        case Role::go: return begin_piece(n, meaning.index, 0, releases);
        case Role::computing: {
            const ServingInstance& shape = job_.instances[n];
            return releases.push_back(
                {shape.first_saying + meaning.index * shape.pieces + meaning.piece,
                 static_cast<uint64_t>(instances_[n].saying[meaning.piece].ps)});
        }
        case Role::saying: return end_piece(n, meaning.index, meaning.piece, at, releases);
        case Role::done: return count_done(n, at, releases);
    }
}

uint32_t ServingRun::replica_in(uint32_t instance, uint32_t request) const {
    return job_.answer_instance(request) == instance ? job_.answer_replica(request)
                                                     : job_.prompt_replica(request);
}

// Requests are admitted in order of arrival. Requests of other replicas may pass one that waits.
void ServingRun::admit(uint32_t n, Instant, std::vector<Release>& releases) {
    Instance& instance = instances_[n];
    std::vector<bool> is_full(instance.replicas.size());
    for (auto it = instance.outside.begin(); it != instance.outside.end();) {
        const uint32_t request = *it;
        const Request& its = job_.requests[request];
        const uint32_t number = job_.answer_replica(request);
        Replica& replica = instance.replicas[number];
        const uint64_t wanted = uint64_t{its.prompt} + its.output;
        if (is_full[number] || wanted > replica.room ||
            replica.answers == job_.options.most_sequences) {
            is_full[number] = true;
            ++it;
            continue;
        }
        replica.room -= wanted;
        ++replica.answers;
        if (job_.is_separate())
            releases.push_back(
                {job_.first_ask + request, program_[job_.first_ask + request].bytes});
        else
            instance.prompts.push_back(request);
        it = instance.outside.erase(it);
    }
}

// On instances that also make answers, answers come first, and prompts use the remaining tokens,
// cut to fit. Otherwise prompts are whole, and one that is too long for a step gets a step of its
// own.
void ServingRun::choose_chunks(uint32_t n) {
    Instance& instance = instances_[n];
    const bool cuts = job_.instances[n].makes_answers;
    std::vector<uint64_t> left(instance.replicas.size());
    for (size_t i = 0; i < left.size(); ++i) {
        const uint64_t used = instance.replicas[i].load.tokens;
        left[i] = job_.options.step_tokens - std::min(used, job_.options.step_tokens);
    }
    for (auto it = instance.prompts.begin(); it != instance.prompts.end();) {
        const uint32_t request = *it;
        const uint32_t number = replica_in(n, request);
        StepLoad& load = instance.replicas[number].load;
        const uint32_t rest = job_.requests[request].prompt - computed_[request];
        const bool is_alone = !cuts && load.tokens == 0;
        const uint64_t most = is_alone ? rest : std::min<uint64_t>(rest, left[number]);
        const uint64_t tokens = cuts || most == rest ? most : 0;
        if (tokens == 0) {
            left[number] = 0;
            ++it;
            continue;
        }
        const uint64_t context = computed_[request] + tokens;
        left[number] -= std::min(left[number], tokens);
        load.tokens += tokens;
        load.pairs += base::uint128_t{tokens} * context;
        load.contexts += context;
        load.sequences += tokens == rest ? 1 : 0;
        instance.chunks.push_back({request, static_cast<uint32_t>(tokens), tokens == rest});
        it = tokens == rest ? instance.prompts.erase(it) : it + 1;
    }
}

void ServingRun::begin_step(uint32_t n, Instant, std::vector<Release>& releases) {
    Instance& instance = instances_[n];
    if (instance.is_busy || (instance.prompts.empty() && instance.answers.empty())) return;
    for (Replica& replica : instance.replicas) replica.load = {};
    for (const uint32_t request : instance.answers) {
        StepLoad& load = instance.replicas[replica_in(n, request)].load;
        const uint64_t context = uint64_t{job_.requests[request].prompt} + made_[request];
        load.tokens += 1;
        load.pairs += context;
        load.contexts += context;
        load.sequences += 1;
    }
    instance.chunks.clear();
    choose_chunks(n);
    reckon_step(n);
    instance.is_busy = true;
    const ServingInstance& shape = job_.instances[n];
    instance.missing = shape.size();
    for (uint32_t i = 1; i < shape.size(); ++i) {
        const uint32_t go = shape.first_go + i - 1;
        releases.push_back({go, program_[go].bytes});
    }
    begin_piece(n, 0, 0, releases);
}

StepLoad ServingRun::half_of(const StepLoad& load) const {
    return {(load.tokens + 1) / 2, load.pairs / 2, (load.contexts + 1) / 2,
            (load.sequences + 1) / 2, (load.all_tokens + 1) / 2};
}

// The communication time of a layer. If a batch is split into halves, one half computes while the
// other communicates.
Duration ServingRun::saying_time(const ServingInstance& shape, uint32_t layer, uint64_t tokens,
                                 Duration computing) const {
    const Duration sums = 2 * shape.sum.at(tokens);
    if (shape.costs.expert < 2 || !shape.costs.model.has_experts(layer)) return sums;
    const uint64_t own = (tokens + shape.costs.tensor - 1) / shape.costs.tensor;
    const auto exchange = [&](uint64_t some) {
        return shape.dispatch.at(some) + shape.combine.at(some);
    };
    if (!job_.options.two_batches) return sums + exchange(own);
    return sums + std::max(Duration{}, 2 * exchange((own + 1) / 2) - computing);
}

void ServingRun::reckon_step(uint32_t n) {
    Instance& instance = instances_[n];
    const ServingInstance& shape = job_.instances[n];
    uint64_t all = 0;
    uint64_t most = 0;
    for (const Replica& replica : instance.replicas) {
        all += replica.load.tokens;
        most = std::max(most, replica.load.tokens);
    }
    std::ranges::fill(instance.saying, Duration{});
    const uint32_t layers = shape.costs.model.layers;
    for (Replica& replica : instance.replicas) {
        replica.load.all_tokens = all;
        std::ranges::fill(replica.computing, Duration{});
        replica.computing.front() = job_.options.overhead;
        for (uint32_t layer = 0; layer < layers; ++layer) {
            const auto piece = static_cast<uint32_t>(uint64_t{layer} * shape.pieces / layers);
            const bool is_halved = job_.options.two_batches && shape.costs.model.has_experts(layer);
            const Duration time = is_halved
                                      ? 2 * layer_time(shape.costs, layer, half_of(replica.load))
                                      : layer_time(shape.costs, layer, replica.load);
            replica.computing[piece] += time;
            // All replicas take part in each exchange; the scheduler's own replica stands for all.
            if (&replica == &instance.replicas.front())
                instance.saying[piece] += saying_time(shape, layer, most, time);
        }
        replica.computing.back() += output_time(shape.costs, replica.load);
    }
    for (const Duration time : instance.replicas.front().computing) instance.computing_sum += time;
    for (const Duration time : instance.saying) instance.saying_sum += time;
    ++instance.steps;
    instance.sequences += instance.answers.size();
}

void ServingRun::begin_piece(uint32_t n, uint32_t member, uint32_t piece,
                             std::vector<Release>& releases) const {
    const ServingInstance& shape = job_.instances[n];
    const Replica& replica = instances_[n].replicas[shape.replica_of(member)];
    releases.push_back({shape.first_computing + member * shape.pieces + piece,
                        static_cast<uint64_t>(replica.computing[piece].ps)});
}

void ServingRun::end_piece(uint32_t n, uint32_t member, uint32_t piece, Instant at,
                           std::vector<Release>& releases) {
    const ServingInstance& shape = job_.instances[n];
    if (job_.is_separate() && shape.computes_prompts) send_caches(n, member, piece, releases);
    if (piece + 1 < shape.pieces) return begin_piece(n, member, piece + 1, releases);
    if (member == 0) return count_done(n, at, releases);
    const uint32_t done = shape.first_done + member - 1;
    releases.push_back({done, program_[done].bytes});
}

void ServingRun::send_caches(uint32_t n, uint32_t member, uint32_t piece,
                             std::vector<Release>& releases) const {
    const ServingInstance& shape = job_.instances[n];
    for (const Chunk& chunk : instances_[n].chunks) {
        if (job_.prompt_replica(chunk.request) != shape.replica_of(member)) continue;
        for (size_t k = 0; k < job_.transfers.size(); ++k)
            if (job_.transfers[k].from == member % shape.costs.tensor)
                releases.push_back(
                    {job_.kv_task(chunk.request, piece, k), job_.kv_bytes(chunk.request, k)});
    }
}

void ServingRun::count_done(uint32_t n, Instant at, std::vector<Release>& releases) {
    if (--instances_[n].missing == 0) end_step(n, at, releases);
}

void ServingRun::end_step(uint32_t n, Instant at, std::vector<Release>& releases) {
    Instance& instance = instances_[n];
    instance.is_busy = false;
    std::vector<uint32_t> going_on;
    for (const uint32_t request : instance.answers) {
        // The first token belongs to the scheduler of prompts, so the gap after it is counted
        // later.
        if (made_[request] == 1)
            second_token_[request] = at;
        else
            instance.gaps.push_back(static_cast<uint64_t>((at - requests_[request].last_token).ps));
        requests_[request].last_token = at;
        if (++made_[request] == job_.requests[request].output)
            finish(n, request, at, releases);
        else
            going_on.push_back(request);
    }
    instance.answers = std::move(going_on);
    for (const Chunk& chunk : instance.chunks) {
        computed_[chunk.request] += chunk.tokens;
        if (chunk.is_last) end_prompt(n, chunk.request, at, releases);
    }
    admit(n, at, releases);
    begin_step(n, at, releases);
}

// The last step of a prompt chooses the first token of the answer.
void ServingRun::end_prompt(uint32_t n, uint32_t request, Instant at,
                            std::vector<Release>& releases) {
    requests_[request].first_token = at;
    if (job_.is_separate()) return;
    made_[request] = 1;
    if (job_.requests[request].output == 1) return finish(n, request, at, releases);
    instances_[n].answers.push_back(request);
}

void ServingRun::finish(uint32_t n, uint32_t request, Instant, std::vector<Release>& releases) {
    requests_[request].finished = true;
    Replica& replica = instances_[n].replicas[job_.answer_replica(request)];
    const Request& its = job_.requests[request];
    replica.room += uint64_t{its.prompt} + its.output;
    --replica.answers;
    releases.push_back({job_.first_finished + request, 0});
}

ServingOutcome ServingRun::outcome() const {
    ServingOutcome outcome;
    outcome.requests = requests_;
    for (const Instance& instance : instances_) {
        outcome.gaps.insert(outcome.gaps.end(), instance.gaps.begin(), instance.gaps.end());
        outcome.steps += instance.steps;
        outcome.sequences += instance.sequences;
        outcome.computing += instance.computing_sum;
        outcome.saying += instance.saying_sum;
    }
    for (size_t i = 0; i < requests_.size(); ++i) {
        RequestOutcome& one = outcome.requests[i];
        if (second_token_[i].ps != 0)
            outcome.gaps.push_back(static_cast<uint64_t>(
                std::max<int64_t>(0, (second_token_[i] - one.first_token).ps)));
        one.last_token = std::max(one.last_token, one.first_token);
    }
    std::ranges::sort(outcome.gaps);
    return outcome;
}

namespace {

// Runs the tasks of one job; messages and collectives take no time.
class AloneRun {
public:
    AloneRun(const Program& program, uint32_t job)
        : program_(program),
          job_(job),
          start_(program.jobs[job].start),
          run_(program, job),
          waits_(program.size()),
          waiters_(program.size()) {
        for (uint32_t task = 0; task < program.size(); ++task) {
            if (program.phases[program[task].phase].job != job_) continue;
            waits_[task] = static_cast<uint32_t>(program.needs(task).size());
            for (const uint32_t need : program.needs(task)) waiters_[need].push_back(task);
            if (waits_[task] == 0 && !program[task].is_gated())
                begin(task, start_, static_cast<uint64_t>(program[task].duration.ps));
        }
    }

    ServingOutcome run() {
        std::vector<ServingRun::Release> releases;
        while (!ends_.empty()) {
            const auto [at, task] = ends_.top();
            ends_.pop();
            for (const uint32_t waiter : waiters_[task])
                if (--waits_[waiter] == 0) begin(waiter, at, 0);
            if (!program_[task].is_reported()) continue;
            releases.clear();
            run_.see(task, at, releases);
            for (const auto& [released, amount] : releases) begin(released, at, amount);
        }
        return run_.outcome();
    }

private:
    void begin(uint32_t task, Instant at, uint64_t amount) {
        const Task& its = program_[task];
        const bool computes = its.kind == Task::Kind::compute && !its.is_launch;
        ends_.push({at + Duration{computes ? static_cast<int64_t>(amount) : 0}, task});
    }

    using End = std::pair<Instant, uint32_t>;
    const Program& program_;
    uint32_t job_;
    Instant start_;
    ServingRun run_;
    std::vector<uint32_t> waits_;
    std::vector<std::vector<uint32_t>> waiters_;
    std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

}  // namespace

ServingOutcome serve_alone(const Program& program, uint32_t job) {
    return AloneRun(program, job).run();
}

}  // namespace tulle::workload
