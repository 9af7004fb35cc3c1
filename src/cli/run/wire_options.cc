#include "cli/run/wire_options.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <tuple>
#include <vector>

#include "base/units.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/result_files.h"
#include "cli/scenario_input.h"
#include "live/clock.h"
#include "scenario/packet_rules.h"
#include "wire/capture.h"

namespace tulle::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMillion = 1'000'000;

// --loss 1% and its like become rules, as if they were written in the file of --faults.
base::Result<bool> add_share(const std::string& text, const char* option, transport::FaultAct act,
                             std::vector<transport::FaultRule>& rules) {
    if (text.empty()) return true;
    const auto share = scenario::parse_share(text);
    if (!share) return base::Error{fmt::format("--{}: {}", option, share.error().message)};
    if (text == "1")
        return base::Error{fmt::format(
            "--{} 1 is every packet: did you mean 1%? Write 1%, or 100% for all", option)};
    transport::FaultRule rule;
    rule.per_million = *share;
    rule.act = act;
    if (act == transport::FaultAct::reorder) rule.time = transport::kUsualLateness;
    rules.push_back(rule);
    return true;
}

base::Result<bool> add_rules(const WireOptions& options, std::string& setting) {
    std::vector<transport::FaultRule> rules;
    if (!options.rules_file.empty()) {
        const auto text = read_text(options.rules_file);
        if (!text) return text.error();
        auto read = scenario::read_packet_rules(*text, options.rules_file);
        if (!read) return read.error();
        rules = std::move(*read);
    }
    using transport::FaultAct;
    for (const auto& [text, option, act] :
         {std::tuple(options.loss, "loss", FaultAct::drop),
          std::tuple(options.corrupt, "corrupt", FaultAct::damage),
          std::tuple(options.reorder, "reorder", FaultAct::reorder),
          std::tuple(options.duplicate, "duplicate", FaultAct::double_it)})
        if (const auto added = add_share(text, option, act, rules); !added) return added.error();
    if (rules.empty() && (options.seed || !options.log_file.empty()))
        return base::Error{
            fmt::format("{} is for faults, and there are none; add --loss, --reorder, --duplicate, "
                        "--corrupt or "
                        "--faults",
                        options.seed ? "--seed" : "--fault-log")};
    if (!rules.empty())
        setting +=
            fmt::format(" start_ns={} rules={}", live::monotonic_ns(), transport::to_text(rules));
    return true;
}

base::Result<bool> add_times(const WireOptions& options, std::string& setting) {
    if (!options.delay.empty()) {
        const auto delay = base::parse_duration(options.delay);
        if (!delay) return base::Error{fmt::format("--delay: {}", delay.error().message)};
        setting += fmt::format(" delay_ps={}", delay->ps);
    }
    if (!options.rate.empty()) {
        const auto rate = base::parse_rate(options.rate);
        if (!rate) return base::Error{fmt::format("--rate: {}", rate.error().message)};
        const uint64_t bits = 8 * kMillion * kMillion * rate->denominator() / rate->numerator();
        setting += fmt::format(" rate_bps={}", bits);
    }
    return true;
}

// Programs may run in other folders, so names are absolute. Settings are separated by spaces.
base::Result<std::string> full_name(const std::string& file, const char* option) {
    const std::string name = fs::absolute(file).string();
    if (name.find(' ') != std::string::npos)
        return base::Error{fmt::format("{} '{}': the path must not contain spaces", option, file)};
    return name;
}

base::Result<bool> begin_file(const std::string& name, const std::vector<std::byte>& head) {
    if (is_input(name))
        return base::Error{fmt::format(
            "cannot write '{}': it is an input of this command; name another file", name)};
    std::ofstream file(name, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(head.data()),
               static_cast<std::streamsize>(head.size()));
    file.flush();
    if (!file) return base::Error{fmt::format("cannot write '{}': {}", name, std::strerror(errno))};
    return true;
}

base::Result<bool> add_files(const WireOptions& options, bool is_ethernet, std::string& setting) {
    if (auto error = find_twice({options.log_file, options.capture_file})) return *error;
    if (!options.log_file.empty()) {
        const auto name = full_name(options.log_file, "--fault-log");
        if (!name) return name.error();
        if (const auto begun = begin_file(*name, {}); !begun) return begun.error();
        setting += " log=" + *name;
    }
    if (options.capture_file.empty()) return true;
    const auto name = full_name(options.capture_file, "--pcap");
    if (!name) return name.error();
    std::vector<std::byte> head;
    wire::begin_capture(is_ethernet ? wire::LinkLayer::ethernet : wire::LinkLayer::infiniband,
                        head);
    if (const auto begun = begin_file(*name, head); !begun) return begun.error();
    setting += " pcap=" + *name;
    return true;
}

}  // namespace

base::Result<std::string> wire_setting(const WireOptions& options, bool is_ethernet) {
    std::string setting;
    if (options.is_strict) setting += " strict=1";
    if (const auto added = add_rules(options, setting); !added) return added.error();
    if (const auto added = add_times(options, setting); !added) return added.error();
    if (const auto added = add_files(options, is_ethernet, setting); !added) return added.error();
    if (setting.empty()) return std::string();
    return fmt::format("seed={}{}", options.seed.value_or(1), setting);
}

void add_wire_options(Command& command, WireOptions& options) {
    command.option("--pcap", options.capture_file, "Write the packets of all programs",
                   {.shown = "FILE"});
    command.flag("--strict", options.is_strict,
                 "Check all that adapters check; slower: all data travels in packets");
    const Value share{.shown = "SHARE"};
    command.option("--loss", options.loss, "Lose this share of packets, for example 1%", share);
    command.option("--reorder", options.reorder, "Deliver this share of packets late", share);
    command.option("--duplicate", options.duplicate, "Deliver this share of packets twice", share);
    command.option("--corrupt", options.corrupt, "Flip a bit in this share of packets", share);
    command.option("--delay", options.delay, "Delay all packets by this time", {.shown = "TIME"});
    command.option("--rate", options.rate, "Send no faster than this", {.shown = "RATE"});
    command.option("--faults", options.rules_file,
                   "Read rules that say which packets suffer which fault", {.shown = "FILE"});
    command.option("--seed", options.seed,
                   "Seed of the faults; the same seed gives the same faults", {.shown = "N"});
    command.option("--fault-log", options.log_file, "Write one line per fault", {.shown = "FILE"});
}

}  // namespace tulle::cli
