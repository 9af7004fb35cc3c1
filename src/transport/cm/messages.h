// Builds the messages of connection management (12.6, 12.8, 12.11) from the owner's arguments.
// Everything here is a pure function; other files decide when to send.
#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/cm/types.h"
#include "wire/layout.h"
#include "wire/mad/cm.h"
#include "wire/mad/mad.h"

namespace tulle::transport::cm {

// Communication IDs of a message's sender and receiver; zero if not yet known.
struct Ids {
    uint32_t local = 0;
    uint32_t remote = 0;
};

// Whether the message can carry these arguments.
CmStatus check(const ConnectRequest& request);
CmStatus check(const AcceptReply& reply);
CmStatus check(const Rejection& rejection);
CmStatus check(const ServiceRequest& request);
CmStatus check(const ServiceAnswer& answer);

bool is_path(const CmPath& path);

// The arguments have passed check(), and private data fits.
wire::CmReq req_message(const ConnectRequest& request, const CmConfig& config, uint32_t local_id);
wire::CmReqPath req_path(const CmPath& path, uint8_t ack_delay);
wire::CmRep rep_message(const AcceptReply& reply, const CmConfig& config, Ids ids);
wire::CmRej rej_message(const Rejection& rejection, wire::CmAnswered answered, Ids ids);
wire::CmMra mra_message(wire::CmAnswered answered, uint8_t service_timeout, wire::Bytes data,
                        Ids ids);
wire::CmApr apr_message(wire::CmAprStatus status, Ids ids);
wire::CmSidrReq sidr_req_message(const ServiceRequest& request, uint32_t request_id);
wire::CmSidrRep sidr_rep_message(const ServiceAnswer& answer, uint32_t request_id,
                                 wire::Key64 service_id);

// A REJ with reason 4 before the peer's ID is known: it names the request by our GUID (12.6.7.2).
wire::CmRej timeout_rej_message(const CmConfig& config, wire::CmAnswered answered, Ids ids);
std::optional<wire::Guid> guid_in(const wire::CmRej& timeout);

// ---------------------------------------------------------------------------------------------

template <class Message>
inline constexpr wire::CmAttribute kAttributeOf = wire::CmAttribute{};
template <>
inline constexpr auto kAttributeOf<wire::CmReq> = wire::kCmReq;
template <>
inline constexpr auto kAttributeOf<wire::CmMra> = wire::kCmMra;
template <>
inline constexpr auto kAttributeOf<wire::CmRej> = wire::kCmRej;
template <>
inline constexpr auto kAttributeOf<wire::CmRep> = wire::kCmRep;
template <>
inline constexpr auto kAttributeOf<wire::CmRtu> = wire::kCmRtu;
template <>
inline constexpr auto kAttributeOf<wire::CmDreq> = wire::kCmDreq;
template <>
inline constexpr auto kAttributeOf<wire::CmDrep> = wire::kCmDrep;
template <>
inline constexpr auto kAttributeOf<wire::CmSidrReq> = wire::kCmSidrReq;
template <>
inline constexpr auto kAttributeOf<wire::CmSidrRep> = wire::kCmSidrRep;
template <>
inline constexpr auto kAttributeOf<wire::CmLap> = wire::kCmLap;
template <>
inline constexpr auto kAttributeOf<wire::CmApr> = wire::kCmApr;

// The 256 bytes of a message. All messages of this class use method Send (16.7.2).
template <class Message>
CmDatagram datagram(const Message& message, wire::Key64 transaction_id) {
    wire::MadHeader header;
    header.base_version = wire::kMadBaseVersion;
    header.management_class.value = wire::kClassCommunication;
    header.class_version = wire::kCmClassVersion;
    header.method.value = wire::kMethodSend;
    header.transaction_id = transaction_id;
    header.attribute_id.value = kAttributeOf<Message>;
    CmDatagram mad{};
    wire::write(header, mad);
    wire::write(message, wire::MutableBytes(mad).subspan(wire::kCmDataOffset));
    return mad;
}

inline uint16_t attribute_of(const CmDatagram& mad) {
    return wire::parse<wire::MadHeader>(mad)->attribute_id.value;
}

// RTU, DREP and similar messages: two IDs and private data.
template <class Message>
Message plain_message(Ids ids) {
    Message message;
    message.local_communication_id.value = ids.local;
    message.remote_communication_id.value = ids.remote;
    return message;
}

// Copies private data to this offset; it must fit.
template <size_t N>
void put_data(wire::Bytes data, std::array<uint8_t, N>& field, size_t offset = 0) {
    TULLE_CHECK(offset + data.size() <= N);
    std::transform(data.begin(), data.end(), field.begin() + static_cast<ptrdiff_t>(offset),
                   [](std::byte b) { return std::to_integer<uint8_t>(b); });
}

template <class Message>
bool fits_data_of(wire::Bytes data, size_t offset = 0) {
    return offset + data.size() <= sizeof(Message::private_data);
}

}  // namespace tulle::transport::cm
