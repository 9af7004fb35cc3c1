#include "control/subnet/agent/congestion.h"

#include <algorithm>

namespace tulle::control {
namespace {

constexpr base::Duration kLeaseUnit{1'000'000'000'000};  // a second
constexpr int64_t kTimeStampUnit = 1'024'000;            // 1.024 us, in ps

uint32_t time_stamp(base::Instant now) {
    return static_cast<uint32_t>(now.ps / kTimeStampUnit);
}

// Sets the attribute from the data if asked to, and returns its value in the data.
template <class Attribute>
uint16_t exchange(Attribute& own, bool is_set, wire::MutableBytes data) {
    if (is_set) own = *wire::parse<Attribute>(data);
    std::fill(data.begin(), data.end(), std::byte{0});
    wire::write(own, data);
    return wire::kStatusOk;
}

}  // namespace

bool CongestionAgent::answer(base::Instant now, MadBytes& mad) {
    const uint8_t method = mad.method();
    if (method != wire::kMethodGet && method != wire::kMethodSet) return false;
    if (!accepts_key(now, mad)) return false;
    mad.answer(serve(now, method == wire::kMethodSet, mad));
    return true;
}

// A10.4.1: a Set needs the key; a Get needs it if the key is protected. The lease works like that
// of an M_Key.
bool CongestionAgent::accepts_key(base::Instant now, const MadBytes& mad) {
    if (now >= lease_ends_) {
        lease_ends_ = base::Instant::never();
        key_.protect = false;
        key_.cc_key.value = 0;
    }
    if (key_.cc_key.value == 0) return true;
    const uint64_t shown =
        wire::parse<wire::CongestionHeader>(mad.bytes().subspan(wire::MadHeader::kSize))
            ->cc_key.value;
    if (shown == key_.cc_key.value) {
        lease_ends_ = base::Instant::never();
        return true;
    }
    if (mad.method() == wire::kMethodGet && !key_.protect) return true;
    ++bad_keys_;
    if (key_.violations < 0xffff) ++key_.violations;
    if (key_.lease_period != 0 && lease_ends_ == base::Instant::never())
        lease_ends_ = now + key_.lease_period * kLeaseUnit;
    return false;
}

uint16_t CongestionAgent::serve(base::Instant now, bool is_set, MadBytes& mad) {
    const auto data = mad.bytes().subspan(wire::kCongestionDataOffset);
    switch (mad.attribute()) {
        case wire::kCongestionClassPortInfo:
        case wire::kCongestionInfo:
        case wire::kCongestionKeyInfo: return serve_info(mad.attribute(), is_set, data);
        case wire::kCongestionSwitchSetting:
        case wire::kCongestionSwitchPortSetting:
            return serve_switch(mad.attribute(), mad.modifier(), is_set, data);
        case wire::kCongestionCaSetting:
        case wire::kCongestionControlTable:
            return serve_adapter(mad.attribute(), mad.modifier(), is_set, data);
        case wire::kCongestionLog:
        case wire::kCongestionTimeStamp:
            return is_set ? uint16_t{wire::kStatusMethodAttributeUnsupported} : serve_log(now, mad);
        default: return wire::kStatusMethodAttributeUnsupported;
    }
}

uint16_t CongestionAgent::serve_info(uint16_t attribute, bool is_set, wire::MutableBytes data) {
    if (attribute == wire::kCongestionKeyInfo) {
        const uint16_t violations = key_.violations;
        if (is_set) {
            key_ = *wire::parse<wire::CongestionKeyInfo>(data);
            if (key_.violations != 0) key_.violations = violations;  // only 0 sets it
        }
        return exchange(key_, false, data);
    }
    if (is_set) return wire::kStatusMethodAttributeUnsupported;
    if (attribute == wire::kCongestionInfo) {
        wire::CongestionInfo info;
        info.control_table_capacity = is_switch_ ? uint8_t{0} : kControlTableBlocks;
        return exchange(info, false, data);
    }
    wire::ClassPortInfo info;
    info.base_version = 1;
    info.class_version = 2;
    info.response_time = 18;  // about a second
    return exchange(info, false, data);
}

uint16_t CongestionAgent::serve_switch(uint16_t attribute, uint32_t modifier, bool is_set,
                                       wire::MutableBytes data) {
    if (!is_switch_) return wire::kStatusMethodAttributeUnsupported;
    if (attribute == wire::kCongestionSwitchSetting) return exchange(switch_setting_, is_set, data);
    if (modifier >= port_settings_.size()) return wire::kStatusInvalidValue;
    return exchange(port_settings_[modifier], is_set, data);
}

uint16_t CongestionAgent::serve_adapter(uint16_t attribute, uint32_t modifier, bool is_set,
                                        wire::MutableBytes data) {
    if (is_switch_) return wire::kStatusMethodAttributeUnsupported;
    if (attribute == wire::kCongestionCaSetting) return exchange(adapter_setting_, is_set, data);
    if (modifier >= table_.size()) return wire::kStatusInvalidValue;
    return exchange(table_[modifier], is_set, data);
}

uint16_t CongestionAgent::serve_log(base::Instant now, MadBytes& mad) const {
    if (mad.attribute() == wire::kCongestionTimeStamp) {
        wire::CongestionTimeStamp stamp{time_stamp(now)};
        return exchange(stamp, false, mad.bytes().subspan(wire::kCongestionDataOffset));
    }
    const auto data = mad.bytes().subspan(wire::kCongestionLogOffset);
    if (is_switch_) {
        wire::SwitchCongestionLog log;
        log.log_type = wire::kCongestionLogSwitch;
        log.current_time_stamp = time_stamp(now);
        return exchange(log, false, data);
    }
    wire::CaCongestionLog log;
    log.log_type = wire::kCongestionLogCa;
    log.current_time_stamp = time_stamp(now);
    return exchange(log, false, data);
}

}  // namespace tulle::control
