// The congestion control agent of one node (IBTA vol 1, annex A10). It keeps a manager's settings
// for marking at a switch and for throttling at an adapter, guarded by the CC_Key.
#pragma once

#include <vector>

#include "base/time.h"
#include "control/subnet/agent/mad_bytes.h"
#include "wire/mad/congestion.h"

namespace tulle::control {

inline constexpr uint8_t kControlTableBlocks = 2;  // of 64 entries; chosen

class CongestionAgent {
public:
    CongestionAgent(bool is_switch, uint8_t port_count)
        : is_switch_(is_switch), port_settings_(port_count / 32u + 1u) {}

    // Turns a request into its answer; false: no answer, as for a wrong key.
    bool answer(base::Instant now, MadBytes& mad);

    const wire::SwitchCongestionSetting& switch_setting() const { return switch_setting_; }
    const wire::CaCongestionSetting& adapter_setting() const { return adapter_setting_; }
    uint64_t bad_keys() const { return bad_keys_; }

private:
    bool accepts_key(base::Instant now, const MadBytes& mad);
    uint16_t serve(base::Instant now, bool is_set, MadBytes& mad);
    uint16_t serve_info(uint16_t attribute, bool is_set, wire::MutableBytes data);
    uint16_t serve_switch(uint16_t attribute, uint32_t modifier, bool is_set,
                          wire::MutableBytes data);
    uint16_t serve_adapter(uint16_t attribute, uint32_t modifier, bool is_set,
                           wire::MutableBytes data);
    uint16_t serve_log(base::Instant now, MadBytes& mad) const;

    bool is_switch_;
    uint64_t bad_keys_ = 0;
    base::Instant lease_ends_ = base::Instant::never();
    wire::CongestionKeyInfo key_;
    wire::SwitchCongestionSetting switch_setting_;
    std::vector<wire::SwitchPortCongestionSetting> port_settings_;  // of 32 ports each
    wire::CaCongestionSetting adapter_setting_;
    std::array<wire::CongestionControlTable, kControlTableBlocks> table_{};
};

}  // namespace tulle::control
