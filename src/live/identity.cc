#include "live/identity.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "live/counter_names.h"

namespace tulle::live {
namespace {

constexpr uint64_t kGuidBase = 0x0254'4cff'fe00'0000;

// fe80:: and the GUID; on Ethernet the one that the MAC gives (RFC 4291, appendix A).
wire::Gid link_local(wire::Guid guid) {
    wire::Gid gid;
    gid.bytes[0] = 0xfe;
    gid.bytes[1] = 0x80;
    for (size_t i = 0; i < 8; ++i)
        gid.bytes[8 + i] = static_cast<uint8_t>(guid.value >> (56 - 8 * i));
    return gid;
}

}  // namespace

Identity identity_of(uint32_t rank, bool is_ethernet, uint32_t device) {
    Identity who;
    who.rank = std::min(rank, kMaxRank);
    who.device = std::min(device, kMaxDevices - 1);
    who.is_ethernet = is_ethernet;
    const uint32_t number = who.device << 8 | (who.rank + 1);
    who.guid = wire::Guid{kGuidBase + number};
    const auto last = static_cast<uint8_t>(who.rank + 1);
    const auto above = static_cast<uint8_t>(who.device);
    who.mac.bytes = {0x00, 0x54, 0x4c, 0x00, above, last};
    who.lid = wire::Lid{static_cast<uint16_t>(is_ethernet ? 0 : number)};
    who.ip.bytes = {127, 0, above, last};
    who.gids = {link_local(who.guid)};
    if (is_ethernet) {
        const wire::Gid routable = wire::gid_of(who.ip);
        who.gids = {who.gids[0], who.gids[0], routable, routable};
    }
    return who;
}

uint32_t device_count_from_environment() {
    const char* count = std::getenv("TULLE_DEVICES");
    const unsigned long wanted = count == nullptr ? 1 : std::strtoul(count, nullptr, 10);
    return static_cast<uint32_t>(std::clamp<unsigned long>(wanted, 1, kMaxDevices));
}

std::string device_name_from_environment(uint32_t device) {
    const char* wanted = std::getenv("TULLE_DEVICE");
    std::string name = wanted != nullptr && *wanted != 0 ? wanted : "tulle0";
    if (device == 0) return name;
    while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.pop_back();
    return name + std::to_string(device);
}

std::string counters_file_in(const std::string& tree, uint32_t device) {
    const std::string first = tree + "/" + kCountersFile;
    return device == 0 ? first : first + std::to_string(device);
}

Identity identity_from_environment(uint32_t device) {
    const char* rank = std::getenv("TULLE_RANK");
    const char* layer = std::getenv("TULLE_LINK_LAYER");
    const bool is_ethernet = layer == nullptr || std::string_view(layer) != "infiniband";
    const auto number =
        rank == nullptr ? 0 : static_cast<uint32_t>(std::strtoul(rank, nullptr, 10));
    Identity who = identity_of(number, is_ethernet, device);
    if (const char* world = std::getenv("TULLE_WORLD"); world != nullptr && *world != 0)
        who.world = std::string_view(world).substr(0, 64);
    const char* shared = std::getenv("TULLE_SHARED");
    who.is_shared = shared != nullptr && std::string_view(shared) == "1";
    if (const char* tree = std::getenv("TULLE_SYSFS"); tree != nullptr && *tree != 0)
        who.counters_file = counters_file_in(tree, device);
    return who;
}

}  // namespace tulle::live
