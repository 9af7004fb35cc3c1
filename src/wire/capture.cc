#include "wire/capture.h"

namespace tulle::wire {
namespace {

constexpr uint32_t kMagicNanoseconds = 0xa1b2'3c4d;
constexpr uint16_t kVersionMajor = 2;
constexpr uint16_t kVersionMinor = 4;
constexpr uint32_t kSnapLength = 65'535;
constexpr uint32_t kLinkTypeEthernet = 1;
constexpr uint32_t kLinkTypeErf = 197;
constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;

constexpr size_t kErfHeaderSize = 16;
constexpr uint8_t kErfTypeInfiniband = 21;
constexpr uint8_t kErfVaryingLength = 0x04;

template <class Word>
void append(Word value, std::vector<std::byte>& file) {
    for (size_t i = 0; i < sizeof value; ++i)
        file.push_back(static_cast<std::byte>(uint64_t{value} >> (8 * i)));
}

template <class Word>
void append_big_endian(Word value, std::vector<std::byte>& file) {
    append(layout::big_endian(value), file);
}

// An ERF time is a fixed-point number: 32 bits of seconds, 32 of fraction.
uint64_t erf_time(uint64_t nanoseconds) {
    const uint64_t seconds = nanoseconds / kNanosecondsPerSecond;
    return seconds << 32 | ((nanoseconds % kNanosecondsPerSecond) << 32) / kNanosecondsPerSecond;
}

uint32_t link_type(LinkLayer link) {
    return link == LinkLayer::ethernet ? kLinkTypeEthernet : kLinkTypeErf;
}

uint32_t record_size(LinkLayer link, Bytes packet) {
    const bool is_erf = link == LinkLayer::infiniband;
    return static_cast<uint32_t>(packet.size() + (is_erf ? kErfHeaderSize : 0));
}

void append_record(LinkLayer link, uint64_t nanoseconds, Bytes packet,
                   std::vector<std::byte>& file) {
    if (link == LinkLayer::infiniband) {
        append(erf_time(nanoseconds), file);
        append(kErfTypeInfiniband, file);
        append(kErfVaryingLength, file);
        append_big_endian(static_cast<uint16_t>(record_size(link, packet)), file);
        append(uint16_t{0}, file);  // packets lost before this one
        append_big_endian(static_cast<uint16_t>(packet.size()), file);
    }
    file.insert(file.end(), packet.begin(), packet.end());
}

constexpr uint32_t kSectionBlock = 0x0a0d'0d0a;
constexpr uint32_t kByteOrder = 0x1a2b'3c4d;
constexpr uint32_t kInterfaceBlock = 1;
constexpr uint32_t kPacketBlock = 6;
constexpr uint16_t kEndOption = 0;
constexpr uint16_t kNameOption = 2;   // of an interface
constexpr uint16_t kTimeOption = 9;   // of an interface: the unit of its times
constexpr uint16_t kFlagsOption = 2;  // of a packet
constexpr uint8_t kNanosecondExponent = 9;

// Blocks and options are padded to four bytes.
void pad(std::vector<std::byte>& file) {
    while (file.size() % 4 != 0) file.push_back(std::byte{0});
}

size_t begin_block(uint32_t type, std::vector<std::byte>& file) {
    const size_t at = file.size();
    append(type, file);
    append(uint32_t{0}, file);  // its length, filled in later
    return at;
}

void end_block(size_t at, std::vector<std::byte>& file) {
    const auto size = static_cast<uint32_t>(file.size() - at + sizeof(uint32_t));
    append(size, file);
    for (size_t i = 0; i < sizeof size; ++i)
        file[at + sizeof(uint32_t) + i] = static_cast<std::byte>(size >> (8 * i));
}

void append_option(uint16_t code, Bytes value, std::vector<std::byte>& file) {
    append(code, file);
    append(static_cast<uint16_t>(value.size()), file);
    file.insert(file.end(), value.begin(), value.end());
    pad(file);
}

}  // namespace

void begin_capture(LinkLayer link, std::vector<std::byte>& file) {
    append(kMagicNanoseconds, file);
    append(kVersionMajor, file);
    append(kVersionMinor, file);
    append(uint32_t{0}, file);  // time zone
    append(uint32_t{0}, file);  // accuracy
    append(kSnapLength, file);
    append(link_type(link), file);
}

void append_to_capture(LinkLayer link, uint64_t nanoseconds, Bytes packet,
                       std::vector<std::byte>& file) {
    const uint32_t size = record_size(link, packet);
    append(static_cast<uint32_t>(nanoseconds / kNanosecondsPerSecond), file);
    append(static_cast<uint32_t>(nanoseconds % kNanosecondsPerSecond), file);
    append(size, file);
    append(size, file);
    append_record(link, nanoseconds, packet, file);
}

// The blocks of pcapng (draft of the IETF's opsawg): type, length, body, the length again.
void begin_capture_of(LinkLayer link, std::span<const std::string> interfaces,
                      std::vector<std::byte>& file) {
    const size_t section = begin_block(kSectionBlock, file);
    append(kByteOrder, file);
    append(uint16_t{1}, file);  // version 1.0
    append(uint16_t{0}, file);
    append(UINT64_MAX, file);  // length of the section: unknown
    end_block(section, file);
    for (const std::string& name : interfaces) {
        const size_t block = begin_block(kInterfaceBlock, file);
        append(static_cast<uint16_t>(link_type(link)), file);
        append(uint16_t{0}, file);
        append(kSnapLength, file);
        append_option(kNameOption, std::as_bytes(std::span(name)), file);
        append_option(kTimeOption, std::as_bytes(std::span(&kNanosecondExponent, 1)), file);
        append_option(kEndOption, {}, file);
        end_block(block, file);
    }
}

void append_to_capture_of(LinkLayer link, const Heard& heard, Bytes packet,
                          std::vector<std::byte>& file) {
    const uint32_t size = record_size(link, packet);
    const size_t block = begin_block(kPacketBlock, file);
    append(heard.interface, file);
    append(static_cast<uint32_t>(heard.nanoseconds >> 32), file);
    append(static_cast<uint32_t>(heard.nanoseconds), file);
    append(size, file);
    append(size, file);
    append_record(link, heard.nanoseconds, packet, file);
    pad(file);
    const uint32_t direction = heard.is_outbound ? 2 : 1;
    append_option(kFlagsOption, std::as_bytes(std::span(&direction, 1)), file);
    append_option(kEndOption, {}, file);
    end_block(block, file);
}

}  // namespace tulle::wire
