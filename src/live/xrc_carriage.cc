// How packets for XRC queues of other processes, and records about their receives, travel.
#include <cstring>

#include "live/carrier.h"
#include "wire/syndrome.h"

namespace tulle::live {
namespace {

// Reads a record from bytes, which are a private copy.
template <class Record, class Take>
bool with(std::span<const std::byte> bytes, Take&& take) {
    Record record;
    if (bytes.size() != sizeof record) return false;
    std::memcpy(static_cast<void*>(&record), bytes.data(), sizeof record);
    return take(record);
}

}  // namespace

// Finds the queue of our adapter for a packet. False: it was answered, or is lost.
bool Carrier::name_xrc_queue(base::Instant time, wire::Packet& packet) {
    const uint32_t number = packet.srq_or_ee;
    packet.srq_or_ee = world_.own().inside_of_srq(number) & 0xff'ffff;
    if (packet.srq_or_ee != kNobodysSrq ||
        borrower_.lead(packet, number, time) != XrcBorrower::Lead::not_yet)
        return true;
    // An early packet would be kept in its present form, so it is dropped; it is retransmitted.
    const transport::QueuePair* target = adapter_.queue_pairs().find(packet.dest_qp());
    if (target->responder.expected == packet.psn())
        adapter_.refuse_packet(time, packet, wire::syndrome_of(wire::AckKind::rnr_nak, 0));
    return false;
}

bool Carrier::receive_xrc_record(uint32_t index, base::Instant time, RecordKind kind,
                                 std::span<const std::byte> bytes) {
    switch (kind) {
        case RecordKind::ask_receives:
            return with<AskRecord>(bytes, [&](auto& r) { return lender_.on_asked(index, r); });
        case RecordKind::lend_receive: return borrower_.on_lent(index, bytes, time);
        case RecordKind::complete_lent:
            return with<CompleteRecord>(bytes,
                                        [&](auto& r) { return lender_.on_completed(index, r); });
        default:
            return with<GiveBackRecord>(bytes,
                                        [&](auto& r) { return lender_.on_given_back(index, r); });
    }
}

// If a peer does not read, the number of lent receives bounds the records that wait for it, but not
// the answers to its own records; hence the check for an overrun.
void Carrier::send_record(uint32_t index, std::span<const std::byte> record) {
    Peer& peer = world_.at(index);
    if (peer.is_gone || (!peer.can_send() && !world_.call_peer(peer)) || is_overrun(peer)) return;
    std::memcpy(peer.reserve(record.size()), record.data(), record.size());
    sending_.push_back(index);
}

void Carrier::on_left(uint32_t peer) {
    borrower_.on_left(peer);
    lender_.on_left(peer);
    std::erase(sending_, peer);
}

}  // namespace tulle::live
