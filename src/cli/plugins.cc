#include "cli/plugins.h"

#include <memory>

#include "live/plugin_file.h"

namespace tulle::cli {
namespace {

using base::Error;

std::optional<Error> load_for(sim::HostSettings& host) {
    if (host.congestion != transport::Algorithm::plugin) return std::nullopt;
    transport::PluginSettings& settings = host.algorithms.plugin;
    auto loaded = live::load_plugin(settings.source, settings.line_rate_bps);
    if (!loaded) return loaded.error();
    settings.loaded = std::move(*loaded);
    return std::nullopt;
}

}  // namespace

std::optional<Error> load_plugins(sim::Setup& setup) {
    if (auto error = load_for(setup.host)) return error;
    for (sim::HostOverride& other : setup.host_overrides)
        if (auto error = load_for(other.host)) return error;
    setup.fabric.telemetry = sim::wants_telemetry(setup);
    if (!setup.scale_up || setup.scale_up->host.congestion != transport::Algorithm::plugin)
        return std::nullopt;
    auto inside = std::make_shared<sim::Setup>(*setup.scale_up);
    auto error = load_plugins(*inside);
    setup.scale_up = std::move(inside);
    return error;
}

std::string congestion_setting(const std::string& name) {
    return "hosts.congestion.algorithm=" + name;
}

}  // namespace tulle::cli
