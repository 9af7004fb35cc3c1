#include "workload/collectives/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "workload/collectives/cost_model.h"

namespace tulle::workload {
namespace {

using base::Duration;
using nccl::Kind;
using nccl::Proto;

constexpr Way kRingsAndTrees[] = {{nccl::tree, nccl::ll},     {nccl::tree, nccl::ll128},
                                  {nccl::tree, nccl::simple}, {nccl::ring, nccl::ll},
                                  {nccl::ring, nccl::ll128},  {nccl::ring, nccl::simple}};

// What sums in a switch take before the first one, beyond NCCL's own figure of 25 us. Fitted: to
// the rows from 64 KiB to 8 MiB of Azure's table for H100 in tests/collectives.
constexpr Duration kStartOfSums{10'600'000};
// What a loop of sums in a switch takes besides the links, and is not hidden by the loops around
// it. Fitted: on Hopper to the slopes between 4 MiB and 1 GiB of Azure's table for H100, where it
// is two of Simple's steps of 3.4 us; on Blackwell to the same slopes of the table for 8 x B200.
constexpr Duration kLoopHopper{6'800'000};
constexpr Duration kLoopBlackwell{11'500'000};
// And what more, where trees of three and more servers join the sums. Fitted: to 32 to 128 MiB of
// the tables for four and eight servers of H100.
constexpr Duration kLoopOfTrees{11'200'000};

// Where NCCL's figures are not what GPUs reach inside a server. They still choose the way, as in
// NCCL. All are fitted to tables in tests/collectives.
//
// LL, before a message goes on: what a rank does for each block of the ring that is not empty, to
// 8 to 128 B on a DGX H100; and one channel's copying, to 16 to 128 KiB there.
constexpr Duration kTurnLl{200'000};
constexpr uint64_t kChannelLl = 15'000;  // 10^6 bytes a second
constexpr uint64_t kLeastBlock = 16;     // src/device/all_reduce.h: blocks are multiples of it
// LL on Blackwell, to 128 B to 8 KiB on 8 x B200.
constexpr int64_t kLlBlackwell = 155;  // percent of NCCL's latencies
// Rings on Ampere, to Azure's table for A100: LL128 to 2 to 16 MiB, and each slice of Simple, which
// is read from the neighbour there (src/graph/paths.cc) and not written by it, to 32 to 128 MiB.
constexpr uint64_t kLl128Ampere = 125'000;  // 10^6 bytes a second on the bus
constexpr Duration kReadAmpere{2'600'000};

Protocol protocol_of(Proto proto) {
    constexpr Protocol kProtocols[] = {Protocol::ll, Protocol::ll128, Protocol::simple};
    return kProtocols[proto];
}

std::string_view text_of(Proto proto) {
    constexpr std::string_view kNames[] = {"LL", "LL128", "Simple"};
    return kNames[proto];
}

// As reports call it.
std::string text_of(Way way) {
    constexpr std::string_view kNames[] = {"tree", "ring", "in_switch", "two_level in_switch"};
    return fmt::format("{} {}", kNames[way.kind], text_of(way.proto));
}

class Tuning {
public:
    Tuning(CollectiveOptions options, const Placement& placement, const Machine& machine)
        : options_(std::move(options)),
          placement_(placement),
          machine_(machine),
          model_(machine, placement, options_.collective),
          bytes_(std::max<uint64_t>(1, options_.bytes)) {}

    CollectiveOptions tune() {
        const std::vector<Way> known = ways();
        if (options_.algorithm == Algorithm::automatic) take_algorithm(best(known));
        const bool is_bare = options_.protocol == Protocol::bare;
        const Way way = way_taken();
        if (!is_bare) note_estimates(way, known);
        if (options_.channels == 0) options_.channels = channels(way);
        if (!options_.chunk_is_asked) options_.chunking.chunk = chunk(way);
        if (!is_bare && way.kind == nccl::ring && is_known()) take_turns(way);
        if (is_bare) return options_;
        options_.protocol = protocol_of(way.proto);
        options_.software = software(way);
        if (is_in_switch(way)) options_.chunking.sum_window = 1;
        return options_;
    }

private:
    bool is_of_all_gpus() const {
        for (uint32_t server = 0; server < placement_.server_count(); ++server)
            if (placement_.count_of(server) != machine_.gpus) return false;
        return true;
    }
    bool allows_switches() const {
        return machine_.reduces && placement_.has_scale_up() && machine_.gpus > 1 &&
               is_of_all_gpus();
    }

    // What NCCL would choose from.
    std::vector<Way> ways() const {
        std::vector<Way> found;
        const bool sums = options_.collective == Collective::all_reduce;
        const bool has_rings = options_.collective != Collective::all_to_all;
        for (const Way way : kRingsAndTrees)
            if (has_rings && (sums || way.kind == nccl::ring)) found.push_back(way);
        if (sums && allows_switches())
            found.push_back(
                {placement_.server_count() == 1 ? nccl::nvls : nccl::nvls_tree, nccl::simple});
        std::erase_if(found, [&](Way way) {
            return model_.bandwidth(way, bytes_) == 0 || !has_protocol(way.proto);
        });
        return found;
    }

    // LL128 needs stores of 128 bytes that stay together, which PCI Express does not promise.
    bool has_protocol(Proto proto) const {
        const Protocol asked = options_.protocol;
        const bool is_torn = proto == nccl::ll128 && model_.per_server() > 1 && model_.has_pci();
        if (is_torn && asked != Protocol::ll128) return false;
        return asked == Protocol::automatic || asked == Protocol::bare ||
               asked == protocol_of(proto);
    }

    Way best(const std::vector<Way>& ways) const {
        if (ways.empty()) return {nccl::ring, nccl::simple};
        return *std::min_element(ways.begin(), ways.end(), [&](Way a, Way b) {
            return model_.time(a, bytes_) < model_.time(b, bytes_);
        });
    }

    void take_algorithm(Way way) {
        options_.is_automatic = true;
        switch (way.kind) {
            case nccl::tree: options_.algorithm = Algorithm::tree; break;
            case nccl::ring: options_.algorithm = Algorithm::ring; break;
            case nccl::nvls: options_.algorithm = Algorithm::in_switch; break;
            default:
                options_.algorithm = Algorithm::two_level;
                options_.in_switch = true;
                options_.between = Algorithm::tree;
        }
        if (options_.collective == Collective::all_to_all) options_.algorithm = Algorithm::direct;
    }

    // The way of the algorithm, by the best of its protocols.
    Way way_taken() const {
        std::vector<Way> found = ways();
        const Kind kind = kind_of_algorithm();
        std::erase_if(found, [&](Way way) { return way.kind != kind; });
        if (!found.empty() && is_known()) return best(found);
        if (kind == nccl::nvls || kind == nccl::nvls_tree) return {kind, nccl::simple};
        return {nccl::ring, other_protocol()};
    }

    // Whether NCCL has it, too.
    bool is_known() const {
        return options_.algorithm == Algorithm::ring ||
               options_.algorithm == Algorithm::in_switch ||
               options_.algorithm == Algorithm::tree ||
               (options_.algorithm == Algorithm::two_level && options_.in_switch &&
                options_.between == Algorithm::tree);
    }

    Kind kind_of_algorithm() const {
        if (options_.algorithm == Algorithm::tree) return nccl::tree;
        const bool in_switch = options_.in_switch || options_.algorithm == Algorithm::in_switch;
        if (!in_switch) return nccl::ring;
        return placement_.server_count() == 1 ? nccl::nvls : nccl::nvls_tree;
    }

    // NCCL takes LL for messages of its own up to 16 KiB, and Simple for larger ones.
    Proto other_protocol() const {
        if (options_.protocol == Protocol::ll) return nccl::ll;
        if (options_.protocol == Protocol::ll128) return nccl::ll128;
        const bool is_small = bytes_ / placement_.size() <= nccl::kPointToPointLl;
        return is_small && options_.protocol == Protocol::automatic ? nccl::ll : nccl::simple;
    }

    void note_estimates(Way taken, std::vector<Way> known) {
        options_.library_channels = model_.channels(taken, bytes_);
        if (!is_known()) return;
        options_.predicted = estimate(taken);
        std::erase(known, taken);
        if (known.empty()) return;
        const Way next = best(known);
        options_.next_best = estimate(next);
    }

    Estimate estimate(Way way) const { return {text_of(way), model_.time(way, bytes_)}; }

    // The simulated channels: one for each rail, which stands for all that NCCL has on it.
    uint16_t channels(Way way) const {
        const uint16_t usual = usual_channels(options_, placement_);
        if (options_.protocol == Protocol::bare || !is_known()) return usual;
        const uint32_t found = model_.channels(way, bytes_);
        return static_cast<uint16_t>(
            std::min<uint32_t>(usual, std::max(1u, way.kind == nccl::tree ? found / 2 : found)));
    }

    uint64_t chunk(Way way) const {
        const uint64_t usual = options_.chunking.chunk;
        if (options_.protocol == Protocol::bare) return usual;
        const uint64_t all = model_.channels(way, bytes_);
        if (way.kind == nccl::nvls || way.kind == nccl::nvls_tree) {
            const uint64_t cut =
                way.kind == nccl::nvls ? nvls_chunk(all * heads()) : nvls_tree_chunk(all * heads());
            return all * cut * heads() / model_.per_server();
        }
        if (!is_known()) return usual;
        const uint64_t merged = this->merged(way);
        if (way.kind == nccl::tree && way.proto == nccl::ll128) return merged * ll128_chunk(all);
        if (way.proto == nccl::ll) return merged * nccl::kStepLl;
        if (way.kind == nccl::ring)
            return way.proto == nccl::ll128 ? ll128_piece(merged) : slice(merged);
        return way.proto == nccl::ll128 ? merged * nccl::kStepLl128 : usual;
    }

    // Channels of NCCL that a simulated one stands for; a tree has one of each pair.
    uint64_t merged(Way way) const {
        const uint64_t mine = way.kind == nccl::tree ? 2 * options_.channels : options_.channels;
        return std::max<uint64_t>(1, model_.channels(way, bytes_) / mine);
    }

    // A channel of NCCL is a block of threads, which does one thing after the other. With Simple,
    // two slices of a chunk are on their way, each of which is waited for, copied at the speed of
    // the link, fenced and announced. To another server there is a buffer of four slices.
    void take_turns(Way way) {
        if (way.proto == nccl::simple) {
            if (model_.servers() == 1) options_.chunking.inside_window = 1;
            options_.chunking.slices = nccl::kSlices;
            options_.chunking.window = nccl::kSlicesOfBuffer;
        }
        if (way.proto == nccl::ll128) {
            options_.chunking.slices = nccl::kPiecesLl128;
            options_.chunking.window = nccl::kSteps * nccl::kPiecesLl128;
        }
    }

    // Of a ring: bytes of a member's block, where one turn has so many of a channel at most.
    uint64_t block(uint64_t most) const {
        const uint64_t data = bytes_ / options_.channels + 1;
        return data / (parts_of(data, most * model_.ranks()) * model_.ranks()) + 1;
    }
    // Half of a chunk, as genericOp of src/device/prims_simple.h cuts it.
    uint64_t slice(uint64_t merged) const {
        const uint64_t most = merged * nccl::kSliceSteps * nccl::kStepSimple;
        return std::clamp(block(nccl::kSlices * most) / nccl::kSlices + 1, most / 32, most);
    }
    uint64_t ll128_piece(uint64_t merged) const {
        const uint64_t step = merged * nccl::kStepLl128;
        const uint64_t most = step / nccl::kPiecesLl128;
        return std::clamp(block(step) / 8 + 1, most / 4, most);
    }

    // How NCCL cuts, in calcCollChunking of src/enqueue.cc: smaller where there would be few.
    uint64_t heads() const { return std::min(model_.per_server(), nccl::kMostNvlsHeads); }
    uint64_t nvls_chunk(uint64_t at_once) const {
        uint64_t chunk = nccl::kNvlsChunk;
        if (bytes_ < 64 * at_once * chunk) chunk = std::min<uint64_t>(chunk, 64 << 10);
        if (bytes_ < 8 * at_once * chunk) chunk = std::min<uint64_t>(chunk, 32 << 10);
        if (bytes_ < 2 * at_once * chunk) chunk = std::min<uint64_t>(chunk, 16 << 10);
        return chunk;
    }
    // ncclNvlsTuning of src/transport/nvls.cc: for Blackwell by the speed of an adapter, which is
    // on the GPU's own PCIe switch.
    uint64_t most_nvls_tree_chunk() const {
        const uint64_t adapter = machine_.network(Tier::scale_out).mbps;
        if (machine_.generation != Generation::blackwell || adapter < 48'000)
            return model_.servers() >= 4 ? 64 << 10 : nccl::kNvlsChunk;
        if (adapter < 96'000) return 64 << 10;
        return model_.servers() == 2 ? nccl::kNvlsChunk : 256 << 10;
    }
    uint64_t nvls_tree_chunk(uint64_t at_once) const {
        uint64_t chunk = most_nvls_tree_chunk();
        if (bytes_ < 16 * at_once * chunk) chunk = std::min<uint64_t>(chunk, 128 << 10);
        if (bytes_ < 4 * at_once * chunk) chunk = std::min<uint64_t>(chunk, 64 << 10);
        if (bytes_ < at_once * chunk) chunk = std::min<uint64_t>(chunk, 32 << 10);
        return chunk;
    }
    uint64_t ll128_chunk(uint64_t channels) const {
        const uint64_t height = std::bit_width(uint64_t{model_.servers()}) - 1;
        const uint64_t tenths = 10 + 10 * height + model_.per_server();  // of a step
        const auto is_few = [&](uint64_t chunk, uint64_t times) {
            return bytes_ / (channels * chunk) * 10 * model_.per_server() < tenths * times;
        };
        uint64_t chunk = nccl::kStepLl128;
        while (chunk > 128 << 10 && is_few(chunk, 64)) chunk /= 2;
        while (chunk > 32 << 10 && is_few(chunk, 16)) chunk /= 2;
        return chunk;
    }

    static bool is_in_switch(Way way) {
        return way.kind == nccl::nvls || way.kind == nccl::nvls_tree;
    }

    Duration loop_of_sums() const {
        const Duration alone =
            machine_.generation == Generation::blackwell ? kLoopBlackwell : kLoopHopper;
        return model_.servers() > 2 ? alone + kLoopOfTrees : alone;
    }

    // What a message takes, and what is before the first one.
    CostModel::Latency latency(Way way) const {
        CostModel::Latency latency = model_.latency(way, bytes_);
        if (way.proto != nccl::ll || model_.servers() > 1) return latency;
        if (way.kind == nccl::ring) {
            const uint64_t ranks = model_.ranks();
            const uint64_t blocks = std::min(ranks, (bytes_ + kLeastBlock - 1) / kLeastBlock);
            latency.inside -=
                kTurnLl * static_cast<int64_t>(ranks - blocks) / static_cast<int64_t>(ranks);
        }
        if (machine_.generation == Generation::blackwell)
            for (Duration* part : {&latency.base, &latency.inside})
                *part = *part * kLlBlackwell / 100;
        return latency;
    }

    // What all channels together reach.
    uint64_t mbps_reached(Way way) const {
        const uint64_t modelled = std::max<uint64_t>(1, model_.bandwidth(way, bytes_));
        const bool is_slower = is_of_ampere(way) && way.proto == nccl::ll128;
        if (!is_slower) return modelled;
        return modelled * kLl128Ampere / std::max(kLl128Ampere, model_.bus_bandwidth(way));
    }
    bool is_of_ampere(Way way) const {
        return machine_.generation == Generation::ampere && model_.servers() == 1 &&
               way.kind == nccl::ring;
    }

    Software software(Way way) const {
        const CostModel::Latency latency = this->latency(way);
        Software software;
        software.launch = latency.base;
        const bool in_switch = is_in_switch(way);
        const auto rest = [&](Tier tier, Duration whole) {
            const Machine::Network& network = machine_.network(tier);
            return std::max(network.reaction, whole - network.latency);
        };
        const auto up = static_cast<size_t>(Tier::scale_up);
        const auto out = static_cast<size_t>(Tier::scale_out);
        software.step[out] = rest(Tier::scale_out, latency.between);
        software.step[up] =
            in_switch ? loop_of_sums() : rest(Tier::scale_up, of_message(way, latency));
        // What NCCL reckons for sums in a switch is for the way there and back together.
        if (in_switch) {
            const Duration there = machine_.network(Tier::scale_up).latency + software.step[up];
            software.launch = std::max(Duration{}, latency.inside - there * 2);
        }
        if (in_switch) software.launch += kStartOfSums;
        for (const Tier tier : {Tier::scale_out, Tier::scale_up})
            software.least[static_cast<size_t>(tier)] = machine_.network(tier).reaction;
        if (way.proto == nccl::ll) software.line = 2;
        if (way.proto == nccl::ll128) software.payload = 120, software.line = 128;
        const bool is_copied = way.proto != nccl::simple || is_ring_between(way);
        if (is_copied && is_known()) add_copying(way, software);
        const bool is_read = way.proto == nccl::simple && is_of_ampere(way);
        if (is_read && is_known()) software.step[up] += kReadAmpere;
        return software;
    }

    // Femtoseconds of a byte on a link that all channels share.
    uint64_t shared_line(Tier tier, const Software& software, uint64_t sharers) const {
        const uint64_t rate = machine_.network(tier).mbps;
        return rate == 0 ? 0 : 1'000'000'000 * sharers * software.line / (software.payload * rate);
    }

    bool is_ring_between(Way way) const { return way.kind == nccl::ring && model_.servers() > 1; }

    // NCCL's figure inside one server is of a message, and that of rings through several servers,
    // with three posts to adapters, of a chunk: two slices.
    Duration of_message(Way way, const CostModel::Latency& latency) const {
        if (way != Way{nccl::ring, nccl::simple} || model_.servers() == 1) return latency.inside;
        const Duration alone{nccl::kNvlink[nccl::ring][nccl::simple] * 1000};
        return std::max(std::min(alone, latency.inside), latency.inside / nccl::kSlices);
    }

    // Threads copy words with flags slower than links carry them, and a step is passed on once it
    // is copied. What NCCL's bandwidth says beyond the time on the line is spent in each step.
    void add_copying(Way way, Software& software) const {
        const CostModel::Steps steps = model_.steps(way);
        const auto hops = static_cast<uint64_t>(std::max<int64_t>(1, steps.inside + steps.between));
        // Of a channel, in each step; a channel has two trees.
        const uint64_t parts =
            way.kind == nccl::tree ? 2 * options_.channels : options_.channels * model_.ranks();
        uint64_t whole = 1'000'000'000 * parts / (mbps_reached(way) * hops);  // femtoseconds a byte
        if (way == Way{nccl::ring, nccl::ll} && model_.servers() == 1)
            whole = std::max(whole, 1'000'000'000 / (kChannelLl * merged(way)));
        // Rings of LL128 pass on line by line, so all channels have their share of the link. With
        // Simple a channel between servers is as fast as NCCL's search found it.
        if (way.kind == nccl::ring && way.proto != nccl::ll) {
            const bool has_lines = way.proto == nccl::ll128;
            software.copy_fs = {whole, whole};
            software.is_in_turn[static_cast<size_t>(Tier::scale_up)] = true;
            software.is_in_turn[static_cast<size_t>(Tier::scale_out)] = has_lines;
            software.passes_on_lines = has_lines;
            if (has_lines) add_wire(way, software);
            return;
        }
        const uint64_t at_once = way.kind == nccl::tree ? 2 : 1;
        for (const Tier tier : {Tier::scale_out, Tier::scale_up}) {
            if (machine_.network(tier).mbps == 0) continue;
            const uint64_t sharers = at_once * (tier == Tier::scale_up ? options_.channels : 1);
            const uint64_t line = shared_line(tier, software, sharers);
            software.copy_fs[static_cast<size_t>(tier)] = whole > line ? whole - line : 0;
        }
    }

    // A step of several pieces ends after its last one, and begins with the next one's first, which
    // has come long before: the wire, which NCCL's figure has in it, is then no part of the run.
    void add_wire(Way way, Software& software) const {
        if (block(UINT32_MAX) <= options_.chunking.chunk) return;
        const Duration whole = model_.latency(way, bytes_).inside;
        software.step[static_cast<size_t>(Tier::scale_up)] = whole;
    }

    CollectiveOptions options_;
    const Placement& placement_;
    const Machine& machine_;
    CostModel model_;
    uint64_t bytes_;
};

}  // namespace

CollectiveOptions tune(CollectiveOptions options, const Placement& placement,
                       const Machine& machine) {
    return Tuning(std::move(options), placement, machine).tune();
}

}  // namespace tulle::workload
