// Prices of the parts of a fabric: from a user's file, or the sample that is compiled in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tulle::scenario {

enum class LinkLayer : uint8_t { infiniband, ethernet, any };

struct PricedPart {
    std::string name;
    LinkLayer link = LinkLayer::any;
    uint64_t rate_bps = 0;
    uint32_t ports = 0;     // of a switch
    uint32_t reach_mm = 0;  // of copper
    uint64_t price = 0;     // in thousandths of the currency
    uint64_t milliwatts = 0;
    // The source of the prices, in a few words; begins with "guess" if nobody has published any.
    std::string price_source;
    std::string watts_source;
};

bool is_guess(std::string_view source);

struct Prices {
    std::string file;
    bool is_sample = false;  // the compiled-in sample, not real quotes
    std::string currency;
    std::vector<PricedPart> switches;
    std::vector<PricedPart> adapters;
    std::vector<PricedPart> copper;  // a cable including both ends
    std::vector<PricedPart> optics;  // a transceiver, two a cable
    std::vector<PricedPart> fibre;   // the fibre between two transceivers
};

// Errors are one sentence that begins with "file:line: ".
base::Result<Prices> read_prices(std::string_view text, std::string_view file);

// cost/sample.yaml.
Prices sample_prices();

}  // namespace tulle::scenario
