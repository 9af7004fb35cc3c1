// Any text, as a workload of SimAI or ASTRA-sim on four ranks: it is refused with a sentence that
// names file and line, or becomes a program that ranks can carry out.
#include <string_view>

#include "base/check.h"
#include "traces/program.h"
#include "traces/simai.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace tulle::traces;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    WorkloadOptions options;
    options.ranks = 4;
    options.gathers_shards = size % 2 == 0;
    const auto trace = read_workload(text, "w.txt", options);
    if (!trace) {
        TULLE_CHECK(trace.error().message.starts_with("w.txt:"));
        return 0;
    }
    TracePlace place;
    for (uint32_t i = 0; i < trace->ranks.size(); ++i) place.members.push_back({i, i, 0});
    place.most_tasks = 20'000;
    tulle::workload::Program program;
    if (append_trace(program, {}, *trace, place)) TULLE_CHECK(!program.check(4));
    return 0;
}
