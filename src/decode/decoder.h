// Takes the packets of one capture, one after the other, through the follower into the reports that
// were asked for.
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
    // A report that is not wanted is null. `link_type` is libpcap's DLT_ number.
    Decoder(int link_type, TextReport* text, JsonReport* json)
        : link_type_(link_type), text_(text), json_(json) {}

    void packet(const Record& record);
    // The capture is over. `problem` is why it was not read to its end; empty if it was.
    void finish(const std::string& problem);

private:
    int link_type_;
    TextReport* text_;
    JsonReport* json_;
    QpFollower follower_;
    Repeats repeats_;  // of captures with several interfaces
    Summary summary_;
    std::vector<std::byte> scratch_;
};

}  // namespace tulle::decode
