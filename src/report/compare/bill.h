// What a fabric is built of, what that costs and draws: counted from the graph, priced from a file.
#pragma once

#include <string>
#include <vector>

#include "scenario/prices.h"
#include "sim/setup.h"

namespace tulle::report {

struct BillLine {
    std::string part;  // as the prices name it, or what it is where none serves
    uint64_t count = 0;
    bool is_priced = false;
    uint64_t price = 0;  // of all of them, in thousandths of the currency
    uint64_t milliwatts = 0;
};

struct Bill {
    uint64_t switches = 0;
    uint64_t switch_ports = 0;  // that are cabled
    uint64_t adapters = 0;
    uint64_t cables = 0;
    uint64_t copper_cables = 0;
    uint64_t transceivers = 0;
    std::vector<BillLine> lines;  // switches, adapters, cables
    uint64_t price = 0;           // of all that has one
    uint64_t milliwatts = 0;
    uint64_t unpriced = 0;  // parts that no price was found for
    std::string currency;
};

// A cable is copper where copper of its rate reaches as far, else two transceivers and a fibre. Its
// length is the graph's, or follows from its delay.
Bill bill_of(const sim::Setup& setup, const scenario::Prices& prices);

// 1234567 thousandths: "1,235"; from a million on "1.23 M".
std::string price_text(uint64_t thousandths);
std::string watts_text(uint64_t milliwatts);  // "12.3 kW"

}  // namespace tulle::report
