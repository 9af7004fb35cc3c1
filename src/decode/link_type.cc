#include "decode/link_type.h"

#include <pcap/dlt.h>

#include <algorithm>
#include <array>

namespace tulle::decode {
namespace {

// Extensible Record Format: 8 bytes of time, type, flags, record length, loss counter, wire length.
struct ErfHeader {
    static constexpr size_t kSize = 16;
    wire::Key64 time;
    bool more_headers = false;
    uint8_t type = 0;
    wire::Bits8 flags;
    uint16_t record_length = 0;
    uint16_t loss_counter = 0;
    uint16_t wire_length = 0;
    static constexpr auto kFields = wire::fields(
        wire::field<&ErfHeader::time, 64>("time"),
        wire::field<&ErfHeader::more_headers, 1>("more_headers"),
        wire::field<&ErfHeader::type, 7>("type"), wire::field<&ErfHeader::flags, 8>("flags"),
        wire::field<&ErfHeader::record_length, 16>("record_length"),
        wire::field<&ErfHeader::loss_counter, 16>("loss_counter"),
        wire::field<&ErfHeader::wire_length, 16>("wire_length"));
};

constexpr size_t kErfExtensionSize = 8;
constexpr size_t kErfEthernetPad = 2;
constexpr uint8_t kErfInfiniband = 21;
constexpr std::array<uint8_t, 4> kErfEthernet = {2, 11, 16, 20};  // plain, and three with marks

// Linux cooked capture, version 1 and 2.
struct CookedHeader {
    static constexpr size_t kSize = 16;
    uint16_t packet_type = 0;
    uint16_t device_type = 0;
    uint16_t address_size = 0;
    std::array<uint8_t, 8> address{};
    wire::Bits16 protocol;
    static constexpr auto kFields =
        wire::fields(wire::field<&CookedHeader::packet_type, 16>("packet_type"),
                     wire::field<&CookedHeader::device_type, 16>("device_type"),
                     wire::field<&CookedHeader::address_size, 16>("address_size"),
                     wire::field<&CookedHeader::address, 64>("address"),
                     wire::field<&CookedHeader::protocol, 16>("protocol"));
};

struct CookedHeader2 {
    static constexpr size_t kSize = 20;
    wire::Bits16 protocol;
    wire::Bits16 reserved;
    uint32_t interface = 0;
    uint16_t device_type = 0;
    uint8_t packet_type = 0;
    uint8_t address_size = 0;
    std::array<uint8_t, 8> address{};
    static constexpr auto kFields =
        wire::fields(wire::field<&CookedHeader2::protocol, 16>("protocol"),
                     wire::field<&CookedHeader2::reserved, 16>("reserved"),
                     wire::field<&CookedHeader2::interface, 32>("interface"),
                     wire::field<&CookedHeader2::device_type, 16>("device_type"),
                     wire::field<&CookedHeader2::packet_type, 8>("packet_type"),
                     wire::field<&CookedHeader2::address_size, 8>("address_size"),
                     wire::field<&CookedHeader2::address, 64>("address"));
};

Unwrapped broken(std::string_view problem) {
    Unwrapped unwrapped;
    unwrapped.problem = problem;
    return unwrapped;
}

Unwrapped with_ethernet(const wire::Ethernet& ethernet, wire::Bytes rest, size_t missing,
                        std::vector<std::byte>& scratch) {
    scratch.resize(wire::Ethernet::kSize + rest.size());
    wire::write(ethernet, scratch);
    std::copy(rest.begin(), rest.end(), scratch.begin() + wire::Ethernet::kSize);
    return {wire::LinkLayer::ethernet, scratch, scratch.size() + missing, true, {}};
}

template <class Header>
Unwrapped unwrap_cooked(wire::Bytes record, size_t missing, std::vector<std::byte>& scratch) {
    const auto header = wire::parse<Header>(record);
    if (!header) return broken("shorter than a Linux cooked capture header");
    wire::Ethernet ethernet;
    ethernet.ether_type = header->protocol;
    if (header->address_size == ethernet.source.bytes.size())
        std::copy_n(header->address.begin(), 6, ethernet.source.bytes.begin());
    return with_ethernet(ethernet, record.subspan(Header::kSize), missing, scratch);
}

Unwrapped unwrap_raw_ip(wire::Bytes record, size_t missing, std::vector<std::byte>& scratch) {
    const unsigned version = record.empty() ? 0 : std::to_integer<unsigned>(record[0]) >> 4;
    wire::Ethernet ethernet;
    ethernet.ether_type.value = version == 6 ? wire::kEtherTypeIpv6 : wire::kEtherTypeIpv4;
    return with_ethernet(ethernet, record, missing, scratch);
}

// The record ends at its wire length; padding to a multiple of eight bytes may follow.
Unwrapped unwrap_erf(wire::Bytes record) {
    const auto header = wire::parse<ErfHeader>(record);
    if (!header) return broken("shorter than an ERF record header");
    wire::Bytes rest =
        record.first(std::clamp<size_t>(header->record_length, ErfHeader::kSize, record.size()));
    rest = rest.subspan(ErfHeader::kSize);
    bool more = header->more_headers;
    while (more) {
        if (rest.size() < kErfExtensionSize) return broken("an ERF extension header that is cut");
        more = (std::to_integer<unsigned>(rest[0]) & 0x80) != 0;
        rest = rest.subspan(kErfExtensionSize);
    }
    Unwrapped unwrapped;
    if (header->type == kErfInfiniband) {
        unwrapped.link = wire::LinkLayer::infiniband;
    } else if (std::find(kErfEthernet.begin(), kErfEthernet.end(), header->type) !=
               kErfEthernet.end()) {
        if (rest.size() < kErfEthernetPad) return broken("an ERF record without its Ethernet pad");
        rest = rest.subspan(kErfEthernetPad);
    } else {
        return broken("an ERF record that is neither Ethernet nor InfiniBand");
    }
    unwrapped.bytes = rest.first(std::min<size_t>(rest.size(), header->wire_length));
    unwrapped.original_size = header->wire_length;
    return unwrapped;
}

}  // namespace

bool is_supported(int link_type) {
    switch (link_type) {
        case DLT_EN10MB:
        case DLT_RAW:
        case DLT_LINUX_SLL:
        case DLT_ERF:
        case DLT_INFINIBAND:
        case DLT_LINUX_SLL2: return true;
        default: return false;
    }
}

std::string supported_link_types() {
    return "Ethernet (1), InfiniBand (247), ERF (197), Linux cooked (113 and 276) and raw IP (101)";
}

Unwrapped unwrap(int link_type, wire::Bytes record, size_t original_size,
                 std::vector<std::byte>& scratch) {
    const size_t missing = original_size - std::min(original_size, record.size());
    switch (link_type) {
        case DLT_RAW: return unwrap_raw_ip(record, missing, scratch);
        case DLT_LINUX_SLL: return unwrap_cooked<CookedHeader>(record, missing, scratch);
        case DLT_LINUX_SLL2: return unwrap_cooked<CookedHeader2>(record, missing, scratch);
        case DLT_ERF: return unwrap_erf(record);
        case DLT_INFINIBAND:
            return {wire::LinkLayer::infiniband, record, record.size() + missing, false, {}};
        default: return {wire::LinkLayer::ethernet, record, record.size() + missing, false, {}};
    }
}

wire::Frame parse(const Unwrapped& record) {
    if (!record.problem.empty()) {
        wire::Frame frame;
        frame.problem = record.problem;
        return frame;
    }
    wire::Frame frame = wire::parse_frame(record.link, record.bytes, record.original_size);
    if (record.made_up_ethernet) frame.has_link_header = false;
    return frame;
}

}  // namespace tulle::decode
