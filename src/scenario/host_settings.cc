// Settings of hosts: the transport, its latencies, and congestion control.
#include "scenario/setting_tables.h"

namespace tulle::scenario {
namespace {

using transport::Algorithm;
using transport::DcqcnSettings;
using transport::LossPolicy;
using transport::NotificationSettings;

std::vector<Setting> transport_settings() {
    return {
        {"hosts.service", Use::always,
         choice<sim::Service>(TULLE_AT(host.service), {{"reliable", sim::Service::reliable},
                                                       {"unreliable", sim::Service::unreliable}}),
         "of messages of a program: with acknowledgements (RC), or without (UC), which wants a "
         "fabric that loses nothing: what is lost stays lost"},
        {"hosts.loss", Use::always,
         choice<LossPolicy>(TULLE_AT(host.loss),
                            {{"go_back_n", LossPolicy::go_back_n},
                             {"selective_repeat", LossPolicy::selective_repeat}}),
         "what is sent again after a loss: all since, or what is missing"},
        {"hosts.mtu", Use::always, number<uint32_t>(TULLE_AT(host.mtu), 256, 10'240),
         "payload of a full packet: 256, 512, 1024, 2048 or 4096; others with fixed headers only"},
        {"hosts.reorder_tolerance", Use::always,
         number<uint32_t>(TULLE_AT(host.reorder_tolerance), 0, 1 << 15),
         "with selective repeat: packets that may overtake a late one before it counts as lost"},
        {"hosts.reorder_packets", Use::always,
         number<uint32_t>(TULLE_AT(host.reorder_packets), 2, 1 << 15),
         "with selective repeat: how far ahead of a missing packet others are sent and kept"},
        {"hosts.ack_every", Use::always, number<uint32_t>(TULLE_AT(host.ack_every), 1, 1 << 15),
         "packets between requests for an acknowledgement"},
        {"hosts.coalesce_acks", Use::always, yes_no(TULLE_AT(host.coalesce_acks)),
         "whether an acknowledgement that waits is replaced by the next one"},
        {"hosts.window", Use::always, number<uint32_t>(TULLE_AT(host.window_packets), 0, 1 << 22),
         "packets in flight of a queue pair; 0: as many as the transport allows. With selective "
         "repeat, those that the receiver is known to have do not count"},
        {"hosts.ack_timeout", Use::always, number<uint8_t>(TULLE_AT(host.ack_timeout), 0, 31),
         "4.096 us times 2 to the power of this; 0: none"},
        {"hosts.timeout.high", Use::always, duration(TULLE_AT(host.timeouts.high)),
         "instead of ack_timeout: how long silence lasts before it counts as loss, doubled with "
         "each timeout in a row; 0: ack_timeout"},
        {"hosts.timeout.low", Use::always, duration(TULLE_AT(host.timeouts.low)),
         "the same with few packets in flight; 0: as high"},
        {"hosts.timeout.few", Use::always,
         number<uint32_t>(TULLE_AT(host.timeouts.few_packets), 0, 1 << 15),
         "so many packets in flight are few"},
        {"hosts.retry_count", Use::always, number<uint8_t>(TULLE_AT(host.retry_count), 0, 7),
         "timeouts before a queue pair gives up"},
        {"hosts.send_latency", Use::always, duration(TULLE_AT(host.send_latency)),
         "from the doorbell to the first bit"},
        {"hosts.receive_latency", Use::always, duration(TULLE_AT(host.receive_latency)),
         "from the last bit to the completion"},
        {"hosts.receive_buffer", Use::always, size64(TULLE_AT(host.receive_buffer_bytes)),
         "of an adapter, before it holds up its link"},
        {"hosts.reaction", Use::always, duration(TULLE_AT(host.reaction)),
         "from what a rank of a program waits for to the doorbell of what it sends then"},
    };
}

// Between memory and the adapter: bus, kernel, processors and copies.
std::vector<Setting> machine_settings() {
    return {
        {"hosts.send_toll.per_packet", Use::always, duration(TULLE_AT(host.send_toll.per_packet)),
         "from memory to the adapter packets go one after another; each takes this"},
        {"hosts.send_toll.rate", Use::always, rate_or_off(TULLE_AT(host.send_toll.rate)),
         "and its payload takes its time at this rate: PCI Express, or the kernel's work"},
        {"hosts.receive_toll.per_packet", Use::always,
         duration(TULLE_AT(host.receive_toll.per_packet)), "the same from the adapter to memory"},
        {"hosts.receive_toll.rate", Use::always, rate_or_off(TULLE_AT(host.receive_toll.rate)),
         "the same; what waits fills hosts.receive_buffer"},
        {"hosts.memory.latency", Use::always, duration(TULLE_AT(host.memory.latency)),
         "a message's first packet is fetched from memory before it goes, and so is the first of a "
         "READ's answer: the latency of that read, across the bus and back"},
        {"hosts.memory.rate", Use::always, rate_or_off(TULLE_AT(host.memory.rate)),
         "of the bus: what a first packet takes besides, and what a packet takes into memory once "
         "it is whole; off: nothing"},
        {"hosts.memory.max_inline", Use::always, size32(TULLE_AT(host.memory.max_inline)),
         "a message that is no longer comes with the doorbell and is not fetched"},
        {"hosts.cpu.per_message_sent", Use::always, duration(TULLE_AT(host.cpu.per_message_sent)),
         "time of processors, for the report alone; what slows traffic down is a toll"},
        {"hosts.cpu.per_message_received", Use::always,
         duration(TULLE_AT(host.cpu.per_message_received)), "the same"},
        {"hosts.cpu.per_packet_sent", Use::always, duration(TULLE_AT(host.cpu.per_packet_sent)),
         "the same; acknowledgements are packets too"},
        {"hosts.cpu.per_packet_received", Use::always,
         duration(TULLE_AT(host.cpu.per_packet_received)), "the same"},
        {"hosts.cpu.per_kib_sent", Use::always,
         duration_a_kib(TULLE_AT(host.cpu.per_byte_sent_e18)), "the same, of payload"},
        {"hosts.cpu.per_kib_received", Use::always,
         duration_a_kib(TULLE_AT(host.cpu.per_byte_received_e18)), "the same"},
        {"hosts.staging.on", Use::always, yes_no(TULLE_AT(host.staging.is_on)),
         "without GPUDirect: messages of a program are copied through host memory at both ends"},
        {"hosts.staging.latency", Use::staging, duration(TULLE_AT(host.staging.latency)),
         "of each copy"},
        {"hosts.staging.rate", Use::staging, rate(TULLE_AT(host.staging.rate)),
         "of copies, one after another in each direction"},
        {"hosts.staging.cpu_per_copy", Use::staging, duration(TULLE_AT(host.staging.cpu_per_copy)),
         "time of processors"},
    };
}

std::vector<Setting> congestion_settings() {
    return {
        {"hosts.congestion.algorithm", Use::always,
         choice<Algorithm>(TULLE_AT(host.congestion), {{"none", Algorithm::none},
                                                       {"fixed_rate", Algorithm::fixed_rate},
                                                       {"dcqcn", Algorithm::dcqcn},
                                                       {"ib_cc", Algorithm::ib_cc},
                                                       {"timely", Algorithm::timely},
                                                       {"dctcp", Algorithm::dctcp}}),
         "what a queue pair does about congestion"},
        {"hosts.congestion.notifications.way", Use::notifications,
         choice<NotificationSettings::Way>(TULLE_AT(host.notifications.way),
                                           {{"packet", NotificationSettings::Way::packet},
                                            {"answer", NotificationSettings::Way::answer}}),
         "how a receiver tells of marks: a packet of its own (CNP), or BECN in its next answer"},
        {"hosts.congestion.notifications.interval", Use::notifications,
         duration(TULLE_AT(host.notifications.interval)), "least time between two of a queue pair"},
        {"hosts.congestion.notifications.level", Use::notification_packets,
         number<uint8_t>(TULLE_AT(host.notifications.service_level), 0, 15),
         "service level or priority of notification packets"},
        {"hosts.congestion.notifications.dscp", Use::notification_packets,
         Field{"whole number from 0 to 63",
               [](Target& target, const Value& value) -> Complaint {
                   uint64_t dscp = 0;
                   if (auto wrong = detail::not_a_number(value, 0, 63, dscp)) return wrong;
                   target.host.notifications.traffic_class = static_cast<uint8_t>(dscp << 2);
                   return std::nullopt;
               }},
         "of notification packets"},
        {"hosts.congestion.fixed_rate.rate", Use::fixed_rate,
         bits_per_second(TULLE_AT(host.fixed_rate_bps)), "of each queue pair, always"},
        {"hosts.congestion.ib_cc.increase", Use::ib_cc,
         number<uint16_t>(TULLE_AT(host.ib_cc.increase), 1, 0xffff),
         "CCTI_Increase: a BECN raises the index by this"},
        {"hosts.congestion.ib_cc.timer", Use::ib_cc,
         number<uint16_t>(TULLE_AT(host.ib_cc.timer), 0, 0xffff),
         "CCTI_Timer: in so many times 1.024 us the index falls by one; 0: never"},
        {"hosts.congestion.ib_cc.minimum", Use::ib_cc,
         number<uint16_t>(TULLE_AT(host.ib_cc.minimum), 0, 0xffff),
         "CCTI_Min: the index never falls below"},
        {"hosts.congestion.ib_cc.table", Use::ib_cc, congestion_table(TULLE_AT(host.ib_cc.table)),
         "the CCT: delay after a packet, in times of the packet on the line"},
        {"hosts.congestion.timely.low", Use::timely, duration(TULLE_AT(host.timely.low)),
         "T_low: the rate rises below this round trip"},
        {"hosts.congestion.timely.high", Use::timely, positive_duration(TULLE_AT(host.timely.high)),
         "T_high: the rate falls above this round trip"},
        {"hosts.congestion.timely.smallest", Use::timely,
         positive_duration(TULLE_AT(host.timely.smallest)), "the round trip of an idle network"},
        {"hosts.congestion.timely.min_rate", Use::timely,
         bits_per_second(TULLE_AT(host.timely.min_rate_bps)), "no rate is lower"},
        {"hosts.congestion.timely.step", Use::timely,
         bits_per_second(TULLE_AT(host.timely.step_bps)), "of additive increase"},
        {"hosts.congestion.timely.weight", Use::timely,
         part_signed(TULLE_AT(host.timely.weight), transport::kTimelyOne),
         "of the newest difference of round trips in their average"},
        {"hosts.congestion.timely.beta", Use::timely,
         part_signed(TULLE_AT(host.timely.beta), transport::kTimelyOne), "of decrease"},
        {"hosts.congestion.timely.hyper_after", Use::timely,
         number<uint8_t>(TULLE_AT(host.timely.hyper_after), 1, 255),
         "round trips in a row that do not rise, before steps grow"},
        {"hosts.congestion.timely.hyper_steps", Use::timely,
         number<uint8_t>(TULLE_AT(host.timely.hyper_steps), 1, 255), "steps at a time then"},
        {"hosts.congestion.dctcp.gain", Use::dctcp,
         part32(TULLE_AT(host.dctcp.gain), transport::kDctcpOne),
         "g: weight of the newest window in alpha"},
        {"hosts.congestion.dctcp.initial_alpha", Use::dctcp,
         part32(TULLE_AT(host.dctcp.initial_alpha), transport::kDctcpOne),
         "alpha before the first window"},
        {"hosts.congestion.dctcp.initial_window", Use::dctcp,
         number<uint32_t>(TULLE_AT(host.dctcp.initial_window), 2, 10'000),
         "packets in flight at first"},
    };
}

#define TULLE_DCQCN(member) TULLE_AT(host.dcqcn.member)

std::vector<Setting> dcqcn_settings() {
    std::vector<Setting> settings = {
        {"min_rate", Use::dcqcn, bits_per_second(TULLE_DCQCN(min_rate_bps)), "no rate is lower"},
        {"first_rate", Use::dcqcn, bits_per_second(TULLE_DCQCN(first_rate_bps)),
         "what the first notification sets; by default it sets nothing"},
        {"additive", Use::dcqcn, bits_per_second(TULLE_DCQCN(additive_bps)),
         "R_AI: step of additive increase"},
        {"hyper", Use::dcqcn, bits_per_second(TULLE_DCQCN(hyper_bps)),
         "R_HAI: step of hyper increase"},
        {"alpha_interval", Use::dcqcn, positive_duration(TULLE_DCQCN(alpha_interval)),
         "between updates of alpha"},
        {"decrease_interval", Use::dcqcn, positive_duration(TULLE_DCQCN(decrease_interval)),
         "the rate falls once in this time"},
        {"check_delay", Use::dcqcn, duration(TULLE_DCQCN(check_delay)),
         "the first look for a notification comes so much later"},
        {"increase_interval", Use::dcqcn, duration_or_off(TULLE_DCQCN(increase_interval)),
         "the timer that raises the rate"},
        {"increase_bytes", Use::dcqcn, size32(TULLE_DCQCN(increase_bytes)),
         "the byte counter that raises the rate; 0: none"},
        {"gain", Use::dcqcn, part32(TULLE_DCQCN(gain), transport::kGainOne),
         "g: weight of the newest in alpha"},
        {"initial_alpha", Use::dcqcn, part32(TULLE_DCQCN(initial_alpha), transport::kAlphaOne),
         "alpha before the first notification"},
        {"fast_recovery_steps", Use::dcqcn,
         number<uint8_t>(TULLE_DCQCN(fast_recovery_steps), 1, 255),
         "F: increases before the target rises"},
        {"decrease", Use::dcqcn,
         choice<DcqcnSettings::Decrease>(TULLE_DCQCN(decrease),
                                         {{"at_check", DcqcnSettings::Decrease::at_check},
                                          {"at_once", DcqcnSettings::Decrease::at_once}}),
         "when the interval ends (adapters), or with a notification (the paper)"},
        {"alpha", Use::dcqcn,
         choice<DcqcnSettings::Alpha>(TULLE_DCQCN(alpha),
                                      {{"at_tick", DcqcnSettings::Alpha::at_tick},
                                       {"at_notification", DcqcnSettings::Alpha::at_notification}}),
         "when alpha rises: at ticks (adapters), or with a notification (the paper)"},
        {"stage", Use::dcqcn,
         choice<DcqcnSettings::Stage>(TULLE_DCQCN(stage),
                                      {{"before_count", DcqcnSettings::Stage::before_count},
                                       {"after_count", DcqcnSettings::Stage::after_count}}),
         "a step belongs to the stage that it ends, or to the one that it begins"},
        {"clamp_target", Use::dcqcn, yes_no(TULLE_DCQCN(clamp_target)),
         "every decrease sets the target to the rate before"},
        {"clamp_target_after_increase", Use::dcqcn,
         yes_no(TULLE_DCQCN(clamp_target_after_increase)),
         "only the first one after the timer raised the rate does"},
        {"pacing_tick", Use::dcqcn, positive_duration(TULLE_DCQCN(pacing_tick)),
         "distances of packets are cut to a multiple of this"},
    };
    for (Setting& setting : settings) setting.path.insert(0, "hosts.congestion.dcqcn.");
    return settings;
}

}  // namespace

std::vector<Setting> host_settings() {
    std::vector<Setting> all = transport_settings();
    for (auto part : {machine_settings(), congestion_settings(), dcqcn_settings()})
        all.insert(all.end(), part.begin(), part.end());
    return all;
}

}  // namespace tulle::scenario
