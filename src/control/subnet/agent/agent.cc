#include "control/subnet/agent/agent.h"

#include <algorithm>
#include <cstring>

#include "topology/ib_speed.h"
#include "wire/mad/notice.h"

namespace tulle::control {
namespace {

using wire::PortInfo;

constexpr base::Duration kSecond{1'000'000'000'000};
constexpr uint16_t kLinearCapacity = 0xc000;
constexpr uint8_t kArbitrationEntries = 32;  // of each of the two lists; chosen

PortInfo factory_port(const AgentNode& node, uint8_t number) {
    PortInfo info;
    info.local_port = number;
    info.port_state = wire::kPortDown;
    info.physical_state = wire::kPhysicalPolling;
    info.link_down_default_state = 2;
    info.vl_capability = wire::kVl0To7;
    info.operational_vls = wire::kVl0;
    info.vl_arbitration_high_capacity = info.vl_arbitration_low_capacity = kArbitrationEntries;
    info.mtu_capability = wire::kMtu4096;
    info.neighbor_mtu = wire::kMtu256;
    info.guid_capacity = 8 * kGuidBlocks;
    info.link_width_supported = info.link_width_enabled = {
        wire::kWidth1x | wire::kWidth4x | wire::kWidth8x | wire::kWidth12x | wire::kWidth2x};
    info.link_speed_supported =
        info.link_speed_enabled = {wire::kSpeedSdr | wire::kSpeedDdr | wire::kSpeedQdr};
    info.link_speed_ext_supported = info.link_speed_ext_enabled = {
        wire::kSpeedFdr | wire::kSpeedEdr | wire::kSpeedHdr | wire::kSpeedNdr};
    info.link_speed_ext2_supported = info.link_speed_ext2_enabled = {wire::kSpeedXdr};
    info.capability_mask.value = wire::kPortHasNotice | wire::kPortHasTrap |
                                 wire::kPortHasSlMapping | wire::kPortHasExtendedSpeeds |
                                 wire::kPortHasCapabilityMask2;
    info.capability_mask2.value = wire::kPortHasWidth2x | wire::kPortHasSpeedHdr |
                                  wire::kPortHasSpeedNdr | wire::kPortHasExtendedSpeeds2 |
                                  wire::kPortHasSpeedXdr;
    if (node.is_switch && number == 0) {
        info.port_state = wire::kPortActive;
        info.physical_state = wire::kPhysicalLinkUp;
    }
    return info;
}

struct ActiveLink {
    uint8_t width = wire::kWidth4x;
    uint8_t speed = 0;
    uint8_t extended = wire::kSpeedNdr;
    uint8_t extended2 = 0;
};

uint8_t width_code(uint64_t lanes) {
    switch (lanes) {
        case 1: return wire::kWidth1x;
        case 2: return wire::kWidth2x;
        case 8: return wire::kWidth8x;
        case 12: return wire::kWidth12x;
        default: return wire::kWidth4x;
    }
}

// The width and speed of a rate; a rate that InfiniBand does not have counts as 4xNDR.
ActiveLink link_of(uint64_t rate_bps) {
    for (const uint64_t width : topology::kIbWidths)
        for (const topology::IbSpeed& speed : topology::kIbSpeeds) {
            if (width * speed.lane_bps != rate_bps) continue;
            const auto is = [&](std::string_view name) { return speed.name == name; };
            ActiveLink link{width_code(width), wire::kSpeedQdr, 0, 0};
            if (is("SDR")) link.speed = wire::kSpeedSdr;
            if (is("DDR")) link.speed = wire::kSpeedDdr;
            if (is("FDR")) link.extended = wire::kSpeedFdr;
            if (is("EDR")) link.extended = wire::kSpeedEdr;
            if (is("HDR")) link.extended = wire::kSpeedHdr;
            if (is("NDR")) link.extended = wire::kSpeedNdr;
            if (is("XDR")) link.extended2 = wire::kSpeedXdr;
            return link;
        }
    return {wire::kWidth4x, wire::kSpeedQdr, wire::kSpeedNdr, 0};
}

template <class Attribute>
void put(const Attribute& attribute, MadBytes& smp) {
    std::fill(smp.data().begin(), smp.data().end(), std::byte{0});
    wire::write(attribute, smp.data());
}

}  // namespace

Agent::Agent(AgentNode node)
    : node_(std::move(node)),
      tables_(node_.is_switch, node_.port_count, node_.guid),
      lease_ends_(node_.port_count + 1u, base::Instant::never()) {
    for (unsigned port = 0; port <= node_.port_count; ++port)
        ports_.push_back(factory_port(node_, static_cast<uint8_t>(port)));
    switch_info_.linear_capacity = kLinearCapacity;
    switch_info_.multicast_capacity = kMulticastCapacity;
    switch_info_.partition_enforcement_capacity = 32 * kPartitionBlocks;
    switch_info_.inbound_enforcement = switch_info_.outbound_enforcement = true;
    switch_info_.optimized_sl_to_vl = 1;
    switch_info_.enhanced_port0 = true;
}

// 14.2.1.2 and 7.6.4: SMPs use lane 15; one on another lane is invalid.
void Agent::on_smp(base::Instant now, uint8_t port, const MadBytes& smp, uint16_t from,
                   uint8_t lane) {
    if (lane != kManagementLane) {
        ++counters_.wrong_lane;
        return;
    }
    if (smp.is_directed()) {
        if (smp.is_returning())
            return_directed(smp);
        else
            take_directed(now, port, smp);
        return;
    }
    answer(now, port, from, smp);
}

// 14.2.2.2: on the way out, each node records the port where the SMP came in, and advances the hop
// pointer. The last node answers.
void Agent::take_directed(base::Instant now, uint8_t port, MadBytes smp) {
    const uint8_t hop = smp.hop_pointer();
    const uint8_t count = smp.hop_count();
    if (count > wire::kSmpMaxHops || hop > count) {
        ++counters_.bad_path;
        return;
    }
    const bool is_first = hop == 0;
    if (!is_first) smp.set_return_path(hop, port);
    smp.set_hop_pointer(static_cast<uint8_t>(hop + 1));
    if (hop == count) return answer(now, port, 0, smp);
    if (!is_first && !node_.is_switch) {
        ++counters_.bad_path;
        return;
    }
    pass_out(smp, smp.initial_path(static_cast<uint8_t>(hop + 1)));
}

// 14.2.2.4: the way back follows the recorded ports.
void Agent::return_directed(MadBytes smp) {
    const uint8_t hop = smp.hop_pointer();
    if (hop == 0 || hop > smp.hop_count() + 1) {
        ++counters_.bad_path;
        return;
    }
    smp.set_hop_pointer(static_cast<uint8_t>(hop - 1));
    if (hop == 1)
        out_.push_back({.port = 0, .smp = smp});
    else
        pass_out(smp, smp.return_path(static_cast<uint8_t>(hop - 1)));
}

void Agent::pass_out(const MadBytes& smp, uint8_t port) {
    if (port == 0 || port > node_.port_count || ports_[port].port_state == wire::kPortDown) {
        ++counters_.bad_path;
        return;
    }
    ++counters_.passed_on;
    out_.push_back({.port = port, .smp = smp});
}

void Agent::answer(base::Instant now, uint8_t port, uint16_t from, MadBytes smp) {
    const uint8_t method = smp.method();
    if (method == wire::kMethodTrapRepress) {
        if (accepts_key(now, port, smp)) traps_.repress(smp.transaction());
        return;
    }
    if (method != wire::kMethodGet && method != wire::kMethodSet) {
        if (!smp.is_directed())
            out_.push_back({.port = 0, .smp = smp});  // for a manager at this node
        return;
    }
    if (!accepts_key(now, port, smp)) return;
    const uint16_t status = serve(port, method == wire::kMethodSet, smp);
    counters_.unsupported += status != wire::kStatusOk;
    ++counters_.answered;
    smp.answer(status);
    if (!smp.is_directed())
        out_.push_back({port, from, lid(), smp});
    else if (smp.hop_count() == 0)
        out_.push_back({.port = 0, .smp = smp});
    else
        return_directed(smp);
}

// 14.2.4: a Set and a TrapRepress need the key. At protection levels 2 and 3 a Get needs it too.
// SMInfo is guarded by the SM_Key instead. A wrong key gets no
// answer, is counted, and starts the lease; once the lease expires the key no longer protects.
bool Agent::accepts_key(base::Instant now, uint8_t port, const MadBytes& smp) {
    const uint8_t number = guarding_port(std::max<uint8_t>(port, 1));
    PortInfo& guard = ports_[number];
    if (guard.m_key.value == 0) return true;
    if (smp.m_key() == guard.m_key.value) {
        lease_ends_[number] = base::Instant::never();
        return true;
    }
    if (smp.method() == wire::kMethodGet && guard.m_key_protect_bits < 2) return true;
    if (smp.attribute() == wire::kSmpSmInfo && smp.method() != wire::kMethodTrapRepress)
        return true;
    ++counters_.bad_m_key;
    if (guard.m_key_violations < 0xffff) ++guard.m_key_violations;
    if (guard.m_key_lease_period != 0 && lease_ends_[number] == base::Instant::never())
        lease_ends_[number] = now + guard.m_key_lease_period * kSecond;
    report_bad_key(now, number, smp);
    return false;
}

uint16_t Agent::serve(uint8_t port, bool is_set, MadBytes& smp) {
    switch (smp.attribute()) {
        case wire::kSmpNodeInfo:
        case wire::kSmpNodeDescription: return serve_node(port, is_set, smp);
        case wire::kSmpSwitchInfo: return serve_switch_info(is_set, smp);
        case wire::kSmpPortInfo: return serve_port_info(port, is_set, smp);
        case wire::kSmpLinearForwardingTable: return serve_linear(is_set, smp);
        case wire::kSmpSmInfo: return serve_manager(is_set, smp);
        case wire::kSmpNotice: return serve_notice(is_set, smp);
        case wire::kSmpGuidInfo:
        case wire::kSmpPKeyTable:
        case wire::kSmpSlToVlMappingTable:
        case wire::kSmpVlArbitrationTable:
        case wire::kSmpMulticastForwardingTable:
            return tables_.serve(smp.attribute(), smp.modifier(), port, is_set, smp.data());
        default: return wire::kStatusMethodAttributeUnsupported;
    }
}

// NodeInfo and NodeDescription are read-only.
uint16_t Agent::serve_node(uint8_t port, bool is_set, MadBytes& smp) const {
    if (is_set) return wire::kStatusMethodAttributeUnsupported;
    if (smp.attribute() == wire::kSmpNodeDescription) {
        wire::NodeDescription description;
        std::copy_n(node_.description.begin(),
                    std::min(node_.description.size(), description.text.size()),
                    description.text.begin());
        put(description, smp);
        return wire::kStatusOk;
    }
    wire::NodeInfo info;
    info.base_version = info.class_version = 1;
    info.node_type = node_.is_switch ? wire::kNodeSwitch : wire::kNodeChannelAdapter;
    info.port_count = node_.port_count;
    info.node_guid.value = info.system_image_guid.value = node_.guid;
    info.port_guid.value = node_.guid + (node_.is_switch ? 0u : std::max<uint8_t>(port, 1));
    info.partition_capacity = 32 * kPartitionBlocks;
    info.local_port = node_.is_switch ? port : std::max<uint8_t>(port, 1);
    put(info, smp);
    return wire::kStatusOk;
}

uint16_t Agent::serve_switch_info(bool is_set, MadBytes& smp) {
    if (!node_.is_switch) return wire::kStatusMethodAttributeUnsupported;
    if (is_set) {
        const auto wanted = *wire::parse<wire::SwitchInfo>(smp.data());
        if (wanted.linear_top >= kLinearCapacity) return wire::kStatusInvalidValue;
        switch_info_.linear_top = wanted.linear_top;
        switch_info_.life_time = wanted.life_time;
        switch_info_.default_port = wanted.default_port;
        switch_info_.multicast_top = wanted.multicast_top;
        if (wanted.port_state_change) switch_info_.port_state_change = false;  // a one clears it
    }
    put(switch_info_, smp);
    return wire::kStatusOk;
}

std::optional<uint8_t> Agent::port_meant(uint8_t came_by, uint32_t number) const {
    if (number > node_.port_count) return std::nullopt;
    if (number == 0 && !node_.is_switch) return std::max<uint8_t>(came_by, 1);
    return static_cast<uint8_t>(number);
}

uint16_t Agent::serve_port_info(uint8_t port, bool is_set, MadBytes& smp) {
    const auto meant = port_meant(port, smp.modifier() & 0xff);
    if (!meant) return wire::kStatusInvalidValue;
    if (is_set && !set_port(*meant, *wire::parse<PortInfo>(smp.data())))
        return wire::kStatusInvalidValue;
    PortInfo shown = ports_[*meant];
    // At level 1 only a requester with the key may read it.
    if (shown.m_key_protect_bits != 0 && smp.m_key() != shown.m_key.value) shown.m_key = {};
    put(shown, smp);
    return wire::kStatusOk;
}

// Sets what a manager may set (14.2.5.6). The state moves as 7.2 allows: Init to Armed to Active.
bool Agent::set_port(uint8_t number, const PortInfo& wanted) {
    PortInfo& port = ports_[number];
    if (wanted.lid.value > kMaxUnicastLid || wanted.lmc > 7) return false;
    if (wanted.operational_vls > port.vl_capability || wanted.neighbor_mtu > port.mtu_capability)
        return false;
    const bool moves = wanted.port_state != wire::kPortNoChange;
    const bool is_next =
        (wanted.port_state == wire::kPortArmed && port.port_state == wire::kPortInitialize) ||
        (wanted.port_state == wire::kPortActive && port.port_state == wire::kPortArmed) ||
        wanted.port_state == port.port_state;
    if (moves && !is_next && wanted.port_state != wire::kPortDown) return false;
    reregisters_ |= wanted.client_reregister && !node_.is_switch;
    port.m_key = wanted.m_key;
    port.m_key_lease_period = wanted.m_key_lease_period;
    port.m_key_protect_bits = wanted.m_key_protect_bits;
    port.gid_prefix = wanted.gid_prefix;
    port.lid = wanted.lid;
    port.lmc = wanted.lmc;
    port.master_sm_lid = wanted.master_sm_lid;
    port.master_sm_sl = wanted.master_sm_sl;
    port.neighbor_mtu = wanted.neighbor_mtu;
    port.operational_vls = wanted.operational_vls;
    port.subnet_timeout = wanted.subnet_timeout;
    port.vl_high_limit = wanted.vl_high_limit;
    port.vl_stall_count = wanted.vl_stall_count;
    port.head_of_queue_life = wanted.head_of_queue_life;
    port.inbound_enforcement = wanted.inbound_enforcement;
    port.outbound_enforcement = wanted.outbound_enforcement;
    if (wanted.m_key_violations == 0) port.m_key_violations = 0;
    if (moves && port.port_state != wire::kPortDown)
        port.port_state = wanted.port_state == wire::kPortDown ? uint8_t{wire::kPortInitialize}
                                                               : wanted.port_state;
    return true;
}

uint16_t Agent::serve_linear(bool is_set, MadBytes& smp) {
    const uint64_t first = uint64_t{smp.modifier()} * 64;
    if (!node_.is_switch) return wire::kStatusMethodAttributeUnsupported;
    if (first >= kLinearCapacity) return wire::kStatusInvalidValue;
    if (is_set && linear_.size() < first + 64) linear_.resize(first + 64, kNoPort);
    if (is_set) ++table_writes_;
    for (size_t i = 0; i < 64; ++i) {
        if (is_set) linear_[first + i] = static_cast<uint8_t>(smp.data()[i]);
        smp.data()[i] = std::byte{route(static_cast<uint16_t>(first + i))};
    }
    return wire::kStatusOk;
}

uint16_t Agent::serve_manager(bool is_set, MadBytes& smp) {
    if (!manager_) return wire::kStatusMethodAttributeUnsupported;
    if (is_set)
        manager_control_ = {smp.modifier(), wire::parse<wire::SmInfo>(smp.data())->sm_key.value};
    put(*manager_, smp);
    return wire::kStatusOk;
}

// A Set removes the oldest notice from the queue (13.4.8.2).
uint16_t Agent::serve_notice(bool is_set, MadBytes& smp) {
    if (is_set) traps_.drop_notice();
    put(traps_.notice(), smp);
    return wire::kStatusOk;
}

bool Agent::has_lid(uint8_t number, uint16_t lid) const {
    const PortInfo& port = ports_[node_.is_switch ? uint8_t{0} : number];
    return port.lid.value != 0 && (lid >> port.lmc) == (port.lid.value >> port.lmc);
}

void Agent::set_manager(base::Instant now, const std::optional<wire::SmInfo>& info) {
    const bool changes = manager_.has_value() != info.has_value();
    manager_ = info;
    if (!changes) return;
    for (PortInfo& port : ports_)
        port.capability_mask.value = info ? port.capability_mask.value | wire::kPortIsSm
                                          : port.capability_mask.value & ~wire::kPortIsSm;
    const PortInfo& port = ports_[node_.is_switch ? 0 : 1];
    if (port.lid.value == 0 || port.master_sm_lid == port.lid) return;
    wire::TrapCapability details;
    details.lid = port.lid;
    details.capability_mask = port.capability_mask;
    std::array<std::byte, wire::TrapCapability::kSize> bytes{};
    wire::write(details, bytes);
    raise(now, wire::kTrapCapabilityChanged, wire::kNoticeInformational, bytes);
}

std::optional<ManagerControl> Agent::poll_manager_control() {
    return std::exchange(manager_control_, std::nullopt);
}

void Agent::set_link(base::Instant now, uint8_t number, bool is_up, uint64_t rate_bps) {
    PortInfo& port = ports_[number];
    if (is_up == (port.port_state != wire::kPortDown)) return;
    const ActiveLink link = is_up ? link_of(rate_bps) : ActiveLink{0, 0, 0, 0};
    port.port_state = is_up ? wire::kPortInitialize : wire::kPortDown;
    port.physical_state = is_up ? wire::kPhysicalLinkUp : wire::kPhysicalPolling;
    port.link_width_active.value = link.width;
    port.link_speed_active.value = link.speed;
    port.link_speed_ext_active.value = link.extended;
    port.link_speed_ext2_active.value = link.extended2;
    if (!node_.is_switch) return;
    switch_info_.port_state_change = true;
    if (lid() == 0) return;
    wire::TrapLinkState details;
    details.lid.value = lid();
    std::array<std::byte, wire::TrapLinkState::kSize> bytes{};
    wire::write(details, bytes);
    raise(now, wire::kTrapLinkStateChanged, wire::kNoticeUrgent, bytes);
}

// Trap 256, one at a time: somebody who guesses keys must not cause a trap for each guess.
void Agent::report_bad_key(base::Instant now, uint8_t port, const MadBytes& smp) {
    if (ports_[port].lid.value == 0 || has_trap()) return;
    wire::TrapMKey details;
    details.lid = ports_[port].lid;
    details.method.value = smp.method();
    details.attribute_id.value = smp.attribute();
    details.attribute_modifier.value = smp.modifier();
    details.m_key.value = smp.m_key();
    details.directed_route = smp.is_directed();
    if (smp.is_directed()) {
        const auto hops = std::min<size_t>(smp.hop_count(), details.return_path.size());
        details.hop_count = static_cast<uint8_t>(hops);
        details.path_truncated = hops < smp.hop_count();
        for (size_t i = 0; i < hops; ++i)
            details.return_path[i] = smp.return_path(static_cast<uint8_t>(i + 1));
    }
    std::array<std::byte, wire::TrapMKey::kSize> bytes{};
    wire::write(details, bytes);
    raise(now, wire::kTrapBadMKey, wire::kNoticeSecurity, bytes);
}

void Agent::raise(base::Instant now, uint16_t trap, uint8_t type, wire::Bytes details) {
    wire::Notice notice;
    notice.is_generic = true;
    notice.type = type;
    notice.producer_type = node_.is_switch ? wire::kNodeSwitch : wire::kNodeChannelAdapter;
    notice.trap_number = trap;
    notice.issuer_lid.value = lid();
    std::memcpy(notice.details.data(), details.data(), details.size());
    traps_.raise(now, notice);
}

void Agent::on_timer(base::Instant now) {
    for (size_t port = 0; port < lease_ends_.size(); ++port) {
        if (now < lease_ends_[port]) continue;
        lease_ends_[port] = base::Instant::never();
        ports_[port].m_key_protect_bits = 0;
    }
    while (const auto trap = traps_.take(now)) send_trap(*trap);
}

// A trap is routed by LID, like any other packet.
void Agent::send_trap(const Traps::Trap& trap) {
    const uint16_t to = ports_[node_.is_switch ? 0 : 1].master_sm_lid.value;
    if (to == 0) return;
    wire::LidRoutedSmp smp;
    smp.header.base_version = smp.header.class_version = 1;
    smp.header.management_class.value = wire::kClassSubnetLidRouted;
    smp.header.method.value = wire::kMethodTrap;
    smp.header.attribute_id.value = wire::kSmpNotice;
    smp.header.transaction_id.value = trap.transaction;
    SmpOut out{node_.is_switch ? route(to) : uint8_t{1}, to, lid(), {}};
    wire::write(smp, out.smp.bytes());
    wire::Notice notice = trap.notice;
    notice.issuer_lid.value = lid();  // it may have changed since the trap was raised
    wire::write(notice, out.smp.data());
    ++counters_.traps;
    if (out.port != kNoPort && out.port != 0) out_.push_back(out);
}

std::optional<SmpOut> Agent::poll_transmit() {
    if (out_.empty()) return std::nullopt;
    SmpOut out = out_.front();
    out_.pop_front();
    return out;
}

base::Instant Agent::next_deadline() const {
    return std::min(*std::ranges::min_element(lease_ends_), traps_.next_deadline());
}

}  // namespace tulle::control
