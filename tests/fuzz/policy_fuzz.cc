// Any text, as partitions and as settings of a subnet manager: a policy, or one sentence.
#include <string_view>

#include "base/check.h"
#include "control/subnet/policy/options.h"
#include "control/subnet/policy/partitions.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace tulle;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto partitions = control::parse_partitions(text, "file");
    if (partitions.ok())
        partitions->keys_of({.guid = 1, .name = "h0"});
    else
        TULLE_CHECK(partitions.error().message.starts_with("file:"));
    const auto options = control::parse_manager_options(text, "file");
    TULLE_CHECK(options.ok() || options.error().message.starts_with("file:"));
    return 0;
}
