#include "decode/operation.h"

#include <fmt/format.h>

#include <iterator>

#include "wire/syndrome.h"

namespace tulle::decode {

OperationKind kind_of(wire::Operation operation) {
    using enum wire::Operation;
    switch (operation) {
        case write_first:
        case write_middle:
        case write_last:
        case write_last_with_immediate:
        case write_only:
        case write_only_with_immediate: return OperationKind::write;
        case read_request: return OperationKind::read;
        case compare_swap: return OperationKind::compare_swap;
        case fetch_add: return OperationKind::fetch_add;
        case atomic_write: return OperationKind::atomic_write;
        case flush: return OperationKind::flush;
        default: return OperationKind::send;
    }
}

std::string_view kind_name(OperationKind kind) {
    switch (kind) {
        case OperationKind::send: return "SEND";
        case OperationKind::write: return "WRITE";
        case OperationKind::read: return "READ";
        case OperationKind::compare_swap: return "CMP_SWAP";
        case OperationKind::fetch_add: return "FETCH_ADD";
        case OperationKind::atomic_write: return "ATOMIC_WRITE";
        case OperationKind::flush: return "FLUSH";
    }
    return "?";
}

std::string outcome_text(const FollowedOperation& operation) {
    switch (operation.outcome) {
        case Outcome::acknowledged: return "acknowledged";
        case Outcome::delivered: return "delivered";
        case Outcome::nak: return fmt::format("NAK: {}", wire::nak_reason(operation.nak_code));
        case Outcome::rnr_nak: return "RNR NAK";
        case Outcome::dropped: return "dropped";
        case Outcome::incomplete: return "incomplete answer";
        case Outcome::unanswered: return "unanswered";
    }
    return "?";
}

std::string details_text(const FollowedOperation& operation) {
    std::string text =
        fmt::format("{}{} bytes", operation.whole ? "" : "at least ", operation.bytes);
    const auto out = std::back_inserter(text);
    if (operation.address) {
        fmt::format_to(out, " {} 0x{:x}", operation.kind == OperationKind::read ? "from" : "to",
                       operation.address->value);
    }
    if (operation.rkey) fmt::format_to(out, " rkey 0x{:x}", operation.rkey->value);
    if (operation.immediate) fmt::format_to(out, " immediate 0x{:08x}", *operation.immediate);
    if (operation.invalidated) {
        fmt::format_to(out, " invalidates rkey 0x{:x}", operation.invalidated->value);
    }
    if (operation.compare) fmt::format_to(out, " compare 0x{:x}", *operation.compare);
    if (operation.swap_or_add) {
        fmt::format_to(out, " {} 0x{:x}",
                       operation.kind == OperationKind::compare_swap ? "swap" : "add",
                       *operation.swap_or_add);
    }
    if (operation.original) fmt::format_to(out, " was 0x{:x}", *operation.original);
    return text;
}

}  // namespace tulle::decode
