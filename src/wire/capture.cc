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

}  // namespace

void begin_capture(LinkLayer link, std::vector<std::byte>& file) {
    append(kMagicNanoseconds, file);
    append(kVersionMajor, file);
    append(kVersionMinor, file);
    append(uint32_t{0}, file);  // time zone
    append(uint32_t{0}, file);  // accuracy
    append(kSnapLength, file);
    append(link == LinkLayer::ethernet ? kLinkTypeEthernet : kLinkTypeErf, file);
}

void append_to_capture(LinkLayer link, uint64_t nanoseconds, Bytes packet,
                       std::vector<std::byte>& file) {
    const bool erf = link == LinkLayer::infiniband;
    const auto size = static_cast<uint32_t>(packet.size() + (erf ? kErfHeaderSize : 0));
    append(static_cast<uint32_t>(nanoseconds / kNanosecondsPerSecond), file);
    append(static_cast<uint32_t>(nanoseconds % kNanosecondsPerSecond), file);
    append(size, file);
    append(size, file);
    if (erf) {
        append(erf_time(nanoseconds), file);
        append(kErfTypeInfiniband, file);
        append(kErfVaryingLength, file);
        append_big_endian(static_cast<uint16_t>(size), file);
        append(uint16_t{0}, file);  // packets lost before this one
        append_big_endian(static_cast<uint16_t>(packet.size()), file);
    }
    file.insert(file.end(), packet.begin(), packet.end());
}

}  // namespace tulle::wire
