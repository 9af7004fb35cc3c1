#include "live/wire_path.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include "base/rate.h"
#include "wire/capture.h"

namespace tulle::live {
namespace {

constexpr uint32_t kStreamFaults = 0x6c69'7601;
constexpr base::Duration kLate{100'000'000};  // a packet out of turn: overtaken for 100 us
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
    const auto ppm = static_cast<uint32_t>(std::min<uint64_t>(number, 1'000'000));
    if (key == "loss") settings.loss_ppm = ppm;
    if (key == "duplicate") settings.duplicate_ppm = ppm;
    if (key == "reorder") settings.reorder_ppm = ppm;
    if (key == "corrupt") settings.corrupt_ppm = ppm;
    if (key == "delay_ps") settings.delay = base::Duration{static_cast<int64_t>(number)};
    if (key == "rate_bps") settings.rate_bps = number;
    if (key == "seed") settings.seed = number;
    if (key == "log") settings.log_file = value;
    if (key == "pcap") settings.capture_file = value;
}

bool is_ipv4(const wire::Gid& gid) {
    return gid.bytes[0] == 0 && gid.bytes[10] == 0xff && gid.bytes[11] == 0xff;
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
      random_({settings.seed, kStreamFaults, who.rank}),
      capture_(open_to_append(settings.capture_file)),
      log_(open_to_append(settings.log_file)) {}

wire::Path WirePath::path_to(const Board& there, const wire::Gid* group) const {
    wire::Path path;
    const uint32_t last = std::min(std::max(there.gid_count, 1u), kGids) - 1;
    path.source = {who_.mac, who_.gids.back(), who_.lid};
    path.destination.gid = group != nullptr ? *group : there.gids[last];
    path.destination.lid = there.lid;
    path.destination.mac.bytes = {0x00, 0x54, 0x4c,
                                  0x00, 0x00, static_cast<uint8_t>(there.rank + 1)};
    if (!who_.is_ethernet)
        path.encapsulation = wire::Encapsulation::infiniband_global;
    else if (is_ipv4(path.source.gid) && is_ipv4(path.destination.gid))
        path.encapsulation = wire::Encapsulation::roce_v2_ipv4;
    else
        path.encapsulation = wire::Encapsulation::roce_v1;
    return path;
}

void WirePath::send(base::Instant now, uint32_t peer, const Board& there,
                    const wire::Packet& packet, const wire::Gid* group) {
    std::array<std::byte, wire::kMaxEncodedSize> room;
    const wire::Bytes payload = packet.payload_length == 0 || packet.payload.is_modelled()
                                    ? wire::Bytes{}
                                    : wire::Bytes{packet.payload.address(), packet.payload_length};
    const size_t size = wire::encode(packet, path_to(there, group), payload, room);
    const auto bytes = std::span(room).first(size);
    capture(bytes);
    if (happens(settings_.loss_ppm)) return log("lost", packet);
    if (happens(settings_.corrupt_ppm)) {
        log("damaged", packet);
        const uint64_t bit = random_.below(size * 8);
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    base::Instant at = now + settings_.delay;
    if (settings_.rate_bps != 0) {
        line_free_ = std::max(line_free_, now) +
                     base::Rate::bits_per_second(settings_.rate_bps).time_for(size);
        at = line_free_ + settings_.delay;
    }
    if (happens(settings_.reorder_ppm)) {
        log("late", packet);
        at += kLate;
    }
    const int copies = happens(settings_.duplicate_ppm) ? 2 : 1;
    if (copies == 2) log("doubled", packet);
    for (int i = 0; i < copies; ++i)
        under_way_.emplace(std::pair(at, order_++), Sent{peer, {bytes.begin(), bytes.end()}});
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
    const bool has_four = frame.network == wire::Network::ipv4;
    const size_t envelope = wire::icrc_envelope_size(frame.encapsulation);
    const size_t offset = who_.is_ethernet ? kEthernetBytes : envelope - kGrhBytes;
    const size_t length = has_four ? kIpv4Bytes : kGrhBytes;
    if (frame.network != wire::Network::none && offset + length <= bytes.size()) {
        received.grh.resize(kGrhBytes);
        std::memcpy(received.grh.data() + kGrhBytes - length, bytes.data() + offset, length);
    }
    return received;
}

// A record is written by one call, so that those of several processes do not mix.
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
    if (write(capture_.get(), record.data(), record.size()) < 0) capture_.reset();
}

void WirePath::log(const char* action, const wire::Packet& packet) {
    if (!log_) return;
    char line[128];
    const int length =
        std::snprintf(line, sizeof line, "host %u %s qp 0x%06x psn 0x%06x opcode 0x%02x bytes %u\n",
                      who_.rank, action, packet.dest_qp().value, packet.psn().value,
                      static_cast<unsigned>(packet.opcode), packet.payload_length);
    if (write(log_.get(), line, static_cast<size_t>(length)) < 0) log_.reset();
}

}  // namespace tulle::live
