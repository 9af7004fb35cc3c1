// Any text, as a quantity that a person wrote: it is refused with a sentence, or what is printed
// of it can be read again. Printed bytes need not be whole ones ("54.154 KiB"), so they are not.
#include <string_view>

#include "base/check.h"
#include "base/units.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace tulle::base;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto duration = parse_duration(text))
        TULLE_CHECK(parse_duration(to_string(*duration)).ok());
    else
        TULLE_CHECK(!duration.error().message.empty());
    if (const auto bytes = parse_bytes(text))
        TULLE_CHECK(!bytes_to_string(*bytes).empty());
    else
        TULLE_CHECK(!bytes.error().message.empty());
    if (const auto rate = parse_rate(text))
        TULLE_CHECK(parse_rate(to_string(*rate)).ok());
    else
        TULLE_CHECK(!rate.error().message.empty());
    return 0;
}
