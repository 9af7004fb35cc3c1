// Settings of hosts: the transport, its latencies, and congestion control.
#include <fmt/format.h>

#include <bit>

#include "base/words.h"
#include "scenario/setting_tables.h"

namespace tulle::scenario {
namespace {

using transport::Algorithm;
using transport::Delivery;
using transport::LossPolicy;
using transport::NotificationSettings;
using transport::PathPolicy;

std::vector<Setting> transport_settings() {
    return {
        {"hosts.service", Use::always,
         choice<sim::Service>(TULLE_AT(host.service), {{"reliable", sim::Service::reliable},
                                                       {"unreliable", sim::Service::unreliable},
                                                       {"rd", sim::Service::datagram}}),
         "reliable: with acknowledgements (RC); unreliable: without (UC), so lost data stays lost; "
         "rd: reliable datagrams (RD), one message at a time between two hosts"},
        {"hosts.loss", Use::always,
         choice<LossPolicy>(TULLE_AT(host.loss),
                            {{"go_back_n", LossPolicy::go_back_n},
                             {"selective_repeat", LossPolicy::selective_repeat}}),
         "what is retransmitted after a loss: everything since, or what is missing"},
        {"hosts.mtu", Use::always, number<uint32_t>(TULLE_AT(host.mtu), 256, 10'240),
         "payload of a full packet: 256, 512, 1024, 2048 or 4096; with fixed headers any multiple "
         "of 4"},
        {"hosts.reorder_tolerance", Use::always,
         number<uint32_t>(TULLE_AT(host.reorder_tolerance), 0, 1 << 15),
         "with selective repeat: packets that may overtake a late one before it counts as lost"},
        {"hosts.reorder_packets", Use::always,
         number<uint32_t>(TULLE_AT(host.reorder_packets), 2, 1 << 15),
         "with selective repeat: how many packets after a missing one are sent and kept"},
        {"hosts.delivery", Use::always,
         choice<Delivery>(TULLE_AT(host.delivery), {{"ordered", Delivery::ordered},
                                                    {"placed", Delivery::placed},
                                                    {"unordered", Delivery::unordered}}),
         "with selective repeat. ordered: packets are taken in order (RC); placed: data of WRITEs "
         "goes to memory as it arrives, and messages complete in order; unordered: each message "
         "completes when all of it has arrived"},
        {"hosts.paths.policy", Use::spread,
         choice<PathPolicy>(TULLE_AT(host.paths.policy), {{"one", PathPolicy::one},
                                                          {"oblivious", PathPolicy::oblivious},
                                                          {"bitmap", PathPolicy::bitmap},
                                                          {"reps", PathPolicy::reps},
                                                          {"round_trip", PathPolicy::round_trip}}),
         "how a sender chooses the entropy value of a packet, from which switches choose a path "
         "(fabric.route.choice: ecmp). one: always the same; oblivious: all in turn; bitmap: those "
         "without congestion; reps: those that came back unmarked; round_trip: those with a short "
         "round trip"},
        {"hosts.paths.count", Use::spread,
         Field{"power of two from 2 to 4096",
               [](Target& target, const Value& value) -> Complaint {
                   uint64_t count = 0;
                   if (auto wrong = detail::not_a_number(value, 2, 4096, count)) return wrong;
                   if (!std::has_single_bit(count)) return "write a power of two from 2 to 4096";
                   target.host.paths.count = static_cast<uint32_t>(count);
                   return std::nullopt;
               }},
         "number of entropy values of a queue pair"},
        {"hosts.answers_apart", Use::always, yes_no(TULLE_AT(host.answers_apart)),
         "whether acknowledgements travel in the class of notifications "
         "(congestion.notifications.level and dscp), before data, as in Ultra Ethernet"},
        {"hosts.ack_every", Use::always, number<uint32_t>(TULLE_AT(host.ack_every), 1, 1 << 15),
         "packets between requests for an acknowledgement"},
        {"hosts.coalesce_acks", Use::always, yes_no(TULLE_AT(host.coalesce_acks)),
         "whether a newer acknowledgement replaces one that still waits to be sent"},
        {"hosts.window", Use::always, number<uint32_t>(TULLE_AT(host.window_packets), 0, 1 << 22),
         "packets in flight of a queue pair; 0: limited by the transport only. With selective "
         "repeat, packets that are known to have arrived do not count"},
        {"hosts.ack_timeout", Use::always, number<uint8_t>(TULLE_AT(host.ack_timeout), 0, 31),
         "the retransmission timeout: 4.096 us times 2 to the power of this; 0: none"},
        {"hosts.timeout.high", Use::always, duration(TULLE_AT(host.timeouts.high)),
         "the retransmission timeout instead of ack_timeout, doubled with each timeout in a row; "
         "0: ack_timeout"},
        {"hosts.timeout.low", Use::always, duration(TULLE_AT(host.timeouts.low)),
         "the same while few packets are in flight; 0: as high"},
        {"hosts.timeout.few", Use::always,
         number<uint32_t>(TULLE_AT(host.timeouts.few_packets), 0, 1 << 15),
         "how many packets in flight count as few"},
        {"hosts.retry_count", Use::always, number<uint8_t>(TULLE_AT(host.retry_count), 0, 7),
         "timeouts before a queue pair gives up"},
        {"hosts.send_latency", Use::always, duration(TULLE_AT(host.send_latency)),
         "time from the doorbell to the first bit"},
        {"hosts.receive_latency", Use::always, duration(TULLE_AT(host.receive_latency)),
         "time from the last bit to the completion"},
        {"hosts.receive_buffer", Use::always, size64(TULLE_AT(host.receive_buffer_bytes)),
         "buffer of an adapter; when it is full, it stops its link"},
        {"hosts.reaction", Use::always, duration(TULLE_AT(host.reaction)),
         "time that a rank of a program takes from the event that it waits for to the doorbell of "
         "its next message"},
    };
}

// Settings between memory and the adapter: bus, kernel, processors and copies.
std::vector<Setting> machine_settings() {
    return {
        {"hosts.send_toll.per_packet", Use::always, duration(TULLE_AT(host.send_toll.per_packet)),
         "time of each packet on its way from memory to the adapter, one packet after another"},
        {"hosts.send_toll.rate", Use::always, rate_or_off(TULLE_AT(host.send_toll.rate)),
         "rate of payload on that way: PCI Express, or the work of the kernel"},
        {"hosts.receive_toll.per_packet", Use::always,
         duration(TULLE_AT(host.receive_toll.per_packet)), "the same from the adapter to memory"},
        {"hosts.receive_toll.rate", Use::always, rate_or_off(TULLE_AT(host.receive_toll.rate)),
         "the same; packets that wait fill hosts.receive_buffer"},
        {"hosts.memory.latency", Use::always, duration(TULLE_AT(host.memory.latency)),
         "time of the read, across the bus and back, that fetches the first packet of a message or "
         "of a READ's answer from memory"},
        {"hosts.memory.rate", Use::always, rate_or_off(TULLE_AT(host.memory.rate)),
         "rate of the bus: it delays the first packet of a message on its way out, and each whole "
         "packet on its way into memory; off: no delay"},
        {"hosts.memory.max_inline", Use::always, size32(TULLE_AT(host.memory.max_inline)),
         "largest message that comes with the doorbell and is not fetched from memory"},
        {"hosts.cpu.per_message_sent", Use::always, duration(TULLE_AT(host.cpu.per_message_sent)),
         "CPU time for the report alone; tolls are what slows traffic down"},
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
         "whether messages of a program are copied through host memory at both ends, as without "
         "GPUDirect"},
        {"hosts.staging.latency", Use::staging, duration(TULLE_AT(host.staging.latency)),
         "latency of each copy"},
        {"hosts.staging.rate", Use::staging, rate(TULLE_AT(host.staging.rate)),
         "rate of copies, one after another in each direction"},
        {"hosts.staging.cpu_per_copy", Use::staging, duration(TULLE_AT(host.staging.cpu_per_copy)),
         "CPU time of each copy"},
    };
}

Choices<Algorithm> algorithm_names() {
    Choices<Algorithm> names{{"none", Algorithm::none}};
    transport::for_each_algorithm([&](std::string_view name, auto algorithm, auto, auto) {
        if (algorithm != Algorithm::plugin) names.emplace_back(name, algorithm);
    });
    return names;
}

std::string unknown_algorithm(const std::string& word) {
    std::vector<std::string_view> known;
    for (const auto& [name, algorithm] : algorithm_names()) known.push_back(name);
    return fmt::format("'{}' is unknown here; {}", word.substr(0, 40),
                       base::did_you_mean(word, known,
                                          fmt::format("write one of {}, or a file such as "
                                                      "./mine.so",
                                                      base::joined(known))));
}

// One of the list, or the file of a plug-in; code that may open files loads it later.
Field algorithm_field() {
    Field named = choice<Algorithm>(TULLE_AT(host.congestion), algorithm_names());
    return {named.type + ", or a file", [named](Target& target, const Value& value) -> Complaint {
                if (!value.is_text() || !transport::is_plugin_source(value.text)) {
                    const Complaint wrong = named.read(target, value);
                    return wrong && value.is_text() ? unknown_algorithm(value.text) : wrong;
                }
                target.host.congestion = Algorithm::plugin;
                target.host.algorithms.plugin.source = value.text;
                return std::nullopt;
            }};
}

std::vector<Setting> congestion_settings() {
    return {
        {"hosts.congestion.algorithm", Use::always, algorithm_field(),
         "the congestion control of a queue pair; a file is a plug-in, ./mine.so or "
         "./mine.so:key=value:key=value (docs/EXTENDING.md)"},
        {"hosts.congestion.notifications.way", Use::notifications,
         choice<NotificationSettings::Way>(TULLE_AT(host.notifications.way),
                                           {{"packet", NotificationSettings::Way::packet},
                                            {"answer", NotificationSettings::Way::answer}}),
         "how a receiver reports marks: in a packet of its own (CNP), or as BECN in its next "
         "answer"},
        {"hosts.congestion.notifications.interval", Use::notifications,
         duration(TULLE_AT(host.notifications.interval)),
         "shortest time between two notifications of a queue pair"},
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
         "DSCP of notification packets"},
    };
}

}  // namespace

std::vector<Setting> host_settings() {
    std::vector<Setting> all = transport_settings();
    for (auto part : {machine_settings(), congestion_settings(), algorithm_settings()})
        all.insert(all.end(), part.begin(), part.end());
    return all;
}

}  // namespace tulle::scenario
