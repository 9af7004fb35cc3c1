#include "wire/mad/cm.h"

#include <array>

namespace tulle::wire {
namespace {

constexpr std::string_view kReserved = "reserved";

constexpr std::array kRejectReasons = std::to_array<std::string_view>({
    kReserved,
    "no queue pair available",
    "no end-to-end context available",
    "no resources available",
    "timeout",
    "unsupported request",
    "invalid communication ID",
    "invalid communication instance",
    "invalid service ID",
    "invalid transport service type",
    "stale connection",
    "reliable datagram channel does not exist",
    "primary remote port GID rejected",
    "primary remote port LID rejected",
    "invalid primary service level",
    "invalid primary traffic class",
    "invalid primary hop limit",
    "invalid primary packet rate",
    "alternate remote port GID rejected",
    "alternate remote port LID rejected",
    "invalid alternate service level",
    "invalid alternate traffic class",
    "invalid alternate hop limit",
    "invalid alternate packet rate",
    "port and CM redirection",
    "port redirection",
    "invalid path MTU",
    "insufficient responder resources",
    "consumer reject",
    "RNR retry count reject",
    "duplicate local communication ID",
    "invalid class version",
    "invalid primary flow label",
    "invalid alternate flow label",
    kReserved,
    "vendor option not supported",
});
static_assert(kRejectReasons.size() == kCmRejectVendorOption + 1);

constexpr std::array kSidrStatuses = std::to_array<std::string_view>({
    "valid",
    "service ID not supported",
    "rejected by the service provider",
    "no queue pair available",
    "redirect",
    "version not supported",
});
static_assert(kSidrStatuses.size() == kSidrVersionUnsupported + 1);

constexpr std::array kAprStatuses = std::to_array<std::string_view>({
    "alternate path loaded",
    "invalid communication ID",
    "alternate path not supported",
    "alternate path rejected",
    "redirect",
    "already the current path",
    "queue pair does not match",
    "remote LID rejected",
    "remote GID rejected",
    "flow label rejected",
    "traffic class rejected",
    "hop limit rejected",
    "packet rate rejected",
    "service level rejected",
});
static_assert(kAprStatuses.size() == kAprServiceLevel + 1);

template <size_t N>
std::string_view name_at(const std::array<std::string_view, N>& names, size_t index) {
    return index < N ? names[index] : kReserved;
}

}  // namespace

std::string_view cm_reject_reason_name(uint16_t reason) {
    return name_at(kRejectReasons, reason);
}

std::string_view cm_sidr_status_name(uint8_t status) {
    return name_at(kSidrStatuses, status);
}

std::string_view cm_apr_status_name(uint8_t status) {
    return name_at(kAprStatuses, status);
}

}  // namespace tulle::wire
