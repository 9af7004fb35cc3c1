// Any bytes, as a management datagram: every layer that the visitor finds is written back into the
// bytes that it was parsed from.
#include <algorithm>
#include <vector>

#include "wire/mad/visit.h"

namespace tulle::wire {
namespace {

struct WritesBack {
    template <Header H>
    void operator()(const char* layer, const H& header) const {
        TULLE_CHECK(layer != nullptr);
        std::array<std::byte, H::kSize> bytes;
        write(header, bytes);
        std::array<std::byte, H::kSize> again;
        write(*parse<H>(bytes), again);
        TULLE_CHECK(bytes == again);
    }
};

}  // namespace
}  // namespace tulle::wire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace tulle::wire;
    visit_mad(std::as_bytes(std::span(data, size)), WritesBack{});
    return 0;
}
