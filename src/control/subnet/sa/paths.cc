#include "control/subnet/sa/paths.h"

#include <algorithm>
#include <array>

namespace tulle::control {
namespace {

constexpr uint64_t kSubnetPrefix = 0xfe80'0000'0000'0000;
constexpr uint8_t kLifeTime = 18;  // OpenSM's subnet_timeout: about a second

struct Rate {
    uint8_t code = 0;
    uint32_t mbps = 0;
};
constexpr std::array kRates{
    Rate{wire::kRate2_5, 2'500},   Rate{wire::kRate5, 5'000},        Rate{wire::kRate10, 10'000},
    Rate{wire::kRate14, 14'000},   Rate{wire::kRate20, 20'000},      Rate{wire::kRate25, 25'000},
    Rate{wire::kRate28, 28'000},   Rate{wire::kRate30, 30'000},      Rate{wire::kRate40, 40'000},
    Rate{wire::kRate50, 50'000},   Rate{wire::kRate56, 56'000},      Rate{wire::kRate60, 60'000},
    Rate{wire::kRate80, 80'000},   Rate{wire::kRate100, 100'000},    Rate{wire::kRate112, 112'000},
    Rate{wire::kRate120, 120'000}, Rate{wire::kRate168, 168'000},    Rate{wire::kRate200, 200'000},
    Rate{wire::kRate300, 300'000}, Rate{wire::kRate400, 400'000},    Rate{wire::kRate600, 600'000},
    Rate{wire::kRate800, 800'000}, Rate{wire::kRate1200, 1'200'000},
};

uint32_t lane_mbps(const wire::PortInfo& port) {
    if (port.link_speed_ext2_active.value == wire::kSpeedXdr) return 200'000;
    switch (port.link_speed_ext_active.value) {
        case wire::kSpeedFdr: return 14'000;
        case wire::kSpeedEdr: return 25'000;
        case wire::kSpeedHdr: return 50'000;
        case wire::kSpeedNdr: return 100'000;
        default: break;
    }
    switch (port.link_speed_active.value) {
        case wire::kSpeedDdr: return 5'000;
        case wire::kSpeedQdr: return 10'000;
        default: return 2'500;
    }
}

uint32_t width_of(const wire::PortInfo& port) {
    switch (port.link_width_active.value) {
        case wire::kWidth1x: return 1;
        case wire::kWidth2x: return 2;
        case wire::kWidth8x: return 8;
        case wire::kWidth12x: return 12;
        default: return 4;
    }
}

// The properties of a path, collected link by link.
struct Walked {
    uint8_t mtu = wire::kMtu4096;
    uint32_t mbps = ~uint32_t{0};
    uint32_t links = 0;

    void add(const wire::PortInfo& port) {
        mtu = std::min(mtu, port.neighbor_mtu);
        mbps = std::min(mbps, rate_mbps(rate_code(port)));
        ++links;
    }
};

// Walks from the source's port by the tables to the destination; nothing: they do not lead there.
std::optional<Walked> walk_path(const Manager& manager, uint32_t source, uint32_t destination,
                                uint16_t dlid) {
    const FoundFabric& fabric = manager.fabric();
    const SubnetPlan& plan = manager.plan();
    Walked walked;
    uint32_t node = source;
    if (!fabric[node].is_switch && node != destination) {
        const FoundPort& port = fabric[node].ports[fabric[node].own_port()];
        if (port.peer == kNone) return std::nullopt;
        walked.add(port.info);
        node = port.peer;
    }
    for (uint32_t hops = 0; node != destination; ++hops) {
        if (!fabric[node].is_switch || hops > plan.subnet().switch_count()) return std::nullopt;
        const uint8_t out = plan.routing().tables.port(plan.switch_of(node), dlid);
        if (out == kSwitchItself || out >= fabric[node].ports.size()) return std::nullopt;
        const FoundPort& port = fabric[node].ports[out];
        if (port.peer == kNone) return std::nullopt;
        walked.add(port.info);
        node = port.peer;
    }
    return walked;
}

// The switch where the path of a node begins.
uint32_t home_of(const FoundFabric& fabric, uint32_t node) {
    if (fabric[node].is_switch) return node;
    return fabric[node].ports[fabric[node].own_port()].peer;
}

}  // namespace

wire::Gid port_gid(uint64_t port_guid) {
    wire::Gid gid;
    for (size_t i = 0; i < 8; ++i) {
        gid.bytes[i] = static_cast<uint8_t>(kSubnetPrefix >> (56 - 8 * i));
        gid.bytes[8 + i] = static_cast<uint8_t>(port_guid >> (56 - 8 * i));
    }
    return gid;
}

uint64_t guid_in(const wire::Gid& gid) {
    uint64_t prefix = 0;
    uint64_t guid = 0;
    for (size_t i = 0; i < 8; ++i) {
        prefix = prefix << 8 | gid.bytes[i];
        guid = guid << 8 | gid.bytes[8 + i];
    }
    return prefix == kSubnetPrefix ? guid : 0;
}

uint8_t rate_code(const wire::PortInfo& port) {
    const uint32_t mbps = width_of(port) * lane_mbps(port);
    uint8_t code = wire::kRate2_5;
    for (const Rate& rate : kRates)
        if (rate.mbps <= mbps) code = rate.code;
    return code;
}

uint32_t rate_mbps(uint8_t code) {
    for (const Rate& rate : kRates)
        if (rate.code == code) return rate.mbps;
    return 0;
}

std::optional<wire::PathRecord> find_path(const Manager& manager, const PathQuestion& question) {
    const FoundFabric& fabric = manager.fabric();
    const SubnetPlan& plan = manager.plan();
    const uint16_t slid =
        question.slid != 0 ? question.slid : lid_of(fabric[question.source], manager.lids());
    const uint16_t dlid =
        question.dlid != 0 ? question.dlid : lid_of(fabric[question.destination], manager.lids());
    if (slid == 0 || dlid == 0 || std::max(slid, dlid) >= plan.subnet().lid_end())
        return std::nullopt;
    const auto& theirs = plan.keys(question.destination);
    const auto& ours = plan.keys(question.source);
    const uint16_t key = question.key == 0            ? shared_key(ours, theirs)
                         : admits(ours, question.key) ? shared_key({question.key}, theirs)
                                                      : uint16_t{0};
    if (key == 0) return std::nullopt;
    const auto there = walk_path(manager, question.source, question.destination, dlid);
    const auto back = walk_path(manager, question.destination, question.source, slid);
    if (!there) return std::nullopt;
    wire::PathRecord path;
    path.sgid = port_gid(fabric[question.source].port_guid());
    path.dgid = port_gid(fabric[question.destination].port_guid());
    path.slid.value = slid;
    path.dlid.value = dlid;
    path.reversible = back.has_value();
    path.path_count = 1;
    path.pkey.value = key;
    const Lanes& lanes = plan.routing().lanes;
    const uint32_t home = home_of(fabric, question.source);
    if (lanes.count > 1 && home != kNone && fabric[home].is_switch)
        path.service_level =
            lanes.service_level(plan.switch_of(home), dlid, plan.subnet().switch_count());
    else if (const auto& policy = manager.settings().partitions; policy != nullptr)
        if (const Partition* const partition = policy->partition_of(key); partition != nullptr)
            path.service_level = partition->service_level;
    path.mtu_selector = path.rate_selector = path.life_time_selector = wire::kSelectExactly;
    path.mtu = there->mtu;
    for (const Rate& rate : kRates)
        if (rate.mbps <= there->mbps) path.rate = rate.code;
    if (there->links == 0)
        path.rate =
            rate_code(fabric[question.source].ports[fabric[question.source].own_port()].info);
    path.life_time = kLifeTime;
    return path;
}

}  // namespace tulle::control
