#include "cli/model.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/result_files.h"
#include "workload/training/layout.h"

namespace tulle::cli {
namespace {

using workload::Gpu;
using workload::Layout;
using workload::Model;

constexpr const char* kModelExamples = R"(Examples:
  tulle model llama3-8b --tp 8                      its size, on eight GPUs
  tulle model llama3-70b --gpus 64 --tp 4 --pp 4 --cp 2 --virtual 5 --zero 1 \
      --micro-batches 64
  tulle model llama3-405b --gpus 16384 --tp 8 --pp 16 --json -

Exit code 1: the model does not fit into the memory of the GPUs.
`man tulle-model` gives the formulas.)";

struct ModelOptions {
    std::string model;
    std::string gpu = "h100";
    uint32_t gpus = 0;  // 0: one replica
    std::string recompute = "selective";
    bool without_sequence_parallelism = false;
    Layout layout;
    std::string json;
};

template <class Known>
std::string names_of(const Known& known) {
    std::vector<std::string_view> names;
    for (const auto& one : known) names.push_back(one.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

std::string bytes_text(uint64_t bytes) {
    for (const auto& [size, unit] : {std::pair{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}})
        if (static_cast<double>(bytes) >= size)
            return fmt::format("{:.2f} {}", static_cast<double>(bytes) / size, unit);
    return fmt::format("{} bytes", bytes);
}

// What one rank sends in a step, by kind: how many messages, and how large.
struct Saying {
    const char* key;
    const char* what;
    uint64_t times = 0;
    uint64_t bytes = 0;
};

std::vector<Saying> sayings_of(const Model& model, const Layout& layout) {
    const uint64_t layers = model.layers / layout.pipeline;
    const uint64_t batches = layout.micro_batches;
    std::vector<Saying> said;
    if (layout.tensor > 1)
        said.push_back({"tensor", "all-reduces among ranks of a tensor, or gather and scatter",
                        4 * layers * batches, tensor_bytes(model, layout)});
    if (layout.pipeline > 1)
        said.push_back({"pipeline", "messages to the stages before and behind",
                        2 * batches * layout.chunks, pipeline_bytes(model, layout)});
    if (layout.context > 1)
        said.push_back({"context", "gathered keys and values, and their gradients",
                        2 * layers * batches, context_bytes(model, layout)});
    if (layout.replicas() > 1)
        said.push_back(
            {"gradients", "sum of gradients of replicas", 1, gradient_bytes(model, layout, 0)});
    if (layout.replicas() > 1 && layout.zero > 0)
        said.push_back({"parameters", "parameters gathered from replicas",
                        layout.zero == 3 ? 2 * batches : 1, gathered_bytes(model, layout, 0)});
    return said;
}

// Seconds of pure computation in a step, at the measured rate of large matrix products.
double computing_seconds(const Model& model, const Layout& layout, const Gpu& gpu) {
    const double sequences = static_cast<double>(layout.data) * layout.micro_batches *
                             static_cast<double>(layout.micro_batch);
    const double operations =
        static_cast<double>(flops_per_sequence(model, layout.sequence)) * sequences;
    const double rate = static_cast<double>(gpu.bf16_gflops) * 1e9 * gpu.matmul_permille / 1000;
    return operations / (rate * static_cast<double>(layout.gpus()));
}

struct Reckoned {
    const Model& model;
    const Layout& layout;
    const Gpu& gpu;
    workload::Memory memory = memory_of(model, layout);
    std::vector<Saying> said = sayings_of(model, layout);
    double computing = computing_seconds(model, layout, gpu);
    double bubble = static_cast<double>(workload::bubble(layout).numerator) /
                    static_cast<double>(workload::bubble(layout).denominator);
    double step() const { return computing * (1 + bubble); }
};

std::string json_of_reckoned(const Reckoned& r) {
    nlohmann::ordered_json out;
    out["model"] = r.model.name;
    out["parameters"] = parameters(r.model);
    out["active_parameters"] = active_parameters(r.model);
    out["kv_bytes_per_token"] = kv_bytes_per_token(r.model);
    out["gpu"] = r.gpu.name;
    out["gpus"] = r.layout.gpus();
    out["tokens_per_step"] = r.layout.tokens_per_step();
    out["memory_bytes"] = {
        {"parameters", r.memory.parameters}, {"gradients", r.memory.gradients},
        {"optimizer", r.memory.optimizer},   {"activations", r.memory.activations},
        {"total", r.memory.total()},         {"gpu", r.gpu.memory_bytes}};
    out["says"] = nlohmann::ordered_json::array();
    for (const Saying& one : r.said)
        out["says"].push_back({{"kind", one.key}, {"times", one.times}, {"bytes", one.bytes}});
    out["bubble"] = r.bubble;
    out["least_step_s"] = r.step();
    return out.dump(2) + "\n";
}

void print_reckoned(const Reckoned& r, Output& out) {
    const Layout& layout = r.layout;
    out.print("Model        {}: {:.1f} billion parameters, {:.1f} of them for a token\n",
              r.model.name, static_cast<double>(parameters(r.model)) / 1e9,
              static_cast<double>(active_parameters(r.model)) / 1e9);
    out.print("             {} of keys and values a token\n",
              bytes_text(kv_bytes_per_token(r.model)));
    out.print("GPUs         {} {}: tp {}, pp {}, cp {}, dp {}, ep {}, zero {}\n", layout.gpus(),
              r.gpu.name, layout.tensor, layout.pipeline, layout.context, layout.data,
              layout.expert, layout.zero);
    out.print("Step         {} tokens: {} micro-batches of {} x {}, on each of {}\n",
              layout.tokens_per_step(), layout.micro_batches, layout.micro_batch, layout.sequence,
              layout.data);
    out.print("\nMemory of the rank that needs most\n");
    const std::pair<const char*, uint64_t> parts[] = {{"parameters", r.memory.parameters},
                                                      {"gradients", r.memory.gradients},
                                                      {"optimizer", r.memory.optimizer},
                                                      {"activations", r.memory.activations},
                                                      {"in all", r.memory.total()}};
    for (const auto& [what, bytes] : parts) out.print("  {:<12}{:>12}\n", what, bytes_text(bytes));
    out.print("  {:<12}{:>12}\n", "has", bytes_text(r.gpu.memory_bytes));
    if (!r.said.empty()) out.print("\nWhat a rank says in a step\n");
    for (const Saying& one : r.said)
        out.print("  {:>7} x {:>10}  {}\n", one.times, bytes_text(one.bytes), one.what);
    out.print("\nLeast time   {:.3f} s a step: computing {:.3f} s, and a bubble of {:.1f} %\n",
              r.step(), r.computing, 100 * r.bubble);
    out.print("             {:.0f} tokens a second, if nothing waits for the network\n",
              static_cast<double>(layout.tokens_per_step()) / r.step());
}

int reckon(ModelOptions& options) {
    const Model* model = workload::find_model(options.model);
    if (model == nullptr)
        return fail("model",
                    {fmt::format("there is no model '{}'; there are {}", options.model,
                                 names_of(workload::models()))},
                    kInputWrong);
    const Gpu* gpu = workload::find_gpu(options.gpu);
    if (gpu == nullptr)
        return fail("model",
                    {fmt::format("there is no GPU '{}'; there are {}", options.gpu,
                                 names_of(workload::gpus()))},
                    kInputWrong);
    Layout& layout = options.layout;
    const uint64_t together = uint64_t{layout.tensor} * layout.pipeline * layout.context;
    const uint64_t gpus = options.gpus == 0 ? together : options.gpus;
    if (gpus % together != 0)
        return fail("model",
                    {fmt::format("--gpus: {} is no multiple of tp x pp x cp, {}", gpus, together)},
                    kInputWrong);
    layout.data = static_cast<uint32_t>(gpus / together);
    layout.is_sequence_parallel = !options.without_sequence_parallelism;
    if (options.recompute != "none")
        layout.recompute = options.recompute == "full" ? workload::Recompute::full
                                                       : workload::Recompute::selective;
    if (layout.sequence == 0) layout.sequence = model->sequence;
    if (const auto error = check(layout, *model)) return fail("model", *error, kInputWrong);

    const Reckoned reckoned{*model, layout, *gpu};
    auto files = ResultFiles::open({{options.json, [&] { return json_of_reckoned(reckoned); }}});
    if (!files) return fail("model", files.error(), kInputWrong);
    Output standard = Output::standard();
    if (!files->takes_standard_output()) print_reckoned(reckoned, standard);
    if (const auto error = standard.finish()) return fail("model", *error, kRunFailed);
    if (const auto error = files->write()) return fail("model", *error, kRunFailed);
    if (const auto error = check_memory(*model, layout, *gpu))
        return fail("model", *error, kRunFailed);
    return kDone;
}

}  // namespace

void add_model(Command& program) {
    const auto options = std::make_shared<ModelOptions>();
    Command command =
        program.add_command("model", "Compute memory, traffic and least time of training a model");
    command.add_examples(kModelExamples);
    Layout& layout = options->layout;
    const auto degree = [&](const char* name, uint32_t& value, const char* what) {
        command.option(name, value, what, {.shown = "N [1]", .from = 1, .to = 1 << 20});
    };
    command.option("NAME", options->model, "A model, for example llama3-70b",
                   {.is_required = true});
    command.option("--gpu", options->gpu, "Kind of GPU: a100, h100, h200, b200, gb200",
                   {.shown = "NAME [h100]"});
    command.option("--gpus", options->gpus, "Total number of GPUs; by default tp x pp x cp",
                   {.shown = "N", .from = 1, .to = 1 << 20});
    degree("--tp", layout.tensor, "Degree of tensor parallelism");
    degree("--pp", layout.pipeline, "Number of pipeline stages");
    degree("--cp", layout.context, "Degree of context parallelism");
    degree("--ep", layout.expert, "Degree of expert parallelism, within cp x dp");
    degree("--virtual", layout.chunks, "Number of interleaved chunks of layers per stage");
    command.option("--zero", layout.zero,
                   "What is sharded over replicas: 0 nothing, 1 the optimizer, "
                   "2 gradients too, 3 parameters too",
                   {.shown = "N [0]", .to = 3});
    degree("--micro-batches", layout.micro_batches, "Number of micro-batches per replica and step");
    degree("--micro-batch", layout.micro_batch, "Number of sequences per micro-batch");
    command.option("--sequence", layout.sequence,
                   "Tokens per sequence; by default as the model was trained",
                   {.shown = "N", .from = 1, .to = 1 << 27});
    command.option("--recompute", options->recompute,
                   "What to recompute of the forward pass: none, selective, full",
                   {.shown = "WHAT [selective]", .choices = {"none", "selective", "full"}});
    command.flag("--no-sequence-parallel", options->without_sequence_parallelism,
                 "Let tensor-parallel ranks all-reduce instead of gather and scatter");
    command.option("--json", options->json, "Write the result as JSON; - is standard output",
                   {.shown = "FILE"});
    command.when_chosen([options] { return reckon(*options); });
}

}  // namespace tulle::cli
