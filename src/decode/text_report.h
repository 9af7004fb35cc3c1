// A capture as text: one line per packet or per operation, then the summary.
#pragma once

#include "decode/packet.h"
#include "decode/summary.h"
#include "decode/writing.h"

namespace tulle::decode {

struct TextOptions {
    enum class Show : uint8_t { packets, operations, summary };
    Show show = Show::packets;
    bool verbose = false;
    bool roce_only = false;  // hide packets other than RoCE, InfiniBand and pause frames
    size_t dump_bytes = 128;
};

class TextReport {
public:
    TextReport(TextOptions options, Writing& output) : options_(options), output_(output) {}

    void packet(const Packet& packet);
    void unfinished(const FollowedOperation& operation);
    void finish(const Summary& summary);

private:
    void packet_line(const Packet& packet);
    void packet_fields(const Packet& packet);
    void operation_line(const FollowedOperation& operation);
    double relative_seconds(int64_t time_ns) const;
    std::string endpoints_column(const PacketAddress& source, const PacketAddress& destination);

    TextOptions options_;
    Writing& output_;
    bool started_ = false;
    int64_t first_time_ns_ = 0;
    size_t endpoints_width_ = 22;  // grows with the widest pair of addresses seen
};

// Only the summary.
void print_summary(const Summary& summary, Writing& output);

}  // namespace tulle::decode
