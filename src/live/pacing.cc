#include "live/pacing.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "live/plugin_file.h"

namespace tulle::live {
namespace {

using transport::Algorithm;

constexpr uint64_t kMega = 1'000'000;
constexpr uint64_t kUsualLine = Pacing::kUsualLine;

// A program that runs with the rights of another user loads no file that its caller names.
const char* wished() {
    return secure_getenv("TULLE_CONGESTION");
}

// The rate that the interface reports; many report none.
uint64_t line_rate_of(const std::vector<UdpAddress>& addresses) {
    if (addresses.empty()) return kUsualLine;
    const std::string name = "/sys/class/net/" + addresses.front().interface + "/speed";
    long megabits = 0;
    if (std::FILE* file = std::fopen(name.c_str(), "re")) {
        if (std::fscanf(file, "%ld", &megabits) != 1) megabits = 0;
        std::fclose(file);
    }
    return megabits > 0 ? static_cast<uint64_t>(megabits) * kMega : kUsualLine;
}

// Whether an algorithm works without further settings: switches between machines write no
// telemetry, and a plug-in needs a file.
template <class Settings>
bool is_possible(Algorithm algorithm, const Settings& settings) {
    return settings.wrong().empty() && !transport::nature_of(algorithm).wants_telemetry;
}

}  // namespace

std::vector<std::string_view> Pacing::names() {
    std::vector<std::string_view> names;
    transport::for_each_algorithm([&](std::string_view name, Algorithm one, auto settings, auto) {
        if (is_possible(one, transport::AlgorithmSettings{}.*settings)) names.push_back(name);
    });
    return names;
}

Algorithm Pacing::wanted() {
    const char* wish = wished();
    if (wish != nullptr && transport::is_plugin_source(wish)) return Algorithm::plugin;
    Algorithm found = Algorithm::none;
    transport::for_each_algorithm([&](std::string_view name, Algorithm one, auto settings, auto) {
        if (wish != nullptr && name == wish &&
            is_possible(one, transport::AlgorithmSettings{}.*settings))
            found = one;
    });
    return found;
}

Pacing::Pacing(Algorithm algorithm, const std::vector<UdpAddress>& addresses)
    : algorithm_(algorithm) {
    const uint64_t line = line_rate_of(addresses);
    settings_.dcqcn = transport::DcqcnSettings::of_adapter(line);
    transport::for_each_algorithm([&](std::string_view, Algorithm, auto settings, auto) {
        (void)(settings_.*settings).set_line(base::Rate::bits_per_second(line));
    });
    if (algorithm_ != Algorithm::plugin) return;
    settings_.plugin.source = wished();
    auto loaded = load_plugin(settings_.plugin.source, line);
    if (loaded)
        settings_.plugin.loaded = std::move(*loaded);
    else
        problem_ = loaded.error().message;
}

void Pacing::end(transport::Adapter& adapter) {
    const transport::PluginFlow* flow = adapter.queue_pairs().failed_plugin();
    if (flow == nullptr) return;
    std::fprintf(stderr, "tulle: %s (%s) failed a queue pair, so the run is void: %s\n",
                 flow->plugin().file().c_str(), std::string(flow->plugin().name()).c_str(),
                 flow->fault()->what.c_str());
    _exit(1);
}

}  // namespace tulle::live
