#include "cli/decode/interfaces.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace tulle::cli {
namespace {

constexpr uint32_t kSection = 0x0a0d0d0a;  // the same in either byte order
constexpr uint32_t kByteOrder = 0x1a2b3c4d;
constexpr uint32_t kInterface = 1;
constexpr uint32_t kOldPacket = 2;
constexpr uint32_t kSimplePacket = 3;
constexpr uint32_t kPacket = 6;
constexpr uint16_t kNameOption = 2;
constexpr size_t kLeastBlock = 12;
constexpr size_t kMostNameBytes = 4096;  // of all options of an interface

template <size_t kSize>
bool read_at(int descriptor, int64_t offset, std::array<unsigned char, kSize>& to) {
    return ::pread(descriptor, to.data(), kSize, offset) == static_cast<ssize_t>(kSize);
}

}  // namespace

Interfaces::Interfaces(int descriptor) : descriptor_(descriptor) {
    std::array<unsigned char, 4> first{};
    uint32_t type = 0;
    if (read_at(descriptor, 0, first)) std::memcpy(&type, first.data(), sizeof type);
    if (type != kSection) descriptor_ = -1;
}

const std::string& Interfaces::name(uint32_t interface) const {
    static const std::string none;
    return interface < names_.size() ? names_[interface] : none;
}

uint32_t Interfaces::word(const unsigned char* bytes) const {
    uint32_t value = 0;
    std::memcpy(&value, bytes, sizeof value);
    return is_swapped_ ? __builtin_bswap32(value) : value;
}

uint16_t Interfaces::half(const unsigned char* bytes) const {
    uint16_t value = 0;
    std::memcpy(&value, bytes, sizeof value);
    return is_swapped_ ? __builtin_bswap16(value) : value;
}

// A damaged block ends the walk; libpcap reports the damage.
bool Interfaces::read_block(Block& block) {
    std::array<unsigned char, 12> head{};
    if (!read_at(descriptor_, offset_, head)) return false;
    block.type = word(head.data());
    if (block.type == kSection) {
        uint32_t order = 0;
        std::memcpy(&order, head.data() + 8, sizeof order);
        is_swapped_ = order != kByteOrder;
        first_of_section_ = static_cast<uint32_t>(names_.size());
    }
    block.size = word(head.data() + 4);
    return block.size >= kLeastBlock && block.size % 4 == 0;
}

// The link type, two reserved bytes and the snap length come before the options.
void Interfaces::read_interface(const Block& block) {
    std::string name;
    std::vector<unsigned char> options(std::min<size_t>(block.size, kMostNameBytes));
    const ssize_t got = ::pread(descriptor_, options.data(), options.size(), offset_ + 16);
    const size_t size = got > 0 ? static_cast<size_t>(got) : 0;
    for (size_t at = 0; at + 4 <= size;) {
        const uint16_t code = half(options.data() + at);
        const uint16_t length = half(options.data() + at + 2);
        if (code == 0 || at + 4 + length > size) break;
        if (code == kNameOption)
            name.assign(reinterpret_cast<const char*>(options.data()) + at + 4, length);
        at += 4 + (length + 3u) / 4 * 4;
    }
    names_.push_back(std::move(name));
}

// An interface number without a description is taken for the last one.
uint32_t Interfaces::most_of_section() const {
    const size_t count = names_.size() - first_of_section_;
    return count == 0 ? 0 : static_cast<uint32_t>(count - 1);
}

uint32_t Interfaces::next() {
    Block block;
    while (descriptor_ >= 0) {
        if (!read_block(block)) {
            descriptor_ = -1;
            break;
        }
        if (block.type == kInterface) read_interface(block);
        uint32_t interface = 0;
        std::array<unsigned char, 4> number{};
        if (block.type == kPacket && read_at(descriptor_, offset_ + 8, number))
            interface = word(number.data());
        if (block.type == kOldPacket && read_at(descriptor_, offset_ + 8, number))
            interface = half(number.data());
        offset_ += block.size;
        if (block.type == kPacket || block.type == kOldPacket || block.type == kSimplePacket)
            return first_of_section_ + std::min(interface, most_of_section());
    }
    return 0;
}

}  // namespace tulle::cli
