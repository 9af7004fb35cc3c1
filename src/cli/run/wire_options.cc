#include "cli/run/wire_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/units.h"
#include "wire/capture.h"

namespace tulle::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMillion = 1'000'000;

// Adds " key=value" where the option was given.
base::Result<bool> add_chance(const std::string& text, const char* key, std::string& setting) {
    if (text.empty()) return true;
    const auto chance = parse_chance(text);
    if (!chance) return base::Error{fmt::format("--{}: {}", key, chance.error().message)};
    setting += fmt::format(" {}={}", key, *chance);
    return true;
}

base::Result<bool> add_times(const WireOptions& options, std::string& setting) {
    if (!options.delay.empty()) {
        const auto delay = base::parse_duration(options.delay);
        if (!delay || delay->ps < 0)
            return base::Error{fmt::format("--delay {}: write a time, such as 5us", options.delay)};
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

// Programs run in folders of their own, and settings are parted by spaces.
base::Result<std::string> full_name(const std::string& file, const char* option) {
    const std::string name = fs::absolute(file).string();
    if (name.find(' ') != std::string::npos)
        return base::Error{fmt::format("{} '{}': a name without spaces, please", option, file)};
    return name;
}

base::Result<bool> begin_file(const std::string& name, const std::vector<std::byte>& head) {
    std::ofstream file(name, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(head.data()),
               static_cast<std::streamsize>(head.size()));
    file.flush();
    if (!file) return base::Error{fmt::format("cannot write '{}'", name)};
    return true;
}

base::Result<bool> add_files(const WireOptions& options, bool is_ethernet, std::string& setting) {
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

base::Result<uint32_t> parse_chance(const std::string& text) {
    const bool is_percent = text.ends_with('%');
    double number = 0;
    const char* end = text.data() + text.size() - (is_percent ? 1 : 0);
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (is_percent) number /= 100;
    if (error != std::errc{} || stop != end || number < 0 || number > 1)
        return base::Error{fmt::format("'{}' is no share of packets; write 1% or 0.01", text)};
    return static_cast<uint32_t>(number * static_cast<double>(kMillion) + 0.5);
}

base::Result<std::string> wire_setting(const WireOptions& options, bool is_ethernet) {
    std::string setting;
    for (const auto& [text, key] :
         {std::pair(options.loss, "loss"), std::pair(options.duplicate, "duplicate"),
          std::pair(options.reorder, "reorder"), std::pair(options.corrupt, "corrupt")})
        if (const auto added = add_chance(text, key, setting); !added) return added.error();
    if (const auto added = add_times(options, setting); !added) return added.error();
    if (const auto added = add_files(options, is_ethernet, setting); !added) return added.error();
    if (setting.empty()) return std::string();
    return fmt::format("seed={}{}", options.seed, setting);
}

void add_wire_options(CLI::App& command, WireOptions& options) {
    command.add_option("--pcap", options.capture_file, "Write the packets of all programs")
        ->type_name("FILE");
    command.add_option("--loss", options.loss, "Lose this share of packets")->type_name("SHARE");
    command.add_option("--reorder", options.reorder, "Deliver this share late")->type_name("SHARE");
    command.add_option("--duplicate", options.duplicate, "Deliver this share twice")
        ->type_name("SHARE");
    command.add_option("--corrupt", options.corrupt, "Damage a bit of this share")
        ->type_name("SHARE");
    command.add_option("--delay", options.delay, "Deliver all so much later")->type_name("TIME");
    command.add_option("--rate", options.rate, "Send no faster than this")->type_name("RATE");
    command.add_option("--seed", options.seed, "Which faults; the same ones for the same seed")
        ->type_name("N");
    command.add_option("--fault-log", options.log_file, "Write a line for each fault")
        ->type_name("FILE");
}

}  // namespace tulle::cli
