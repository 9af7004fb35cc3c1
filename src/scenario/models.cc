#include "scenario/models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/words.h"

namespace tulle::scenario {
namespace {

using workload::Model;

constexpr KnownKey kModelKeys[] = {
    {"layers", "number", "number of layers, all alike"},
    {"hidden", "number", "width"},
    {"feed_forward", "number", "width of the inner layer; 4 times hidden by default"},
    {"heads", "number", "number of attention heads"},
    {"kv_heads", "number", "heads of keys and values; as many as heads by default"},
    {"head_size", "number", "hidden / heads by default"},
    {"vocabulary", "number", "number of different tokens"},
    {"sequence", "number", "tokens in a sequence"},
    {"gated", "yes or no", "three matrices in the feed-forward layer, not two; yes by default"},
    {"classic", "yes or no", "GPT: biases, and one matrix for embedding and output"},
    {"experts", "number", "experts of a layer; none by default"},
    {"experts_of_token", "number", "experts that each token goes to"},
    {"shared_experts", "number", "experts that all tokens go to"},
    {"expert_feed_forward", "number", "width of the inner layer of an expert"},
    {"dense_layers", "number", "number of first layers without experts"},
};

void read_shape(KeyReader& reader, const Value& map, Model& model) {
    if (!reader.notes().expect_map(map, "model", kModelKeys)) return;
    model.name = "the model";
    for (const std::string_view key : {"layers", "hidden", "heads", "vocabulary", "sequence"})
        if (map.find(key) == nullptr)
            return reader.notes().fail(map.line, fmt::format("model: {} is missing", key));
    reader.number(map, "layers", model.layers, 1, 10'000);
    reader.number(map, "hidden", model.hidden, 1);
    reader.number(map, "heads", model.heads, 1);
    reader.number(map, "vocabulary", model.vocabulary, 1, 1 << 24);
    reader.number(map, "sequence", model.sequence, 1, 1 << 27);
    if (reader.notes().failed()) return;
    model.feed_forward = 4 * model.hidden;
    model.kv_heads = model.heads;
    model.head_size = model.hidden / model.heads;
    reader.number(map, "feed_forward", model.feed_forward, 1, 1 << 24);
    reader.number(map, "kv_heads", model.kv_heads, 1);
    reader.number(map, "head_size", model.head_size, 1);
    reader.number(map, "experts", model.experts, 0);
    reader.number(map, "experts_of_token", model.experts_of_token, 0);
    reader.number(map, "shared_experts", model.shared_experts, 0);
    reader.number(map, "expert_feed_forward", model.expert_feed_forward, 1, 1 << 24);
    reader.number(map, "dense_layers", model.dense_layers, 0);
    reader.yes(map, "gated", model.is_gated);
    reader.yes(map, "classic", model.is_classic);
    if (model.experts == 0) return;
    if (model.experts_of_token == 0 || model.expert_feed_forward == 0)
        reader.notes().fail(map.line,
                            "model: experts need experts_of_token and expert_feed_forward");
    else if (model.experts_of_token > model.experts)
        reader.notes().fail(map.line, "model: experts_of_token are more than the experts");
}

}  // namespace

std::span<const KnownKey> model_keys() {
    return kModelKeys;
}

Model read_model(KeyReader& reader) {
    Model model;
    Notes& notes = reader.notes();
    const Value* value = reader.map().find("model");
    if (value == nullptr) {
        notes.fail(reader.map().line, "the model is missing; write model: llama3-70b");
        return model;
    }
    if (value->kind == Value::Kind::map) {
        read_shape(reader, *value, model);
        return model;
    }
    if (!notes.expect_text(*value, "model", "llama3-70b")) return model;
    if (const Model* found = workload::find_model(value->text)) return *found;
    std::vector<std::string_view> names;
    for (const Model& one : workload::models()) names.push_back(one.name);
    notes.fail(value->line,
               fmt::format(
                   "there is no model '{}'; {}", value->text.substr(0, 40),
                   base::did_you_mean(value->text, names,
                                      fmt::format("there are {}, or write its shape: {{layers: 32, "
                                                  "hidden: 4096, heads: 32, vocabulary: 32000}}",
                                                  base::joined(names)))));
    return model;
}

workload::Engine read_engine(KeyReader& reader) {
    workload::Engine engine;
    std::vector<std::pair<std::string_view, const workload::Gpu*>> known;
    for (const workload::Gpu& gpu : workload::gpus()) known.emplace_back(gpu.name, &gpu);
    const workload::Gpu* gpu = workload::find_gpu("h100");
    reader.word("gpu", known, gpu);
    engine.gpu = *gpu;
    reader.number(reader.map(), "communication_sms", engine.communication_processors, 0,
                  engine.gpu.processors - 1);
    reader.permille("efficiency", engine.efficiency_permille);
    return engine;
}

}  // namespace tulle::scenario
