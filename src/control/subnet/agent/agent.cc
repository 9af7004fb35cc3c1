#include "control/subnet/agent/agent.h"

#include <algorithm>
#include <cstring>

#include "wire/mad/notice.h"
#include "wire/mad/smp_tables.h"

namespace tulle::control {
namespace {

using wire::PortInfo;

// A trap that nobody repressed is sent again; chosen, the specification leaves it open.
constexpr base::Duration kTrapInterval{100'000'000'000};  // 100 ms
constexpr base::Duration kSecond{1'000'000'000'000};
constexpr uint16_t kLinearCapacity = 0xc000;
constexpr uint64_t kPartitionBlocks = 4;

PortInfo factory_port(const AgentNode& node, uint8_t number) {
    PortInfo info;
    info.local_port = number;
    info.port_state = wire::kPortDown;
    info.physical_state = wire::kPhysicalPolling;
    info.link_down_default_state = 2;
    info.vl_capability = wire::kVl0To7;
    info.operational_vls = wire::kVl0;
    info.mtu_capability = wire::kMtu4096;
    info.neighbor_mtu = wire::kMtu256;
    info.guid_capacity = 32;
    info.link_width_supported = info.link_width_enabled = {wire::kWidth4x};
    info.link_speed_ext_supported = info.link_speed_ext_enabled = {wire::kSpeedNdr};
    info.capability_mask.value = wire::kPortHasTrap | wire::kPortHasSlMapping |
                                 wire::kPortHasExtendedSpeeds | wire::kPortHasCapabilityMask2;
    info.capability_mask2.value = wire::kPortHasSpeedNdr;
    if (node.is_switch && number == 0) {
        info.port_state = wire::kPortActive;
        info.physical_state = wire::kPhysicalLinkUp;
    }
    return info;
}

template <class Attribute>
void put(const Attribute& attribute, SmpBytes& smp) {
    std::fill(smp.data().begin(), smp.data().end(), std::byte{0});
    wire::write(attribute, smp.data());
}

}  // namespace

Agent::Agent(AgentNode node) : node_(std::move(node)) {
    for (unsigned port = 0; port <= node_.port_count; ++port)
        ports_.push_back(factory_port(node_, static_cast<uint8_t>(port)));
    switch_info_.linear_capacity = kLinearCapacity;
    switch_info_.multicast_capacity = 0x1000;
    switch_info_.partition_enforcement_capacity = 32;
    switch_info_.enhanced_port0 = true;
}

void Agent::on_smp(base::Instant now, uint8_t port, const SmpBytes& smp, uint16_t from) {
    if (smp.is_directed()) {
        if (smp.is_returning())
            return_directed(smp);
        else
            take_directed(now, port, smp);
        return;
    }
    answer(now, port, from, smp);
}

// 14.2.2.2: on the way out each node notes the port by which the SMP came, and the place on the
// path moves on; at its end the node answers.
void Agent::take_directed(base::Instant now, uint8_t port, SmpBytes smp) {
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

// 14.2.2.4: the way back is the ports that were noted.
void Agent::return_directed(SmpBytes smp) {
    const uint8_t hop = smp.hop_pointer();
    if (hop == 0 || hop > smp.hop_count() + 1) {
        ++counters_.bad_path;
        return;
    }
    smp.set_hop_pointer(static_cast<uint8_t>(hop - 1));
    if (hop == 1)
        out_.push_back({0, 0, smp});
    else
        pass_out(smp, smp.return_path(static_cast<uint8_t>(hop - 1)));
}

void Agent::pass_out(const SmpBytes& smp, uint8_t port) {
    if (port == 0 || port > node_.port_count || ports_[port].port_state == wire::kPortDown) {
        ++counters_.bad_path;
        return;
    }
    ++counters_.passed_on;
    out_.push_back({port, 0, smp});
}

void Agent::answer(base::Instant now, uint8_t port, uint16_t from, SmpBytes smp) {
    const uint8_t method = smp.method();
    if (method == wire::kMethodTrapRepress) {
        trap_at_ = base::Instant::never();
        return;
    }
    if (method != wire::kMethodGet && method != wire::kMethodSet) {
        if (!smp.is_directed()) out_.push_back({0, 0, smp});  // for a manager that lives here
        return;
    }
    if (!accepts_key(now, port, smp)) return;
    const uint16_t status = serve(port, method == wire::kMethodSet, smp);
    counters_.unsupported += status != wire::kStatusOk;
    ++counters_.answered;
    smp.answer(status);
    if (!smp.is_directed())
        out_.push_back({port, from, smp});
    else if (smp.hop_count() == 0)
        out_.push_back({0, 0, smp});
    else
        return_directed(smp);
}

// 14.2.4: a Set needs the key. At protection levels 2 and 3 a Get needs it too. A wrong key gets no
// answer, is counted, and starts the lease; once that has run out the key no longer protects.
bool Agent::accepts_key(base::Instant now, uint8_t port, const SmpBytes& smp) {
    PortInfo& guard = ports_[guarding_port(std::max<uint8_t>(port, 1))];
    if (guard.m_key.value == 0) return true;
    if (smp.m_key() == guard.m_key.value) {
        lease_ends_ = base::Instant::never();
        return true;
    }
    if (smp.method() == wire::kMethodGet && guard.m_key_protect_bits < 2) return true;
    if (smp.attribute() == wire::kSmpSmInfo) return true;
    ++counters_.bad_m_key;
    if (guard.m_key_violations < 0xffff) ++guard.m_key_violations;
    if (guard.m_key_lease_period != 0 && lease_ends_ == base::Instant::never())
        lease_ends_ = now + guard.m_key_lease_period * kSecond;
    return false;
}

uint16_t Agent::serve(uint8_t port, bool is_set, SmpBytes& smp) {
    switch (smp.attribute()) {
        case wire::kSmpNodeInfo: return serve_node_info(port, smp);
        case wire::kSmpNodeDescription: return serve_description(smp);
        case wire::kSmpSwitchInfo: return serve_switch_info(is_set, smp);
        case wire::kSmpPortInfo: return serve_port_info(port, is_set, smp);
        case wire::kSmpGuidInfo: return serve_guid_info(port, smp);
        case wire::kSmpLinearForwardingTable: return serve_linear(is_set, smp);
        case wire::kSmpSmInfo: return serve_manager(is_set, smp);
        case wire::kSmpPKeyTable: return serve_kept(is_set, smp, kPartitionBlocks);
        case wire::kSmpSlToVlMappingTable:
        case wire::kSmpVlArbitrationTable:
        case wire::kSmpMulticastForwardingTable: return serve_kept(is_set, smp, ~uint64_t{0});
        default: return wire::kStatusMethodAttributeUnsupported;
    }
}

uint16_t Agent::serve_node_info(uint8_t port, SmpBytes& smp) const {
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

uint16_t Agent::serve_description(SmpBytes& smp) const {
    wire::NodeDescription description;
    std::copy_n(node_.description.begin(),
                std::min(node_.description.size(), description.text.size()),
                description.text.begin());
    put(description, smp);
    return wire::kStatusOk;
}

uint16_t Agent::serve_switch_info(bool is_set, SmpBytes& smp) {
    if (!node_.is_switch) return wire::kStatusMethodAttributeUnsupported;
    if (is_set) {
        const auto wanted = *wire::parse<wire::SwitchInfo>(smp.data());
        if (wanted.linear_top >= kLinearCapacity) return wire::kStatusInvalidValue;
        switch_info_.linear_top = wanted.linear_top;
        switch_info_.life_time = wanted.life_time;
        switch_info_.default_port = wanted.default_port;
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

uint16_t Agent::serve_port_info(uint8_t port, bool is_set, SmpBytes& smp) {
    const auto meant = port_meant(port, smp.modifier() & 0xff);
    if (!meant) return wire::kStatusInvalidValue;
    if (is_set)
        if (!set_port(*meant, *wire::parse<PortInfo>(smp.data()))) return wire::kStatusInvalidValue;
    PortInfo shown = ports_[*meant];
    // At level 1 only who knows the key may read it.
    if (shown.m_key_protect_bits != 0 && smp.m_key() != shown.m_key.value) shown.m_key = {};
    put(shown, smp);
    return wire::kStatusOk;
}

// What a manager may set (14.2.5.6). The state moves as 7.2 allows: Init to Armed to Active.
std::optional<uint8_t> Agent::set_port(uint8_t number, const PortInfo& wanted) {
    PortInfo& port = ports_[number];
    if (wanted.lid.value > kMaxUnicastLid || wanted.lmc > 7) return std::nullopt;
    if (wanted.operational_vls > port.vl_capability || wanted.neighbor_mtu > port.mtu_capability)
        return std::nullopt;
    const bool moves = wanted.port_state != wire::kPortNoChange;
    const bool is_next =
        (wanted.port_state == wire::kPortArmed && port.port_state == wire::kPortInitialize) ||
        (wanted.port_state == wire::kPortActive && port.port_state == wire::kPortArmed) ||
        wanted.port_state == port.port_state;
    if (moves && !is_next && wanted.port_state != wire::kPortDown) return std::nullopt;
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
    if (moves && port.port_state != wire::kPortDown)
        port.port_state = wanted.port_state == wire::kPortDown ? uint8_t{wire::kPortInitialize}
                                                               : wanted.port_state;
    return number;
}

uint16_t Agent::serve_guid_info(uint8_t port, SmpBytes& smp) const {
    wire::GuidInfo info;
    if (smp.modifier() >= 4) return wire::kStatusInvalidValue;
    if (smp.modifier() == 0)
        info.guids[0].value = node_.guid + (node_.is_switch ? 0u : std::max<uint8_t>(port, 1));
    put(info, smp);
    return wire::kStatusOk;
}

uint16_t Agent::serve_linear(bool is_set, SmpBytes& smp) {
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

uint16_t Agent::serve_kept(bool is_set, SmpBytes& smp, uint64_t limit) {
    if ((smp.modifier() & 0xffff) >= limit) return wire::kStatusInvalidValue;
    const uint64_t key = uint64_t{smp.attribute()} << 32 | smp.modifier();
    if (is_set) {
        auto& kept = kept_[key];
        std::copy(smp.data().begin(), smp.data().end(), kept.begin());
        return wire::kStatusOk;
    }
    const auto found = kept_.find(key);
    std::fill(smp.data().begin(), smp.data().end(), std::byte{0});
    if (found != kept_.end())
        std::copy(found->second.begin(), found->second.end(), smp.data().begin());
    return wire::kStatusOk;
}

uint16_t Agent::serve_manager(bool is_set, SmpBytes& smp) {
    if (!manager_) return wire::kStatusMethodAttributeUnsupported;
    if (is_set) manager_control_ = smp.modifier();
    put(*manager_, smp);
    return wire::kStatusOk;
}

void Agent::set_manager(const std::optional<wire::SmInfo>& info) {
    manager_ = info;
    for (PortInfo& port : ports_)
        port.capability_mask.value = info ? port.capability_mask.value | wire::kPortIsSm
                                          : port.capability_mask.value & ~wire::kPortIsSm;
}

std::optional<uint32_t> Agent::poll_manager_control() {
    return std::exchange(manager_control_, std::nullopt);
}

void Agent::set_link(base::Instant now, uint8_t number, bool is_up) {
    PortInfo& port = ports_[number];
    if (is_up == (port.port_state != wire::kPortDown)) return;
    port.port_state = is_up ? wire::kPortInitialize : wire::kPortDown;
    port.physical_state = is_up ? wire::kPhysicalLinkUp : wire::kPhysicalPolling;
    port.link_width_active.value = is_up ? wire::kWidth4x : 0;
    port.link_speed_ext_active.value = is_up ? wire::kSpeedNdr : 0;
    if (!node_.is_switch) return;
    switch_info_.port_state_change = true;
    if (lid() != 0) trap_at_ = now;
}

void Agent::on_timer(base::Instant now) {
    if (now >= lease_ends_) {
        lease_ends_ = base::Instant::never();
        for (PortInfo& port : ports_) port.m_key_protect_bits = 0;
    }
    if (now < trap_at_) return;
    trap_at_ = now + kTrapInterval;
    send_trap();
}

// Trap 128: a link of this switch came or went. It is routed by LID, like any other packet.
void Agent::send_trap() {
    const uint16_t to = ports_[0].master_sm_lid.value;
    if (to == 0) return;
    wire::LidRoutedSmp smp;
    smp.header.base_version = smp.header.class_version = 1;
    smp.header.management_class.value = wire::kClassSubnetLidRouted;
    smp.header.method.value = wire::kMethodTrap;
    smp.header.attribute_id.value = wire::kSmpNotice;
    smp.header.transaction_id.value = ++trap_number_;
    wire::Notice notice;
    notice.is_generic = true;
    notice.type = wire::kNoticeUrgent;
    notice.producer_type = wire::kNodeSwitch;
    notice.trap_number = wire::kTrapLinkStateChanged;
    notice.issuer_lid.value = lid();
    wire::TrapLinkState details;
    details.lid.value = lid();
    std::array<std::byte, 54> bytes{};
    wire::write(details, bytes);
    std::memcpy(notice.details.data(), bytes.data(), bytes.size());
    SmpOut out{route(to), to, {}};
    wire::write(smp, out.smp.bytes());
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
    return std::min(lease_ends_, trap_at_);
}

uint8_t Agent::lane(uint8_t in_port, uint8_t out_port, uint8_t service_level) const {
    const uint64_t key =
        uint64_t{wire::kSmpSlToVlMappingTable} << 32 | uint32_t{in_port} << 8 | out_port;
    const auto found = kept_.find(key);
    if (found == kept_.end()) return 0;
    return wire::parse<wire::SlToVlMappingTable>(found->second)->vl_of_sl[service_level & 15];
}

}  // namespace tulle::control
