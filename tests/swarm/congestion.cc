#include "make.h"
#include "plugin.h"
#include "transport/congestion/testing.h"

namespace tulle::swarm {
namespace {

using namespace transport;

// READs at less would seem lost to short timers.
constexpr uint64_t kMinRate = 2'000'000'000;

const DcqcnSettings& dcqcn_settings(bool of_paper) {
    static const auto make = [](DcqcnSettings settings) {
        settings.min_rate_bps = kMinRate;
        return settings;
    };
    static const auto paper = make(transport::testing::dcqcn_of_paper(100'000'000'000));
    static const auto adapter = make(DcqcnSettings::of_adapter(100'000'000'000));
    return of_paper ? paper : adapter;
}

const IbCcSettings& ib_cc_settings() {
    static const auto settings = [] {
        IbCcSettings made;
        made.increase = 4;
        made.timer = 20;
        for (uint16_t i = 0; i < 64; ++i) made.table.push_back(cct_entry(2, i));
        return made;
    }();
    return settings;
}

const TimelySettings& timely_settings() {
    static const auto settings = [] {
        TimelySettings made;
        made.min_rate_bps = kMinRate;
        made.low = base::Duration{5'000'000};
        made.high = base::Duration{50'000'000};
        return made;
    }();
    return settings;
}

const SwiftSettings& swift_settings() {
    static const auto settings = [] {
        SwiftSettings made;
        made.least_window = kSwiftOne / 4;
        return made;
    }();
    return settings;
}

const NsccSettings& nscc_settings() {
    static const auto settings = [] {
        NsccSettings made;
        made.line_rate_bps = 100'000'000'000;
        return made;
    }();
    return settings;
}

const PccRttSettings& pcc_rtt_settings() {
    static const auto settings = [] {
        PccRttSettings made;
        made.line_rate_bps = 100'000'000'000;
        made.floor = kPccOne / 50;  // kMinRate
        return made;
    }();
    return settings;
}

const DctcpSettings& dctcp_settings() {
    static const DctcpSettings settings;
    return settings;
}

}  // namespace

CongestionControl draw_congestion(uint64_t seed, uint32_t side) {
    Draw draw(seed, Drawer::congestion, side);
    const uint32_t kind = draw.between(0, 13);
    if (kind < 4) return {};
    if (kind == 4) return CongestionControl(Dctcp(dctcp_settings()));
    if (kind == 5)
        return CongestionControl(
            FixedRate(base::Rate::bits_per_second(24'000'000'000'000, draw.between(1, 3'000))));
    if (kind == 6) return CongestionControl(IbCc(ib_cc_settings()));
    if (kind == 7) return CongestionControl(Timely(timely_settings()));
    if (kind == 10) return CongestionControl(Plugin(plugged_settings()));
    if (kind == 11) return CongestionControl(Swift(swift_settings()));
    if (kind == 12) return CongestionControl(Nscc(nscc_settings()));
    if (kind == 13) return CongestionControl(PccRtt(pcc_rtt_settings()));
    return CongestionControl(Dcqcn(dcqcn_settings(kind == 8)));
}

NotificationSettings draw_notifications(uint64_t seed, uint32_t station) {
    Draw draw(seed, Drawer::notifications, station);
    NotificationSettings settings;
    if (draw.percent(30)) settings.way = NotificationSettings::Way::answer;
    settings.interval = base::Duration{draw.pick({0u, 4'000'000u, 50'000'000u})};
    settings.service_level = static_cast<uint8_t>(draw.between(0, 7));
    return settings;
}

}  // namespace tulle::swarm
