#include "scenario/measured.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "scenario/tree.h"
#include "workload/lines.h"

namespace tulle::scenario {
namespace {

constexpr std::pair<std::string_view, std::string_view> kPrograms[] = {
    {"all_reduce_perf", "all_reduce"},
    {"all_gather_perf", "all_gather"},
    {"reduce_scatter_perf", "reduce_scatter"},
    {"alltoall_perf", "all_to_all"},
    {"broadcast_perf", "broadcast"}};

// The collective, from a line that names the program that wrote the file, if there is one.
std::string collective_in(std::string_view text) {
    for (const auto& [program, collective] : kPrograms)
        if (text.find(program) != std::string_view::npos) return std::string(collective);
    return {};
}

// Numbers as nccl-tests prints them: "1234", "12.34".
std::optional<MeasuredRow> row_of(std::string_view size, std::string_view time,
                                  std::string_view bus) {
    const auto bytes = base::parse_bytes(size);
    const auto taken = base::parse_duration(std::string(time) + "us");
    const auto rate = base::parse_bytes(std::string(bus) + "GB");
    if (!bytes || !taken || !rate || taken->ps <= 0) return std::nullopt;
    return MeasuredRow{*bytes, *taken, *rate};
}

base::Result<Measured> read_table(std::string_view text, Measured measured) {
    constexpr size_t kLeastColumns = 8;  // size, count, type, redop, root, time, algbw, busbw
    workload::Lines lines(text);
    workload::Line line;
    while (lines.next(line)) {
        const char first = line.words[0].front();
        if (first < '0' || first > '9') continue;  // a line of the launcher
        std::optional<MeasuredRow> row;
        if (line.words.size() >= kLeastColumns)
            row = row_of(line.words[0], line.words[5], line.words[7]);
        if (!row)
            return workload::located(measured.file, line.number,
                                     "it is no row of nccl-tests: size, count, type, redop, root, "
                                     "time in us, algbw and busbw in GB/s");
        measured.rows.push_back(*row);
    }
    if (measured.rows.empty())
        return workload::located(measured.file, 1,
                                 "there is no row of nccl-tests in it; give the output of "
                                 "all_reduce_perf and the like");
    return measured;
}

base::Result<Measured> read_json(std::string_view text, Measured measured) {
    const auto root = parse_tree(text, measured.file);
    if (!root) return root.error();
    const Value* results = root->find("results");
    if (results == nullptr || !results->is_list())
        return workload::located(measured.file, 1,
                                 "there is no list \"results\"; write it with -J of nccl-tests");
    for (const Value& item : results->items) {
        const Value* size = item.is_map() ? item.find("size") : nullptr;
        const Value* out = item.is_map() ? item.find("out_of_place") : nullptr;
        const Value* time = out != nullptr && out->is_map() ? out->find("time") : nullptr;
        const Value* bus = out != nullptr && out->is_map() ? out->find("bus_bw") : nullptr;
        std::optional<MeasuredRow> row;
        if (size != nullptr && time != nullptr && bus != nullptr)
            row = row_of(size->text, time->text, bus->text);
        if (!row)
            return workload::located(measured.file, item.line,
                                     "a result has size, and out_of_place with time in us and "
                                     "bus_bw in GB/s");
        measured.rows.push_back(*row);
    }
    return measured;
}

}  // namespace

base::Result<Measured> read_measured(std::string_view text, const std::string& file) {
    Measured measured{file, collective_in(text), {}};
    const size_t first = text.find_first_not_of(" \t\r\n");
    const bool is_json = first != std::string_view::npos && text[first] == '{';
    return is_json ? read_json(text, std::move(measured)) : read_table(text, std::move(measured));
}

}  // namespace tulle::scenario
