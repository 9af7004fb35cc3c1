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

// Every field of every plain struct counts, a new one by itself; what does not is named here.
class Digest {
public:
    uint64_t value() const { return hash_.value(); }

    void add(const Setup& setup) {
        base::visit_fields(setup, [&](const auto& field) {
            if (is_one_of(&field, {&setup.name, &setup.fabric_name, &setup.groups, &setup.trace}))
                return;
            // A run that skips nothing is the same as before.
            if (!setup.skips && is_one_of(&field, {&setup.skips, &setup.checks_skipping})) return;
            // So is one whose tables are given.
            if (setup.control.kind == ControlSettings::Kind::given &&
                is_one_of(&field, {&setup.control}))
                return;
            add(field);
        });
    }
    void add(const Result& result) {
        base::visit_fields(result, [&](const auto& field) {
            if (&field != static_cast<const void*>(&result.hash)) add(field);
        });
    }

    // How a link repairs counts where it does, and what a credit is where it is not InfiniBand's.
    void add(const fabric::LinkSettings& link) {
        base::visit_fields(link, [&](const auto& field) {
            const bool is_retry = &field == static_cast<const void*>(&link.retry);
            if (!is_retry || link.bit_errors == fabric::BitErrors::retransmitted) add(field);
        });
    }
    void add(const fabric::CreditSettings& credits) {
        base::visit_fields(credits, [&](const auto& field) {
            const bool is_unit = &field == static_cast<const void*>(&credits.unit_bytes);
            if (!is_unit || credits.unit_bytes != fabric::kBlockBytes) add(field);
        });
    }

    // Short ways find the same as long ones.
    void add(const HostSettings& host) {
        base::visit_fields(host, [&](const auto& field) {
            if (&field != static_cast<const void*>(&host.short_ways)) add(field);
        });
    }

    // Nothing where there is none, and else what the file is: not where it lies.
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
    void add(const TimeAccount&) {}  // of a second run, which found nothing else
    void add(const std::vector<Tap>&) {}
    void add(const std::vector<CapturedPacket>&) {}
    void add(const std::vector<TraceEvent>&) {}
    // What a training step is for does not change what its tasks do, and when they begin is in what
    // they lead to.
    void add(const std::shared_ptr<const workload::TrainingJob>&) {}
    void add(const std::shared_ptr<const workload::TraceJob>&) {}
    void add(const workload::Purpose&) {}
    void add(const std::vector<TaskTime>&) {}
    // Where nothing is served, nothing of it counts.
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
    void add(const workload::Task& task) {
        base::visit_fields(task, [&](const auto& field) {
            if (&field != static_cast<const void*>(&task.mark) || task.mark != 0) add(field);
        });
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
    // What is generated is a function of these.
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
        base::visit_fields(fields, [&](const auto& field) { add(field); });
    }

private:
    static size_t eight(std::string_view text) { return std::min<size_t>(text.size(), 8); }
    static uint64_t bytes_of(std::string_view text) {
        uint64_t bytes = 0;
        for (const char c : text) bytes = bytes << 8 | static_cast<uint8_t>(c);
        return bytes;
    }

    base::Hash hash_;
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
