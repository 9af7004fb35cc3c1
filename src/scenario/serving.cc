#include "scenario/serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/units.h"
#include "scenario/models.h"
#include "workload/message.h"

namespace tulle::scenario {
namespace {

using workload::ServingGroup;
using workload::TokenRange;

constexpr uint64_t kMostRequests = 1'000'000;
constexpr uint64_t kMostTokens = 1 << 24;
constexpr uint32_t kRequestStream = 0x72657173;

constexpr KnownKey kServingKeys[] = {
    {"model", "name or map", "as in `training`"},
    {"gpu", "one of a100, h100, h200, b200, gb200", "what computes; h100 by default"},
    {"precision", "one of bf16, fp8",
     "precision of weights and products; bf16 by default. The KV cache is bf16"},
    {"efficiency", "number from 0 to 1", "part of the GPU's peak rate; by default as in training"},
    {"memory_efficiency", "number from 0 to 1",
     "part of the GPU's memory bandwidth; 0.8 by default, which is chosen and not measured"},
    {"communication_sms", "number",
     "number of the GPU's processors that do not compute; 0 by default"},
    {"overhead", "duration", "time of each step before it computes; 0 by default"},
    {"together", "map", "instances that compute prompts and answers"},
    {"prefill", "map", "instead, with `decode`: instances that compute prompts"},
    {"decode", "map", "instances that compute answers"},
    {"kv", "one of layers, whole",
     "when the KV cache of a prompt is sent to `decode`: after each layer, or after the last; "
     "layers by default"},
    {"kv_memory", "map",
     "the KV cache is in memory that GPUs share (gpus: {memory: 2}): see below"},
    {"rate", "number", "requests a second on average, such as 2.5, as a Poisson process"},
    {"requests", "number", "number of requests"},
    {"prompt", "number or map of from and to", "number of tokens in a prompt"},
    {"output", "number or map of from and to", "number of tokens in an answer"},
    {"file", "file",
     "instead of these four: one line for each request, with its arrival and the tokens of prompt "
     "and answer, such as `1.5s 800 200`"},
    {"sequences", "number",
     "largest number of answers of a replica at once; 256 by default, as in vLLM"},
    {"step_tokens", "number",
     "largest number of new tokens of a replica in a step; 8192 by default"},
    {"two_batches", "yes or no",
     "two halves of a batch take turns: one computes while the other communicates with experts"},
    {"limits", "map", "limits that a request has to meet to count as goodput"},
};

constexpr KnownKey kGroupKeys[] = {
    {"ranks", "GPUs", "such as [0-15]; all by default, of `together`"},
    {"tp", "number", "number of ranks that share each layer; 1 by default"},
    {"ep", "number",
     "number of ranks that share the experts; an instance then has this many GPUs, and each tp of "
     "them have requests of their own. 1 by default: experts are shared as layers are"},
};

constexpr KnownKey kLimitKeys[] = {
    {"first_token", "duration", "time from its arrival to its first token"},
    {"between_tokens", "duration", "average time between its tokens"},
};

constexpr KnownKey kRangeKeys[] = {
    {"from", "number", "the least"},
    {"to", "number", "the most; all between are equally likely"},
};

class ServingReader : private KeyReader {
public:
    ServingReader(const Value& map, const ServingSource& source, Notes& notes)
        : KeyReader(map, notes), source_(source) {}

    ServingEntry read() {
        workload::ServingOptions& options = entry_.options;
        options.model = read_model(*this);
        options.engine = read_engine(*this);
        read_precision();
        permille("memory_efficiency", options.memory_permille);
        time("overhead", options.overhead);
        word("kv", {{"layers", true}, {"whole", false}}, options.kv_by_layer);
        number(map_, "sequences", options.most_sequences, 1);
        number(map_, "step_tokens", options.step_tokens, 1, kMostTokens);
        yes(map_, "two_batches", options.two_batches);
        read_limits();
        read_requests();
        if (!notes_.failed()) read_groups();
        return std::move(entry_);
    }

private:
    void read_precision() {
        bool is_fp8 = false;
        word("precision", {{"bf16", false}, {"fp8", true}}, is_fp8);
        if (!is_fp8) return;
        workload::Gpu& gpu = entry_.options.engine.gpu;
        if (gpu.fp8_gflops == 0)
            return notes_.fail(map_.find("precision")->line,
                               fmt::format("precision: {} has no fp8", gpu.name));
        gpu.bf16_gflops = gpu.fp8_gflops;
        entry_.options.weight_bytes = 1;
    }

    void read_limits() {
        const Value* value = map_.find("limits");
        if (value == nullptr || !notes_.expect_map(*value, "limits", kLimitKeys)) return;
        KeyReader limits(*value, notes_);
        limits.time("first_token", entry_.options.first_token_limit);
        limits.time("between_tokens", entry_.options.token_limit);
    }

    void read_requests() {
        const Value* file = map_.find("file");
        for (const std::string_view key : {"rate", "requests", "prompt", "output"}) {
            const Value* value = map_.find(key);
            if (file != nullptr && value != nullptr)
                return notes_.fail(value->line,
                                   fmt::format("{} has no effect beside file; remove one", key));
            if (file == nullptr && value == nullptr)
                return notes_.fail(map_.line,
                                   fmt::format("{} is missing; write rate: 2.5, requests: 100, "
                                               "prompt: 800, output: 200, or file: requests.txt",
                                               key));
        }
        if (file != nullptr) return read_file(*file);
        workload::RequestPattern pattern;
        number(map_, "requests", pattern.count, 1, kMostRequests);
        pattern.prompt = range("prompt");
        pattern.output = range("output");
        pattern.between = between();
        if (notes_.failed()) return;
        base::RandomStream random({source_.seed, kRequestStream, source_.job});
        entry_.requests = workload::draw_requests(pattern, random);
        if (entry_.requests.back().arrival > workload::kLatestStart)
            notes_.fail(map_.line, "the last request comes after more than a day; take fewer");
    }

    void read_file(const Value& value) {
        if (!notes_.expect_text(value, "file", "requests.txt")) return;
        const std::string path = resolve(notes_.file(), value.text);
        if (source_.files == nullptr) return notes_.fail(value.line, "no file can be read here");
        const auto text = (*source_.files)(path);
        if (!text) return notes_.fail(value.line, text.error().message);
        auto requests = workload::read_requests(*text, path);
        if (!requests) return notes_.adopt(requests.error());
        entry_.requests = std::move(*requests);
        if (entry_.requests.size() > kMostRequests)
            notes_.fail(value.line, fmt::format("there are more than {} requests", kMostRequests));
    }

    // The average time between requests, from a decimal number of requests a second.
    base::Duration between() {
        const Value& value = *map_.find("rate");
        uint64_t thousandths = 0;
        const auto whole = base::parse_duration(value.text + "ms");
        if (value.is_text() && whole) thousandths = static_cast<uint64_t>(whole->ps / 1'000'000);
        if (thousandths == 0 || thousandths > 1'000'000'000) {
            notes_.fail(value.line,
                        "rate: requests a second, from 0.001 to 1000000, such as rate: 2.5");
            return {};
        }
        return {static_cast<int64_t>(1'000'000'000'000'000 / thousandths)};
    }

    TokenRange range(std::string_view key) {
        TokenRange found;
        const Value& value = *map_.find(key);
        if (value.kind != Value::Kind::map) {
            number(map_, key, found.least, 1, kMostTokens);
            found.most = found.least;
            return found;
        }
        if (!notes_.expect_map(value, key, kRangeKeys)) return found;
        for (const std::string_view end : {"from", "to"})
            if (value.find(end) == nullptr)
                notes_.fail(value.line, fmt::format("{}: {} is missing", key, end));
        number(value, "from", found.least, 1, kMostTokens);
        number(value, "to", found.most, 1, kMostTokens);
        if (found.least > found.most)
            notes_.fail(value.line, fmt::format("{}: from is more than to", key));
        return found;
    }

    void read_groups() {
        const Value* together = map_.find("together");
        const Value* prefill = map_.find("prefill");
        const Value* decode = map_.find("decode");
        if ((prefill == nullptr) != (decode == nullptr) ||
            (together == nullptr) == (prefill == nullptr))
            return notes_.fail(map_.line,
                               "who serves is missing; write together: {tp: 8}, or both "
                               "prefill: {tp: 8, ranks: [0-7]} and decode: {tp: 8, ranks: [8-15]}");
        if (together != nullptr) return read_group("together", *together, true, true);
        read_group("prefill", *prefill, true, false);
        if (!notes_.failed()) read_group("decode", *decode, false, true);
        if (notes_.failed()) return;
        std::set<uint32_t> taken;
        for (const ServingGroup& group : entry_.groups)
            for (const workload::Member& member : group.members)
                if (!taken.insert(member.rank).second)
                    return notes_.fail(
                        decode->line,
                        fmt::format("GPU {} is in prefill and in decode", member.rank));
    }

    void read_group(std::string_view name, const Value& map, bool prompts, bool answers) {
        if (!notes_.expect_map(map, name, kGroupKeys)) return;
        if (!(prompts && answers) && map.find("ranks") == nullptr)
            return notes_.fail(map.line,
                               fmt::format("{}: ranks are missing; write ranks: [0-7]", name));
        ServingGroup group;
        number(map, "tp", group.tensor, 1);
        number(map, "ep", group.expert, 1);
        group.computes_prompts = prompts;
        group.makes_answers = answers;
        for (const uint32_t rank : source_.ranks(map))
            group.members.push_back(source_.gpus.members[rank]);
        if (notes_.failed()) return;
        if (auto wrong = workload::check(entry_.options, group, entry_.requests))
            return notes_.fail(map.line, fmt::format("{}: {}", name, wrong->message));
        entry_.groups.push_back(std::move(group));
    }

    const ServingSource& source_;
    ServingEntry entry_;
};

}  // namespace

std::span<const KnownKey> serving_keys() {
    return kServingKeys;
}

std::span<const KnownKey> serving_group_keys() {
    return kGroupKeys;
}

std::span<const KnownKey> serving_limit_keys() {
    return kLimitKeys;
}

ServingEntry read_serving(const Value& map, const ServingSource& source, Notes& notes) {
    return ServingReader(map, source, notes).read();
}

}  // namespace tulle::scenario
