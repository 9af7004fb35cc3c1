#include "sim/run_hash.h"

#include <concepts>
#include <initializer_list>
#include <string_view>

#include "base/fields.h"
#include "base/hash.h"
#include "workload/schedule.h"
#include "workload/serving/serving.h"

namespace tulle::sim {
namespace {

template <class T>
concept Number = std::integral<T> || std::is_enum_v<T>;
template <class T>
concept List = requires(const T& list) {
    list.begin();
    list.size();
};
template <class T>
concept Perhaps = requires(const T& value) {
    static_cast<bool>(value);
    *value;
};

bool is_one_of(const void* field, std::initializer_list<const void*> others) {
    for (const void* other : others)
        if (field == other) return true;
    return false;
}

// What the digest has seen so far and needs to judge other fields.
struct Known {
    bool has_tenants = false;
    bool has_trees = false;      // of switches between servers
    bool has_telemetry = false;  // of the fabric that is being added
    transport::Algorithm congestion = transport::Algorithm::none;  // of the hosts
};

// Every field of every plain struct counts, and new fields count automatically. The exceptions are
// named here: fields that this run does not use, so that new settings leave its hash as it was.
template <class T>
bool counts(const T&, const void*, const Known&) {
    return true;
}

// Settings of link retry count if it is on, and those of credits if they are not InfiniBand's.
bool counts(const fabric::LinkSettings& link, const void* field, const Known&) {
    return field != &link.retry || link.bit_errors == fabric::BitErrors::retransmitted;
}
bool counts(const fabric::CreditSettings& credits, const void* field, const Known&) {
    if (field == &credits.unit_bytes) return credits.unit_bytes != fabric::kBlockBytes;
    if (field == &credits.counter_bits) return credits.counter_bits != fabric::kCreditBits;
    return true;
}

// Checks of tenants count if there are tenants, and trees if switches between servers add up.
bool counts(const fabric::SwitchSettings& node, const void* field, const Known& known) {
    if (field == &node.enforces_partitions) return known.has_tenants;
    const bool is_of_trees =
        is_one_of(field, {&node.reduction_trees, &node.reduction_streams, &node.reduction_piece,
                          &node.reduction_pieces, &node.reduction_stream_above});
    return !is_of_trees || known.has_trees;
}
bool counts(const workload::CollectiveOptions& options, const void* field, const Known& known) {
    return known.has_trees || !is_one_of(field, {&options.streams, &options.lacks_tree});
}
bool counts(const workload::Chunking& chunking, const void* field, const Known& known) {
    return known.has_trees || !is_one_of(field, {&chunking.tree_window, &chunking.tree_piece});
}

// Only the settings of the chosen protocol count.
bool counts(const control::DistributedSettings& distributed, const void* field, const Known&) {
    return distributed.protocol != control::Protocol::bgp ||
           !is_one_of(field, {&distributed.protocol, &distributed.bridge});
}
bool counts(const control::SweepSettings& sweep, const void* field, const Known&) {
    return field != &sweep.adaptive || sweep.adaptive;
}

bool counts(const fabric::RouteSettings& route, const void* field, const Known&) {
    if (field == &route.group_lanes) return route.group_lanes;
    if (field == &route.detour_bias) return route.choice == fabric::PathChoice::ugal;
    const bool has_loads =
        route.load_step_bytes != 0 || route.load_period.ps != 0 || route.warn_above_bytes != 0;
    return has_loads ||
           !is_one_of(field, {&route.load_step_bytes, &route.load_period, &route.warn_above_bytes});
}

// Telemetry and back-pressure count if they are used. Short ways find the same as long ones.
bool counts(const fabric::Settings& fabric, const void* field, const Known&) {
    if (field == &fabric.telemetry) return fabric.telemetry;
    if (field == &fabric.back_pressure) return fabric.back_pressure.above_bytes != 0;
    return field != &fabric.short_ways;
}
bool counts(const fabric::FramingSettings& framing, const void* field, const Known& known) {
    return field != &framing.telemetry_bytes || known.has_telemetry;
}
bool counts(const HostSettings& host, const void* field, const Known&) {
    return field != &host.short_ways;
}
bool counts(const transport::AlgorithmSettings& all, const void* field, const Known& known) {
    using transport::Algorithm;
    if (field == &all.hpcc) return known.congestion == Algorithm::hpcc;
    if (field == &all.back_pressure) return known.congestion == Algorithm::back_pressure;
    return true;
}
bool counts(const workload::Task& task, const void* field, const Known&) {
    return field != &task.mark || task.mark != 0;
}
// `paused` says it, but for an instant.
bool counts(const LinkResult& link, const void* field, const Known&) {
    return field != &link.was_held;
}
bool counts(const Totals& totals, const void* field, const Known&) {
    if (field == &totals.lost_words) return totals.lost_words != 0;
    return field != &totals.words || totals.words != 0;
}

class Digest {
public:
    uint64_t value() const { return hash_.value(); }

    void add(const Setup& setup) {
        learn(setup);
        base::visit_fields(setup, [&](const auto& field) {
            if (is_one_of(&field, {&setup.name, &setup.fabric_name, &setup.groups, &setup.trace}))
                return;
            // Joined packets show in `scale_up`.
            if (setup.stand_ins.places.empty() && is_one_of(&field, {&setup.stand_ins})) return;
            // A run that skips nothing keeps its hash.
            if (!setup.skips && is_one_of(&field, {&setup.skips, &setup.checks_skipping})) return;
            if (setup.tenants.empty() && is_one_of(&field, {&setup.tenants})) return;
            if (setup.trees.empty() && is_one_of(&field, {&setup.trees})) return;
            // So does a run whose tables are given.
            if (setup.control.kind == ControlSettings::Kind::given &&
                is_one_of(&field, {&setup.control}))
                return;
            add(field);
        });
    }
    void add(const Result& result) {
        base::visit_fields(result, [&](const auto& field) {
            if (&field == static_cast<const void*>(&result.hash)) return;
            if (result.violations.empty() && is_one_of(&field, {&result.violations})) return;
            add(field);
        });
    }

    void add(const std::array<uint64_t, kDropCauses>& dropped) {
        constexpr auto kRefused = static_cast<size_t>(Drop::other_tenant);
        hash_.add(kRefused);
        for (size_t i = 0; i < kRefused; ++i) hash_.add(dropped[i]);
        if (dropped[kRefused] != 0) hash_.add(dropped[kRefused]);
    }
    // Adds nothing without a plug-in, else the contents of the file, not its path.
    void add(const transport::PluginSettings& plugin) {
        if (!plugin.loaded) return;
        add(std::string(plugin.loaded->name()));
        add(plugin.loaded->parameters());
        hash_.add(plugin.loaded->content_hash());
    }

    void add(const Skipping& skipping) {
        if (skipping.jumps != 0) hash_.add(static_cast<uint64_t>(skipping.time.ps));
    }
    void add(const ControlResult& control) {
        if (control.is_given()) return;
        base::visit_fields(control, [&](const auto& field) { add(field); });
    }
    void add(const EngineFigures&) {}
    void add(const TimeAccount&) {}  // found by a second run, which finds nothing else
    void add(const std::vector<Tap>&) {}
    void add(const std::vector<CapturedPacket>&) {}
    void add(const std::vector<TraceSample>&) {}
    // The purpose of a training step does not change its tasks, and the times at which they begin
    // show in their results.
    void add(const std::shared_ptr<const workload::TrainingJob>&) {}
    void add(const std::shared_ptr<const workload::TraceJob>&) {}
    void add(const workload::Purpose&) {}
    void add(const std::vector<TaskTime>&) {}
    // Without serving nothing of it counts.
    void add(const std::shared_ptr<const workload::ServingJob>& job) {
        if (!job) return;
        for (const workload::Request& request : job->requests)
            hash_.add(static_cast<uint64_t>(request.arrival.ps))
                .add(request.prompt)
                .add(request.output);
    }
    void add(const std::vector<workload::ServingOutcome>& served) {
        for (const workload::ServingOutcome& one : served) {
            add(one.gaps);
            add(one.requests);
        }
    }
    void add(const base::Rate& rate) { hash_.add(rate.numerator()).add(rate.denominator()); }
    void add(const base::Histogram& values) {
        hash_.add(values.count()).add(values.min()).add(values.max()).add(values.mean());
        for (uint64_t percent = 1; percent < 100; ++percent)
            hash_.add(values.percentile(percent, 100));
    }
    void add(const workload::Program& program) {
        add(program.phases);
        add(program.jobs);
        add(program.tasks());
        for (uint32_t task = 0; task < program.size(); ++task) add(program.needs(task));
        for (const workload::GeneratedPhase& phase : program.generated) add(phase);
    }
    // Generated tasks are a function of these.
    void add(const workload::GeneratedPhase& phase) {
        hash_.add(phase.phase).add(static_cast<uint64_t>(phase.computing.ps));
        hash_.add(phase.is_launch ? 1 : 0).add(phase.first_channel);
        add(phase.after);
        hash_.add(phase.placement->has_scale_up() ? 1 : 0).add(phase.placement->size());
        for (uint32_t i = 0; i < phase.placement->size(); ++i) add((*phase.placement)[i]);
        if (phase.schedule) add(phase.schedule->options());
    }
    void add(const std::string& text) {
        hash_.add(text.size());
        for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(eight(rest)))
            hash_.add(bytes_of(rest.substr(0, eight(rest))));
    }

    template <Number T>
    void add(const T& number) {
        hash_.add(static_cast<uint64_t>(number));
    }
    template <List T>
    void add(const T& list) {
        hash_.add(list.size());
        for (const auto& element : list) add(element);
    }
    template <Perhaps T>
    void add(const T& value) {
        hash_.add(value ? 1 : 0);
        if (value) add(*value);
    }
    template <class T>
    requires std::is_aggregate_v<T> &&(!List<T>)void add(const T& fields) {
        if constexpr (requires { learn(fields); }) learn(fields);
        base::visit_fields(fields, [&](const auto& field) {
            if (counts(fields, &field, known_)) add(field);
        });
    }

private:
    void learn(const Setup& setup) {
        known_.has_tenants = !setup.tenants.empty();
        known_.has_trees = !setup.trees.empty();
    }
    void learn(const fabric::Settings& fabric) { known_.has_telemetry = fabric.telemetry; }
    void learn(const HostSettings& host) { known_.congestion = host.congestion; }
    static size_t eight(std::string_view text) { return std::min<size_t>(text.size(), 8); }
    static uint64_t bytes_of(std::string_view text) {
        uint64_t bytes = 0;
        for (const char c : text) bytes = bytes << 8 | static_cast<uint8_t>(c);
        return bytes;
    }

    base::Hash hash_;
    Known known_;
};

}  // namespace

uint64_t setup_hash(const Setup& setup) {
    Digest digest;
    digest.add(setup);
    return digest.value();
}

uint64_t run_hash(const Setup& setup, const Result& result) {
    Digest digest;
    digest.add(setup);
    digest.add(result);
    return digest.value();
}

}  // namespace tulle::sim
