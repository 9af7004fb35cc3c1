// Reads protocol buffers messages field by field, as far as traces need it.
// https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tulle::traces {

// Takes a varint (7 bits per byte) from the front of `bytes`; false if it does not end.
bool take_varint(std::string_view& bytes, uint64_t& value);

struct ProtoField {
    uint32_t number = 0;
    bool has_bytes = false;  // else it is a number: varint, 64 or 32 bits
    uint64_t value = 0;      // of a number, as it is on the wire
    std::string_view bytes;  // of a text, a message or packed numbers
};

// The fields of a message, in order.
class ProtoFields {
public:
    explicit ProtoFields(std::string_view message) : rest_(message) {}

    // False at the end, and where the bytes are not a field: see is_damaged().
    bool next(ProtoField& field);
    bool is_damaged() const { return is_damaged_; }
    size_t left() const { return rest_.size(); }

private:
    bool fail() {
        is_damaged_ = true;
        return false;
    }
    bool take_fixed(size_t bytes, uint64_t& value);

    std::string_view rest_;
    bool is_damaged_ = false;
};

// Appends the numbers of a repeated field, single or packed. False if they are damaged.
bool append_numbers(const ProtoField& field, std::vector<uint64_t>& numbers);

}  // namespace tulle::traces
