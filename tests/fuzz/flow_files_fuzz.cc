// Any text, as a connection matrix, a flow file and a file of paths: it is refused with a sentence,
// or what it holds keeps the promises of workload/flow_files.h.
#include <string_view>

#include "base/check.h"
#include "workload/flow_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace tulle::workload;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto matrix = read_connection_matrix(text, "f.cm")) {
        for (const Message& message : matrix->messages) {
            TULLE_CHECK(message.source < matrix->nodes && message.destination < matrix->nodes);
            TULLE_CHECK(message.source != message.destination && message.bytes > 0);
        }
    }
    if (const auto flows = read_hpcc_flows(text, "f.txt")) {
        for (const Message& message : *flows) {
            TULLE_CHECK(message.source != message.destination && message.bytes > 0);
            TULLE_CHECK(message.priority_group < 8 && message.start.ps >= 0);
        }
    }
    if (const auto paths = read_paths(text, "p.txt")) {
        for (const RecordedPath& path : *paths) {
            TULLE_CHECK(path.data.front() == path.source);
            TULLE_CHECK(path.acknowledgements.back() == path.source);
        }
    }
    return 0;
}
