#include "scenario/experts.h"

#include <fmt/format.h>

#include "scenario/key_reader.h"

namespace tulle::scenario {
namespace {

constexpr KnownKey kExpertKeys[] = {
    {"ranks", "GPUs", "the GPUs that hold the experts; all by default"},
    {"tokens", "number", "tokens of each GPU; 4096 by default, 128 with mode: low_latency"},
    {"hidden", "number", "values of a token; 7168 by default"},
    {"experts", "number", "experts of all GPUs together; 256 by default"},
    {"experts_of_token", "number", "8 by default"},
    {"servers_of_token", "number", "largest number of servers that a token goes to; 4 by default"},
    {"mode", "one of normal, low_latency",
     "normal: a token goes once to each server and is forwarded there; low_latency: it goes "
     "directly to each expert. normal by default"},
    {"hot", "number",
     "by what factor an eighth of the experts is likelier than the others; 1 by default"},
    {"chunk", "number", "tokens in a message between servers; 32 by default"},
    {"attention", "duration", "computing time of a layer before its tokens are sent; 0 by default"},
    {"compute", "duration",
     "computing time of an expert with the average number of tokens, others in proportion; 0 by "
     "default"},
    {"layers", "number", "number of layers, one after the other; 1 by default"},
    {"micro_batches", "number",
     "1 or 2, each with `tokens` tokens: one computes while the tokens of the other are in flight; "
     "1 by default"},
};

}  // namespace

std::span<const KnownKey> expert_keys() {
    return kExpertKeys;
}

workload::ExpertLayers read_experts(const Value& map, uint64_t seed, Notes& notes) {
    workload::ExpertLayers entry;
    workload::ExpertOptions& options = entry.options;
    KeyReader reader(map, notes);
    reader.word("mode", {{"normal", false}, {"low_latency", true}}, options.is_low_latency);
    if (options.is_low_latency) options.tokens = 128;
    reader.number(map, "tokens", options.tokens, 1);
    reader.number(map, "hidden", options.hidden, 1);
    reader.number(map, "experts", options.experts, 1, 65536);
    reader.number(map, "experts_of_token", options.of_token, 1, 65536);
    reader.number(map, "servers_of_token", options.most_servers, 1);
    reader.number(map, "hot", options.hot_times, 1, 1000);
    reader.number(map, "chunk", options.chunk, 1);
    reader.number(map, "layers", entry.layers, 1, 1000);
    reader.number(map, "micro_batches", entry.micro_batches, 1, 2);
    reader.time("attention", entry.attention);
    reader.time("compute", entry.computing);
    options.seed = seed;
    const Value* chunk = map.find("chunk");
    if (chunk != nullptr && options.is_low_latency)
        notes.fail(chunk->line, "chunk has no effect here; it goes with mode: normal");
    return entry;
}

}  // namespace tulle::scenario
