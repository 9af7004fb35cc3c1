// Any text, as NCCL's topology, as nccl-tests' output and as files of ASTRA-sim: it is refused with
// a sentence that names the file, or keeps what the readers promise.
#include <string_view>

#include "base/check.h"
#include "scenario/astra.h"
#include "scenario/measured.h"
#include "scenario/nccl_topology.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace tulle::scenario;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto server = read_nccl_topology(text, "f"))
        TULLE_CHECK(server->gpus > 0 && server->adapters > 0);
    else
        TULLE_CHECK(server.error().message.starts_with("f:"));
    if (const auto measured = read_measured(text, "f")) {
        for (const MeasuredRow& row : measured->rows) TULLE_CHECK(row.time.ps > 0);
    } else {
        TULLE_CHECK(measured.error().message.starts_with("f:"));
    }
    if (const auto system = read_astra_system(text, "f"); !system)
        TULLE_CHECK(system.error().message.starts_with("f:"));
    if (const auto network = read_astra_network(text, "f")) {
        uint64_t npus = 1;
        for (const AstraDimension& one : *network) npus *= std::min(one.npus, 1000u);
        if (npus < 2000)
            if (const auto graph = astra_graph(*network, "f")) TULLE_CHECK(graph->host_count() > 0);
    }
    return 0;
}
