#include "decode/decoder.h"

#include "decode/link_type.h"

namespace tulle::decode {

void Decoder::packet(const Record& record) {
    const Unwrapped unwrapped = unwrap(link_type_, record.bytes, record.original_size, scratch_);
    Packet packet{record, parse(unwrapped), {}, {}, Sighting::fresh};
    packet.checksums = check(packet.frame, unwrapped.bytes);
    const bool is_whole = packet.is_transport() && !packet.is_damaged();
    if (is_whole && !record.interface_name.empty())
        packet.sighting = repeats_.see(packet.frame, record.interface);
    if (is_whole && packet.sighting == Sighting::fresh)
        packet.noticed = follower_.follow(packet.frame, {record.number, record.time_ns});
    summary_.add(packet);
    if (text_ != nullptr) text_->packet(packet);
    if (json_ != nullptr) json_->packet(packet);
}

void Decoder::finish(const std::string& problem) {
    const std::vector<FollowedOperation> unfinished = follower_.finish();
    for (const FollowedOperation& operation : unfinished) {
        summary_.add_unfinished(operation);
        if (text_ != nullptr) text_->unfinished(operation);
    }
    if (text_ != nullptr) text_->finish(summary_);
    if (json_ != nullptr) json_->finish(summary_, unfinished, problem);
}

}  // namespace tulle::decode
