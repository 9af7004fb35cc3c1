// Any text, as a description of a fabric in each format and as a topology by name: it is refused
// with a sentence, or what is written of it can be read again and is the same fabric.
#include <string_view>

#include "base/check.h"
#include "topology/format.h"
#include "topology/spec.h"
#include "topology/summary.h"

namespace {

using namespace tulle::topology;

void write_and_read_again(const Graph& graph) {
    TULLE_CHECK(summarise(graph).hosts == graph.host_count());
    for (const Format format : {Format::dot, Format::slurm}) (void)write(format, graph);
    for (const Format format : {Format::yaml, Format::hpcc, Format::ibnetdiscover}) {
        const auto written = write(format, graph);
        if (!written) continue;
        const auto again = read(format, *written, "again");
        TULLE_CHECK(again.ok());
        TULLE_CHECK(again->host_count() == graph.host_count());
        TULLE_CHECK(again->cables.size() == graph.cables.size());
    }
}

// Builders make what they are asked for, however large; a few numbers of one digit ask for little.
bool is_small(std::string_view text) {
    size_t digits = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        const bool is_digit = text[i] >= '0' && text[i] <= '9';
        if (is_digit && i > 0 && text[i - 1] >= '0' && text[i - 1] <= '9') return false;
        digits += is_digit;
    }
    return digits <= 4;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const Format format : {Format::yaml, Format::hpcc, Format::ibnetdiscover}) {
        const auto graph = read(format, text, "file");
        if (graph)
            write_and_read_again(*graph);
        else
            TULLE_CHECK(!graph.error().message.empty());
    }
    (void)guess_format(text);
    if (is_spec(text) && is_small(text)) (void)build_spec(text);
    return 0;
}
