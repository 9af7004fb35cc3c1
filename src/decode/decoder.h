// Passes the packets of a capture, one by one, through the follower to the reports.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "decode/json_report.h"
#include "decode/qp_follower.h"
#include "decode/repeats.h"
#include "decode/summary.h"
#include "decode/text_report.h"

namespace tulle::decode {

class Decoder {
public:
    // A null report is not wanted. `link_type` is libpcap's DLT_ number.
    Decoder(int link_type, TextReport* text, JsonReport* json)
        : link_type_(link_type), text_(text), json_(json) {}

    void packet(const Record& record);
    // Call at the end of the capture. `problem` says why it was not read to its end; empty if it
    // was.
    void finish(const std::string& problem);

private:
    int link_type_;
    TextReport* text_;
    JsonReport* json_;
    QpFollower follower_;
    Repeats repeats_;  // in captures with several interfaces
    Summary summary_;
    std::vector<std::byte> scratch_;
};

}  // namespace tulle::decode
