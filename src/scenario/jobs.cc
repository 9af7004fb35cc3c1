#include "scenario/jobs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/int128.h"
#include "base/units.h"
#include "base/words.h"
#include "scenario/experts.h"
#include "scenario/fields.h"
#include "scenario/key_reader.h"
#include "scenario/memory.h"
#include "scenario/serving.h"
#include "scenario/traces.h"
#include "scenario/training.h"
#include "workload/collectives/tuning.h"
#include "workload/generated_job.h"
#include "workload/training/routine.h"

namespace tulle::scenario {
namespace {

using workload::Algorithm;
using workload::Collective;
using workload::CollectiveOptions;
using workload::Placement;
using workload::Protocol;

constexpr Protocol kProtocols[] = {Protocol::automatic, Protocol::simple, Protocol::ll,
                                   Protocol::ll128, Protocol::bare};
constexpr uint64_t kMostRepeats = 1'000'000;
constexpr uint64_t kMostPhases = 1'000'000;  // of a job that is generated
constexpr uint64_t kMostChannels = 1024;
constexpr uint32_t kMostChannelsOfAll = 0xffff;

constexpr KnownKey kBytes = {"bytes", "size",
                             "size of the larger of a rank's two buffers, as in nccl-tests"};
constexpr KnownKey kSizes = {
    "sizes", "map of from, to and factor",
    "instead of `bytes`: several sizes one after another, such as {from: 8B, to: 1GiB, factor: 2}"};
constexpr KnownKey kRanks = {"ranks", "GPUs",
                             "the GPUs that take part, such as [0-7, 16]; all by default"};
constexpr KnownKey kRepeat = {"repeat", "number", "how often; 1 by default"};
constexpr KnownKey kChannels = {
    "channels", "number",
    "number of parts of the data with a path of their own, 1 to 1024; by default a ring or tree "
    "for each rail, fewer for few bytes, otherwise 1"};
constexpr KnownKey kChunk = {
    "chunk", "size",
    "size of the largest message; by default as the library cuts, 512KiB without a library"};
constexpr KnownKey kProtocol = {
    "protocol", "one of auto, simple, ll, ll128, none",
    "protocol of the library, by which a receiver learns that data have arrived; auto by default. "
    "none: plain messages, each hosts.reaction after the event that it waits for"};
constexpr KnownKey kWindow = {"window", "number",
                              "messages in flight on a connection; 8 by default, 0: no limit"};
constexpr KnownKey kBetween = {"between", "one of ring, tree, halving_doubling, in_network",
                               "with two_level: the algorithm along the rails; ring by default"};
constexpr KnownKey kInSwitch = {"in_switch", "yes or no",
                                "with two_level: the switches inside servers add up and copy"};
constexpr KnownKey kPeers = {"peers", "number",
                             "with direct: number of ranks in other servers that a rank sends to "
                             "at once; 8 by default, 0: all"};
constexpr KnownKey kPxn = {
    "pxn", "yes or no",
    "send through the GPU of the own server that is on the receiver's rail, as NCCL's PXN"};
constexpr KnownKey kRoot = {"root", "GPU", "the GPU with the data; the first by default"};

KnownKey algorithm_key(
    std::string_view type,
    std::string_view meaning = "by default auto: what NCCL's cost model says is fastest") {
    return {"algorithm", type, meaning};
}

const std::vector<WorkKind> kOwnKinds = {
    {{"all_reduce", "map", "all get the sum of what each has"},
     {kBytes, kSizes, kRanks, kRepeat,
      algorithm_key("one of auto, ring, tree, halving_doubling, two_level, in_switch, "
                    "in_network",
                    "by default auto: what NCCL's cost model says is fastest. With --skip, and for "
                    "more messages than can be stored, the fastest without sums in switches; the "
                    "report names both"),
      kBetween, kInSwitch, kProtocol, kChannels, kChunk, kWindow}},
    {{"reduce_scatter", "map", "each gets a part of the sum of what each has"},
     {kBytes, kSizes, kRanks, kRepeat, algorithm_key("one of auto, ring, direct, two_level"),
      kInSwitch, kProtocol, kPeers, kChannels, kChunk, kWindow}},
    {{"all_gather", "map", "all get what each has"},
     {kBytes, kSizes, kRanks, kRepeat, algorithm_key("one of auto, ring, direct, two_level"),
      kInSwitch, kProtocol, kPeers, kChannels, kChunk, kWindow}},
    {{"all_to_all", "map", "each has something for each"},
     {kBytes, kSizes, kRanks, kRepeat, algorithm_key("one of auto, direct"), kPxn, kProtocol,
      kPeers, kChannels, kChunk, kWindow}},
    {{"broadcast", "map", "all get what one has"},
     {kBytes, kSizes, kRanks, kRepeat, algorithm_key("one of auto, ring, tree"), kRoot, kProtocol,
      kChannels, kChunk, kWindow}},
    {{"job", "map", "several steps one after the other; jobs run at the same time"},
     {kRanks,
      kRepeat,
      {"steps", "list", "each is a collective as above without ranks, or compute: 1ms"}}},
    {{"training", "map", "one step of training a model"},
     {training_keys().begin(), training_keys().end()}},
    {{"experts", "map", "layers of experts: tokens go out and come back as DeepEP moves them"},
     {expert_keys().begin(), expert_keys().end()}},
    {{"serving", "map", "requests to a model, answered token by token"},
     {serving_keys().begin(), serving_keys().end()}},
    {{"memory", "map", "loads, stores and copies of memory that the GPUs of a server share"},
     {memory_keys().begin(), memory_keys().end()}},
    {{"storage", "map", "reads or writes in the background, of the shape of NVMe over fabrics"},
     {{"targets", "hosts", "such as [storage0]; by default all hosts without a GPU"},
      {"initiators", "GPUs", "the GPUs that read or write; all by default"},
      {"operation", "one of read, write", "read by default"},
      {"bytes", "size", "total of each initiator"},
      {"block", "size", "size of one command; 128KiB by default"},
      {"depth", "number", "outstanding commands of an initiator; 32 by default"},
      {"in_capsule", "size", "largest write whose data travel with its command; 0 by default"},
      {"drives", "map", "the drives of each target; without drives, commands take no time there"}}},
};

constexpr KnownKey kDriveKeys[] = {
    {"count", "number", "drives of each target; 1 by default"},
    {"latency", "duration",
     "latency of a command; commands overlap; by default 80us for a read, as of flash, and 20us "
     "for a write, both chosen"},
    {"rate", "rate", "rate of a drive, one block after another; 56Gbps by default, chosen"},
};

constexpr KnownKey kStepKeys[] = {
    {"all_reduce", "map", "as an entry of work"},
    {"reduce_scatter", "map", "as an entry of work"},
    {"all_gather", "map", "as an entry of work"},
    {"all_to_all", "map", "as an entry of work"},
    {"broadcast", "map", "as an entry of work"},
    {"compute", "duration", "computing time of each rank"},
    {"name", "text", "the name of the step in reports; by default its kind"},
};

constexpr Collective kCollectives[] = {Collective::all_reduce, Collective::reduce_scatter,
                                       Collective::all_gather, Collective::all_to_all,
                                       Collective::broadcast};

// A function, because it is built from a table of another file.
const std::vector<WorkKind>& all_job_kinds() {
    static const std::vector<WorkKind> kinds = [] {
        std::vector<WorkKind> all = kOwnKinds;
        all.insert(all.end(), trace_kinds().begin(), trace_kinds().end());
        return all;
    }();
    return kinds;
}

const WorkKind& kind_named(std::string_view name) {
    return *std::find_if(kOwnKinds.begin(), kOwnKinds.end(),
                         [&](const WorkKind& kind) { return kind.key.name == name; });
}

}  // namespace

std::span<const WorkKind> job_kinds() {
    return all_job_kinds();
}

std::span<const KnownKey> drive_keys() {
    return kDriveKeys;
}

std::span<const KnownKey> step_keys() {
    return kStepKeys;
}

void JobReader::read(const WorkKind& kind, const Value& map, const workload::Job& job) {
    if (notes_.failed() || !notes_.expect_map(map, kind.key.name, kind.keys)) return;
    if (kind.key.name == "storage") return read_storage(map, job);
    if (kind.key.name == "training") return read_step_of_training(map, job);
    if (kind.key.name == "memory") return read_memory(map, job);
    if (kind.key.name == "experts") return read_layers(map, job);
    if (kind.key.name == "serving") return read_served(map, job);
    if (is_trace(kind.key.name)) return read_trace_of_ranks(kind.key.name, map, job);
    const std::vector<uint32_t> who = ranks(map, "ranks");
    const uint64_t repeat = number(map, "repeat", 1, 1, kMostRepeats);
    if (notes_.failed()) return;
    const Placement where = placement(who);
    std::vector<Step> steps;
    if (kind.key.name == "job") {
        const Value* list = map.find("steps");
        if (list == nullptr)
            return notes_.fail(map.line, "the steps are missing; write steps: [{compute: 1ms}]");
        steps = read_steps(*list, where);
    } else {
        steps.push_back(read_collective(kind.key.name, map, where));
        steps.back().name = job.name;
    }
    if (!notes_.failed()) add(job, where, steps, repeat);
}

void JobReader::read_step_of_training(const Value& map, const workload::Job& job) {
    std::vector<uint32_t> who = ranks(map, "ranks");
    if (notes_.failed()) return;
    TrainingEntry entry = read_training(map, place_.gpus, std::move(who), notes_);
    if (notes_.failed()) return;
    if (setup_.skips) entry.options.repeats_replicas = true;
    // Fewer bytes are simulated quickly, and share links as in a full run.
    constexpr uint64_t kManyBytes = uint64_t{16} << 30;  // chosen
    entry.options.repeats_messages =
        setup_.skips && workload::pipeline_bytes_of_all(entry.options) > kManyBytes;
    const bool has_stores = map.find("checkpoint") != nullptr || map.find("data") != nullptr ||
                            map.find("optimizer_memory") != nullptr;
    entry.options.folds_replicas = setup_.skips && !has_stores;
    if (entry.options.folds_replicas) entry.place.way_between = ways_between_ranks(setup_);
    entry.options.checks = setup_.checks_skipping;
    entry.options.reuses = place_.reuses;
    if (!has_room(map.line, workload::most_tasks(entry.options, entry.place))) return;
    entry.place.first_channel = next_channel_;
    entry.place.rehearse_experts = rehearsal_of_experts(setup_, job);
    next_channel_ = static_cast<uint16_t>(next_channel_ + workload::kStepChannels);
    workload::append_step(setup_.program, job, entry.options, entry.place, rehearsal(setup_, job));
    const std::shared_ptr<const workload::TrainingJob> step = setup_.program.jobs.back().training;
    if (const Value* memory = map.find("optimizer_memory")) read_optimizer_memory(*memory, job);
    if (!notes_.failed()) read_stores(map, step, job);
}

// Adds the jobs that save and read for a training step, after its own job: first checkpoint, then
// data.
void JobReader::read_stores(const Value& map,
                            const std::shared_ptr<const workload::TrainingJob>& step,
                            const workload::Job& job) {
    workload::Storage storage;
    storage.initiators = step->ranks;
    storage.block = 1 << 20;
    if (const Value* checkpoint = map.find("checkpoint")) {
        workload::Storage saved = storage;
        saved.writes = true;
        saved.bytes_of = workload::checkpoint_bytes(step->options);
        if (step->options.checkpoint.is_blocking)
            for (const auto& stream : step->streams) saved.after.push_back(stream.back());
        workload::Job own = job;
        own.name = job.name + ": checkpoint";
        add_store(*checkpoint, std::move(own), std::move(saved));
    }
    const Value* data = map.find("data");
    if (data == nullptr || notes_.failed()) return;
    storage.bytes = step->options.data_bytes;
    workload::Job own = job;
    own.name = job.name + ": data";
    add_store(*data, std::move(own), std::move(storage));
}

void JobReader::add_store(const Value& map, workload::Job job, workload::Storage storage) {
    storage.targets = read_targets(map);
    storage.block = size(map, "block", storage.block);
    storage.depth = static_cast<uint32_t>(number(map, "depth", storage.depth, 1, 65536));
    check_targets(map, storage);
    if (map.find("drives") != nullptr) read_drives(*map.find("drives"), storage);
    if (notes_.failed() || !has_room(map.line, workload::most_tasks(storage))) return;
    workload::append_storage(setup_.program, job, storage, next_channel_++);
}

void JobReader::read_layers(const Value& map, const workload::Job& job) {
    const std::vector<uint32_t> who = ranks(map, "ranks");
    const workload::ExpertLayers entry = read_experts(map, setup_.seed, notes_);
    if (notes_.failed()) return;
    const Placement where = placement(who);
    if (const auto wrong = workload::check(entry.options, where))
        return notes_.fail(map.line, wrong->message);
    if (!has_room(map.line, most_tasks(entry, where))) return;
    next_channel_ = append_layers(setup_.program, job, entry, where, next_channel_);
}

void JobReader::read_served(const Value& map, const workload::Job& job) {
    const ServingSource source{place_.gpus, place_.files, setup_.seed,
                               static_cast<uint32_t>(setup_.program.jobs.size()),
                               [this](const Value& group) { return ranks(group, "ranks"); }};
    ServingEntry entry = read_serving(map, source, notes_);
    if (notes_.failed()) return;
    if (const Value* memory = map.find("kv_memory")) read_kv_memory(*memory, entry);
    if (notes_.failed()) return;
    if (!has_room(map.line, workload::most_tasks(entry.options, entry.groups, entry.requests)))
        return;
    const workload::ServingPlace place{place_.gpus.scale_up, place_.gpus.machine, next_channel_};
    next_channel_ = static_cast<uint16_t>(next_channel_ + workload::kServingChannels);
    workload::append_serving(setup_.program, job, entry.options, entry.groups,
                             std::move(entry.requests), place, rehearsal(setup_, job));
}

void JobReader::read_trace_of_ranks(std::string_view kind, const Value& map,
                                    const workload::Job& job) {
    const std::vector<uint32_t> who = ranks(map, "ranks");
    if (notes_.failed()) return;
    TraceEntry entry = read_trace({kind, map, place_.gpus, who, *place_.files}, notes_);
    if (notes_.failed()) return;
    entry.place.first_channel = next_channel_;
    entry.place.most_tasks = place_.most_tasks;
    const auto channel = traces::append_trace(setup_.program, job, entry.trace, entry.place);
    if (!channel) return notes_.adopt(channel.error());
    next_channel_ = *channel;
}

std::vector<uint32_t> JobReader::ranks(const Value& map, std::string_view key) {
    const uint32_t count = place_.gpus.count();
    std::vector<uint32_t> all(count);
    for (uint32_t i = 0; i < count; ++i) all[i] = i;
    if (count == 0) notes_.fail(map.line, "no host has a GPU; write gpus: {hosts: [0-7]}");
    const Value* list = map.find(key);
    if (list == nullptr) return all;
    const auto one = [&](std::string_view word) -> base::Result<uint32_t> {
        Value value;
        value.kind = Value::Kind::text;
        value.text = word;
        uint64_t rank = 0;
        if (detail::not_a_number(value, 0, count - 1, rank))
            return base::Error{fmt::format("there is no GPU '{}'; the {} GPUs count from 0 to {}",
                                           word.substr(0, 40), count, count - 1)};
        return static_cast<uint32_t>(rank);
    };
    if (notes_.failed()) return all;
    std::vector<uint32_t> found = read_list_of("GPU", *list, key, one, notes_);
    if (found.empty()) notes_.fail(list->line, fmt::format("{}: name at least one GPU", key));
    return found;
}

Placement JobReader::placement(const std::vector<uint32_t>& who) const {
    std::vector<workload::Member> members;
    for (const uint32_t rank : who) members.push_back(place_.gpus.members[rank]);
    return Placement(std::move(members), place_.gpus.scale_up);
}

uint64_t JobReader::number(const Value& map, std::string_view key, uint64_t otherwise,
                           uint64_t least, uint64_t most) {
    const Value* value = map.find(key);
    if (value == nullptr) return otherwise;
    uint64_t number = otherwise;
    if (const Complaint wrong = detail::not_a_number(*value, least, most, number))
        notes_.fail(value->line, fmt::format("{}: {}", key, *wrong));
    return number;
}

uint64_t JobReader::size(const Value& map, std::string_view key, uint64_t otherwise) {
    const Value* value = map.find(key);
    if (value == nullptr) return otherwise;
    uint64_t bytes = otherwise;
    Target unused;
    const Field field = size64([&](Target&) -> uint64_t& { return bytes; });
    if (const Complaint wrong = field.read(unused, *value))
        notes_.fail(value->line, fmt::format("{}: {}", key, *wrong));
    else if (bytes == 0)
        notes_.fail(value->line, fmt::format("{}: it is at least one byte", key));
    return bytes;
}

bool JobReader::yes(const Value& map, std::string_view key) {
    const Value* value = map.find(key);
    if (value == nullptr) return false;
    bool is_yes = false;
    Target unused;
    if (const Complaint wrong =
            yes_no([&](Target&) -> bool& { return is_yes; }).read(unused, *value))
        notes_.fail(value->line, fmt::format("{}: {}", key, *wrong));
    return is_yes;
}

void JobReader::refuse(const Value& map, std::string_view key, std::string_view goes_with) {
    if (const Value* value = map.find(key))
        notes_.fail(value->line, fmt::format("{} has no effect here; it goes with algorithm: {}",
                                             key, goes_with));
}

std::vector<JobReader::Step> JobReader::read_steps(const Value& list, const Placement& where) {
    std::vector<Step> steps;
    if (!notes_.expect_list(list, "steps")) return steps;
    if (list.items.empty()) notes_.fail(list.line, "a job has at least one step");
    for (const Value& item : list.items) {
        if (notes_.failed()) break;
        steps.push_back(read_step(item, where));
    }
    return steps;
}

JobReader::Step JobReader::read_step(const Value& map, const Placement& where) {
    Step step;
    if (!notes_.expect_map(map, "a step", kStepKeys)) return step;
    const Value* name = map.find("name");
    const size_t kinds = map.keys.size() - (name != nullptr ? 1 : 0);
    if (kinds != 1) {
        notes_.fail(map.line,
                    "a step does one thing; write one of all_reduce, reduce_scatter, "
                    "all_gather, all_to_all, broadcast, compute");
        return step;
    }
    const size_t at = map.keys.front().name == "name" ? 1 : 0;
    const std::string& kind = map.keys[at].name;
    const Value& value = map.items[at];
    if (kind == "compute") {
        base::Duration duration{};
        Target unused;
        const Field field = positive_duration([&](Target&) -> base::Duration& { return duration; });
        if (const Complaint wrong = field.read(unused, value))
            notes_.fail(value.line, fmt::format("compute: {}", *wrong));
        step.compute = duration;
    } else if (notes_.expect_map(value, kind, kind_named(kind).keys)) {
        for (const std::string_view key : {"ranks", "repeat"})
            if (const Value* of_job = value.find(key))
                notes_.fail(of_job->line,
                            fmt::format("{} belongs to the job, not to a step of it", key));
        step = read_collective(kind, value, where);
    }
    step.name = kind;
    step.line = map.line;
    if (name != nullptr && notes_.expect_text(*name, "name", "gradients")) step.name = name->text;
    return step;
}

JobReader::Step JobReader::read_collective(std::string_view kind, const Value& map,
                                           const Placement& where) {
    Step step;
    step.line = map.line;
    CollectiveOptions& options = step.options;
    for (const Collective collective : kCollectives)
        if (workload::name_of(collective) == kind) options.collective = collective;
    step.sizes = read_sizes(map);
    options.channels =
        static_cast<uint16_t>(number(map, "channels", options.channels, 1, kMostChannels));
    options.chunking.chunk = size(map, "chunk", options.chunking.chunk);
    options.chunk_is_asked = map.find("chunk") != nullptr;
    options.chunking.window =
        static_cast<uint32_t>(number(map, "window", options.chunking.window, 0, 1 << 20));
    options.peers = static_cast<uint32_t>(number(map, "peers", options.peers, 0, 1 << 20));
    options.pxn = yes(map, "pxn");
    options.in_switch = yes(map, "in_switch");
    if (const Value* root = map.find("root")) {
        const uint64_t rank = number(map, "root", 0, 0, place_.gpus.count() - 1);
        options.root = where.size();
        for (uint32_t i = 0; i < where.size(); ++i)
            if (where[i].rank == rank) options.root = i;
        if (options.root == where.size())
            notes_.fail(root->line, fmt::format("root: GPU {} is not one of the ranks", rank));
    }
    read_algorithm(map, options);
    if (notes_.failed()) return step;
    if (options.in_switch || options.algorithm == Algorithm::in_switch) check_switches(map, where);
    if (const auto wrong = workload::check(options, where))
        notes_.fail(map.line, wrong->message);
    else if (workload::is_in_network(options))
        check_network(map, options, where);
    return step;
}

void JobReader::read_algorithm(const Value& map, CollectiveOptions& options) {
    const auto read = [&](std::string_view key, const auto& known, auto& into) {
        const Value* value = map.find(key);
        if (value == nullptr || !notes_.expect_text(*value, key, "ring")) return;
        std::vector<std::string_view> names;
        for (const auto one : known) {
            names.push_back(workload::name_of(one));
            if (value->text != names.back()) continue;
            into = one;
            return;
        }
        notes_.fail(value->line,
                    fmt::format("{}: {}", key, base::unknown_word(value->text, names)));
    };
    options.algorithm = Algorithm::automatic;
    std::vector<Algorithm> known{Algorithm::automatic};
    const auto algorithms = workload::algorithms_of(options.collective);
    known.insert(known.end(), algorithms.begin(), algorithms.end());
    read("algorithm", known, options.algorithm);
    // With one algorithm there is no choice.
    if (algorithms.size() == 1) options.algorithm = algorithms.front();
    options.protocol = Protocol::automatic;
    read("protocol", kProtocols, options.protocol);
    constexpr Algorithm kBetweenServers[] = {Algorithm::ring, Algorithm::tree,
                                             Algorithm::halving_doubling, Algorithm::in_network};
    read("between", kBetweenServers, options.between);
    if (options.algorithm != Algorithm::two_level) {
        refuse(map, "between", "two_level");
        refuse(map, "in_switch", "two_level");
    }
    if (options.algorithm != Algorithm::direct) refuse(map, "peers", "direct");
}

// The switch's group is the whole server: it waits for the part of each GPU.
void JobReader::check_switches(const Value& map, const Placement& where) {
    if (!place_.gpus.scale_up) return;  // which has a better error elsewhere
    if (!place_.gpus.reduction)
        notes_.fail(map.line,
                    "in_switch: the switches inside servers do not add up; take a "
                    "scale_up with switch.reduction, such as nvlink4");
    for (uint32_t server = 0; server < where.server_count(); ++server)
        if (where.count_of(server) != place_.gpus.per_server)
            notes_.fail(map.line,
                        "in_switch needs all GPUs of each server; take more ranks, or "
                        "write in_switch: no");
}

std::vector<uint64_t> JobReader::read_sizes(const Value& map) {
    static constexpr KnownKey kKeys[] = {{"from", "size", "the smallest"},
                                         {"to", "size", "the largest"},
                                         {"factor", "number", "from one to the next"}};
    const Value* bytes = map.find("bytes");
    const Value* sizes = map.find("sizes");
    if ((bytes == nullptr) == (sizes == nullptr)) {
        notes_.fail(map.line, bytes == nullptr ? "the size is missing; write bytes: 64MiB"
                                               : "bytes has no effect beside sizes; remove one");
        return {};
    }
    if (bytes != nullptr) return {size(map, "bytes", 1)};
    if (!notes_.expect_map(*sizes, "sizes", kKeys)) return {};
    if (sizes->find("from") == nullptr || sizes->find("to") == nullptr)
        notes_.fail(sizes->line, "sizes has an end missing; write {from: 8B, to: 1GiB, factor: 2}");
    const uint64_t from = size(*sizes, "from", 1);
    const uint64_t to = size(*sizes, "to", 1);
    const uint64_t factor = number(*sizes, "factor", 2, 2, 1 << 20);
    if (from > to) notes_.fail(sizes->line, "sizes: from is larger than to");
    std::vector<uint64_t> all;
    for (uint64_t one = from; one <= to && !notes_.failed(); one *= factor) all.push_back(one);
    return all;
}

bool JobReader::has_room(uint32_t line, uint64_t tasks) {
    const uint64_t left =
        place_.most_tasks - std::min<uint64_t>(place_.most_tasks, setup_.program.size());
    if (tasks > left)
        notes_.fail(line, fmt::format("it takes more than {} messages; take larger chunks, fewer "
                                      "GPUs, or an algorithm without sums in switches",
                                      place_.most_tasks));
    else if (next_channel_ > kMostChannelsOfAll - 4 * kMostChannels)
        notes_.fail(line, "there are too many jobs and channels");
    return !notes_.failed();
}

// A step that is done once.
struct JobReader::Part {
    const Step* step = nullptr;
    CollectiveOptions options;  // tuned; only for a collective
};

std::vector<JobReader::Part> JobReader::parts_of(const std::vector<Step>& steps,
                                                 const Placement& where) const {
    std::vector<Part> parts;
    for (const Step& step : steps) {
        if (step.compute) parts.push_back({&step, {}});
        for (const uint64_t bytes : step.sizes) {
            CollectiveOptions options = step.options;
            options.bytes = bytes;
            parts.push_back({&step, workload::tune(options, where, place_.gpus.machine)});
        }
    }
    return parts;
}

std::string JobReader::name_of(const Step& step, uint64_t turn) {
    return turn == 0 ? step.name : fmt::format("{} #{}", step.name, turn + 1);
}

void JobReader::add(const workload::Job& job, const Placement& where,
                    const std::vector<Step>& steps, uint64_t repeat) {
    std::vector<Part> parts = parts_of(steps, where);
    const auto number = static_cast<uint32_t>(setup_.program.jobs.size());
    for (Part& part : parts)
        if (!part.step->compute) take_trees(part.options, where, number);
    if (add_generated(job, where, parts, repeat)) return;
    workload::JobBuilder builder(setup_.program, job, where, next_channel_);
    for (uint64_t turn = 0; turn < repeat; ++turn)
        for (const auto& [step, options] : parts) {
            const bool computes = step->compute.has_value();
            if (!has_room(step->line,
                          computes ? where.size() : workload::most_tasks(options, where)))
                return;
            if (computes)
                builder.compute(name_of(*step, turn), *step->compute);
            else
                workload::append(builder, name_of(*step, turn), options);
        }
    builder.end();
    next_channel_ = builder.end_channel();
}

// Null if there is no closed form. If the library was free to choose and chose sums in switches,
// which have none, the best choice without them is used. The report names the library's choice
// beside it.
std::shared_ptr<const workload::Schedule> JobReader::schedule_of(
    const Part& part, const std::shared_ptr<const Placement>& where) const {
    auto schedule = workload::Schedule::make(part.options, where);
    if (schedule != nullptr || part.step->options.algorithm != Algorithm::automatic)
        return schedule;
    workload::Machine machine = place_.gpus.machine;
    machine.reduces = false;
    CollectiveOptions options = part.step->options;
    options.bytes = part.options.bytes;
    options = workload::tune(options, *where, machine);
    options.next_best = part.options.predicted;
    return workload::Schedule::make(options, where);
}

// A job of many messages is generated while it runs, if all of its steps have a closed form.
bool JobReader::add_generated(const workload::Job& job, const Placement& where,
                              const std::vector<Part>& parts, uint64_t repeat) {
    base::uint128_t tasks = 0;
    for (const Part& part : parts)
        tasks += part.step->compute ? where.size() : workload::most_tasks(part.options, where);
    if (tasks * repeat <= place_.most_stored) return false;
    const auto placement = std::make_shared<const Placement>(where);
    std::vector<std::shared_ptr<const workload::Schedule>> schedules;
    for (const Part& part : parts) {
        schedules.push_back(part.step->compute ? nullptr : schedule_of(part, placement));
        if (!part.step->compute && schedules.back() == nullptr) return false;
    }
    if (repeat * parts.size() > kMostPhases) {
        notes_.fail(parts.front().step->line,
                    fmt::format("it has more than {} phases; repeat it less often", kMostPhases));
        return true;
    }
    if (next_channel_ > kMostChannelsOfAll - 4 * kMostChannels) {
        notes_.fail(parts.front().step->line, "there are too many jobs and channels");
        return true;
    }
    workload::GeneratedJob builder(setup_.program, job, placement, next_channel_);
    for (uint64_t turn = 0; turn < repeat; ++turn)
        for (size_t i = 0; i < parts.size(); ++i) {
            const std::string name = name_of(*parts[i].step, turn);
            if (parts[i].step->compute)
                builder.compute(name, *parts[i].step->compute);
            else
                builder.append(name, schedules[i]);
        }
    next_channel_ = builder.end_channel();
    return true;
}

std::vector<uint32_t> JobReader::read_targets(const Value& map) {
    std::vector<uint32_t> found;
    if (const Value* list = map.find("targets")) {
        for (const uint32_t host : read_hosts(*list, "targets", place_.names, notes_))
            found.push_back(place_.gpus.rank_of[host]);
        if (found.empty()) notes_.fail(list->line, "targets: name at least one host");
        return found;
    }
    const size_t end =
        place_.gpus.memory_per_server > 0 ? place_.gpus.first_memory : setup_.ranks.size();
    for (uint32_t rank = place_.gpus.count(); rank < end; ++rank) found.push_back(rank);
    if (found.empty())
        notes_.fail(map.line,
                    "storage has no targets; write targets: [h7], or a topology with "
                    "storage=1");
    return found;
}

void JobReader::read_drives(const Value& map, workload::Storage& storage) {
    if (!notes_.expect_map(map, "drives", kDriveKeys)) return;
    constexpr base::Duration kReadLatency{80'000'000};
    constexpr base::Duration kWriteLatency{20'000'000};
    storage.drives.count = 1;
    storage.drives.latency = storage.writes ? kWriteLatency : kReadLatency;
    KeyReader reader(map, notes_);
    reader.number(map, "count", storage.drives.count, 1, 4096);
    reader.time("latency", storage.drives.latency);
    reader.field(
        "rate", [](At<base::Rate> at) { return rate(std::move(at)); }, storage.drives.rate);
}

void JobReader::read_memory(const Value& map, const workload::Job& job) {
    const std::vector<uint32_t> who = ranks(map, "ranks");
    if (notes_.failed() || !has_memory(place_.gpus, map.line, notes_)) return;
    if (map.find("bytes") == nullptr)
        return notes_.fail(map.line, "the size is missing; write bytes: 1MiB");
    enum class Operation : uint8_t { load, store, copy } operation = Operation::load;
    KeyReader(map, notes_)
        .word("operation",
              {{"load", Operation::load}, {"store", Operation::store}, {"copy", Operation::copy}},
              operation);
    workload::MemoryAccess access;
    access.stores = operation == Operation::store;
    if (operation == Operation::copy) access.line = 64 << 10;
    access = read_access(map, access, notes_);
    const std::vector<uint64_t> bytes(who.size(), size(map, "bytes", 1));
    const auto groups = accesses(place_.gpus, who, access, bytes);
    if (notes_.failed() || !has_room(map.line, most_tasks(groups))) return;
    workload::append_storage(setup_.program, job, groups, next_channel_++);
}

// Optimizer states are loaded and stored after the step has ended, as a stream.
void JobReader::read_optimizer_memory(const Value& map, const workload::Job& job) {
    if (!has_memory(place_.gpus, map.line, notes_)) return;
    const std::shared_ptr<const workload::TrainingJob> step = setup_.program.jobs.back().training;
    for (const bool stores : {false, true}) {
        workload::MemoryAccess access;
        access.line = 1 << 20;
        access = read_access(map, access, notes_);
        access.stores = stores;
        auto groups =
            accesses(place_.gpus, step->ranks, access, workload::optimizer_bytes(step->options));
        std::map<uint32_t, uint32_t> last;  // by rank: the end of its step
        for (size_t i = 0; i < step->ranks.size(); ++i)
            last[step->ranks[i]] = step->streams[i].back();
        for (workload::Storage& group : groups)
            for (const uint32_t rank : group.initiators) group.after.push_back(last[rank]);
        if (notes_.failed() || !has_room(map.line, most_tasks(groups))) return;
        workload::Job own = job;
        own.name = job.name + (stores ? ": states stored" : ": states loaded");
        workload::append_storage(setup_.program, own, groups, next_channel_++);
    }
}

// Computes the rate of each GPU when all fetch at once. It is the slope between two sizes, and so
// excludes the time of the first line.
void JobReader::read_kv_memory(const Value& map, ServingEntry& entry) {
    if (!notes_.expect_map(map, "kv_memory", memory_state_keys()) ||
        !has_memory(place_.gpus, map.line, notes_))
        return;
    workload::MemoryAccess access;
    access.line = 1 << 20;
    access = read_access(map, access, notes_);
    entry.options.kv_memory_bytes = uint64_t{256} << 30;
    KeyReader(map, notes_).size("capacity", entry.options.kv_memory_bytes);
    if (notes_.failed()) return;
    std::vector<uint32_t> who;
    for (const workload::ServingGroup& group : entry.groups)
        for (const workload::Member& member : group.members) who.push_back(member.rank);
    const auto time_for = [&](uint64_t bytes) {
        workload::Program program;
        const auto groups =
            accesses(place_.gpus, who, access, std::vector<uint64_t>(who.size(), bytes));
        workload::append_storage(program, workload::Job{"rehearsal"}, groups, 0);
        return time_alone(setup_, std::move(program));
    };
    const uint64_t few = 16 * access.line;
    const base::Duration more = time_for(4 * few) - time_for(few);
    entry.options.kv_memory_rate =
        static_cast<uint64_t>(base::uint128_t{3 * few} * 1'000'000'000'000u /
                              static_cast<uint64_t>(std::max<int64_t>(1, more.ps)));
}

void JobReader::check_targets(const Value& map, const workload::Storage& storage) {
    for (const uint32_t target : storage.targets)
        if (std::find(storage.initiators.begin(), storage.initiators.end(), target) !=
            storage.initiators.end())
            notes_.fail(map.line,
                        fmt::format("GPU {} is an initiator and a target of storage", target));
}

void JobReader::read_storage(const Value& map, const workload::Job& job) {
    workload::Storage storage;
    storage.initiators = ranks(map, "initiators");
    storage.targets = read_targets(map);
    if (map.find("bytes") == nullptr)
        notes_.fail(map.line, "the size is missing; write bytes: 64MiB");
    storage.bytes = size(map, "bytes", 1);
    storage.block = size(map, "block", storage.block);
    storage.depth = static_cast<uint32_t>(number(map, "depth", storage.depth, 1, 65536));
    if (const Value* value = map.find("operation")) {
        storage.writes = value->text == "write";
        if (value->text != "read" && value->text != "write")
            notes_.fail(value->line,
                        fmt::format("operation: '{}' is unknown here; write read or write",
                                    value->text.substr(0, 40)));
    }
    check_targets(map, storage);
    if (const Value* value = map.find("in_capsule")) {
        storage.in_capsule = size(map, "in_capsule", 1);
        if (!storage.writes)
            notes_.fail(value->line,
                        "in_capsule has no effect here; it goes with operation: write");
    }
    if (map.find("drives") != nullptr) read_drives(*map.find("drives"), storage);
    if (notes_.failed() || !has_room(map.line, workload::most_tasks(storage))) return;
    workload::append_storage(setup_.program, job, storage, next_channel_++);
}

}  // namespace tulle::scenario
