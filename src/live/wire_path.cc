#include "live/wire_path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include "base/rate.h"
#include "live/clock.h"
#include "wire/capture.h"

namespace tulle::live {
namespace {

constexpr size_t kEthernetBytes = 14;
constexpr size_t kIpv4Bytes = 20;
constexpr size_t kGrhBytes = 40;

uint64_t number_in(std::string_view text) {
    uint64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

void set(WireSettings& settings, std::string_view key, std::string_view value) {
    const uint64_t number = number_in(value);
    if (key == "rules") settings.rules = transport::fault_rules_of(value).value_or(settings.rules);
    if (key == "start_ns")
        settings.start =
            now() - base::Duration{(monotonic_ns() - static_cast<int64_t>(number)) * 1000};
    if (key == "delay_ps") settings.delay = base::Duration{static_cast<int64_t>(number)};
    if (key == "rate_bps") settings.rate_bps = number;
    if (key == "seed") settings.seed = number;
    if (key == "strict") settings.is_strict = true;
    if (key == "log") settings.log_file = value;
    if (key == "pcap") settings.capture_file = value;
    if (key == "whole") settings.whole_file = value;
}

const char* word_for(transport::FaultAct act) {
    switch (act) {
        case transport::FaultAct::drop: return "lost";
        case transport::FaultAct::double_it: return "doubled";
        case transport::FaultAct::reorder: return "late";
        case transport::FaultAct::delay: return "delayed";
        case transport::FaultAct::damage: return "damaged";
        case transport::FaultAct::mark: return "marked";
        case transport::FaultAct::refuse: return "refused";
        case transport::FaultAct::link_down: return "link-down";
        case transport::FaultAct::break_it: return "broke-its-receiver";
    }
    return "";
}

// Files are told apart by device and inode, as the kernel does.
uint64_t number_of(const Descriptor& file) {
    struct stat status {};
    if (!file || fstat(file.get(), &status) != 0) return 0;
    return status.st_dev << 48 ^ status.st_ino;
}

Descriptor open_to_append(const std::string& name) {
    if (name.empty()) return Descriptor();
    return Descriptor(open(name.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
}

}  // namespace

WireSettings wire_settings_from_environment() {
    WireSettings settings;
    const char* text = std::getenv("TULLE_WIRE");
    if (text == nullptr || *text == 0) return settings;
    settings.is_on = true;
    if (const char* program = std::getenv("TULLE_PROGRAM"); program != nullptr)
        settings.program = static_cast<uint32_t>(number_in(program));
    std::string_view rest(text);
    while (!rest.empty()) {
        const size_t end = std::min(rest.find(' '), rest.size());
        const std::string_view word = rest.substr(0, end);
        const size_t equals = std::min(word.find('='), word.size());
        if (equals < word.size()) set(settings, word.substr(0, equals), word.substr(equals + 1));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return settings;
}

WirePath::WirePath(const Identity& who, const WireSettings& settings)
    : who_(who),
      settings_(settings),
      rules_(settings.rules, settings.seed, who.rank),
      capture_(open_to_append(settings.capture_file)),
      capture_number_(number_of(capture_)),
      log_(open_to_append(settings.log_file)) {}

wire::Path WirePath::path_to(const Facts& there, const wire::Gid* group, const Ends& ends) const {
    wire::Path path;
    const uint32_t its_port = ends.peer_port <= there.port_count ? ends.peer_port : 1;
    const auto its_gids = there.gids_of(its_port);
    const wire::Gid its_last = its_gids.empty() ? there.gids[0] : its_gids.back();
    path.destination.gid = group != nullptr ? *group : its_last;
    const uint32_t own_port = ends.port <= who_.port_count() ? ends.port : 1;
    path.source = {who_.mac_of(own_port),
                   who_.gids_of(own_port)[gid_index_for(who_, path.destination.gid, own_port)],
                   who_.lid_of(own_port)};
    path.destination.lid = there.lid_of(its_port);
    // The last bytes of an adapter's address are also the last bytes of its MAC.
    const uint8_t above_all = its_port < 2 ? uint8_t{0} : its_last.bytes[13];
    path.destination.mac.bytes = {
        0x00, 0x54, 0x4c, above_all, its_last.bytes[14], its_last.bytes[15]};
    if (!who_.is_ethernet)
        path.encapsulation = wire::Encapsulation::infiniband_global;
    else if (wire::is_ipv4(path.source.gid) && wire::is_ipv4(path.destination.gid))
        path.encapsulation = wire::Encapsulation::roce_v2_ipv4;
    else if (!who_.listens.empty() && group == nullptr)
        path.encapsulation = wire::Encapsulation::roce_v2_ipv6;
    else
        path.encapsulation = wire::Encapsulation::roce_v1;
    return path;
}

void WirePath::overhear(const Facts& there, const wire::Packet& packet) {
    if (!capture_ || there.cuts_packets) return;
    wire::Path path = path_to(there, nullptr, {});
    std::swap(path.source, path.destination);
    std::array<std::byte, wire::kMaxEncodedSize> room;
    if (packet.payload_length > wire::kMaxPayload) return;
    const wire::Bytes payload = packet.payload_length == 0
                                    ? wire::Bytes{}
                                    : wire::Bytes{packet.payload.address(), packet.payload_length};
    capture(std::span(room).first(wire::encode(packet, path, payload, room)));
}

void WirePath::send(base::Instant now, uint32_t peer, const Facts& there,
                    const wire::Packet& packet, const wire::Gid* group, const Ends& ends) {
    const bool is_down = now < down_until_;
    const transport::FaultRule* rule = is_down
                                           ? nullptr
                                           : rules_.judge({now - settings_.start, settings_.program,
                                                           who_.rank, there.rank, &packet});
    const auto does = [&](transport::FaultAct act) { return rule != nullptr && rule->act == act; };
    wire::Packet marked = packet;
    if (does(transport::FaultAct::mark)) mark(marked);
    std::array<std::byte, wire::kMaxEncodedSize> room;
    const wire::Bytes payload = packet.payload_length == 0 || packet.payload.is_modelled()
                                    ? wire::Bytes{}
                                    : wire::Bytes{packet.payload.address(), packet.payload_length};
    const size_t size = wire::encode(marked, path_to(there, group, ends), payload, room);
    const auto bytes = std::span(room).first(size);
    capture(bytes);
    if (is_down) return log("lost", packet, nullptr);
    if (rule != nullptr) log(word_for(rule->act), packet, rule);
    if (does(transport::FaultAct::link_down)) down_until_ = now + rule->time;
    if (does(transport::FaultAct::drop) || does(transport::FaultAct::link_down)) return;
    if (does(transport::FaultAct::damage)) {
        const uint64_t bit = rules_.draw(*rule, size * 8);
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    base::Instant at = arrival(now, size);
    if (does(transport::FaultAct::delay) || does(transport::FaultAct::reorder)) at += rule->time;
    const bool has_refusal =
        does(transport::FaultAct::refuse) || does(transport::FaultAct::break_it);
    const uint8_t refusal = has_refusal ? rule->syndrome : uint8_t{0};
    for (int copies = does(transport::FaultAct::double_it) ? 2 : 1; copies > 0; --copies)
        under_way_.emplace(std::pair(at, order_++),
                           Sent{peer, {bytes.begin(), bytes.end()}, refusal});
}

base::Instant WirePath::arrival(base::Instant now, size_t bytes) {
    if (settings_.rate_bps == 0) return now + settings_.delay;
    line_free_ =
        std::max(line_free_, now) + base::Rate::bits_per_second(settings_.rate_bps).time_for(bytes);
    return line_free_ + settings_.delay;
}

// ECN on Ethernet, FECN on InfiniBand.
void WirePath::mark(wire::Packet& packet) const {
    if (who_.is_ethernet)
        packet.traffic_class |= 3;
    else
        packet.fecn = true;
}

bool WirePath::loses_arrival(base::Instant now, const wire::Packet& packet) {
    if (now >= down_until_) return false;
    log("lost", packet, nullptr);
    return true;
}

std::optional<WirePath::Sent> WirePath::poll(base::Instant now) {
    if (under_way_.empty() || next_deadline() > now) return std::nullopt;
    Sent sent = std::move(under_way_.begin()->second);
    under_way_.erase(under_way_.begin());
    return sent;
}

std::optional<WirePath::Received> WirePath::receive(std::span<const std::byte> bytes) const {
    const auto link = who_.is_ethernet ? wire::LinkLayer::ethernet : wire::LinkLayer::infiniband;
    const wire::Frame frame = wire::parse_frame(link, bytes);
    if (frame.kind != wire::FrameKind::transport || frame.cut) return std::nullopt;
    if (wire::expected_icrc(frame, bytes) != frame.icrc.value) return std::nullopt;
    Received received;
    received.packet = wire::packet_of(frame);
    const bool has_four = frame.network == wire::NetworkHeader::ipv4;
    received.destination = has_four ? wire::gid_of(frame.ipv4.destination) : frame.grh.destination;
    const size_t envelope = wire::icrc_envelope_size(frame.encapsulation);
    const size_t offset = who_.is_ethernet ? kEthernetBytes : envelope - kGrhBytes;
    const size_t length = has_four ? kIpv4Bytes : kGrhBytes;
    if (frame.network != wire::NetworkHeader::none && offset + length <= bytes.size()) {
        received.grh.resize(kGrhBytes);
        std::memcpy(received.grh.data() + kGrhBytes - length, bytes.data() + offset, length);
    }
    return received;
}

void WirePath::append(Descriptor& file, const void* bytes, size_t length) {
    errno = 0;
    if (write(file.get(), bytes, length) == static_cast<ssize_t>(length)) return;
    std::fprintf(stderr, "tulle: host %u, process %d: the %s is not complete from here on: %s\n",
                 who_.rank, static_cast<int>(getpid()), &file == &log_ ? "fault log" : "capture",
                 errno != 0 ? std::strerror(errno) : "No space left on device");
    if (!settings_.whole_file.empty()) unlink(settings_.whole_file.c_str());
    file.reset();
}

// A record is written by one call, so that records of several processes do not mix.
void WirePath::capture(std::span<const std::byte> bytes) {
    if (!capture_) return;
    timespec time{};
    clock_gettime(CLOCK_REALTIME, &time);
    const auto link = who_.is_ethernet ? wire::LinkLayer::ethernet : wire::LinkLayer::infiniband;
    std::vector<std::byte> record;
    wire::append_to_capture(
        link,
        static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec),
        bytes, record);
    append(capture_, record.data(), record.size());
}

void WirePath::log(const char* action, const wire::Packet& packet,
                   const transport::FaultRule* rule) {
    if (!log_) return;
    char line[160];
    int length =
        std::snprintf(line, sizeof line, "host %u %s qp 0x%06x psn 0x%06x opcode 0x%02x bytes %u",
                      who_.rank, action, packet.dest_qp().value, packet.psn().value,
                      static_cast<unsigned>(packet.opcode), packet.payload_length);
    const auto place = static_cast<size_t>(length);
    if (rule != nullptr && rule->line != 0)
        length += std::snprintf(line + place, sizeof line - place, " line %u\n", rule->line);
    else
        line[length++] = '\n';
    append(log_, line, static_cast<size_t>(length));
}

}  // namespace tulle::live
