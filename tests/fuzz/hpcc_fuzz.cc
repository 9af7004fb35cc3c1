// Any text, as a configuration of the HPCC simulator with a topology and flows beside it: it is
// read, or refused with one sentence that names file and line.
#include <string_view>

#include "base/check.h"
#include "scenario/hpcc.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace tulle::scenario;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const FileReader files = [&](const std::string& path) -> tulle::base::Result<std::string> {
        if (path.starts_with("t"))
            return std::string("3 1 2\n2\n0 2 100Gbps 0.001ms 0\n1 2 100Gbps 0.001ms 0\n");
        if (path.starts_with("f")) return std::string("1\n0 1 3 100 5000 2\n");
        return std::string(text);
    };
    const auto run = read_hpcc(text, "c.txt", files);
    if (run)
        TULLE_CHECK(run->setup.flows.size() == 1);
    else
        TULLE_CHECK(run.error().message.find(':') != std::string::npos);
    return 0;
}
