// Any bytes, as the execution trace of both of two ranks: they are refused with a sentence that
// names the file, or become a program that ranks can carry out.
#include <string_view>

#include "base/check.h"
#include "traces/chakra.h"
#include "traces/program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace tulle::traces;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    ChakraOptions options;
    options.ranks = 2;
    options.dimensions = {2};
    ChakraReader reader(options);
    for (const char* file : {"p.0.et", "p.1.et"})
        if (const auto error = reader.add_rank(bytes, file)) {
            TULLE_CHECK(error->message.starts_with(file));
            return 0;
        }
    const Trace trace = reader.take();
    TracePlace place;
    place.members = {{0, 0, 0}, {1, 1, 0}};
    place.most_tasks = 20'000;
    tulle::workload::Program program;
    if (const auto channel = append_trace(program, {}, trace, place))
        TULLE_CHECK(!program.check(2));
    else
        TULLE_CHECK(channel.error().message.find("p.") == 0);
    return 0;
}
