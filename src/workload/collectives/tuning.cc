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

// The time before the first sum in a switch, beyond NCCL's own figure of 25 us. Fitted to the rows
// from 64 KiB to 8 MiB of Azure's table for H100 in tests/collectives.
constexpr Duration kStartOfSums{10'600'000};
// The time of a loop of sums in a switch, besides the links, that the loops around it do not hide.
// On Hopper fitted to the slopes between 4 MiB and 1 GiB of Azure's table for H100: two of Simple's
// steps of 3.4 us. On Blackwell fitted to the same slopes of the table for 8 x B200.
constexpr Duration kLoopHopper{6'800'000};
constexpr Duration kLoopBlackwell{11'500'000};
// The additional time if trees of three and more servers join the sums. Fitted to 32 to 128 MiB of
// the tables for four and eight servers of H100.
constexpr Duration kLoopOfTrees{11'200'000};

// Corrections where GPUs inside a server do not reach NCCL's figures. The choice of algorithm and
// protocol still uses NCCL's figures. All corrections are fitted to tables in tests/collectives.
//
// LL: the time of a rank for each block of the ring that is not empty, before a message goes on,
// fitted to 8 to 128 B on a DGX H100; and the copy rate of one channel, fitted to 16 to 128 KiB
// there.
constexpr Duration kTurnLl{200'000};
constexpr uint64_t kChannelLl = 15'000;  // 10^6 bytes a second
constexpr uint64_t kLeastBlock = 16;     // src/device/all_reduce.h: blocks are multiples of it
// LL on Blackwell, fitted to 128 B to 8 KiB on 8 x B200.
constexpr int64_t kLlBlackwell = 155;  // percent of NCCL's latencies
// Rings on Ampere, fitted to Azure's table for A100. LL128: 2 to 16 MiB. Each slice of Simple: 32
// to 128 MiB; there it is read from the neighbour (src/graph/paths.cc), not written by it.
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

// The name in reports.
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

    // The candidates that NCCL would choose from.
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

    // LL128 needs atomic stores of 128 bytes, which PCI Express does not guarantee.
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

    // The requested algorithm with its best protocol.
    Way way_taken() const {
        std::vector<Way> found = ways();
        const Kind kind = kind_of_algorithm();
        std::erase_if(found, [&](Way way) { return way.kind != kind; });
        if (!found.empty() && is_known()) return best(found);
        if (kind == nccl::nvls || kind == nccl::nvls_tree) return {kind, nccl::simple};
        return {nccl::ring, other_protocol()};
    }

    // True if NCCL has it too.
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

    // NCCL uses LL for its own messages up to 16 KiB, and Simple for larger ones.
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

    // The number of simulated channels: one for each rail, which stands for all of NCCL's channels
    // on it.
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

    // The number of NCCL's channels per simulated one. A simulated channel of trees counts as two,
    // one per tree.
    uint64_t merged(Way way) const {
        const uint64_t mine = way.kind == nccl::tree ? 2 * options_.channels : options_.channels;
        return std::max<uint64_t>(1, model_.channels(way, bytes_) / mine);
    }

    // A channel of NCCL is a block of threads, which does one thing after the other. With Simple,
    // two slices of a chunk are in flight. Each slice is waited for, copied at the speed of the
    // link, fenced and announced. To another server there is a buffer of four slices.
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

    // Bytes of a member's block in a ring, if one turn has at most `most` bytes per member and
    // channel.
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

    // Chunk sizes as in calcCollChunking of src/enqueue.cc: smaller if there would be few chunks.
    uint64_t heads() const { return std::min(model_.per_server(), nccl::kMostNvlsHeads); }
    uint64_t nvls_chunk(uint64_t at_once) const {
        uint64_t chunk = nccl::kNvlsChunk;
        if (bytes_ < 64 * at_once * chunk) chunk = std::min<uint64_t>(chunk, 64 << 10);
        if (bytes_ < 8 * at_once * chunk) chunk = std::min<uint64_t>(chunk, 32 << 10);
        if (bytes_ < 2 * at_once * chunk) chunk = std::min<uint64_t>(chunk, 16 << 10);
        return chunk;
    }
    // As ncclNvlsTuning of src/transport/nvls.cc: for Blackwell by the speed of an adapter, which
    // is on the GPU's own PCIe switch.
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
        const uint64_t tenths = 10 + 10 * height + model_.per_server();  // length of a step
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

    // The latency of a message, and the time before the first one.
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

    // The bandwidth of all channels together.
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
            const Machine::NetworkSpeed& network = machine_.network(tier);
            return std::max(network.reaction, whole - network.latency);
        };
        const auto up = static_cast<size_t>(Tier::scale_up);
        const auto out = static_cast<size_t>(Tier::scale_out);
        software.step[out] = rest(Tier::scale_out, latency.between);
        software.step[up] =
            in_switch ? loop_of_sums() : rest(Tier::scale_up, of_message(way, latency));
        // NCCL's figure for sums in a switch covers both directions.
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

    // Femtoseconds per byte on a link that all channels share.
    uint64_t shared_line(Tier tier, const Software& software, uint64_t sharers) const {
        const uint64_t rate = machine_.network(tier).mbps;
        return rate == 0 ? 0 : 1'000'000'000 * sharers * software.line / (software.payload * rate);
    }

    bool is_ring_between(Way way) const { return way.kind == nccl::ring && model_.servers() > 1; }

    // Inside one server, NCCL's figure is for a message. For rings through several servers, with
    // three posts to adapters, it is for a chunk of two slices.
    Duration of_message(Way way, const CostModel::Latency& latency) const {
        if (way != Way{nccl::ring, nccl::simple} || model_.servers() == 1) return latency.inside;
        const Duration alone{nccl::kNvlink[nccl::ring][nccl::simple] * 1000};
        return std::max(std::min(alone, latency.inside), latency.inside / nccl::kSlices);
    }

    // Threads copy words with flags more slowly than links carry them, and forward a step after it
    // is copied. Each step spends the time that NCCL's bandwidth implies beyond the time on the
    // link.
    void add_copying(Way way, Software& software) const {
        const CostModel::Steps steps = model_.steps(way);
        const auto hops = static_cast<uint64_t>(std::max<int64_t>(1, steps.inside + steps.between));
        // Parts of the data per channel and step; a channel has two trees.
        const uint64_t parts =
            way.kind == nccl::tree ? 2 * options_.channels : options_.channels * model_.ranks();
        uint64_t whole = 1'000'000'000 * parts / (mbps_reached(way) * hops);  // femtoseconds a byte
        if (way == Way{nccl::ring, nccl::ll} && model_.servers() == 1)
            whole = std::max(whole, 1'000'000'000 / (kChannelLl * merged(way)));
        // Rings of LL128 forward line by line, so all channels have their share of the link. With
        // Simple, a channel between servers is as fast as NCCL's search found it.
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

    // A step of several pieces ends after its last piece. It begins with the first piece of the
    // next one, which arrived long before. So the run does not include the wire time that NCCL's
    // figure includes.
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
