// The parts of a fabric, their cost and power: counted from the graph, priced from a file.
#pragma once

#include <string>
#include <vector>

#include "scenario/prices.h"
#include "sim/setup.h"

namespace tulle::report {

struct BillLine {
    std::string part;  // its name in the prices, or its kind if none suffices
    uint64_t count = 0;
    bool is_priced = false;
    uint64_t each = 0;   // in thousandths of the currency
    uint64_t price = 0;  // of all of them
    uint64_t milliwatts = 0;
    bool price_is_guess = false;
    bool watts_are_guess = false;
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
    uint64_t guessed = 0;   // how much of the price is a guess
    uint64_t unpriced = 0;  // parts that no price was found for
    std::string currency;
    bool is_sample = false;             // of the prices that are compiled in
    std::vector<std::string> problems;  // switches that no model has ports enough for

    // Only whole sums can be ranked.
    bool is_whole() const { return unpriced == 0; }
};

// A cable is copper where copper of its rate reaches as far, else two transceivers and a fibre. Its
// length is the graph's, or follows from its delay. A switch that has more ports in use than any
// model of its rate has no price: a faster model is not what was simulated.
Bill bill_of(const sim::Setup& setup, const scenario::Prices& prices);

// "1.23 M", or "> 1.23 M" where parts are missing from it.
std::string sum_text(const Bill& bill);
// ", sample prices, 62 % of it guesses"; empty where neither is so.
std::string basis_text(const Bill& bill);
// 1234567 thousandths: "1,235"; from a million on "1.23 M".
std::string price_text(uint64_t thousandths);
std::string watts_text(uint64_t milliwatts);  // "12.3 kW"

}  // namespace tulle::report
