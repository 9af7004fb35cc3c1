#include "workload/training/step.h"

#include <gtest/gtest.h>

#include <map>

#include "workload/training/layout.h"

namespace tulle::workload {
namespace {

using base::Duration;

// Layers that weigh the same, and an output layer that takes next to no time.
Model even_model(uint32_t layers) {
    Model model;
    model.name = "even";
    model.layers = layers;
    model.hidden = 1024;
    model.feed_forward = 4096;
    model.heads = 16;
    model.kv_heads = 16;
    model.head_size = 64;
    model.vocabulary = 8;
    model.sequence = 512;
    return model;
}

StepOptions options_of(const Model& model) {
    StepOptions options;
    options.model = model;
    options.layout.sequence = model.sequence;
    options.engine.gpu = *find_gpu("h100");
    return options;
}

StepPlace place_of(const StepOptions& options, uint32_t per_server = 8) {
    StepPlace place;
    for (uint32_t rank = 0; rank < options.layout.gpus(); ++rank)
        place.members.push_back({rank, rank / per_server, rank % per_server});
    place.scale_up = true;
    place.protocol = Protocol::bare;
    place.machine.network(Tier::scale_up) = {370'800, Duration{450'000}, Duration{150'000}};
    place.machine.network(Tier::scale_out) = {50'000, Duration{2'800'000}, Duration{1'000'000}};
    place.machine.adapters = 8;
    place.machine.gpus = 8;
    return place;
}

Duration no_time(const std::vector<Placement>&, const CollectiveOptions&) {
    return {};
}

Program program_of(const StepOptions& options, const Rehearse& rehearse = no_time) {
    EXPECT_FALSE(check(options));
    Program program;
    append_step(program, Job{"step"}, options, place_of(options), rehearse);
    std::vector<size_t> tasks(program.phases.size());
    for (const Task& task : program.tasks()) ++tasks[task.phase];
    for (const size_t count : tasks) EXPECT_GT(count, 0u) << "a phase of nothing";
    const auto wrong = program.check(static_cast<uint32_t>(options.layout.gpus()));
    EXPECT_FALSE(wrong) << wrong->message;
    return program;
}

// What a part computes in one micro-batch; parts are alike but for the output layer.
struct Times {
    Duration forward{};
    Duration input{};
    Duration weights{};
    Duration all() const { return forward + input + weights; }
};
Times times_of(const StepOptions& options, uint32_t part) {
    Times times;
    const auto parts =
        part_costs(options.model, options.layout, options.engine, options.pipeline().parts());
    for (const LayerCost& layer : parts[part]) {
        times.forward += layer.forward;
        times.input += layer.input_gradients;
        times.weights += layer.weight_gradients;
    }
    return times;
}

// Of the slowest rank, without the optimizer.
Duration ideal_of(const StepOptions& options) {
    const Program program = program_of(options);
    Duration most{};
    const auto& job = *program.jobs.front().training;
    const auto ends = ideal_ends(program, 0, static_cast<uint32_t>(options.layout.gpus()));
    for (size_t i = 0; i < job.streams.size(); ++i)
        most = std::max(most, ends[job.ranks[i]] - program[job.streams[i].back()].duration);
    return most;
}

// The output layer of the last part is the only thing that is uneven; here it is taken out.
StepOptions without_output(StepOptions options) {
    options.model.vocabulary = 0;
    return options;
}

TEST(a_step_on_an_infinitely_fast_network, of_1f1b_is_computing_and_bubble) {
    for (const uint32_t stages : {1u, 2u, 4u, 8u})
        for (const uint32_t batches : {8u, 9u, 32u}) {
            StepOptions options = without_output(options_of(even_model(16)));
            options.layout.pipeline = stages;
            options.layout.micro_batches = batches;
            const Duration one = times_of(options, 0).all();
            EXPECT_EQ(ideal_of(options), one * (batches + stages - 1)) << stages << " " << batches;
        }
}

TEST(a_step_on_an_infinitely_fast_network, interleaved_is_computing_and_bubble) {
    for (const uint32_t stages : {2u, 4u})
        for (const uint32_t chunks : {2u, 4u})
            for (const uint32_t rounds : {1u, 2u, 5u}) {
                StepOptions options = without_output(options_of(even_model(16)));
                options.schedule = PipelineSchedule::interleaved;
                options.layout.pipeline = stages;
                options.layout.chunks = chunks;
                options.layout.micro_batches = rounds * stages;
                const Duration one = times_of(options, 0).all();
                EXPECT_EQ(ideal_of(options), one * (chunks * rounds * stages + stages - 1));
                // As the closed form of the layout has it.
                const Fraction share = bubble(options.layout);
                EXPECT_EQ(share.numerator, stages - 1);
                EXPECT_EQ(share.denominator, chunks * rounds * stages);
            }
}

TEST(a_step_on_an_infinitely_fast_network, of_zero_bubble_waits_for_f_plus_b_less_two_w) {
    for (const uint32_t stages : {2u, 4u, 8u})
        for (const uint32_t batches : {8u, 17u}) {
            StepOptions options = without_output(options_of(even_model(16)));
            options.schedule = PipelineSchedule::zero_bubble;
            options.layout.pipeline = stages;
            options.layout.micro_batches = batches;
            const Times one = times_of(options, 0);
            const Duration bubble = (one.forward + one.input - one.weights) * (stages - 1);
            EXPECT_EQ(ideal_of(options), one.all() * batches + bubble);
        }
}

// As published: (p / 2 - 1) (F&B + B - 3 W), where a forward and a backward pass that are done
// together take as long as one after the other (deepseek-ai/DualPipe).
TEST(a_step_on_an_infinitely_fast_network, of_dualpipe_waits_for_half_of_the_stages) {
    for (const uint32_t stages : {2u, 4u, 8u})
        for (const uint32_t batches : {16u, 20u, 32u}) {
            StepOptions options = without_output(options_of(even_model(16)));
            options.schedule = PipelineSchedule::dual;
            options.layout.pipeline = stages;
            options.layout.micro_batches = batches;
            const Times one = times_of(options, 0);
            const Duration backward = one.input + one.weights;
            const Duration bubble =
                (one.forward + 2 * backward - 3 * one.weights) * (stages / 2 - 1);
            EXPECT_EQ(ideal_of(options), one.all() * batches + bubble) << stages << " " << batches;
        }
}

TEST(a_step_on_an_infinitely_fast_network, does_not_get_longer_by_what_ranks_say) {
    for (const bool repeats : {true, false})
        for (const uint32_t zero : {0u, 1u, 2u, 3u}) {
            StepOptions options = without_output(options_of(even_model(8)));
            options.layout.pipeline = 2;
            options.layout.tensor = 2;
            options.layout.context = 2;
            options.layout.data = 2;
            options.layout.micro_batches = 3;
            options.layout.zero = zero;
            options.repeats = repeats;
            options.bucket_parameters = 1;
            const Duration one = times_of(options, 0).all();
            EXPECT_EQ(ideal_of(options), one * (3 + 2 - 1)) << zero << " " << repeats;
        }
}

TEST(pipelines, do_each_micro_batch_of_each_chunk_once_in_each_direction) {
    for (const PipelineSchedule schedule :
         {PipelineSchedule::one_forward_one_backward, PipelineSchedule::interleaved,
          PipelineSchedule::zero_bubble, PipelineSchedule::dual}) {
        const bool is_dual = schedule == PipelineSchedule::dual;
        const uint32_t chunks = is_dual ? 2 : schedule == PipelineSchedule::interleaved ? 3 : 1;
        const Pipeline pipeline{schedule, 4, chunks, 16};
        for (uint32_t stage = 0; stage < 4; ++stage) {
            std::map<std::tuple<uint32_t, uint32_t, bool>, uint32_t> seen;
            for (const Slot& slot : pipeline.slots(stage)) {
                if (slot.is_forward()) ++seen[{slot.chunk, slot.micro_batch, true}];
                if (slot.has_weights()) ++seen[{slot.chunk, slot.micro_batch, false}];
            }
            EXPECT_EQ(seen.size(), 2u * 16 * (is_dual ? 1 : chunks));
            for (const auto& [unused, count] : seen) EXPECT_EQ(count, 1u);
        }
    }
}

// Bytes that each rank sends, by what they are for.
std::map<Purpose, std::vector<uint64_t>> sent_by(const Program& program, size_t ranks) {
    std::map<Purpose, std::vector<uint64_t>> sent;
    for (const Task& task : program.tasks()) {
        if (task.kind == Task::Kind::compute || task.bytes <= 8) continue;
        auto& of_purpose = sent[program.phases[task.phase].purpose];
        of_purpose.resize(ranks);
        of_purpose[task.rank] += task.bytes;
    }
    return sent;
}

// All ranks together send exactly so much each. Where a part of the data is a byte larger than
// others, single ranks differ by a few bytes of each collective.
void expect_all(const std::vector<uint64_t>& sent, uint64_t bytes) {
    uint64_t sum = 0;
    for (const uint64_t of_rank : sent) {
        EXPECT_NEAR(static_cast<double>(of_rank), static_cast<double>(bytes), 100);
        sum += of_rank;
    }
    EXPECT_EQ(sum, bytes * sent.size());
}

TEST(volumes, of_zero_are_the_closed_forms) {
    for (const uint32_t zero : {0u, 1u, 2u, 3u}) {
        StepOptions options = options_of(even_model(4));
        options.layout.data = 8;
        options.layout.zero = zero;
        options.layout.micro_batches = 1;
        options.bucket_parameters = 1;
        const auto sent = sent_by(program_of(options), 8);
        const uint64_t all = rank_parameters(options.model, options.layout, 0).total();
        ASSERT_EQ(all % 8, 0u);
        expect_all(sent.at(Purpose::gradients), (zero == 0 ? 2 : 1) * 4 * all * 7 / 8);
        const uint64_t gathered = zero == 0 ? 0 : zero == 3 ? 2 : 1;
        if (gathered == 0)
            EXPECT_FALSE(sent.contains(Purpose::parameters));
        else
            expect_all(sent.at(Purpose::parameters), gathered * 2 * all * 7 / 8);
    }
}

TEST(volumes, of_tensors_are_the_closed_forms) {
    for (const bool is_parallel : {true, false}) {
        StepOptions options = options_of(even_model(4));
        options.layout.tensor = 4;
        options.layout.micro_batches = 3;
        options.layout.is_sequence_parallel = is_parallel;
        options.repeats = false;
        const auto sent = sent_by(program_of(options), 4);
        const uint64_t bytes = tensor_bytes(options.model, options.layout);
        EXPECT_EQ(bytes, 2u * 512 * 1024);
        expect_all(sent.at(Purpose::tensor), 4 * (2 * bytes * 3 / 4) * 4 * 3);
    }
}

TEST(volumes, of_pipelines_are_the_closed_forms) {
    StepOptions options = options_of(even_model(8));
    options.schedule = PipelineSchedule::interleaved;
    options.layout.pipeline = 2;
    options.layout.chunks = 2;
    options.layout.micro_batches = 4;
    const auto sent = sent_by(program_of(options), 2).at(Purpose::pipeline);
    const uint64_t bytes = pipeline_bytes(options.model, options.layout);
    // Of four parts there are three borders, which each micro-batch crosses there and back.
    EXPECT_EQ(sent[0] + sent[1], 2 * 3 * 4 * bytes);
}

TEST(volumes, of_context_are_the_closed_forms) {
    for (const bool is_ring : {true, false}) {
        StepOptions options = options_of(even_model(4));
        options.layout.context = 4;
        options.layout.micro_batches = 2;
        options.repeats = false;
        options.context_is_ring = is_ring;
        const auto sent = sent_by(program_of(options), 4);
        const uint64_t bytes = context_bytes(options.model, options.layout);
        expect_all(sent.at(Purpose::context), 2 * bytes * 3 / 4 * 4 * 2);
    }
}

TEST(volumes, of_experts_are_the_closed_forms) {
    StepOptions options = options_of(even_model(4));
    options.model.experts = 8;
    options.model.experts_of_token = 2;
    options.model.expert_feed_forward = 4096;
    options.layout.data = 4;
    options.layout.expert = 4;
    options.layout.micro_batches = 2;
    options.repeats = false;
    const auto sent = sent_by(program_of(options), 4);
    // Dispatch and combine, forward and backward: each token goes to two experts.
    const uint64_t bytes = 2 * 512 * 1024 * 2;
    expect_all(sent.at(Purpose::expert), 4 * bytes * 3 / 4 * 4 * 2);
}

TEST(repeated_collectives, take_as_long_as_the_one_that_was_simulated) {
    StepOptions options = without_output(options_of(even_model(4)));
    options.layout.tensor = 4;
    options.layout.micro_batches = 3;
    size_t asked = 0;
    const Program program = program_of(options, [&](const auto& groups, const auto&) {
        ++asked;
        EXPECT_EQ(groups.size(), 1u);  // none leaves its server
        return Duration{1000};
    });
    EXPECT_EQ(asked, 1u);  // gather and scatter send the same
    const TrainingJob& job = *program.jobs.front().training;
    ASSERT_EQ(job.repeated.size(), 2u);
    EXPECT_EQ(job.repeated[0].times, 4u * 4 * 3);
    EXPECT_EQ(job.repeated[1].collective, Collective::reduce_scatter);
    EXPECT_EQ(job.repeated[1].time, Duration{1000});
    Duration tensor{};
    for (const uint32_t task : job.streams[0])
        if (program.phases[program[task].phase].purpose == Purpose::tensor)
            tensor += program[task].duration;
    EXPECT_EQ(tensor.ps, 2000 * 4 * 4 * 3);
}

TEST(repeated_collectives, of_replicas_are_on_a_line_through_two_sizes) {
    StepOptions options = without_output(options_of(even_model(4)));
    options.layout.data = 256;
    options.layout.zero = 1;
    options.repeats_replicas = true;
    options.bucket_parameters = 1;
    const Program program = program_of(options, [&](const auto&, const auto& asked) {
        return Duration{static_cast<int64_t>(1000 + asked.bytes)};
    });
    const TrainingJob& job = *program.jobs.front().training;
    ASSERT_EQ(job.repeated.size(), 2u);  // gathered parameters, and gradients
    for (const RepeatedCollective& one : job.repeated) {
        EXPECT_EQ(one.time.ps, static_cast<int64_t>(1000 + one.bytes));
        EXPECT_EQ(one.times, 4u);
    }
    EXPECT_EQ(sent_by(program, 256).size(), 0u);
}

TEST(repeated_collectives, say_by_how_much_they_may_be_wrong) {
    StepOptions options = without_output(options_of(even_model(4)));
    options.layout.data = 256;  // 64 MiB of each are simulated
    options.layout.zero = 1;
    options.repeats_replicas = true;
    options.checks = true;
    options.bucket_parameters = 100'000'000;
    const Duration doubt{10};
    const Program program = program_of(options, [&](const auto&, const auto& asked) {
        const bool is_third = asked.bytes > (64 << 20);  // of the line, 1 % slower than it
        const int64_t time = 1000 + static_cast<int64_t>(asked.bytes);
        return Rehearsed(Duration{is_third ? time * 101 / 100 : time}, doubt);
    });
    const TrainingJob& job = *program.jobs.front().training;
    ASSERT_EQ(job.repeated.size(), 2u);
    Duration all{};
    for (const RepeatedCollective& one : job.repeated) {
        ASSERT_GT(one.bytes, uint64_t{64} << 20);
        EXPECT_EQ(one.time.ps, static_cast<int64_t>(1000 + one.bytes));
        // That of the larger size, and of both where the line goes on.
        const uint64_t beyond = (one.bytes - (64 << 20)) / (48 << 20) + 1;
        EXPECT_EQ(one.doubt, doubt + 2 * static_cast<int64_t>(beyond) * doubt);
        all += one.doubt * static_cast<int64_t>(one.times);
    }
    EXPECT_EQ(job.doubt, all);
    EXPECT_EQ(job.expected.ps, 1000 + (128 << 20));
    EXPECT_EQ(job.taken.ps, (1000 + (128 << 20)) * int64_t{101} / 100);
}

// Four replicas, of which the first two have short ways between their stages, the others long ones.
TEST(replicas, that_find_the_same_have_one_of_them_in_the_program) {
    StepOptions options = without_output(options_of(even_model(4)));
    options.layout.tensor = 2;
    options.layout.pipeline = 2;
    options.layout.data = 4;
    options.layout.zero = 1;
    options.layout.micro_batches = 3;
    options.repeats_replicas = true;
    options.repeats_messages = true;
    StepPlace place = place_of(options, 2);
    place.protocol = Protocol::simple;
    const auto program_with = [&](bool folds) {
        options.folds_replicas = folds;
        Program program;
        append_step(program, Job{"step"}, options, place, no_time);
        EXPECT_FALSE(program.check(16));
        return program;
    };
    const Program all = program_with(true);
    EXPECT_EQ(all.tasks().size(), program_with(false).tasks().size()) << "ways are not known";
    place.way_between = [](uint32_t from, uint32_t) { return from < 8 ? 1 : 2; };
    EXPECT_EQ(folded_replicas(options, place), (std::vector<uint32_t>{0, 1, 2, 3}));
    const Program folded = program_with(true);
    EXPECT_EQ(folded_replicas(options, place), (std::vector<uint32_t>{0, 0, 2, 2}));
    EXPECT_EQ(2 * folded.tasks().size(), all.tasks().size());
    const TrainingJob& job = *folded.jobs.front().training;
    EXPECT_EQ(job.stands_for,
              (std::vector<uint32_t>{2, 2, 2, 2, 0, 0, 0, 0, 2, 2, 2, 2, 0, 0, 0, 0}));
    const auto every_end = ideal_ends(all, 0, 16);
    const auto ends = ideal_ends(folded, 0, 16);
    for (size_t i = 0; i < job.ranks.size(); ++i) {
        const Duration expected = job.stands_for[i] == 0 ? Duration{} : every_end[job.ranks[i]];
        EXPECT_EQ(ends[job.ranks[i]], expected);
    }
    EXPECT_EQ(most_tasks(options, place), most_tasks(options, place_of(options, 2)) / 2);
}

TEST(ranks, are_counted_in_the_order_that_was_asked_for) {
    Layout layout;
    layout.tensor = 2;
    layout.context = 3;
    layout.pipeline = 4;
    layout.data = 5;
    const Grid usual(layout, kUsualOrder);
    EXPECT_EQ(usual.rank({1, 0, 0, 0}), 1u);
    EXPECT_EQ(usual.rank({0, 1, 0, 0}), 2u);
    EXPECT_EQ(usual.rank({0, 0, 1, 0}), 6u);
    EXPECT_EQ(usual.rank({0, 0, 0, 1}), 24u);
    const Grid other(layout, {Axis::data, Axis::tensor, Axis::context, Axis::pipeline});
    EXPECT_EQ(other.rank({0, 0, 0, 1}), 1u);
    EXPECT_EQ(other.rank({1, 0, 0, 0}), 5u);
}

}  // namespace
}  // namespace tulle::workload
