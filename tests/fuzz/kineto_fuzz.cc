// Any text, as a trace of PyTorch's profiler: it is refused with a sentence that names the file, or
// becomes a program that ranks can carry out.
#include <string_view>

#include "base/check.h"
#include "traces/kineto.h"
#include "traces/program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace tulle::traces;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    KinetoReader reader(4);
    auto error = reader.add_rank(text, "k.json");
    if (!error) error = reader.repeat_first();
    if (error) {
        TULLE_CHECK(error->message.starts_with("k.json"));
        return 0;
    }
    const Trace trace = reader.take();
    TracePlace place;
    for (uint32_t i = 0; i < 4; ++i) place.members.push_back({i, i, 0});
    place.most_tasks = 20'000;
    tulle::workload::Program program;
    if (append_trace(program, {}, trace, place)) TULLE_CHECK(!program.check(4));
    return 0;
}
