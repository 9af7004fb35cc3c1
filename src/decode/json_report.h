// A capture as one JSON object. It is written packet by packet, so that only one is in memory.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "decode/packet.h"
#include "decode/summary.h"
#include "decode/writing.h"

namespace tulle::decode {

class JsonReport {
public:
    explicit JsonReport(Writing& output);

    void packet(const Packet& packet);
    // `problem` says why the capture was not read to its end; empty if it was.
    void finish(const Summary& summary, const std::vector<FollowedOperation>& unfinished,
                const std::string& problem);

private:
    Writing& output_;
    bool first_ = true;
};

nlohmann::ordered_json packet_json(const Packet& packet);
nlohmann::ordered_json operation_json(const FollowedOperation& operation);
nlohmann::ordered_json summary_json(const Summary& summary,
                                    const std::vector<FollowedOperation>& unfinished);

}  // namespace tulle::decode
