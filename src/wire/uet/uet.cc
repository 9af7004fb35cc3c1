#include "wire/uet/uet.h"

#include <algorithm>
#include <bit>

#include "wire/syndrome.h"

namespace tulle::wire {
namespace {

constexpr uint8_t kOk = 1;             // of a SES response
constexpr uint8_t kBadKey = 0x1c;      // the memory key is none
constexpr uint8_t kBadRequest = 6;     // an operation that is not supported
constexpr uint8_t kDisabled = 3;       // the target has trouble of its own
constexpr uint8_t kWithData = 2;       // a response with data
constexpr uint8_t kOther = 1;          // a response that is not the default
constexpr uint8_t kMostPackets = 128;  // uet-ref-prov: MPR

std::array<uint32_t, 256> crc32c_table() {
    constexpr uint32_t kPolynomial = 0x82f6'3b78;  // Castagnoli's, reflected
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < table.size(); ++i) {
        uint32_t rest = i;
        for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ ((rest & 1) != 0 ? kPolynomial : 0);
        table[i] = rest;
    }
    return table;
}

uint32_t crc32c(Bytes bytes) {
    static const std::array<uint32_t, 256> table = crc32c_table();
    uint32_t crc = UINT32_MAX;
    for (const std::byte byte : bytes)
        crc = crc >> 8 ^ table[(crc ^ std::to_integer<uint32_t>(byte)) & 0xff];
    return ~crc;
}

uint8_t number(auto value) {
    return static_cast<uint8_t>(value);
}

Bits16 offset(uint32_t from, uint32_t to) {
    return {static_cast<uint16_t>(to - from)};
}

SesOpcode opcode_of(Operation operation) {
    switch (operation) {
        case Operation::read_request: return SesOpcode::read;
        case Operation::compare_swap:
        case Operation::fetch_add: return SesOpcode::fetching_atomic;
        case Operation::write_first:
        case Operation::write_middle:
        case Operation::write_last:
        case Operation::write_last_with_immediate:
        case Operation::write_only:
        case Operation::write_only_with_immediate:
        case Operation::atomic_write: return SesOpcode::write;
        case Operation::flush:
        case Operation::resync: return SesOpcode::noop;
        default: return SesOpcode::send;
    }
}

// Packets in the middle of a message are as long as its others, and the last one ends it.
uint32_t message_offset(const Packet& packet, bool is_write, bool is_last) {
    if (is_write && is_last) return packet.extended.rdma.dma_length - packet.payload_length;
    return is_last ? 0 : packet.srq_or_ee * packet.payload_length;
}

void set_request(const Packet& packet, UetMode mode, UetPacket& uet) {
    const Operation operation = operation_of(number(packet.opcode));
    const SesOpcode opcode = opcode_of(operation);
    const OpcodeInfo& info = opcode_info(number(packet.opcode));
    const bool is_spread_write = opcode == SesOpcode::write && mode == UetMode::rud;
    const bool has_rdma = is_spread_write || (info.headers & kReth) != 0;
    const uint32_t credit = has_rdma                    ? packet.extended.rdma.qkey.value
                            : opcode == SesOpcode::send ? packet.extended.send.qkey.value
                                                        : 0;
    const bool has_credit = mode == UetMode::rud && credit != 0;
    const PdsType type = mode == UetMode::rod ? PdsType::rod_request
                         : has_credit         ? PdsType::rud_cc_request
                                              : PdsType::rud_request;
    uet.prologue = {number(type), number(SesHeader::standard_request), {}};
    uet.request = {};
    uet.request.ack_request = packet.ack_request;
    uet.request.psn = packet.psn().value;
    uet.request.dest_pdc.value = static_cast<uint16_t>(packet.dest_qp().value);
    uet.request_cc.credit_target = credit & 0xff'ffff;
    uet.ses.opcode.value = number(opcode);
    uet.ses.is_first = info.position == Position::first || info.position == Position::only;
    uet.ses.is_last = info.position == Position::last || info.position == Position::only;
    uet.ses.message_id = static_cast<uint16_t>(packet.psn().value - packet.srq_or_ee);
    const bool is_atomic = (info.headers & kAtomicEth) != 0;
    if (has_rdma || is_atomic) {
        uet.standard.buffer_offset.value = is_atomic
                                               ? uint64_t{packet.extended.atomic.virtual_address}
                                               : uint64_t{packet.extended.rdma.virtual_address};
        uet.standard.key_or_match_bits.value =
            is_atomic ? packet.extended.atomic.rkey.value : packet.extended.rdma.rkey.value;
        uet.standard.request_length = is_atomic ? 8 : packet.extended.rdma.dma_length;
    }
    if (!uet.ses.is_first)
        uet.standard.header_data.value = uint64_t{packet.payload_length} << 32 |
                                         message_offset(packet, is_spread_write, uet.ses.is_last);
}

uint8_t return_code(uint8_t syndrome) {
    switch (static_cast<NakCode>(ack_code(syndrome))) {
        case NakCode::remote_access_error: return kBadKey;
        case NakCode::invalid_request: return kBadRequest;
        default: return kDisabled;
    }
}

void set_nack(const Packet& packet, PdsNackCode code, uint32_t psn, UetPacket& uet) {
    uet.prologue = {number(PdsType::nack), number(SesHeader::none), {}};
    uet.nack.marked = packet.becn;
    uet.nack.code.value = number(code);
    uet.nack.psn = psn;
    uet.nack.dest_pdc.value = static_cast<uint16_t>(packet.dest_qp().value);
}

void set_ack(const Packet& packet, UetPacket& uet) {
    const Packet::Ack& ack = packet.extended.ack;
    const SelectiveAck& told = ack.selective;
    const bool tells = packet.has_selective_ack();
    const uint32_t psn = packet.psn().value;
    const AckKind kind = ack_kind(ack.syndrome);
    if (tells && told.tells_trimmed())
        return set_nack(packet, PdsNackCode::trimmed, told.first_psn, uet);
    if (kind == AckKind::rnr_nak) return set_nack(packet, PdsNackCode::no_packet_buffer, psn, uet);
    const bool is_gap =
        kind == AckKind::nak && ack_code(ack.syndrome) == number(NakCode::psn_sequence_error);
    if (is_gap) return set_nack(packet, PdsNackCode::rod_out_of_order, psn, uet);
    uet.prologue = {
        number(tells ? PdsType::ack_cc : PdsType::ack), number(SesHeader::response), {}};
    uet.ack.marked = packet.becn;
    uet.ack.cumulative_psn = psn;
    uet.ack.ack_psn_offset = offset(psn, tells ? packet.srq_or_ee : psn);
    uet.ack.dest_pdc.value = static_cast<uint16_t>(packet.dest_qp().value);
    uet.ack_cc.most_packets = kMostPackets;
    uet.ack_cc.sack_psn_offset = offset(psn, told.first_psn);
    uet.ack_cc.sack_bitmap.value = told.bits;
    uet.nscc.out_of_order = static_cast<uint16_t>(std::popcount(uint64_t{told.bits}));
    uet.response.opcode.value = kind == AckKind::nak ? kOther : 0;
    uet.response.return_code.value = kind == AckKind::nak ? return_code(ack.syndrome) : kOk;
    uet.response.message_id = static_cast<uint16_t>(ack.msn);
}

// The answer to a READ or an atomic.
void set_data(const Packet& packet, UetPacket& uet) {
    uet.prologue = {number(PdsType::ack), number(SesHeader::response_with_data), {}};
    uet.ack.marked = packet.becn;
    uet.ack.cumulative_psn = packet.psn().value;
    uet.ack.dest_pdc.value = static_cast<uint16_t>(packet.dest_qp().value);
    uet.response_with_data.opcode.value = kWithData;
    uet.response_with_data.return_code.value = kOk;
    uet.response_with_data.message_id = static_cast<uint16_t>(packet.extended.ack.msn);
    uet.response_with_data.payload_length = packet.payload_length & 0xfff;
    uet.response_with_data.modified_length = packet.payload_length;
}

void set_control(const Packet& packet, UetPacket& uet) {
    const PdsControl control = packet.becn ? PdsControl::noop : PdsControl::credit;
    uet.prologue = {number(PdsType::control), number(control), {}};
    uet.control.dest_pdc.value = static_cast<uint16_t>(packet.dest_qp().value);
    if (control == PdsControl::credit) uet.control.payload = packet.extended.ack.msn;
}

// Each header has type and next header at its front, as the prologue.
void set_types(UetPacket& uet) {
    const auto [type, next, flags] = uet.prologue;
    uet.request.type = uet.ack.type = uet.nack.type = uet.control.type = type;
    uet.request.next = uet.ack.next = uet.nack.next = uet.control.control = next;
}

}  // namespace

bool UetPacket::is_request() const {
    const PdsType t = type();
    return t == PdsType::rud_request || t == PdsType::rod_request || t == PdsType::rud_cc_request ||
           t == PdsType::rod_cc_request;
}

SesHeader UetPacket::ses_header() const {
    return type() == PdsType::control ? SesHeader::none : static_cast<SesHeader>(prologue.next);
}

std::optional<UetPacket> parse_uet(Bytes bytes) {
    UetPacket packet;
    if (bytes.size() < kUetCrcSize || !parse_into(packet.prologue, bytes)) return std::nullopt;
    Bytes rest = bytes.first(bytes.size() - kUetCrcSize);
    bool is_whole = true;
    const bool is_known = for_each_uet_header(packet, [&](const char*, auto& header) {
        is_whole = is_whole && parse_into(header, rest);
        if (is_whole) rest = rest.subspan(header.kSize);
    });
    if (!is_known || !is_whole) return std::nullopt;
    packet.payload = rest;
    return packet;
}

size_t write_uet(const UetPacket& packet, MutableBytes bytes) {
    size_t size = 0;
    for_each_uet_header(packet, [&](const char*, const auto& header) {
        write(header, bytes.subspan(size));
        size += header.kSize;
    });
    std::ranges::copy(packet.payload, bytes.subspan(size).begin());
    size += packet.payload.size();
    const uint32_t crc = crc32c(bytes.first(size));
    for (size_t i = 0; i < kUetCrcSize; ++i)
        bytes[size + i] = static_cast<std::byte>(crc >> (24 - 8 * i));
    return size + kUetCrcSize;
}

UetPacket uet_of(const Packet& packet, UetMode mode) {
    static constexpr std::array<std::byte, kMaxPayload> kZeros{};
    UetPacket uet;
    const OpcodeInfo& info = opcode_info(number(packet.opcode));
    if (packet.opcode == kCnpOpcode)
        set_control(packet, uet);
    else if (!info.response)
        set_request(packet, mode, uet);
    else if (operation_of(number(packet.opcode)) == Operation::acknowledge)
        set_ack(packet, uet);
    else
        set_data(packet, uet);
    set_types(uet);
    if (!packet.has_selective_ack()) uet.payload = Bytes(kZeros).first(packet.payload_length);
    return uet;
}

// The headers before it are RoCE's, but for lengths and the port.
size_t encode_uet(const Packet& packet, const Path& path, UetMode mode, MutableBytes bytes) {
    Packet bare = packet;
    bare.payload = {};
    bare.payload_length = 0;
    Frame frame = frame_of(bare, path, {});
    TULLE_CHECK(frame.has_udp);
    std::array<std::byte, kMaxPayload + kUetMaxHeaders + kUetCrcSize> body{};
    const size_t size = write_uet(uet_of(packet, mode), body);
    frame.kind = FrameKind::foreign;
    frame.udp.destination_port = kUetPort;
    frame.udp.length = static_cast<uint16_t>(Udp::kSize + size);
    frame.ipv4.total_length = static_cast<uint16_t>(Ipv4::kSize + Udp::kSize + size);
    frame.grh.payload_length = frame.udp.length;
    frame.pad = {};
    frame.payload = {};
    frame.trailer = Bytes(body).first(size);
    if (frame.network == NetworkHeader::ipv4) {
        std::array<std::byte, Ipv4::kSize> header{};
        frame.ipv4.checksum = {};
        write(frame.ipv4, header);
        frame.ipv4.checksum.value = ipv4_checksum(header);
    }
    return write_frame(frame, bytes);
}

std::string_view pds_name(const UetPacket& packet) {
    switch (packet.type()) {
        case PdsType::rud_request: return "RUD_REQUEST";
        case PdsType::rod_request: return "ROD_REQUEST";
        case PdsType::rud_cc_request: return "RUD_CC_REQUEST";
        case PdsType::rod_cc_request: return "ROD_CC_REQUEST";
        case PdsType::ack: return "ACK";
        case PdsType::ack_cc: return "ACK_CC";
        case PdsType::nack: return "NACK";
        case PdsType::control: break;
        default: return "UNKNOWN";
    }
    switch (static_cast<PdsControl>(packet.prologue.next)) {
        case PdsControl::noop: return "NOOP";
        case PdsControl::ack_request: return "ACK_REQUEST";
        case PdsControl::clear: return "CLEAR";
        case PdsControl::clear_request: return "CLEAR_REQUEST";
        case PdsControl::close: return "CLOSE";
        case PdsControl::close_request: return "CLOSE_REQUEST";
        case PdsControl::probe: return "PROBE";
        case PdsControl::credit: return "CREDIT";
        case PdsControl::credit_request: return "CREDIT_REQUEST";
        case PdsControl::negotiation: return "NEGOTIATION";
    }
    return "CONTROL";
}

std::string_view nack_reason(PdsNackCode code) {
    switch (code) {
        case PdsNackCode::trimmed: return "trimmed";
        case PdsNackCode::trimmed_at_last_hop: return "trimmed at the last hop";
        case PdsNackCode::trimmed_ack: return "an answer with data was trimmed";
        case PdsNackCode::no_pdc: return "no PDC left";
        case PdsNackCode::no_congestion_context: return "no congestion context left";
        case PdsNackCode::no_bitmap: return "no bitmap left";
        case PdsNackCode::no_packet_buffer: return "no packet buffer left";
        case PdsNackCode::psn_outside_window: return "PSN outside the window";
        case PdsNackCode::rod_out_of_order: return "out of order";
        case PdsNackCode::bad_pdc: return "no such PDC";
        case PdsNackCode::new_start_psn: return "begin at another PSN";
        case PdsNackCode::loss_inferred: return "loss inferred by the receiver";
    }
    return {};
}

std::string_view ses_name(SesOpcode opcode) {
    switch (opcode) {
        case SesOpcode::noop: return "no operation";
        case SesOpcode::write: return "write";
        case SesOpcode::read: return "read";
        case SesOpcode::atomic: return "atomic";
        case SesOpcode::fetching_atomic: return "fetching atomic";
        case SesOpcode::send: return "send";
        case SesOpcode::rendezvous_send: return "rendezvous send";
        case SesOpcode::datagram: return "datagram";
        case SesOpcode::deferrable_send: return "deferrable send";
        case SesOpcode::tagged_send: return "tagged send";
    }
    return "vendor's or reserved operation";
}

}  // namespace tulle::wire
