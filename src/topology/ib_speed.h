// Width and speed of an InfiniBand link, for example 4xHDR, and its data rate.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "topology/text.h"

namespace tulle::topology {

struct IbSpeed {
    std::string_view name;
    uint64_t lane_bps;  // data rate, after line coding
};

// SDR to QDR use 8b/10b coding, the others 64b/66b; a lane of FDR has 150/11 Gb/s.
inline constexpr std::array kIbSpeeds{
    IbSpeed{"SDR", 2'000'000'000},   IbSpeed{"DDR", 4'000'000'000},
    IbSpeed{"QDR", 8'000'000'000},   IbSpeed{"FDR10", 10'000'000'000},
    IbSpeed{"FDR", 13'636'363'636},  IbSpeed{"EDR", 25'000'000'000},
    IbSpeed{"HDR", 50'000'000'000},  IbSpeed{"NDR", 100'000'000'000},
    IbSpeed{"XDR", 200'000'000'000},
};
inline constexpr std::array<uint64_t, 5> kIbWidths{4, 1, 2, 8, 12};  // the usual one first

// "4xHDR" is 200 Gb/s; nothing for any other word.
inline std::optional<uint64_t> parse_ib_speed(std::string_view word) {
    const size_t x = word.find('x');
    if (x == std::string_view::npos) return std::nullopt;
    for (const uint64_t width : kIbWidths)
        for (const IbSpeed& speed : kIbSpeeds)
            if (word.substr(0, x) == std::to_string(width) && word.substr(x + 1) == speed.name)
                return width * speed.lane_bps;
    return std::nullopt;
}

// The reverse; empty for a rate that no link has.
inline std::string ib_speed_text(uint64_t rate_bps) {
    for (const uint64_t width : kIbWidths)
        for (const IbSpeed& speed : kIbSpeeds)
            if (width * speed.lane_bps == rate_bps) return text(width, "x", speed.name);
    return {};
}

}  // namespace tulle::topology
