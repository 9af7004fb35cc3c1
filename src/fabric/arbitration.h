// Arbitration: which lane sends next. There are two kinds: Ethernet's enhanced transmission
// selection (IEEE 802.1Qaz) with strict lanes and deficit round robin, and InfiniBand's high and
// low tables (IBTA vol 1, 7.6.9).
#pragma once

#include <bit>
#include <span>
#include <vector>

#include "fabric/port.h"
#include "fabric/settings.h"

namespace tulle::fabric {

// The position of a port in InfiniBand's tables.
struct VlRound {
    uint8_t high_entry = 0;
    uint8_t low_entry = 0;
    int32_t high_left = 0;  // bytes that the entry may still send
    int32_t low_left = 0;
    uint32_t high_sent = 0;  // bytes since the low table last sent or had nothing waiting
};

// Both choose one of the `eligible` lanes, which must not be empty. `head_bytes[lane]` is the size
// of the lane's first packet.
uint32_t pick_ets(const EtsSettings& ets, Port& port, std::span<LaneWait> lanes, uint16_t eligible,
                  std::span<const uint16_t> head_bytes);
uint32_t pick_vl(const VlArbitration& tables, VlRound& round, uint16_t eligible,
                 std::span<const uint16_t> head_bytes);

// Does so for the ports of a switch.
class Arbiter {
public:
    // `by_port`: empty if all ports have `ets`.
    Arbiter(const Settings& settings, const EtsSettings& ets, std::vector<EtsSettings> by_port,
            uint16_t ports);

    uint32_t pick(uint32_t number, Port& port, std::span<LaneWait> lanes, uint16_t eligible,
                  std::span<const uint16_t> head_bytes);

private:
    const VlArbitration& tables_;
    EtsSettings ets_;
    std::vector<EtsSettings> by_port_;
    std::vector<VlRound> rounds_;  // by port; empty: ETS
};

}  // namespace tulle::fabric
