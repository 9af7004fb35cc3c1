#include "cli/decode/capture.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "cli/input.h"
#include "decode/link_type.h"

namespace tulle::cli {
namespace {

constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::string_view kWhatIsRead =
    "tulle decode reads pcap and pcapng, as `tcpdump -w` and "
    "Wireshark write them";

// libpcap's wording for a file that ends within a record.
bool says_truncated(std::string_view reason) {
    return reason.find("truncated") != std::string_view::npos;
}

struct FirstBytes {
    std::array<unsigned char, 4> bytes{};
    ssize_t count = 0;

    bool begin_with(unsigned char a, unsigned char b) const {
        return count >= 2 && bytes[0] == a && bytes[1] == b;
    }
};

FirstBytes first_bytes(int descriptor) {
    FirstBytes first;
    first.count = ::pread(descriptor, first.bytes.data(), first.bytes.size(), 0);
    return first;
}

std::string shown_name(const std::string& path) {
    return path == "-" ? "standard input" : "'" + path + "'";
}

}  // namespace

void Capture::ClosePcap::operator()(pcap* handle) const {
    pcap_close(handle);
}

base::Result<Capture> Capture::open(const std::string& path) {
    Capture capture;
    capture.path_ = path;
    const bool is_stdin = path == "-";
    capture.descriptor_ = live::Descriptor(is_stdin ? ::dup(STDIN_FILENO)
                                                    : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!capture.descriptor_)
        return base::Error{
            fmt::format("cannot open {}: {}", shown_name(path), std::strerror(errno))};
    note_input(capture.descriptor_.get());
    struct stat status {};
    if (::fstat(capture.descriptor_.get(), &status) != 0)
        return base::Error{
            fmt::format("cannot read {}: {}", shown_name(path), std::strerror(errno))};
    if (S_ISDIR(status.st_mode))
        return base::Error{
            fmt::format("{} is a directory; name a capture file in it", shown_name(path))};
    if (S_ISREG(status.st_mode) && status.st_size == 0)
        return base::Error{fmt::format("{} is empty; {}", shown_name(path), kWhatIsRead)};
    // Standard input may have been read before, so reading starts at its current position.
    capture.can_rewind_ =
        S_ISREG(status.st_mode) && ::lseek(capture.descriptor_.get(), 0, SEEK_CUR) == 0;
    if (const auto error = capture.start()) return *error;
    return capture;
}

std::optional<base::Error> Capture::start() {
    std::array<char, PCAP_ERRBUF_SIZE> reason{};
    live::Descriptor copy(::dup(descriptor_.get()));
    std::FILE* file = copy ? ::fdopen(copy.get(), "rb") : nullptr;
    if (file == nullptr) return unreadable(std::strerror(errno));
    copy.release();  // the stream owns it now
    handle_.reset(
        pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, reason.data()));
    if (!handle_) {
        std::fclose(file);
        return unreadable(reason.data());
    }
    records_ = 0;
    interfaces_ = can_rewind_ ? Interfaces(descriptor_.get()) : Interfaces();
    problem_.clear();
    if (decode::is_supported(link_type())) return std::nullopt;
    const char* name = pcap_datalink_val_to_name(link_type());
    return base::Error{
        fmt::format("{} has link type {} ({}), which tulle decode cannot take apart; it reads {}",
                    shown_name(path_), name != nullptr ? name : "without a name", link_type(),
                    decode::supported_link_types())};
}

base::Error Capture::unreadable(const std::string& reason) const {
    const std::string name = shown_name(path_);
    if (!can_rewind_)
        return {fmt::format("{} is not a capture ({}); {}", name, reason, kWhatIsRead)};
    const FirstBytes first = first_bytes(descriptor_.get());
    if (first.begin_with(0x1f, 0x8b))
        return {fmt::format("{} is compressed; write `gunzip -c FILE | tulle decode -`", name)};
    if (first.begin_with(0x28, 0xb5))
        return {fmt::format("{} is compressed; write `zstd -dc FILE | tulle decode -`", name)};
    if (says_truncated(reason))
        return {
            fmt::format("{} is cut within the header of the capture file, before the first "
                        "packet; {}",
                        name, kWhatIsRead)};
    return {fmt::format("{} is not a capture ({}); {}", name, reason, kWhatIsRead)};
}

bool Capture::has_more_now() const {
    pollfd wait{descriptor_.get(), POLLIN, 0};
    return can_rewind_ || ::poll(&wait, 1, 0) != 0;
}

std::optional<decode::Record> Capture::next() {
    if (!problem_.empty()) return std::nullopt;
    pcap_pkthdr* header = nullptr;
    const unsigned char* data = nullptr;
    const int result = pcap_next_ex(handle_.get(), &header, &data);
    if (result == PCAP_ERROR_BREAK) return std::nullopt;
    if (result != 1) {
        problem_ = damage(pcap_geterr(handle_.get()));
        return std::nullopt;
    }
    if (header->caplen == 0) {
        problem_ = damage("its record holds no bytes");
        return std::nullopt;
    }
    ++records_;
    // With nanosecond precision libpcap puts nanoseconds into the field for microseconds.
    const int64_t time_ns =
        int64_t{header->ts.tv_sec} * kNanosecondsPerSecond + int64_t{header->ts.tv_usec};
    const uint32_t interface = interfaces_.next();
    return decode::Record{
        records_,
        time_ns,
        wire::Bytes(reinterpret_cast<const std::byte*>(data), header->caplen),
        header->len,
        interface,
        interfaces_.count() > 1 ? interfaces_.name(interface) : std::string_view{}};
}

std::string Capture::damage(const std::string& reason) const {
    const off_t offset = can_rewind_ ? ::ftello(pcap_file(handle_.get())) : -1;
    return fmt::format("{} {} packet {}{}: {}", shown_name(path_),
                       says_truncated(reason) ? "is cut within" : "is damaged at", records_ + 1,
                       offset >= 0 ? fmt::format(", near byte {}", offset) : "", reason);
}

int Capture::link_type() const {
    return pcap_datalink(handle_.get());
}

std::optional<base::Error> Capture::rewind() {
    handle_.reset();
    if (::lseek(descriptor_.get(), 0, SEEK_SET) != 0) return unreadable(std::strerror(errno));
    return start();
}

}  // namespace tulle::cli
