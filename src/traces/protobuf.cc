#include "traces/protobuf.h"

namespace tulle::traces {
namespace {

// The lowest three bits of a field's key.
enum class WireType : uint8_t { varint = 0, fixed64 = 1, length = 2, fixed32 = 5 };

}  // namespace

bool take_varint(std::string_view& bytes, uint64_t& value) {
    constexpr size_t kMostDigits = 10;
    value = 0;
    for (size_t i = 0; i < bytes.size() && i < kMostDigits; ++i) {
        const auto byte = static_cast<uint8_t>(bytes[i]);
        value |= uint64_t{byte & 0x7fu} << (7 * i);
        if ((byte & 0x80) != 0) continue;
        bytes.remove_prefix(i + 1);
        return true;
    }
    return false;
}

bool ProtoFields::take_fixed(size_t bytes, uint64_t& value) {
    if (rest_.size() < bytes) return fail();
    value = 0;
    for (size_t i = 0; i < bytes; ++i) value |= uint64_t{static_cast<uint8_t>(rest_[i])} << (8 * i);
    rest_.remove_prefix(bytes);
    return true;
}

bool ProtoFields::next(ProtoField& field) {
    if (rest_.empty() || is_damaged_) return false;
    uint64_t key = 0;
    if (!take_varint(rest_, key) || key >> 3 == 0 || key >> 32 != 0) return fail();
    field = {};
    field.number = static_cast<uint32_t>(key >> 3);
    switch (static_cast<WireType>(key & 7)) {
        case WireType::varint: return take_varint(rest_, field.value) || fail();
        case WireType::fixed64: return take_fixed(8, field.value);
        case WireType::fixed32: return take_fixed(4, field.value);
        case WireType::length: break;
        default: return fail();
    }
    uint64_t size = 0;
    if (!take_varint(rest_, size) || size > rest_.size()) return fail();
    field.has_bytes = true;
    field.bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
}

bool append_numbers(const ProtoField& field, std::vector<uint64_t>& numbers) {
    if (!field.has_bytes) {
        numbers.push_back(field.value);
        return true;
    }
    std::string_view rest = field.bytes;
    while (!rest.empty()) {
        uint64_t value = 0;
        if (!take_varint(rest, value)) return false;
        numbers.push_back(value);
    }
    return true;
}

}  // namespace tulle::traces
