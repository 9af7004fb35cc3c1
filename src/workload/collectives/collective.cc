#include "workload/collectives/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace tulle::workload {
namespace {

constexpr uint64_t kLeastBytesOfChannel = 32 << 10;
constexpr uint32_t kMostChannels = 1024;

constexpr std::array kAllReduce = {
    Algorithm::ring,      Algorithm::tree,      Algorithm::halving_doubling,
    Algorithm::two_level, Algorithm::in_switch, Algorithm::in_network};
constexpr std::array kScatterOrGather = {Algorithm::ring, Algorithm::direct, Algorithm::two_level};
constexpr std::array kAllToAll = {Algorithm::direct};
constexpr std::array kBroadcast = {Algorithm::ring, Algorithm::tree};

bool has(std::span<const Algorithm> algorithms, Algorithm algorithm) {
    return std::find(algorithms.begin(), algorithms.end(), algorithm) != algorithms.end();
}

base::Error unknown(const CollectiveOptions& options) {
    std::string names;
    for (const Algorithm algorithm : algorithms_of(options.collective))
        names.append(names.empty() ? "" : ", ").append(name_of(algorithm));
    return {fmt::format("{} has no algorithm {}; write one of {}", name_of(options.collective),
                        name_of(options.algorithm), names)};
}

uint64_t times(uint64_t a, uint64_t b) {
    uint64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? ~uint64_t{0} : product;
}

uint64_t plus(uint64_t a, uint64_t b) {
    uint64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? ~uint64_t{0} : sum;
}

std::string algorithm_text(const CollectiveOptions& options) {
    std::string text(name_of(options.algorithm));
    if (options.algorithm == Algorithm::two_level && options.in_switch) text += " in_switch";
    if (options.algorithm == Algorithm::two_level &&
        (options.in_switch || options.between == Algorithm::in_network))
        text += fmt::format(", {} between", name_of(options.between));
    if (is_in_network(options)) text += options.streams ? " (streaming tree)" : " (latency tree)";
    if (options.lacks_tree) text += " (no tree of switches is free)";
    return text;
}

std::string_view protocol_text(Protocol protocol) {
    switch (protocol) {
        case Protocol::ll: return "LL";
        case Protocol::ll128: return "LL128";
        case Protocol::simple: return "Simple";
        default: return "";
    }
}

// The order of a broadcast: the ring, starting at the root.
std::vector<uint32_t> order_from(const Placement& placement, uint32_t root, uint16_t channel) {
    std::vector<uint32_t> order = ring_order(placement, channel);
    std::rotate(order.begin(), std::find(order.begin(), order.end(), root), order.end());
    return order;
}

void append_ring(Exchange& exchange, const CollectiveOptions& options, Range range,
                 uint16_t channel) {
    const std::vector<uint32_t> order = ring_order(exchange.placement(), channel);
    std::vector<Range> blocks;
    for (const uint32_t member : order)
        blocks.push_back(part(part(range, order.size(), member), options.channels, channel));
    const bool scatters = options.collective == Collective::reduce_scatter;
    ring(exchange, order, blocks, scatters ? Passes::reduce : Passes::gather, channel);
}

void append_all_reduce(Exchange& exchange, const CollectiveOptions& options, Range range,
                       uint16_t channel) {
    const Placement& placement = exchange.placement();
    const Range data = part(range, options.channels, channel);
    if (options.algorithm == Algorithm::ring)
        return ring_all_reduce(exchange, ring_order(placement, channel), data, channel);
    if (options.algorithm == Algorithm::tree)
        return tree_all_reduce(exchange, tree_chains(placement, channel), data, channel);
    std::vector<uint32_t> members;
    for (uint32_t i = 0; i < placement.size(); ++i) members.push_back(i);
    if (options.algorithm == Algorithm::in_network)
        return in_network_all_reduce(exchange, members, data,
                                     tree_channel(channel, options.streams));
    halving_doubling(exchange, members, data, channel);
}

void append_broadcast(Exchange& exchange, const CollectiveOptions& options, Range range,
                      uint16_t channel) {
    const Range data = part(range, options.channels, channel);
    if (options.algorithm == Algorithm::tree)
        return tree_broadcast(exchange, options.root, data, channel);
    const auto order = order_from(exchange.placement(), options.root, channel);
    chain_broadcast(exchange, order, data, channel);
}

void append_two_level(Exchange& exchange, const CollectiveOptions& options, Range range) {
    TwoLevel two_level;
    two_level.between = options.between;
    two_level.in_switch = options.in_switch || options.algorithm == Algorithm::in_switch;
    two_level.channels = options.channels;
    two_level.streams = options.streams;
    if (options.collective == Collective::all_reduce)
        return two_level_all_reduce(exchange, two_level, range);
    if (options.collective == Collective::reduce_scatter)
        return two_level_reduce_scatter(exchange, two_level, range);
    two_level_all_gather(exchange, two_level, range);
}

void append_direct(Exchange& exchange, const CollectiveOptions& options, Range range) {
    const Direct direct{options.channels, options.peers};
    if (options.collective == Collective::reduce_scatter)
        return direct_reduce_scatter(exchange, direct, range);
    if (options.collective == Collective::all_gather)
        return direct_all_gather(exchange, direct, range);
    if (options.pxn) return all_to_all_by_rail(exchange, direct, range.size());
    all_to_all(exchange, direct, range.size());
}

void append_channel(Exchange& exchange, const CollectiveOptions& options, Range range,
                    uint16_t channel) {
    if (options.collective == Collective::broadcast)
        return append_broadcast(exchange, options, range, channel);
    if (options.collective == Collective::all_reduce)
        return append_all_reduce(exchange, options, range, channel);
    append_ring(exchange, options, range, channel);
}

}  // namespace

std::string_view name_of(Algorithm algorithm) {
    switch (algorithm) {
        case Algorithm::ring: return "ring";
        case Algorithm::tree: return "tree";
        case Algorithm::halving_doubling: return "halving_doubling";
        case Algorithm::two_level: return "two_level";
        case Algorithm::in_switch: return "in_switch";
        case Algorithm::direct: return "direct";
        case Algorithm::in_network: return "in_network";
        case Algorithm::automatic: return "auto";
    }
    return "";
}

std::string_view name_of(Collective collective) {
    switch (collective) {
        case Collective::all_reduce: return "all_reduce";
        case Collective::reduce_scatter: return "reduce_scatter";
        case Collective::all_gather: return "all_gather";
        case Collective::all_to_all: return "all_to_all";
        case Collective::broadcast: return "broadcast";
        case Collective::compute: return "compute";
        case Collective::storage_read: return "storage_read";
        case Collective::storage_write: return "storage_write";
    }
    return "";
}

std::vector<std::vector<uint32_t>> tree_members(const CollectiveOptions& options,
                                                const Placement& placement) {
    const bool by_rails = options.algorithm == Algorithm::two_level;
    std::vector<std::vector<uint32_t>> trees(by_rails ? placement.count_of(0) : 1);
    for (uint32_t i = 0; i < placement.size(); ++i) trees[i % trees.size()].push_back(i);
    return trees;
}

std::span<const Algorithm> algorithms_of(Collective collective) {
    switch (collective) {
        case Collective::all_reduce: return kAllReduce;
        case Collective::reduce_scatter:
        case Collective::all_gather: return kScatterOrGather;
        case Collective::all_to_all: return kAllToAll;
        case Collective::broadcast: return kBroadcast;
        default: return {};
    }
}

bool sends_alike(const CollectiveOptions& a, const CollectiveOptions& b, uint32_t members) {
    const auto goes_round_once = [](const CollectiveOptions& options) {
        return options.algorithm == Algorithm::ring &&
               (options.collective == Collective::all_gather ||
                options.collective == Collective::reduce_scatter);
    };
    return goes_round_once(a) && goes_round_once(b) && a.bytes == b.bytes &&
           a.channels == b.channels && a.channels != 0 &&
           a.bytes % (uint64_t{members} * a.channels) == 0 && a.chunking == b.chunking &&
           a.protocol == b.protocol && a.software == b.software;
}

uint16_t usual_channels(const CollectiveOptions& options, const Placement& placement) {
    const bool by_rails =
        options.algorithm == Algorithm::ring || options.algorithm == Algorithm::tree;
    if (!by_rails || placement.server_count() < 2) return 1;
    const uint64_t most = std::max<uint64_t>(1, options.bytes / kLeastBytesOfChannel);
    return static_cast<uint16_t>(
        std::min<uint64_t>({placement.largest_server(), most, kMostChannels}));
}

std::optional<base::Error> check(const CollectiveOptions& options, const Placement& placement) {
    if (options.algorithm != Algorithm::automatic &&
        !has(algorithms_of(options.collective), options.algorithm))
        return unknown(options);
    if (placement.size() == 0) return base::Error{"a job needs at least one rank"};
    if (options.chunking.chunk == 0) return base::Error{"a chunk has at least one byte"};
    if (options.channels > kMostChannels)
        return base::Error{fmt::format("there are {} channels at most", kMostChannels)};
    const bool by_rails = options.algorithm == Algorithm::two_level || options.pxn;
    if (by_rails && !placement.is_regular())
        return base::Error{fmt::format("{} needs the same GPUs of each server",
                                       options.pxn ? "pxn" : "two_level")};
    const bool computes = options.in_switch || options.algorithm == Algorithm::in_switch;
    if (computes && !placement.has_scale_up())
        return base::Error{"in_switch needs a network inside servers; write gpus: {scale_up: ...}"};
    if (options.algorithm == Algorithm::in_switch && placement.server_count() > 1)
        return base::Error{
            "in_switch reduces inside one server; between servers write algorithm: two_level and "
            "in_switch: yes"};
    if (is_in_network(options) && placement.server_count() < 2 && placement.size() > 1)
        return base::Error{"in_network adds up between servers, and there is only one"};
    if (options.algorithm == Algorithm::in_network && placement.server_count() != placement.size())
        return base::Error{
            "in_network takes one rank of each server; with several write algorithm: two_level "
            "and between: in_network"};
    if (options.root >= placement.size()) return base::Error{"the root is not one of the ranks"};
    return std::nullopt;
}

// Each formula counts the messages of the algorithm with rounded-up numbers of pieces, plus one
// task per member that ends the phase.
uint64_t most_tasks(const CollectiveOptions& options, const Placement& placement) {
    const uint64_t n = placement.size();
    const uint64_t servers = placement.server_count();
    const uint64_t places = placement.largest_server();
    const uint64_t channels =
        options.channels != 0 ? options.channels : usual_channels(options, placement);
    const uint64_t data = options.bytes / channels + 1;  // of a channel
    const auto pieces = [&](uint64_t parts) {
        return parts_of(data / parts + 1, options.chunking.chunk);
    };
    const auto tree_pieces = [&](uint64_t parts) {
        const uint64_t piece = options.chunking.tree_piece;
        return parts_of(data / parts + 1, piece != 0 ? std::min(piece, options.chunking.chunk)
                                                     : options.chunking.chunk);
    };
    const auto all_reduce = [&](Algorithm algorithm, uint64_t members, uint64_t parts) {
        if (algorithm == Algorithm::in_network) return times(2 * members, tree_pieces(parts));
        if (algorithm == Algorithm::ring)
            return times(2 * members, times(members, plus(1, pieces(parts * members))));
        if (algorithm == Algorithm::tree) return times(4 * members, pieces(2 * parts));
        return times(members, plus(64, times(4, pieces(parts))));
    };
    uint64_t tasks = 0;
    switch (options.algorithm) {
        case Algorithm::direct: tasks = times(2 * n, times(n, pieces(n))); break;
        case Algorithm::in_network: tasks = times(2 * n, tree_pieces(1)); break;
        case Algorithm::two_level:
        case Algorithm::in_switch:
            if (options.collective != Collective::all_reduce) {
                tasks = times(2 * n, times(n, pieces(n)));
                break;
            }
            tasks = times(times(2 * n, places), plus(1 + servers, pieces(places)));
            tasks = plus(tasks, times(places, all_reduce(options.between, servers, places)));
            break;
        default: tasks = all_reduce(options.algorithm, n, 1);
    }
    return plus(times(tasks, channels), n);
}

Phase phase_of(const std::string& name, const CollectiveOptions& options) {
    Phase phase;
    phase.name = name;
    phase.collective = options.collective;
    phase.algorithm = algorithm_text(options);
    phase.protocol = protocol_text(options.protocol);
    phase.channels = options.library_channels;
    phase.is_automatic = options.is_automatic;
    phase.predicted = options.predicted;
    phase.next_best = options.next_best;
    phase.bytes = options.bytes;
    return phase;
}

void append(JobBuilder& job, const std::string& name, const CollectiveOptions& asked) {
    TULLE_CHECK(!check(asked, job.placement()));
    TULLE_CHECK(asked.algorithm != Algorithm::automatic);
    TULLE_CHECK(asked.protocol != Protocol::automatic);
    CollectiveOptions options = asked;
    if (options.channels == 0) options.channels = usual_channels(options, job.placement());
    job.begin(phase_of(name, options));
    if (options.software.launch.ps > 0) job.launch(options.software.launch);
    Exchange exchange(job, options.chunking, options.software);
    const Range range{0, options.bytes};
    switch (options.algorithm) {
        case Algorithm::two_level:
        case Algorithm::in_switch: append_two_level(exchange, options, range); break;
        case Algorithm::direct: append_direct(exchange, options, range); break;
        default:
            for (uint16_t channel = 0; channel < options.channels; ++channel)
                append_channel(exchange, options, range, channel);
    }
    job.end();
}

}  // namespace tulle::workload
