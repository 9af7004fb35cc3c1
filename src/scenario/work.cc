#include "scenario/work.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/units.h"
#include "base/words.h"
#include "workload/patterns.h"

namespace tulle::scenario {
namespace {

// Chosen. A sender's memory for a message grows with it, by a few bytes per GiB.
constexpr uint64_t kMostBytes = 100'000'000'000'000;

constexpr KnownKey kCommonKeys[] = {
    {"name", "text", "the name of this work in reports; by default its kind"},
    {"start", "duration", "when it begins; added to the start times of flows and files"},
    {"level", "number", "service level or priority, 0 to 15; by default a lossless one"},
    {"dscp", "number", "0 to 63; by default a lossless one, if switches trust DSCP"},
    {"operation", "one of write, send, read", "the operation of the queue pairs"},
    {"paths", "file", "the paths of `hpcc_flows`: `src dst | nodes of the data | of the ACKs`"},
};

const std::vector<WorkKind> kFlowKinds = {
    {{"permutation", "map", "each host sends to one other and receives from one other, at random"},
     {{"bytes", "size", "size of each message"},
      {"count", "number", "number of hosts that send; all by default"}}},
    {{"incast", "map", "many hosts send to one"},
     {{"to", "host", "number or name"},
      {"from", "hosts", "such as [1, 2, 8-15]; by default all others"},
      {"senders", "number", "instead of `from`: number of senders, drawn at random"},
      {"bytes", "size", "size of each message"}}},
    {{"shift", "map", "host i sends to host i + by, around the end"},
     {{"by", "number", "at least 1, less than the number of hosts"},
      {"bytes", "size", "size of each message"}}},
    {{"bisection", "map", "two random halves; partners in them send to each other"},
     {{"bytes", "size", "size of each message"}}},
    {{"flows", "list", "one message after the other, as written"},
     {{"from", "host", "number or name"},
      {"to", "host", "number or name"},
      {"bytes", "size", "size of the message"},
      {"start", "duration", "when it begins"},
      {"level", "number", "service level or priority"}}},
    {{"cm", "file", "a connection matrix of htsim"}, {}},
    {{"hpcc_flows", "file", "a flow file of the HPCC simulator, SimAI or ASTRA-sim"}, {}},
};

std::vector<WorkKind> all_kinds() {
    std::vector<WorkKind> kinds = kFlowKinds;
    kinds.insert(kinds.end(), job_kinds().begin(), job_kinds().end());
    return kinds;
}

bool is_job(const WorkKind& kind) {
    return std::any_of(job_kinds().begin(), job_kinds().end(),
                       [&](const WorkKind& job) { return job.key.name == kind.key.name; });
}

// Streams of random draws: one for each entry of the list.
constexpr uint32_t kWorkStream = 0x776f726b;

uint8_t most_level(const fabric::Settings& fabric) {
    return fabric.flow_control == fabric::FlowControl::credits ? 15 : 7;
}

class WorkReader {
public:
    WorkReader(const WorkPlace& place, Notes& notes, sim::Setup& setup)
        : place_(place),
          notes_(notes),
          setup_(setup),
          jobs_({place.names, place.gpus, place.most_tasks, place.most_stored, &place.files,
                 place.reuses},
                notes, setup) {}

    void read_entry(const Value& entry, uint32_t index) {
        const WorkKind* kind = kind_of(entry);
        if (kind == nullptr) return;
        const Value& value = *entry.find(kind->key.name);
        random_ = base::RandomStream({setup_.seed, kWorkStream, index});
        const size_t first = setup_.flows.size();
        const std::string title = read_common(entry, *kind);
        const std::string_view name = kind->key.name;
        if (is_job(*kind)) {
            workload::Job job;
            job.name = title;
            job.start = pattern_.start;
            job.service_level = pattern_.service_level;
            job.traffic_class = pattern_.traffic_class;
            return jobs_.read(*kind, value, job);
        }
        pattern_.group = static_cast<uint32_t>(setup_.groups.size());
        setup_.groups.push_back(title);
        if (name == "flows") return read_flows(value);
        if (kind->keys.empty()) return read_file(name, value, entry.find("paths"), first);
        if (!notes_.expect_map(value, name, kind->keys)) return;
        if (name == "permutation") read_permutation(value);
        if (name == "incast") read_incast(value);
        if (name == "shift") read_shift(value);
        if (name == "bisection") add(workload::bisection(hosts(), bytes(value), random_), value);
    }

private:
    uint32_t hosts() const { return place_.names.host_count(); }

    const WorkKind* kind_of(const Value& entry) {
        std::vector<KnownKey> known;
        std::vector<std::string_view> names;
        for (const WorkKind& kind : work_kinds()) known.push_back(kind.key);
        for (const WorkKind& kind : work_kinds()) names.push_back(kind.key.name);
        known.insert(known.end(), std::begin(kCommonKeys), std::end(kCommonKeys));
        if (!notes_.expect_map(entry, "an entry of work", known)) return nullptr;
        const WorkKind* found = nullptr;
        for (const WorkKind& kind : work_kinds()) {
            if (entry.find(kind.key.name) == nullptr) continue;
            if (found != nullptr) {
                notes_.fail(entry.line, fmt::format("the entry is both {} and {}; make two of it",
                                                    found->key.name, kind.key.name));
                return nullptr;
            }
            found = &kind;
        }
        if (found == nullptr)
            notes_.fail(entry.line, fmt::format("this work entry has no workload; add one of {}",
                                                fmt::join(names, ", ")));
        return found;
    }

    // Returns the name of the entry.
    std::string read_common(const Value& entry, const WorkKind& kind) {
        pattern_ = default_flow(setup_.fabric);
        std::string name(kind.key.name);
        if (const Value* value = entry.find("name"))
            if (notes_.expect_text(*value, "name", "victim")) name = value->text;
        if (const Value* value = entry.find("start")) pattern_.start = start(*value);
        if (const Value* value = entry.find("level")) pattern_.service_level = level(*value);
        if (const Value* value = entry.find("dscp")) set_dscp(*value);
        if (const Value* value = entry.find("operation")) pattern_.operation = operation(*value);
        const bool is_hpcc = kind.key.name == "hpcc_flows";
        if (const Value* value = entry.find("paths"); value && !is_hpcc)
            notes_.fail(value->line, "paths has no effect here; it goes with hpcc_flows");
        if (const Value* value = entry.find("level"); value && is_hpcc)
            notes_.fail(value->line, "level has no effect here; the file has priority groups");
        if (const Value* value = entry.find("operation"); value && is_job(kind))
            notes_.fail(value->line, fmt::format("operation has no effect beside {}; it goes with "
                                                 "flows",
                                                 kind.key.name));
        return name;
    }

    // If switches trust DSCP, hosts choose their lane by it too.
    void set_dscp(const Value& value) {
        const auto dscp = static_cast<uint8_t>(number(value, "dscp", 0, 63));
        pattern_.traffic_class = static_cast<uint8_t>(dscp << 2 | (pattern_.traffic_class & 3));
        if (setup_.fabric.qos.trust == fabric::Trust::dscp)
            pattern_.service_level = setup_.fabric.qos.lane_of_dscp[dscp];
    }

    sim::Verb operation(const Value& value) {
        if (value.text == "write") return sim::Verb::write;
        if (value.text == "send") return sim::Verb::send;
        if (value.text == "read") return sim::Verb::read;
        constexpr std::string_view kVerbs[] = {"write", "send", "read"};
        notes_.fail(value.line,
                    fmt::format("operation: {}", base::unknown_word(value.text, kVerbs)));
        return {};
    }

    uint64_t number(const Value& value, std::string_view what, uint64_t least, uint64_t most) {
        uint64_t number = least;
        if (const Complaint wrong = detail::not_a_number(value, least, most, number)) {
            notes_.fail(value.line, fmt::format("{}: {}", what, *wrong));
            return least;
        }
        return number;
    }

    uint8_t level(const Value& value) {
        if (setup_.fabric.qos.trust == fabric::Trust::dscp)
            notes_.fail(value.line, "level has no effect, because qos.trust is dscp; write dscp");
        return static_cast<uint8_t>(number(value, "level", 0, most_level(setup_.fabric)));
    }

    base::Instant start(const Value& value) {
        const auto time = base::parse_duration(value.text);
        if (time && *time <= workload::kLatestStart) return base::Instant{} + *time;
        notes_.fail(value.line, time ? "start: it is more than a day away"
                                     : fmt::format("start: {}", time.error().message));
        return {};
    }

    uint64_t bytes(const Value& map) {
        const Value* value = map.find("bytes");
        if (value == nullptr) {
            notes_.fail(map.line, "the size of the messages is missing; write bytes: 1MB");
            return 1;
        }
        const auto size = base::parse_bytes(value->text);
        if (size && *size > 0 && *size <= kMostBytes) return *size;
        notes_.fail(value->line, size ? "bytes: a message has from one byte to 100TB"
                                      : fmt::format("bytes: {}", size.error().message));
        return 1;
    }

    uint32_t host(const Value& map, std::string_view key) {
        const Value* value = map.find(key);
        if (value == nullptr) {
            notes_.fail(map.line, fmt::format("`{}` is missing; write {}: 0", key, key));
            return 0;
        }
        return one_host(*value, key);
    }

    uint32_t one_host(const Value& value, std::string_view key) {
        if (!notes_.expect_text(value, key, "0")) return 0;
        const auto found = place_.names.host(value.text);
        if (found) return *found;
        notes_.fail(value.line, fmt::format("{}: {}", key, found.error().message));
        return 0;
    }

    void read_permutation(const Value& map) {
        const Value* count = map.find("count");
        const uint64_t senders = count ? number(*count, "count", 1, hosts()) : hosts();
        add(workload::permutation(hosts(), static_cast<uint32_t>(senders), bytes(map), random_),
            map);
    }

    void read_incast(const Value& map) {
        const uint32_t to = host(map, "to");
        const Value* from = map.find("from");
        const Value* senders = map.find("senders");
        if (from && senders)
            return notes_.fail(senders->line, "senders has no effect beside from; remove one");
        std::vector<uint32_t> sources;
        if (from) {
            sources = read_hosts(*from, "from", place_.names, notes_);
            if (std::find(sources.begin(), sources.end(), to) != sources.end())
                return notes_.fail(from->line,
                                   fmt::format("from: host {} would send to itself", to));
        } else {
            for (uint32_t i = 0; i < hosts(); ++i)
                if (i != to) sources.push_back(i);
        }
        if (senders) {
            random_.shuffle(std::span(sources));
            sources.resize(number(*senders, "senders", 1, hosts() - 1));
            std::sort(sources.begin(), sources.end());
        }
        add(workload::incast(sources, to, bytes(map)), map);
    }

    void read_shift(const Value& map) {
        const Value* by = map.find("by");
        if (by == nullptr) return notes_.fail(map.line, "`by` is missing; write by: 1");
        const uint64_t distance = number(*by, "by", 1, hosts() - 1);
        add(workload::shift(hosts(), static_cast<uint32_t>(distance), bytes(map)), map);
    }

    void read_flows(const Value& list) {
        if (!notes_.expect_list(list, "flows")) return;
        const std::vector<KnownKey>& keys =
            std::find_if(kFlowKinds.begin(), kFlowKinds.end(), [](const WorkKind& kind) {
                return kind.key.name == "flows";
            })->keys;
        for (const Value& item : list.items) {
            if (notes_.failed() || !notes_.expect_map(item, "a flow", keys)) return;
            sim::Flow flow = pattern_;
            flow.source = host(item, "from");
            flow.destination = host(item, "to");
            flow.bytes = bytes(item);
            flow.id = static_cast<uint32_t>(setup_.flows.size() + 1);
            if (const Value* value = item.find("start"))
                flow.start += start(*value) - base::Instant{};
            if (const Value* value = item.find("level")) flow.service_level = level(*value);
            if (flow.source == flow.destination)
                notes_.fail(item.line, fmt::format("host {} sends to itself", flow.source));
            setup_.flows.push_back(flow);
        }
    }

    void read_file(std::string_view kind, const Value& value, const Value* paths, size_t first) {
        if (!notes_.expect_text(value, kind, "a path")) return;
        const std::string path = resolve(notes_.file(), value.text);
        const auto text = place_.files(path);
        if (!text) return notes_.fail(value.line, text.error().message);
        if (kind == "cm") return read_matrix(*text, path, value);
        auto messages = workload::read_hpcc_flows(*text, path);
        if (!messages) return notes_.adopt(messages.error());
        if (place_.hpcc_ids)
            if (const Complaint wrong = to_endpoints(place_.names, *messages))
                return notes_.fail(value.line, fmt::format("{}: {}", path, *wrong));
        add(*messages, value);
        if (paths && !notes_.failed()) read_recorded(*paths, first);
    }

    void read_matrix(const std::string& text, const std::string& path, const Value& value) {
        const auto matrix = workload::read_connection_matrix(text, path);
        if (!matrix) return notes_.adopt(matrix.error());
        if (matrix->nodes > hosts())
            return notes_.fail(value.line, fmt::format("{} has {} nodes, but the topology has {} "
                                                       "hosts",
                                                       path, matrix->nodes, hosts()));
        add(matrix->messages, value);
    }

    void read_recorded(const Value& value, size_t first) {
        if (!notes_.expect_text(value, "paths", "a path")) return;
        const std::string path = resolve(notes_.file(), value.text);
        const auto text = place_.files(path);
        if (!text) return notes_.fail(value.line, text.error().message);
        if (const auto wrong = add_paths(*text, path, place_.names, first, false, setup_))
            notes_.adopt(*wrong);
    }

    void add(std::span<const workload::Message> messages, const Value& place) {
        if (messages.size() + setup_.flows.size() > place_.most_flows)
            return notes_.fail(place.line, fmt::format("there are more than {} flows; take fewer",
                                                       place_.most_flows));
        for (const workload::Message& message : messages)
            if (std::max(message.source, message.destination) >= hosts())
                return notes_.fail(
                    place.line,
                    place_.names.host_number(std::max(message.source, message.destination))
                        .error()
                        .message);
        add_messages(messages, pattern_, setup_);
    }

    const WorkPlace& place_;
    Notes& notes_;
    sim::Setup& setup_;
    JobReader jobs_;
    sim::Flow pattern_;
    base::RandomStream random_{{}};
};

}  // namespace

std::span<const KnownKey> work_keys() {
    return kCommonKeys;
}

std::span<const WorkKind> work_kinds() {
    static const std::vector<WorkKind> kinds = all_kinds();
    return kinds;
}

void read_work(const Value& list, const WorkPlace& place, Notes& notes, sim::Setup& setup) {
    if (!notes.expect_list(list, "work")) return;
    if (place.names.host_count() < 2)
        return notes.fail(list.line, "the topology has one host; work needs two");
    WorkReader reader(place, notes, setup);
    for (uint32_t i = 0; i < list.items.size() && !notes.failed(); ++i)
        reader.read_entry(list.items[i], i);
}

void add_messages(std::span<const workload::Message> messages, sim::Flow pattern,
                  sim::Setup& setup) {
    for (const workload::Message& message : messages) {
        sim::Flow flow = pattern;
        flow.source = message.source;
        flow.destination = message.destination;
        flow.bytes = message.bytes;
        flow.start += message.start - base::Instant{};
        flow.id = message.id;
        if (message.destination_port != 0) {
            flow.service_level = message.priority_group;
            flow.priority_group = message.priority_group;
            flow.destination_port = message.destination_port;
        }
        setup.flows.push_back(flow);
    }
}

sim::Flow default_flow(const fabric::Settings& fabric) {
    sim::Flow flow;
    const auto is_lossless = [&](uint8_t lane) {
        return fabric.flow_control == fabric::FlowControl::pfc &&
               (fabric.pfc.priorities >> lane & 1) != 0;
    };
    if (fabric.qos.trust == fabric::Trust::dscp) {
        const auto& lanes = fabric.qos.lane_of_dscp;
        const auto dscp = std::find_if(lanes.begin(), lanes.end(), is_lossless);
        if (dscp != lanes.end())
            flow.traffic_class = static_cast<uint8_t>((dscp - lanes.begin()) << 2);
        flow.service_level = lanes[flow.traffic_class >> 2];
    } else {
        const auto& lanes = fabric.qos.lane_of_level;
        const auto level = std::find_if(lanes.begin(), lanes.begin() + 8, is_lossless);
        if (level != lanes.begin() + 8)
            flow.service_level = static_cast<uint8_t>(level - lanes.begin());
    }
    constexpr uint8_t kEct0 = 2;  // RFC 3168: the sender understands marks
    if (fabric.marking == fabric::Marking::ecn) flow.traffic_class |= kEct0;
    return flow;
}

Complaint to_endpoints(const Names& names, std::vector<workload::Message>& messages) {
    for (workload::Message& message : messages) {
        const auto source = names.endpoint_of(message.source);
        const auto destination = names.endpoint_of(message.destination);
        if (!source) return source.error().message;
        if (!destination) return destination.error().message;
        message.source = *source;
        message.destination = *destination;
    }
    return std::nullopt;
}

std::optional<base::Error> add_paths(std::string_view text, std::string_view file,
                                     const Names& names, size_t first_flow, bool fabric_routes_rest,
                                     sim::Setup& setup) {
    const auto paths = workload::read_paths(text, file);
    if (!paths) return paths.error();
    const auto wrong = [&](size_t line, const std::string& what) {
        return base::Error{fmt::format("{}:{}: {}", file, line, what)};
    };
    const auto first_path = static_cast<int32_t>(setup.paths.size());
    std::map<std::pair<uint32_t, uint32_t>, int32_t> index;
    for (const workload::RecordedPath& path : *paths) {
        for (const std::vector<uint32_t>* nodes : {&path.data, &path.acknowledgements})
            for (const uint32_t node : *nodes)
                if (node >= setup.graph.nodes.size())
                    return wrong(path.line, fmt::format("there is no node {}; the last one is {}",
                                                        node, setup.graph.nodes.size() - 1));
        const auto source = names.endpoint_of(path.source);
        const auto destination = names.endpoint_of(path.destination);
        if (!source || !destination) return wrong(path.line, "a path leads from host to host");
        index[{*source, *destination}] = static_cast<int32_t>(setup.paths.size());
        setup.paths.push_back({path.data, path.acknowledgements});
    }
    std::vector<bool> is_taken(paths->size());
    for (size_t i = first_flow; i < setup.flows.size(); ++i) {
        sim::Flow& flow = setup.flows[i];
        const auto found = index.find({flow.source, flow.destination});
        if (found != index.end()) {
            flow.path = found->second;
            is_taken[static_cast<size_t>(flow.path - first_path)] = true;
        } else if (!fabric_routes_rest) {
            return wrong(1, fmt::format("there is no path from host {} to host {}", flow.source,
                                        flow.destination));
        }
    }
    const auto idle = std::ranges::find(is_taken, false);
    if (idle == is_taken.end()) return std::nullopt;
    const workload::RecordedPath& path = (*paths)[static_cast<size_t>(idle - is_taken.begin())];
    return wrong(path.line, fmt::format("no flow takes this path, from node {} to node {}",
                                        path.source, path.destination));
}

}  // namespace tulle::scenario
