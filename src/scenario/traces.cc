#include "scenario/traces.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenario/astra.h"
#include "scenario/fields.h"
#include "traces/chakra.h"
#include "traces/kineto.h"
#include "traces/simai.h"

namespace tulle::scenario {
namespace {

using workload::Protocol;

constexpr KnownKey kTraceRanks = {
    "ranks", "GPUs", "the GPUs of rank 0, 1, ..., such as [0-7]; the first ones by default"};
constexpr KnownKey kTraceProtocol = {"protocol", "one of auto, simple, ll, ll128, none",
                                     "protocol of the library; auto by default"};

const std::vector<WorkKind> kTraceKinds = {
    {{"chakra", "map", "an execution trace of Chakra: what each rank computes, sends and receives"},
     {{"files", "path",
       "common beginning of the file names: PREFIX of PREFIX.0.et, PREFIX.1.et, ..."},
      kTraceRanks,
      {"groups", "file",
       "the members of process groups, if the trace does not name them: JSON such as {\"1\": [0, "
       "1]}, as in ASTRA-sim"},
      {"dimensions", "list of numbers",
       "dimensions of the network that the trace was made for, the innermost first, as "
       "`involved_dim` counts them"},
      {"system", "file", "a system file of ASTRA-sim: peak-perf, local-mem-bw and algorithms"},
      kTraceProtocol}},
    {{"simai", "map", "a workload file of SimAI or AICB: what each layer computes and says"},
     {{"file", "file", "one row for each layer"},
      kTraceRanks,
      {"unit", "one of ns, us, ms", "unit of the times in the file; ns by default, as in SimAI"},
      kTraceProtocol}},
    {{"astra", "map", "a workload of ASTRA-sim as text: what each layer computes and says"},
     {{"workload", "file", "one row for each layer"},
      kTraceRanks,
      {"unit", "one of ns, us, ms",
       "unit of the times in the file; ns by default, a cycle of ASTRA-sim"},
      {"system", "file", "a system file of ASTRA-sim: algorithms of collectives"},
      kTraceProtocol}},
    {{"kineto", "map",
      "traces of PyTorch's profiler: when each rank computed, and its collectives"},
     {{"files", "list of files",
       "JSON files of rank 0, 1, ...; with one file all ranks do the same"},
      kTraceRanks,
      kTraceProtocol}},
};

class TraceReader {
public:
    TraceReader(const TraceSource& source, Notes& notes)
        : source_(source), map_(source.map), notes_(notes) {}

    TraceEntry read() {
        entry_.place.scale_up = source_.gpus.scale_up;
        entry_.place.machine = source_.gpus.machine;
        read_protocol();
        if (map_.find("system") != nullptr) read_system();
        if (notes_.failed()) return std::move(entry_);
        if (source_.kind == "chakra") read_chakra();
        if (source_.kind == "simai") read_workload("file", false);
        if (source_.kind == "kineto") read_kineto();
        if (source_.kind == "astra") read_workload("workload", true);
        if (notes_.failed()) return std::move(entry_);
        for (size_t i = 0; i < entry_.trace.ranks.size(); ++i)
            entry_.place.members.push_back(source_.gpus.members[source_.ranks[i]]);
        return std::move(entry_);
    }

private:
    void read_protocol() {
        const Value* value = map_.find("protocol");
        if (value == nullptr) return;
        for (const Protocol one :
             {Protocol::automatic, Protocol::simple, Protocol::ll, Protocol::ll128, Protocol::bare})
            if (value->is_text() && value->text == workload::name_of(one)) {
                entry_.place.protocol = one;
                return;
            }
        notes_.fail(value->line, "protocol: it is one of auto, simple, ll, ll128, none");
    }

    // The path that a key names; empty if the key is missing.
    std::string path_of(std::string_view key) {
        const Value* value = map_.find(key);
        if (value == nullptr || !notes_.expect_text(*value, key, "a path")) return {};
        return resolve(notes_.file(), value->text);
    }

    std::string file_at(std::string_view key) {
        const std::string path = path_of(key);
        if (path.empty()) return {};
        auto text = source_.files(path);
        if (!text) notes_.fail(map_.find(key)->line, text.error().message);
        return text ? std::move(*text) : std::string();
    }

    void read_system() {
        const std::string text = file_at("system");
        if (notes_.failed()) return;
        auto system = read_astra_system(text, path_of("system"));
        if (!system) return notes_.adopt(system.error());
        system_ = std::move(*system);
        entry_.place.algorithms = system_.algorithms;
    }

    void read_workload(std::string_view key, bool gathers_shards) {
        if (map_.find(key) == nullptr)
            return notes_.fail(map_.line, fmt::format("`{0}` is missing; write {0}: a path", key));
        const std::string text = file_at(key);
        traces::WorkloadOptions options;
        options.ranks = static_cast<uint32_t>(source_.ranks.size());
        options.is_exact = map_.find("ranks") != nullptr;
        options.gathers_shards = gathers_shards;
        if (const Value* unit = map_.find("unit")) {
            options.unit_ps = unit->text == "ns"   ? 1'000
                              : unit->text == "us" ? 1'000'000
                              : unit->text == "ms" ? 1'000'000'000
                                                   : 0;
            if (options.unit_ps == 0) notes_.fail(unit->line, "unit: it is one of ns, us, ms");
        }
        if (notes_.failed()) return;
        auto trace = traces::read_workload(text, path_of(key), options);
        if (!trace) return notes_.adopt(trace.error());
        entry_.trace = std::move(*trace);
        add_system_notes();
    }

    void add_system_notes() {
        auto& notes = entry_.trace.notes;
        notes.insert(notes.end(), system_.notes.begin(), system_.notes.end());
    }

    void read_chakra() {
        const std::string prefix = path_of("files");
        if (prefix.empty())
            return notes_.fail(map_.line,
                               "the files are missing; write files: PREFIX, without .0.et");
        traces::ChakraOptions options;
        options.dimensions = numbers("dimensions");
        options.roofline = system_.roofline;
        read_groups(options.groups);
        if (!notes_.failed()) options.ranks = count_ranks(prefix);
        if (notes_.failed()) return;
        traces::ChakraReader reader(options);
        for (uint32_t rank = 0; rank < options.ranks; ++rank) {
            const std::string file = name_of_rank(prefix, rank);
            const auto bytes = source_.files(file);
            if (!bytes) return notes_.fail(map_.find("files")->line, bytes.error().message);
            if (const auto error = reader.add_rank(*bytes, file)) return notes_.adopt(*error);
        }
        entry_.trace = reader.take();
        add_system_notes();
    }

    void read_kineto() {
        const Value* list = map_.find("files");
        if (list == nullptr)
            return notes_.fail(map_.line, "the files are missing; write files: [rank0.json]");
        if (!notes_.expect_list(*list, "files")) return;
        const bool is_one = list->items.size() == 1;
        const size_t count = is_one ? source_.ranks.size() : list->items.size();
        if (list->items.empty() || count > source_.ranks.size() ||
            (map_.find("ranks") != nullptr && count != source_.ranks.size()))
            return notes_.fail(list->line,
                               fmt::format("files: there are {} files and {} GPUs; name one file, "
                                           "or one for each rank",
                                           list->items.size(), source_.ranks.size()));
        traces::KinetoReader reader(static_cast<uint32_t>(count));
        for (const Value& item : list->items) {
            if (!notes_.expect_text(item, "files", "rank0.json")) return;
            const std::string path = resolve(notes_.file(), item.text);
            const auto text = source_.files(path);
            if (!text) return notes_.fail(item.line, text.error().message);
            if (const auto error = reader.add_rank(*text, path)) return notes_.adopt(*error);
        }
        if (is_one)
            if (const auto error = reader.repeat_first()) return notes_.adopt(*error);
        entry_.trace = reader.take();
    }

    static std::string name_of_rank(const std::string& prefix, uint32_t rank) {
        return fmt::format("{}.{}.et", prefix, rank);
    }

    // A file after the first missing one: the trace is not complete.
    void refuse_gap(const std::string& prefix, uint32_t missing, uint32_t most, uint32_t line) {
        for (uint32_t rank = missing + 1; rank < most && !notes_.failed(); ++rank)
            if (source_.files(name_of_rank(prefix, rank)))
                notes_.fail(line,
                            fmt::format("files: {} is missing, but {} is there",
                                        name_of_rank(prefix, missing), name_of_rank(prefix, rank)));
    }

    // The number of ranks that the entry names, or else of files.
    uint32_t count_ranks(const std::string& prefix) {
        const auto most = static_cast<uint32_t>(source_.ranks.size());
        if (map_.find("ranks") != nullptr) return most;
        const uint32_t line = map_.find("files")->line;
        for (uint32_t rank = 0; rank < most; ++rank) {
            const auto bytes = source_.files(name_of_rank(prefix, rank));
            if (bytes) continue;
            if (rank == 0) notes_.fail(line, bytes.error().message);
            refuse_gap(prefix, rank, most, line);
            return rank;
        }
        if (source_.files(name_of_rank(prefix, most)))
            notes_.fail(line, fmt::format("files: there is a rank {}, but there are {} GPUs; take "
                                          "a larger topology, or write ranks: [0-{}]",
                                          most, most, most - 1));
        return most;
    }

    std::vector<uint32_t> numbers(std::string_view key) {
        std::vector<uint32_t> found;
        const Value* list = map_.find(key);
        if (list == nullptr || !notes_.expect_list(*list, key)) return found;
        for (const Value& item : list->items) {
            uint64_t number = 0;
            if (const Complaint wrong = detail::not_a_number(item, 1, 1 << 20, number))
                notes_.fail(item.line, fmt::format("{}: {}", key, *wrong));
            found.push_back(static_cast<uint32_t>(number));
        }
        return found;
    }

    // The file is JSON, which is also YAML.
    void read_groups(std::map<std::string, std::vector<uint32_t>>& groups) {
        const std::string text = file_at("groups");
        if (notes_.failed() || map_.find("groups") == nullptr) return;
        const std::string path = path_of("groups");
        const auto root = parse_tree(text, path);
        if (!root) return notes_.adopt(root.error());
        Notes notes(path);
        if (!root->is_map()) notes.fail(1, "it is no map of process groups; write {\"1\": [0, 1]}");
        for (size_t i = 0; root->is_map() && i < root->keys.size() && !notes.failed(); ++i)
            groups[root->keys[i].name] = ranks_of(root->items[i], root->keys[i].name, notes);
        if (notes.failed()) notes_.adopt(notes.error());
    }

    static std::vector<uint32_t> ranks_of(const Value& list, const std::string& name,
                                          Notes& notes) {
        std::vector<uint32_t> ranks;
        if (!notes.expect_list(list, name)) return ranks;
        for (const Value& item : list.items) {
            uint64_t rank = 0;
            if (const Complaint wrong = detail::not_a_number(item, 0, 1 << 20, rank))
                notes.fail(item.line, fmt::format("{}: {}", name, *wrong));
            ranks.push_back(static_cast<uint32_t>(rank));
        }
        return ranks;
    }

    const TraceSource& source_;
    const Value& map_;
    Notes& notes_;
    TraceEntry entry_;
    AstraSystem system_;
};

}  // namespace

std::span<const WorkKind> trace_kinds() {
    return kTraceKinds;
}

bool is_trace(std::string_view kind) {
    return std::ranges::any_of(kTraceKinds,
                               [&](const WorkKind& one) { return one.key.name == kind; });
}

TraceEntry read_trace(const TraceSource& source, Notes& notes) {
    return TraceReader(source, notes).read();
}

}  // namespace tulle::scenario
