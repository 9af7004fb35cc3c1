#include "workload/training/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/check.h"
#include "workload/collectives/tuning.h"
#include "workload/training/buckets.h"
#include "workload/training/deepep.h"
#include "workload/training/samples.h"
#include "workload/training/teams.h"

namespace tulle::workload {
namespace {

using base::Duration;
using Kind = Teams::Kind;

constexpr uint64_t kValueBytes = 2;
constexpr uint64_t kGradientBytes = 4;
constexpr uint64_t kTokenBytes = 8;  // of a message that only signals a rank's arrival

class StepBuilder {
public:
    StepBuilder(Program& program, const Job& job, const StepOptions& options,
                const StepPlace& place, const Rehearse& rehearse);
    void build();

private:
    // One micro-batch of a part on one stage.
    struct Turn {
        uint32_t stage = 0;
        Slot slot;
        StagePlace place;
        uint32_t part = 0;
    };
    // The repeated communication times of the layers of a stretch.
    struct Said {
        Duration tensor{};
        Duration context{};
        Duration expert{};
    };

    void choose_columns();
    uint32_t phase(Purpose purpose);
    uint32_t meet(Purpose purpose, uint32_t rank, uint32_t a, uint32_t b);
    void rehearse_all();
    Duration rehearse_one(const Teams::Order& order, uint64_t times);
    RepeatedCollective& remember(const Teams::Order& order, const Rehearsed& found, uint64_t times);
    void add_doubt();
    void prepare_messages();
    void rehearse_messages();
    Duration rehearse_message(const std::vector<Placement>& pairs, uint64_t bytes);

    std::optional<StagePlace> source_of(const Turn& turn) const;
    bool is_ready(const Turn& turn);
    uint32_t& message(bool is_forward, StagePlace place, uint32_t micro_batch, uint32_t column);
    std::vector<Turn> turns_at(uint32_t stage, size_t position) const;
    void emit_together(const std::vector<Turn>& turns);
    Columns messages_for(const Turn& turn);
    void emit(const Turn& turn);
    std::vector<Bucket> pieces_of(const Turn& turn) const;
    bool gathers(const Turn& turn) const;
    bool reduces(const Turn& turn) const;
    void gather(const Turn& turn, const Bucket& bucket, Columns& needs);
    void gather_all(uint32_t stage);
    Columns exchange_replicas(uint32_t stage, const Teams::Order& order, const Columns& starts);
    Duration replica_time(uint32_t stage, const Teams::Order& order);
    Columns exchange_parameters(uint32_t stage, const Bucket& bucket, const Columns& starts);
    void reduce(uint32_t stage, const Bucket& bucket, const std::string& name);
    void compute(const Turn& turn, const Bucket& piece, const Columns& needs, bool is_last);
    void compute_repeated(const Turn& turn, const Bucket& piece, const Columns& needs,
                          bool is_last);
    void compute_layer(const Turn& turn, const LayerCost& layer, Columns& needs);
    void exchange_in_layer(const Turn& turn, Kind kind, Collective collective, uint64_t bytes);
    Said said_by(const Turn& turn, const Bucket& piece) const;
    void add_stretch(uint32_t stage, uint32_t phase, Duration time, const Columns& needs);
    Columns wait_for_tensor(uint32_t stage);
    void send(const Turn& turn);
    void finish(uint32_t stage);

    uint32_t member(uint32_t stage, uint32_t column) const { return grid_.rank(stage, column); }
    uint32_t rank(uint32_t stage, uint32_t column) const {
        return place_.members[member(stage, column)].rank;
    }
    Columns none() const { return Columns(grid_.columns(), kNoTask); }

    Program& program_;
    const StepOptions options_;
    const StepPlace& place_;
    const Pipeline pipeline_;
    const Grid grid_;
    std::vector<uint32_t> columns_;  // columns in the program; see folded_replicas()
    const std::vector<std::vector<LayerCost>> parts_;
    const Rehearse& rehearse_;
    uint32_t job_;
    std::shared_ptr<TrainingJob> training_;
    Teams teams_;
    Samples samples_;
    std::array<uint32_t, kPurposes> phase_{};     // kNoTask: none yet
    std::vector<std::vector<Bucket>> buckets_;    // by part
    std::array<Duration, 2> message_software_{};  // by Tier
    std::array<Duration, 2> message_wait_{};      // of a repeated message beyond a short one
    bool repeats_messages_ = false;

    // The times of repeated collectives, one each.
    Duration tensor_time_{};
    Duration context_time_{};
    Duration context_back_time_{};
    Duration expert_time_{};
    // Exchanges of replicas, by kind, collective and bytes: index into TrainingJob::repeated.
    std::map<std::tuple<Kind, Collective, uint64_t>, size_t> replica_times_;

    std::vector<std::vector<Slot>> slots_;  // by stage
    std::vector<size_t> position_;
    std::vector<Columns> main_;       // by stage: the last task of the computing stream
    std::vector<Columns> before_;     // by stage: the task that ended the stretch before
    std::vector<Columns> exchanged_;  // by stage: the last exchange of replicas
    std::vector<std::vector<std::pair<Bucket, std::string>>> postponed_;  // by stage
    std::array<std::vector<uint32_t>, 2> messages_;
};

StepBuilder::StepBuilder(Program& program, const Job& job, const StepOptions& options,
                         const StepPlace& place, const Rehearse& rehearse)
    : program_(program),
      options_(options),
      place_(place),
      pipeline_(options.pipeline()),
      grid_(options.layout, options.order),
      parts_(part_costs(options.model, options.layout, options.engine, pipeline_.parts())),
      rehearse_(rehearse),
      job_(static_cast<uint32_t>(program.jobs.size())),
      training_(std::make_shared<TrainingJob>()),
      teams_(program, job_, options_, place),
      samples_(options_, teams_, rehearse) {
    program.jobs.push_back(job);
    program.jobs.back().training = training_;
    const Layout& layout = options_.layout;
    training_->options = options_;
    training_->tokens = layout.tokens_per_step();
    training_->operations = flops_per_sequence(options_.model, layout.sequence) * layout.data *
                            layout.micro_batches * layout.micro_batch;
    for (const Member& one : place.members) training_->ranks.push_back(one.rank);
    training_->streams.resize(place.members.size());
    choose_columns();
    for (const auto& [purpose, kind] : {std::pair{Purpose::tensor, Kind::tensor},
                                        {Purpose::context, Kind::context},
                                        {Purpose::expert, Kind::expert},
                                        {Purpose::parameters, Kind::replicas},
                                        {Purpose::gradients, Kind::replicas}})
        training_->leaves_server[static_cast<size_t>(purpose)] = teams_.leaves_server(kind);
    phase_.fill(kNoTask);
    uint64_t least = options_.bucket_parameters;
    if (least == 0) least = std::max<uint64_t>(40'000'000, 1'000'000 * layout.replicas());
    for (const auto& part : parts_) buckets_.push_back(buckets_of(part, least));
    if (options_.repeats) rehearse_all();
    prepare_messages();
}

void StepBuilder::choose_columns() {
    const Layout& layout = options_.layout;
    training_->stands_for.assign(place_.members.size(), 0);
    const std::vector<uint32_t> replicas = folded_replicas(options_, place_);
    for (uint32_t column = 0; column < grid_.columns(); ++column) {
        const uint32_t replica = replicas[column / layout.tensor];
        const uint32_t in_program = replica * layout.tensor + column % layout.tensor;
        if (in_program == column) columns_.push_back(column);
        for (uint32_t stage = 0; stage < layout.pipeline; ++stage)
            ++training_->stands_for[member(stage, in_program)];
    }
}

// The phase of all tasks of this purpose that are not collectives of their own.
uint32_t StepBuilder::phase(Purpose purpose) {
    uint32_t& number = phase_[static_cast<size_t>(purpose)];
    if (number != kNoTask) return number;
    number = static_cast<uint32_t>(program_.phases.size());
    Phase phase;
    phase.name = name_of(purpose);
    phase.collective = Collective::compute;
    phase.job = job_;
    phase.ranks = static_cast<uint32_t>(place_.members.size());
    phase.purpose = purpose;
    program_.phases.push_back(std::move(phase));
    return number;
}

// Returns a task that takes no time and waits for both; if one is kNoTask, the other one.
uint32_t StepBuilder::meet(Purpose purpose, uint32_t rank, uint32_t a, uint32_t b) {
    if (a == b || b == kNoTask) return a;
    if (a == kNoTask) return b;
    Task task;
    task.kind = Task::Kind::compute;
    task.rank = task.peer = rank;
    task.phase = phase(purpose);
    return program_.add(task, std::array{a, b});
}

Duration StepBuilder::rehearse_one(const Teams::Order& order, uint64_t times) {
    if (teams_.is_alone(order.kind) || times == 0) return {};
    return remember(order, samples_.of(order), times).time;
}

RepeatedCollective& StepBuilder::remember(const Teams::Order& order, const Rehearsed& found,
                                          uint64_t times) {
    const Placement sample = teams_.samples(order.kind).front();
    const Phase phase = phase_of("", teams_.tuned(order, sample));
    RepeatedCollective one;
    one.purpose = order.purpose;
    one.collective = order.collective;
    one.bytes = order.bytes;
    one.ranks = sample.size();
    one.time = found.time;
    one.doubt = found.doubt;
    one.times = times;
    one.way = phase.protocol.empty() ? phase.algorithm : phase.algorithm + " " + phase.protocol;
    one.leaves_server = teams_.leaves_server(order.kind);
    training_->repeated.push_back(std::move(one));
    return training_->repeated.back();
}

void StepBuilder::rehearse_all() {
    const Layout& layout = options_.layout;
    uint64_t layers = 0;
    uint64_t with_experts = 0;
    for (uint32_t stage = 0; stage < pipeline_.stages; ++stage) {
        uint64_t own = 0;
        uint64_t experts = 0;
        for (uint32_t chunk = 0; chunk < pipeline_.chunks; ++chunk)
            for (const LayerCost& layer : parts_[pipeline_.part_of({stage, chunk})]) {
                own += layer.is_layer ? 1 : 0;
                experts += layer.has_experts ? 1 : 0;
            }
        layers = std::max(layers, own);
        with_experts = std::max(with_experts, experts);
    }
    const uint64_t batches = pipeline_.schedule == PipelineSchedule::dual ? layout.micro_batches / 2
                                                                          : layout.micro_batches;
    // Two forward, two backward, and the two forward again if they are recomputed.
    const uint64_t of_tensor = (layout.recompute == Recompute::full ? 6 : 4) * layers * batches;
    Teams::Order order{Kind::tensor,
                       Purpose::tensor,
                       Collective::all_reduce,
                       tensor_bytes(options_.model, layout),
                       {}};
    if (layout.is_sequence_parallel) {
        order.collective = Collective::all_gather;
        tensor_time_ = rehearse_one(order, of_tensor);
        order.collective = Collective::reduce_scatter;
    }
    tensor_time_ += rehearse_one(order, of_tensor);
    order = {Kind::context,
             Purpose::context,
             Collective::all_gather,
             context_bytes(options_.model, layout),
             {}};
    context_time_ = rehearse_one(order, layers * batches);
    context_back_time_ = context_time_;
    if (!options_.context_is_ring) {
        order.collective = Collective::reduce_scatter;
        context_back_time_ = rehearse_one(order, layers * batches);
    }
    order = {Kind::expert, Purpose::expert, Collective::all_to_all, expert_bytes(options_), {}};
    if (options_.uses_deepep && with_experts > 0 && !teams_.is_alone(Kind::expert))
        expert_time_ = rehearse_deepep(options_, place_, teams_.samples(Kind::expert),
                                       2 * with_experts * batches, training_->repeated);
    else
        expert_time_ = rehearse_one(order, 4 * with_experts * batches);
}

// The library's time before a message between stages: as for an exchange between two ranks.
void StepBuilder::prepare_messages() {
    const size_t size = size_t{pipeline_.stages} * pipeline_.chunks *
                        options_.layout.micro_batches * grid_.columns();
    for (auto& direction : messages_) direction.assign(size, kNoTask);
    if (place_.protocol == Protocol::bare) return;
    for (const Tier tier : {Tier::scale_out, Tier::scale_up}) {
        if (tier == Tier::scale_up && !place_.scale_up) continue;
        const bool is_up = tier == Tier::scale_up;
        const Placement two({{0, 0, 0}, {1, is_up ? 0u : 1u, is_up ? 1u : 0u}}, place_.scale_up);
        CollectiveOptions options;
        options.collective = Collective::all_to_all;
        options.algorithm = Algorithm::direct;
        options.protocol = place_.protocol;
        options.bytes = 2 * pipeline_bytes(options_.model, options_.layout);
        const Software software = tune(options, two, place_.machine).software;
        message_software_[static_cast<size_t>(tier)] =
            software.launch + software.step[static_cast<size_t>(tier)];
    }
    repeats_messages_ = options_.repeats_messages;
    if (repeats_messages_) rehearse_messages();
}

// Simulates all messages at one boundary of stages that use the same network, at the same time.
void StepBuilder::rehearse_messages() {
    std::array<bool, 2> is_known{};
    for (uint32_t stage = 0; stage + 1 < pipeline_.stages; ++stage) {
        std::array<std::vector<Placement>, 2> pairs;
        for (uint32_t column = 0; column < grid_.columns(); ++column) {
            const Placement pair(
                {place_.members[member(stage, column)], place_.members[member(stage + 1, column)]},
                place_.scale_up);
            pairs[static_cast<size_t>(pair.tier(0, 1))].push_back(pair);
        }
        for (size_t tier = 0; tier < pairs.size(); ++tier) {
            if (is_known[tier] || pairs[tier].empty()) continue;
            is_known[tier] = true;
            message_wait_[tier] =
                rehearse_message(pairs[tier], pipeline_bytes(options_.model, options_.layout)) -
                rehearse_message(pairs[tier], kTokenBytes);
        }
    }
}

// Simulated as one message to one other rank.
Duration StepBuilder::rehearse_message(const std::vector<Placement>& pairs, uint64_t bytes) {
    constexpr uint64_t kSmall = 2 << 20;
    constexpr uint64_t kLarge = 8 << 20;
    const auto time_of = [&](uint64_t size) {
        CollectiveOptions options;
        options.collective = Collective::broadcast;
        options.algorithm = Algorithm::ring;
        options.protocol = Protocol::bare;
        options.channels = 1;
        options.chunking.chunk = options.bytes = size;
        return rehearse_(pairs, options).time;
    };
    if (bytes <= kLarge) return time_of(bytes);
    const Duration large = time_of(kLarge);
    return on_line(time_of(kSmall), kSmall, large, kLarge, bytes);
}

void StepBuilder::build() {
    const uint32_t stages = pipeline_.stages;
    slots_.resize(stages);
    for (uint32_t stage = 0; stage < stages; ++stage) slots_[stage] = pipeline_.slots(stage);
    position_.assign(stages, 0);
    main_.assign(stages, none());
    before_.assign(stages, none());
    exchanged_.assign(stages, none());
    postponed_.resize(stages);
    for (uint32_t stage = 0; stage < stages; ++stage)
        if (!options_.overlaps_parameters) gather_all(stage);
    // Each stage continues as long as its dependencies are met.
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (uint32_t stage = 0; stage < stages; ++stage)
            while (position_[stage] < slots_[stage].size()) {
                const std::vector<Turn> turns = turns_at(stage, position_[stage]);
                const auto ready = [&](const Turn& turn) { return is_ready(turn); };
                if (!std::ranges::all_of(turns, ready)) break;
                emit_together(turns);
                position_[stage] += turns.size();
                goes_on = true;
            }
    }
    for (uint32_t stage = 0; stage < stages; ++stage) {
        TULLE_CHECK(position_[stage] == slots_[stage].size());
        finish(stage);
    }
    add_doubt();
}

// The turn at that position, and those that are done together with it.
std::vector<StepBuilder::Turn> StepBuilder::turns_at(uint32_t stage, size_t position) const {
    std::vector<Turn> turns;
    do {
        const Slot& slot = slots_[stage][position++];
        const StagePlace place{stage, slot.chunk};
        turns.push_back({stage, slot, place, pipeline_.part_of(place)});
    } while (turns.back().slot.goes_on);
    return turns;
}

void StepBuilder::emit_together(const std::vector<Turn>& turns) {
    for (size_t i = 1; i < turns.size(); ++i)
        if (source_of(turns[i]))
            add_stretch(turns[i].stage, phase(Purpose::compute), {}, messages_for(turns[i]));
    for (const Turn& turn : turns) emit(turn);
    for (const Turn& turn : turns) send(turn);
}

// The message that a part waits for before this micro-batch.
uint32_t& StepBuilder::message(bool is_forward, StagePlace place, uint32_t micro_batch,
                               uint32_t column) {
    const size_t chunk = size_t{place.stage} * pipeline_.chunks + place.chunk;
    const size_t first = (chunk * options_.layout.micro_batches + micro_batch) * grid_.columns();
    return messages_[is_forward ? 0 : 1][first + column];
}

std::optional<StagePlace> StepBuilder::source_of(const Turn& turn) const {
    if (turn.slot.is_forward()) return pipeline_.previous(turn.place);
    return turn.slot.sends_back() ? pipeline_.next(turn.place) : std::nullopt;
}

bool StepBuilder::is_ready(const Turn& turn) {
    const bool is_forward = turn.slot.is_forward();
    return !source_of(turn) || message(is_forward, turn.place, turn.slot.micro_batch, 0) != kNoTask;
}

bool StepBuilder::gathers(const Turn& turn) const {
    if (options_.layout.replicas() == 1) return false;
    if (options_.layout.zero == 3) return turn.slot.is_forward() || turn.slot.sends_back();
    return options_.layout.zero > 0 && options_.overlaps_parameters && turn.slot.is_forward() &&
           turn.slot.micro_batch == pipeline_.first_micro_batch(turn.slot.chunk);
}

bool StepBuilder::reduces(const Turn& turn) const {
    if (options_.layout.replicas() == 1 || !turn.slot.has_weights()) return false;
    return options_.layout.zero == 3 ||
           turn.slot.micro_batch == pipeline_.last_micro_batch(turn.slot.chunk);
}

// A slot is cut if parameters are gathered or gradients are sent; otherwise it is one piece.
std::vector<Bucket> StepBuilder::pieces_of(const Turn& turn) const {
    if (!gathers(turn) && !reduces(turn))
        return {Bucket{0, static_cast<uint32_t>(parts_[turn.part].size()), 0, 0}};
    std::vector<Bucket> pieces = buckets_[turn.part];
    if (!turn.slot.is_forward()) std::ranges::reverse(pieces);
    return pieces;
}

Columns StepBuilder::messages_for(const Turn& turn) {
    const Slot& slot = turn.slot;
    Columns needs = none();
    if (source_of(turn))
        for (const uint32_t column : columns_)
            needs[column] = message(slot.is_forward(), turn.place, slot.micro_batch, column);
    return needs;
}

void StepBuilder::emit(const Turn& turn) {
    Columns needs = messages_for(turn);
    const std::vector<Bucket> pieces = pieces_of(turn);
    for (size_t i = 0; i < pieces.size(); ++i) {
        if (gathers(turn)) gather(turn, pieces[i], needs);
        compute(turn, pieces[i], needs, i + 1 == pieces.size());
        needs = none();
        if (!reduces(turn)) continue;
        const std::string name = fmt::format("gradients {}.{}", turn.part, pieces[i].first);
        if (options_.overlaps_gradients)
            reduce(turn.stage, pieces[i], name);
        else
            postponed_[turn.stage].emplace_back(pieces[i], name);
    }
}

Duration StepBuilder::replica_time(uint32_t stage, const Teams::Order& order) {
    const auto [entry, is_new] = replica_times_.try_emplace(
        {order.kind, order.collective, order.bytes}, training_->repeated.size());
    if (!is_new) {
        RepeatedCollective& known = training_->repeated[entry->second];
        if (stage == 0) ++known.times;  // the count is per rank
        return known.time;
    }
    return remember(order, samples_.of_any_size(order), 1).time;
}

// If an exchange and a message share a link, each may take longer by the other's time to send.
void StepBuilder::add_doubt() {
    training_->expected = samples_.expected();
    training_->taken = samples_.taken();
    Duration exchanges{};
    for (const RepeatedCollective& one : training_->repeated) {
        const auto times = static_cast<int64_t>(one.times);
        training_->doubt += one.doubt * times;
        const bool is_of_replicas =
            one.purpose == Purpose::parameters || one.purpose == Purpose::gradients;
        if (is_of_replicas && one.leaves_server) exchanges += one.time * times;
    }
    const int64_t messages = int64_t{2} * options_.layout.micro_batches * pipeline_.chunks;
    const bool leaves = training_->leaves_server[static_cast<size_t>(Purpose::pipeline)];
    if (!options_.repeats_replicas || !leaves) return;
    const uint64_t rate = place_.machine.network(Tier::scale_out).mbps;
    const uint64_t bytes = pipeline_bytes(options_.model, options_.layout);
    const Duration alone{static_cast<int64_t>(bytes * 1'000'000 / std::max<uint64_t>(1, rate))};
    const Duration wait =
        repeats_messages_ ? message_wait_[static_cast<size_t>(Tier::scale_out)] : alone;
    training_->doubt += std::min(exchanges, wait * messages);
}

Columns StepBuilder::exchange_replicas(uint32_t stage, const Teams::Order& order,
                                       const Columns& starts) {
    if (!options_.repeats_replicas) return teams_.exchange(stage, order, starts);
    if (teams_.is_alone(order.kind)) return starts;
    Task task;
    task.kind = Task::Kind::compute;
    task.is_launch = true;
    task.duration = replica_time(stage, order);
    task.phase = phase(order.purpose);
    Columns ends = starts;
    for (const uint32_t column : columns_) {
        task.rank = task.peer = rank(stage, column);
        const bool waits = starts[column] != kNoTask;
        ends[column] = program_.add(task, std::span(&starts[column], waits ? 1 : 0));
    }
    return ends;
}

Columns StepBuilder::exchange_parameters(uint32_t stage, const Bucket& bucket,
                                         const Columns& starts) {
    Teams::Order order{Kind::replicas, Purpose::parameters, Collective::all_gather,
                       kValueBytes * bucket.common_parameters, "parameters"};
    Columns ends = exchange_replicas(stage, order, starts);
    order.kind = Kind::expert_replicas;
    order.bytes = kValueBytes * bucket.expert_parameters;
    if (order.bytes != 0) ends = exchange_replicas(stage, order, ends);
    return ends;
}

// Parameters arrive one piece ahead: a gather waits for the piece before the last one.
void StepBuilder::gather(const Turn& turn, const Bucket& bucket, Columns& needs) {
    Columns starts = exchanged_[turn.stage];
    if (options_.layout.zero == 3)
        for (const uint32_t column : columns_)
            starts[column] = meet(Purpose::parameters, rank(turn.stage, column),
                                  before_[turn.stage][column], starts[column]);
    exchanged_[turn.stage] = exchange_parameters(turn.stage, bucket, starts);
    for (const uint32_t column : columns_)
        needs[column] = meet(Purpose::parameters, rank(turn.stage, column), needs[column],
                             exchanged_[turn.stage][column]);
}

// Computing begins when all parameters have arrived.
void StepBuilder::gather_all(uint32_t stage) {
    const Layout& layout = options_.layout;
    if (layout.replicas() == 1 || layout.zero == 0 || layout.zero == 3) return;
    for (uint32_t chunk = 0; chunk < pipeline_.chunks; ++chunk)
        for (const Bucket& bucket : buckets_[pipeline_.part_of({stage, chunk})])
            exchanged_[stage] = exchange_parameters(stage, bucket, exchanged_[stage]);
    main_[stage] = exchanged_[stage];
}

void StepBuilder::reduce(uint32_t stage, const Bucket& bucket, const std::string& name) {
    Columns starts = exchanged_[stage];
    for (const uint32_t column : columns_)
        starts[column] =
            meet(Purpose::gradients, rank(stage, column), main_[stage][column], starts[column]);
    Teams::Order order{
        Kind::replicas, Purpose::gradients,
        options_.layout.zero == 0 ? Collective::all_reduce : Collective::reduce_scatter,
        kGradientBytes * bucket.common_parameters, name};
    Columns ends = exchange_replicas(stage, order, starts);
    order.kind = Kind::expert_replicas;
    order.bytes = kGradientBytes * bucket.expert_parameters;
    if (order.bytes != 0) ends = exchange_replicas(stage, order, ends);
    exchanged_[stage] = ends;
}

Duration time_of(const LayerCost& layer, Slot::Kind kind) {
    switch (kind) {
        case Slot::Kind::forward: return layer.forward;
        case Slot::Kind::backward: return layer.backward();
        case Slot::Kind::input_gradients: return layer.input_gradients;
        case Slot::Kind::weight_gradients: return layer.weight_gradients;
    }
    return {};
}

void StepBuilder::compute(const Turn& turn, const Bucket& piece, const Columns& needs,
                          bool is_last) {
    const Columns was = main_[turn.stage];
    if (options_.repeats) compute_repeated(turn, piece, needs, is_last);
    Columns first = needs;
    for (uint32_t i = 0; i < piece.end - piece.first && !options_.repeats; ++i) {
        const uint32_t layer = turn.slot.is_forward() ? piece.first + i : piece.end - 1 - i;
        compute_layer(turn, parts_[turn.part][layer], first);
    }
    before_[turn.stage] = was;
}

// All ranks of a stage spend `time`.
void StepBuilder::add_stretch(uint32_t stage, uint32_t phase, Duration time, const Columns& needs) {
    for (const uint32_t column : columns_) {
        Task task;
        task.kind = Task::Kind::compute;
        task.rank = task.peer = rank(stage, column);
        task.phase = phase;
        task.duration = time;
        const Purpose purpose = program_.phases[phase].purpose;
        task.is_launch = purpose != Purpose::compute && purpose != Purpose::optimizer;
        std::vector<uint32_t> all;
        for (const uint32_t need : {main_[stage][column], needs[column]})
            if (need != kNoTask) all.push_back(need);
        main_[stage][column] = program_.add(task, all);
        training_->streams[member(stage, column)].push_back(main_[stage][column]);
    }
}

StepBuilder::Said StepBuilder::said_by(const Turn& turn, const Bucket& piece) const {
    Said said;
    if (turn.slot.kind == Slot::Kind::weight_gradients) return said;
    const bool is_forward = turn.slot.is_forward();
    const bool recomputes = !is_forward && options_.layout.recompute == Recompute::full;
    for (uint32_t i = piece.first; i < piece.end; ++i) {
        const LayerCost& layer = parts_[turn.part][i];
        if (!layer.is_layer) continue;
        Duration tensor = (recomputes ? 4 : 2) * tensor_time_;
        // Products hide all pieces but the first; there are as many pieces as ranks.
        if (options_.overlaps_tensor)
            tensor =
                std::max(tensor / options_.layout.tensor, tensor - time_of(layer, turn.slot.kind));
        said.tensor += tensor;
        Duration context = is_forward ? context_time_ : context_back_time_;
        const Duration attention = is_forward ? layer.attention : 2 * layer.attention;
        if (options_.context_is_ring) context = std::max(Duration{}, context - attention);
        said.context += context;
        if (!layer.has_experts) continue;
        Duration expert = 2 * expert_time_;
        if (options_.overlaps_experts)
            expert = std::max(Duration{}, expert - time_of(layer, turn.slot.kind));
        said.expert += expert;
    }
    return said;
}

void StepBuilder::compute_repeated(const Turn& turn, const Bucket& piece, const Columns& needs,
                                   bool is_last) {
    Duration time{};
    for (uint32_t i = piece.first; i < piece.end; ++i)
        time += time_of(parts_[turn.part][i], turn.slot.kind);
    add_stretch(turn.stage, phase(Purpose::compute), time, needs);
    const Said said = said_by(turn, piece);
    if (said.tensor.ps > 0)
        add_stretch(turn.stage, phase(Purpose::tensor), said.tensor,
                    is_last ? wait_for_tensor(turn.stage) : none());
    if (said.context.ps > 0) add_stretch(turn.stage, phase(Purpose::context), said.context, none());
    if (said.expert.ps > 0) add_stretch(turn.stage, phase(Purpose::expert), said.expert, none());
}

// Each rank signals the others of its tensor that it has arrived.
Columns StepBuilder::wait_for_tensor(uint32_t stage) {
    const uint32_t tensor = phase(Purpose::tensor);
    const auto told = [&](uint32_t column, uint32_t other) {
        const Member& from = place_.members[member(stage, column)];
        const Member& to = place_.members[member(stage, other)];
        Task task;
        task.rank = from.rank;
        task.peer = to.rank;
        task.tier = tier_between(from, to, place_.scale_up);
        task.channel = static_cast<uint16_t>(place_.first_channel + 2);
        task.phase = tensor;
        task.bytes = kTokenBytes;
        return program_.add(task, std::span(&main_[stage][column], 1));
    };
    std::vector<std::vector<uint32_t>> heard(grid_.columns());
    for (const uint32_t column : columns_)
        for (uint32_t i = 0; i < options_.layout.tensor; ++i) {
            const uint32_t other = column / options_.layout.tensor * options_.layout.tensor + i;
            if (column != other) heard[other].push_back(told(column, other));
        }
    Columns all_there = none();
    for (const uint32_t column : columns_) {
        Task meeting;
        meeting.kind = Task::Kind::compute;
        meeting.rank = meeting.peer = rank(stage, column);
        meeting.phase = tensor;
        all_there[column] = program_.add(meeting, heard[column]);
    }
    return all_there;
}

void StepBuilder::exchange_in_layer(const Turn& turn, Kind kind, Collective collective,
                                    uint64_t bytes) {
    const auto purpose = kind == Kind::tensor    ? Purpose::tensor
                         : kind == Kind::context ? Purpose::context
                                                 : Purpose::expert;
    const Teams::Order order{kind, purpose, collective, bytes, std::string(name_of(purpose))};
    main_[turn.stage] = teams_.exchange(turn.stage, order, main_[turn.stage]);
}

// Attention and the rest are each half of a layer; a sum among the ranks of a tensor ends each.
void StepBuilder::compute_layer(const Turn& turn, const LayerCost& layer, Columns& needs) {
    const Layout& layout = options_.layout;
    const uint32_t computing = phase(Purpose::compute);
    const Duration time = time_of(layer, turn.slot.kind);
    if (turn.slot.kind == Slot::Kind::weight_gradients || !layer.is_layer) {
        add_stretch(turn.stage, computing, time, needs);
        needs = none();
        return;
    }
    const bool recomputes = !turn.slot.is_forward() && layout.recompute == Recompute::full;
    const uint64_t bytes = tensor_bytes(options_.model, layout);
    const uint64_t context = context_bytes(options_.model, layout);
    for (uint32_t half = 0; half < 2; ++half) {
        for (uint32_t i = 0; i < (recomputes ? 2u : 1u); ++i) {
            if (layout.is_sequence_parallel)
                exchange_in_layer(turn, Kind::tensor, Collective::all_gather, bytes);
            if (i + 1 == (recomputes ? 2u : 1u)) break;
            exchange_in_layer(
                turn, Kind::tensor,
                layout.is_sequence_parallel ? Collective::reduce_scatter : Collective::all_reduce,
                bytes);
        }
        if (half == 0) {
            const Columns before = main_[turn.stage];
            add_stretch(turn.stage, computing, time / 2, needs);
            needs = none();
            const Columns computed = main_[turn.stage];
            if (options_.context_is_ring) main_[turn.stage] = before;
            exchange_in_layer(turn, Kind::context,
                              turn.slot.is_forward() || options_.context_is_ring
                                  ? Collective::all_gather
                                  : Collective::reduce_scatter,
                              context);
            for (const uint32_t column : columns_)
                main_[turn.stage][column] = meet(Purpose::context, rank(turn.stage, column),
                                                 computed[column], main_[turn.stage][column]);
        } else {
            if (layer.has_experts)
                exchange_in_layer(turn, Kind::expert, Collective::all_to_all,
                                  expert_bytes(options_));
            add_stretch(turn.stage, computing, time - time / 2, needs);
            if (layer.has_experts)
                exchange_in_layer(turn, Kind::expert, Collective::all_to_all,
                                  expert_bytes(options_));
        }
        exchange_in_layer(
            turn, Kind::tensor,
            layout.is_sequence_parallel ? Collective::reduce_scatter : Collective::all_reduce,
            bytes);
    }
}

void StepBuilder::send(const Turn& turn) {
    const Slot& slot = turn.slot;
    const bool is_forward = slot.is_forward();
    std::optional<StagePlace> to;
    if (is_forward) to = pipeline_.next(turn.place);
    if (slot.sends_back()) to = pipeline_.previous(turn.place);
    if (!to) return;
    for (const uint32_t column : columns_) {
        const Member& from = place_.members[member(turn.stage, column)];
        const Member& peer = place_.members[member(to->stage, column)];
        Task task;
        task.rank = from.rank;
        task.peer = peer.rank;
        task.tier = tier_between(from, peer, place_.scale_up);
        training_->leaves_server[static_cast<size_t>(Purpose::pipeline)] |=
            task.tier == Tier::scale_out;
        task.channel = static_cast<uint16_t>(place_.first_channel + (is_forward ? 0 : 1));
        task.phase = phase(Purpose::pipeline);
        task.bytes = pipeline_bytes(options_.model, options_.layout);
        task.duration = message_software_[static_cast<size_t>(task.tier)];
        if (repeats_messages_) {
            task.bytes = kTokenBytes;
            task.duration += message_wait_[static_cast<size_t>(task.tier)];
        }
        message(is_forward, *to, slot.micro_batch, column) =
            program_.add(task, std::span(&main_[turn.stage][column], 1));
    }
}

// Does the postponed exchanges, then runs the optimizer when all gradients have arrived.
void StepBuilder::finish(uint32_t stage) {
    for (const auto& [bucket, name] : postponed_[stage]) reduce(stage, bucket, name);
    uint64_t common = 0;
    uint64_t experts = 0;
    for (uint32_t chunk = 0; chunk < pipeline_.chunks; ++chunk)
        for (const LayerCost& layer : parts_[pipeline_.part_of({stage, chunk})]) {
            common += layer.common_parameters;
            experts += layer.expert_parameters;
        }
    const Layout& layout = options_.layout;
    if (layout.zero > 0) {
        common /= layout.replicas();
        experts /= layout.replicas() / layout.expert;
    }
    add_stretch(stage, phase(Purpose::optimizer),
                optimizer_time(common + experts, options_.engine.gpu), exchanged_[stage]);
}

}  // namespace

void append_step(Program& program, const Job& job, const StepOptions& options,
                 const StepPlace& place, const Rehearse& rehearse) {
    TULLE_CHECK(!check(options));
    TULLE_CHECK(place.members.size() == options.layout.gpus());
    StepOptions loaded = options;
    loaded.engine.expert_load_permille = expert_load_permille(options, place);
    StepBuilder(program, job, loaded, place, rehearse).build();
}

}  // namespace tulle::workload
