// Names of numbers, and rates.
#include <array>

#include "verbs/api.h"

namespace {

struct Rate {
    ibv_rate rate;
    int multiple;  // of 2.5 Gb/s; -1 if there is none
    int mbps;
};

constexpr std::array kRates = {
    Rate{IBV_RATE_2_5_GBPS, 1, 2500},     Rate{IBV_RATE_5_GBPS, 2, 5000},
    Rate{IBV_RATE_10_GBPS, 4, 10000},     Rate{IBV_RATE_20_GBPS, 8, 20000},
    Rate{IBV_RATE_30_GBPS, 12, 30000},    Rate{IBV_RATE_40_GBPS, 16, 40000},
    Rate{IBV_RATE_60_GBPS, 24, 60000},    Rate{IBV_RATE_80_GBPS, 32, 80000},
    Rate{IBV_RATE_120_GBPS, 48, 120000},  Rate{IBV_RATE_14_GBPS, 6, 14062},
    Rate{IBV_RATE_56_GBPS, 22, 56250},    Rate{IBV_RATE_112_GBPS, 45, 112500},
    Rate{IBV_RATE_168_GBPS, 67, 168750},  Rate{IBV_RATE_25_GBPS, 10, 25781},
    Rate{IBV_RATE_100_GBPS, 40, 103125},  Rate{IBV_RATE_200_GBPS, 80, 206250},
    Rate{IBV_RATE_300_GBPS, 120, 309375}, Rate{IBV_RATE_28_GBPS, 11, 28125},
    Rate{IBV_RATE_50_GBPS, 20, 53125},    Rate{IBV_RATE_400_GBPS, 160, 425000},
    Rate{IBV_RATE_600_GBPS, 240, 637500},
};

template <size_t N>
const char* name_in(const std::array<const char*, N>& names, int number) {
    const bool is_known = number >= 0 && static_cast<size_t>(number) < N;
    return is_known ? names[static_cast<size_t>(number)] : "unknown";
}

}  // namespace

TULLE_EXPORT const char* ibv_wc_status_str(ibv_wc_status status) {
    static constexpr std::array kNames = {"success",
                                          "local length error",
                                          "local QP operation error",
                                          "local EE context operation error",
                                          "local protection error",
                                          "Work Request Flushed Error",
                                          "memory management operation error",
                                          "bad response error",
                                          "local access error",
                                          "remote invalid request error",
                                          "remote access error",
                                          "remote operation error",
                                          "transport retry counter exceeded",
                                          "RNR retry counter exceeded",
                                          "local RDD violation error",
                                          "remote invalid RD request",
                                          "aborted error",
                                          "invalid EE context number",
                                          "invalid EE context state",
                                          "fatal error",
                                          "response timeout error",
                                          "general error",
                                          "TM error",
                                          "TM software rendezvous"};
    return name_in(kNames, status);
}

TULLE_EXPORT const char* ibv_event_type_str(ibv_event_type event) {
    static constexpr std::array kNames = {"CQ error",
                                          "local work queue catastrophic error",
                                          "invalid request local work queue error",
                                          "local access violation work queue error",
                                          "communication established",
                                          "send queue drained",
                                          "path migration succeeded",
                                          "path migration failed",
                                          "local catastrophic error",
                                          "port active",
                                          "port error",
                                          "LID changed",
                                          "P_Key table changed",
                                          "subnet manager changed",
                                          "SRQ catastrophic error",
                                          "SRQ limit reached",
                                          "last WQE reached",
                                          "client reregistration",
                                          "GID table changed",
                                          "WQ fatal"};
    return name_in(kNames, event);
}

TULLE_EXPORT const char* ibv_node_type_str(ibv_node_type type) {
    static constexpr std::array kNames = {"unknown",           "InfiniBand channel adapter",
                                          "InfiniBand switch", "InfiniBand router",
                                          "iWARP NIC",         "usNIC",
                                          "usNIC UDP",         "unspecified"};
    return name_in(kNames, type);
}

TULLE_EXPORT const char* ibv_port_state_str(ibv_port_state state) {
    static constexpr std::array kNames = {
        "no state change (NOP)", "PORT_DOWN",        "PORT_INIT", "PORT_ARMED",
        "PORT_ACTIVE",           "PORT_ACTIVE_DEFER"};
    return name_in(kNames, state);
}

TULLE_EXPORT int ibv_rate_to_mult(ibv_rate rate) {
    for (const Rate& known : kRates)
        if (known.rate == rate) return known.multiple;
    return -1;
}

TULLE_EXPORT ibv_rate mult_to_ibv_rate(int multiple) {
    for (const Rate& known : kRates)
        if (known.multiple == multiple) return known.rate;
    return IBV_RATE_MAX;
}

TULLE_EXPORT int ibv_rate_to_mbps(ibv_rate rate) {
    for (const Rate& known : kRates)
        if (known.rate == rate) return known.mbps;
    return -1;
}

TULLE_EXPORT ibv_rate mbps_to_ibv_rate(int mbps) {
    for (const Rate& known : kRates)
        if (known.mbps == mbps) return known.rate;
    return IBV_RATE_MAX;
}
