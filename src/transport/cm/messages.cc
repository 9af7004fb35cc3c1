#include "transport/cm/messages.h"

#include "transport/cm/times.h"
#include "wire/mad/ip_cm.h"

namespace tulle::transport::cm {
namespace {

constexpr uint32_t kMaxQpn = 0xff'ffff;
constexpr uint8_t kMaxMtuCode = 5;
constexpr size_t kMaxAdditionalInfo = 72;

bool is_qpn(wire::Qpn qpn) {
    return qpn.value > 1 && qpn.value <= kMaxQpn;
}

size_t ip_bytes(const std::optional<IpAddresses>& ip) {
    return ip ? wire::IpCmHeader::kSize : 0;
}

// Addresses are allowed only for IP services: receivers ignore them elsewhere.
bool is_addressed(wire::Key64 service_id, const std::optional<IpAddresses>& ip) {
    return !ip || (wire::ip_cm_service(service_id) && is_one_family(*ip));
}

CmStatus status_of(bool valid, bool fits) {
    if (!valid) return CmStatus::invalid;
    return fits ? CmStatus::ok : CmStatus::too_long;
}

void set_transport(CmTransport transport, wire::CmReq& req) {
    switch (transport) {
        case CmTransport::rc: req.transport_service = wire::kCmRc; break;
        case CmTransport::uc: req.transport_service = wire::kCmUc; break;
        case CmTransport::xrc:
            req.transport_service = wire::kCmExtended;
            req.extended_transport = wire::kCmExtendedXrc;
            break;
    }
}

template <class Message>
void put_request_data(const std::optional<IpAddresses>& ip, wire::Bytes data, Message& message) {
    if (ip) wire::put_attribute(ip_cm_header(*ip), message.private_data);
    put_data(data, message.private_data, ip_bytes(ip));
}

}  // namespace

bool is_path(const CmPath& path) {
    return path.packet_lifetime <= kMaxTimeCode && path.flow_label < 1u << 20 &&
           path.service_level < 16 && path.packet_rate < 64;
}

wire::CmReqPath req_path(const CmPath& path, uint8_t ack_delay) {
    wire::CmReqPath to;
    to.local_lid = path.local_lid;
    to.remote_lid = path.remote_lid;
    to.local_gid = path.local_gid;
    to.remote_gid = path.remote_gid;
    to.flow_label.value = path.flow_label;
    to.packet_rate = path.packet_rate;
    to.traffic_class = path.traffic_class;
    to.hop_limit = path.hop_limit;
    to.service_level = path.service_level;
    to.subnet_local = path.subnet_local;
    to.local_ack_timeout = ack_timeout_code(path.packet_lifetime, ack_delay);
    return to;
}

CmStatus check(const ConnectRequest& r) {
    const bool valid = is_qpn(r.qpn) && r.starting_psn.value <= wire::kPsnMask && is_path(r.path) &&
                       (!r.alternate || is_path(*r.alternate)) && r.path_mtu >= 1 &&
                       r.path_mtu <= kMaxMtuCode && r.retry_count < 8 && r.rnr_retry_count < 8 &&
                       r.max_cm_retries < 16 && r.remote_cm_response_timeout <= kMaxTimeCode &&
                       r.local_cm_response_timeout <= kMaxTimeCode &&
                       is_addressed(r.service_id, r.ip);
    return status_of(valid, fits_data_of<wire::CmReq>(r.private_data, ip_bytes(r.ip)));
}

CmStatus check(const AcceptReply& r) {
    const bool valid = is_qpn(r.qpn) && r.starting_psn.value <= wire::kPsnMask &&
                       r.rnr_retry_count < 8 && r.failover_accepted < 4;
    return status_of(valid, fits_data_of<wire::CmRep>(r.private_data));
}

CmStatus check(const Rejection& r) {
    return status_of(true, fits_data_of<wire::CmRej>(r.private_data) &&
                               r.additional_info.size() <= kMaxAdditionalInfo);
}

CmStatus check(const ServiceRequest& r) {
    const bool valid = r.packet_lifetime <= kMaxTimeCode && r.response_timeout <= kMaxTimeCode &&
                       r.max_cm_retries < 16 && is_addressed(r.service_id, r.ip);
    return status_of(valid, fits_data_of<wire::CmSidrReq>(r.private_data, ip_bytes(r.ip)));
}

CmStatus check(const ServiceAnswer& r) {
    const bool valid = r.status != wire::kSidrValid || (r.qpn.value != 0 && r.qpn.value <= kMaxQpn);
    return status_of(valid, fits_data_of<wire::CmSidrRep>(r.private_data) &&
                                r.additional_info.size() <= kMaxAdditionalInfo);
}

wire::CmReq req_message(const ConnectRequest& r, const CmConfig& config, uint32_t local_id) {
    wire::CmReq req;
    req.local_communication_id.value = local_id;
    req.service_id = r.service_id;
    req.local_ca_guid = config.ca_guid;
    req.local_qpn = r.qpn;
    req.responder_resources = r.responder_resources;
    req.initiator_depth = r.initiator_depth;
    req.remote_cm_response_timeout = r.remote_cm_response_timeout;
    set_transport(r.transport, req);
    req.end_to_end_flow_control = r.end_to_end_flow_control;
    req.starting_psn = r.starting_psn;
    req.local_cm_response_timeout = r.local_cm_response_timeout;
    req.retry_count = r.retry_count;
    req.pkey = r.pkey;
    req.path_mtu = r.path_mtu;
    req.rnr_retry_count = r.rnr_retry_count;
    req.max_cm_retries = r.max_cm_retries;
    req.srq = r.srq;
    req.primary = req_path(r.path, config.ack_delay);
    if (r.alternate) req.alternate = req_path(*r.alternate, config.ack_delay);
    put_request_data(r.ip, r.private_data, req);
    return req;
}

wire::CmRep rep_message(const AcceptReply& r, const CmConfig& config, Ids ids) {
    auto rep = plain_message<wire::CmRep>(ids);
    rep.local_qpn = r.qpn;
    rep.starting_psn = r.starting_psn;
    rep.responder_resources = r.responder_resources;
    rep.initiator_depth = r.initiator_depth;
    rep.target_ack_delay = config.ack_delay;
    rep.failover_accepted = r.failover_accepted;
    rep.end_to_end_flow_control = r.end_to_end_flow_control;
    rep.rnr_retry_count = r.rnr_retry_count;
    rep.srq = r.srq;
    rep.local_ca_guid = config.ca_guid;
    put_data(r.private_data, rep.private_data);
    return rep;
}

wire::CmRej rej_message(const Rejection& r, wire::CmAnswered answered, Ids ids) {
    auto rej = plain_message<wire::CmRej>(ids);
    rej.message_rejected = answered;
    rej.reason = r.reason;
    rej.reject_info_length = static_cast<uint8_t>(r.additional_info.size());
    put_data(r.additional_info, rej.additional_info);
    put_data(r.private_data, rej.private_data);
    return rej;
}

wire::CmMra mra_message(wire::CmAnswered answered, uint8_t service_timeout, wire::Bytes data,
                        Ids ids) {
    auto mra = plain_message<wire::CmMra>(ids);
    mra.message_mraed = answered;
    mra.service_timeout = service_timeout;
    put_data(data, mra.private_data);
    return mra;
}

wire::CmApr apr_message(wire::CmAprStatus status, Ids ids) {
    auto apr = plain_message<wire::CmApr>(ids);
    apr.status = status;
    return apr;
}

wire::CmSidrReq sidr_req_message(const ServiceRequest& r, uint32_t request_id) {
    wire::CmSidrReq req;
    req.request_id.value = request_id;
    req.pkey = r.pkey;
    req.service_id = r.service_id;
    put_request_data(r.ip, r.private_data, req);
    return req;
}

wire::CmSidrRep sidr_rep_message(const ServiceAnswer& r, uint32_t request_id,
                                 wire::Key64 service_id) {
    wire::CmSidrRep rep;
    rep.request_id.value = request_id;
    rep.service_id = service_id;
    rep.status = r.status;
    rep.additional_info_length = static_cast<uint8_t>(r.additional_info.size());
    put_data(r.additional_info, rep.additional_info);
    put_data(r.private_data, rep.private_data);
    if (r.status != wire::kSidrValid) return rep;
    rep.qpn = r.qpn;
    rep.qkey = r.qkey;
    return rep;
}

wire::CmRej timeout_rej_message(const CmConfig& config, wire::CmAnswered answered, Ids ids) {
    std::array<std::byte, sizeof(uint64_t)> guid{};
    for (size_t i = 0; i < guid.size(); ++i)
        guid[i] = static_cast<std::byte>(config.ca_guid.value >> (56 - 8 * i));
    return rej_message({.reason = wire::kCmRejectTimeout, .additional_info = guid}, answered, ids);
}

std::optional<wire::Guid> guid_in(const wire::CmRej& timeout) {
    if (timeout.reason != wire::kCmRejectTimeout || timeout.reject_info_length < sizeof(uint64_t))
        return std::nullopt;
    wire::Guid guid;
    for (size_t i = 0; i < sizeof(uint64_t); ++i)
        guid.value = guid.value << 8 | timeout.additional_info[i];
    return guid;
}

}  // namespace tulle::transport::cm
