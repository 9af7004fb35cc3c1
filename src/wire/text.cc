#include "wire/text.h"

#include <cstdio>

namespace tulle::wire {
namespace {

// The longest run of zero groups, written as "::" (RFC 5952, 4.2: at least two groups, the first of
// equally long runs).
struct ZeroRun {
    size_t begin = 8;
    size_t length = 0;
};

ZeroRun longest_zero_run(const std::array<uint16_t, 8>& groups) {
    ZeroRun best;
    for (size_t i = 0; i < groups.size(); ++i) {
        size_t end = i;
        while (end < groups.size() && groups[end] == 0) ++end;
        if (end - i >= 2 && end - i > best.length) best = {i, end - i};
    }
    return best;
}

}  // namespace

std::string to_string(const MacAddress& address) {
    const auto& b = address.bytes;
    char text[18];
    std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4],
                  b[5]);
    return text;
}

std::string to_string(const Ipv4Address& address) {
    const auto& b = address.bytes;
    char text[16];
    std::snprintf(text, sizeof text, "%u.%u.%u.%u", b[0], b[1], b[2], b[3]);
    return text;
}

std::string to_string(const Gid& gid) {
    if (is_ipv4(gid)) {
        const auto& b = gid.bytes;
        return "::ffff:" + to_string(Ipv4Address{{b[12], b[13], b[14], b[15]}});
    }
    std::array<uint16_t, 8> groups{};
    for (size_t i = 0; i < 8; ++i)
        groups[i] = static_cast<uint16_t>(gid.bytes[2 * i] << 8 | gid.bytes[2 * i + 1]);
    const ZeroRun zeros = longest_zero_run(groups);
    std::string text;
    for (size_t i = 0; i < 8;) {
        if (i == zeros.begin) {
            text += "::";
            i += zeros.length;
            continue;
        }
        if (!text.empty() && text.back() != ':') text += ':';
        char group[5];
        std::snprintf(group, sizeof group, "%x", groups[i++]);
        text += group;
    }
    return text;
}

}  // namespace tulle::wire
