// A packet of a capture, parsed, checked and followed. All reports are made from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "decode/facts.h"
#include "decode/record.h"
#include "decode/repeats.h"
#include "decode/request_flow.h"
#include "wire/frame.h"

namespace tulle::decode {

struct Packet {
    Record record;
    wire::Frame frame;
    Checksums checksums;
    Noticed noticed;
    Sighting sighting = Sighting::fresh;

    bool is_transport() const { return frame.kind == wire::FrameKind::transport; }
    bool is_damaged() const { return checksums.icrc == false; }
};

// roce_v2, roce_v1, infiniband, flow_control, pfc, pause, uet, foreign, malformed
std::string_view kind_name(const wire::Frame& frame);

// The opcode, or the kind of packet: "RC_SEND_ONLY", "PFC", "not RoCE".
std::string subject_text(const wire::Frame& frame);

// What the packet carries, in words: "1024 of 3000 bytes to 0x7f49 rkey 0x1365", "ACK, MSN 5".
std::string content_text(const wire::Frame& frame);

// Remarks: "BAD ICRC", "NAK: remote access error", "PSN gap of 3", "ECN CE".
std::vector<std::string> notes_of(const Packet& packet);

// The negative acknowledgement in this packet: "RNR NAK: wait 0.64 ms"; nothing if there is none.
std::string nak_text(const wire::Frame& frame);
// Its short name, for counting: "RNR", "PSN sequence error"; empty if it is no NAK.
std::string_view nak_name(const wire::Frame& frame);

}  // namespace tulle::decode
