#include "decode/text_report.h"

#include <algorithm>
#include <cctype>

#include "base/words.h"
#include "decode/fields.h"
#include "decode/layers.h"

namespace tulle::decode {
namespace {

using base::counted;

constexpr size_t kColumns = 100;
constexpr size_t kLayerIndent = 9;
constexpr size_t kFieldIndent = 11;
constexpr size_t kDumpRow = 16;

// One header: its name, then its fields, in wrapped lines.
void print_layer(Writing& output, const ShownLayer& layer) {
    std::string line = fmt::format("{:{}}{}:", "", kLayerIndent, layer.name);
    for (const ShownField& field : layer.fields) {
        const std::string text = fmt::format(" {} {}", field.name, field.text);
        if (line.size() + text.size() > kColumns) {
            output.print("{}\n", line);
            line.assign(kFieldIndent - 1, ' ');
        }
        line += text;
    }
    output.print("{}\n", line);
}

void print_dump_row(Writing& output, size_t offset, wire::Bytes row) {
    std::string hex;
    std::string text;
    for (const std::byte byte : row) {
        const auto value = std::to_integer<unsigned char>(byte);
        hex += fmt::format(" {:02x}", value);
        text += std::isprint(value) != 0 ? static_cast<char>(value) : '.';
    }
    output.print("{:{}}{:04x} {:<{}}  {}\n", "", kFieldIndent, offset, hex, 3 * kDumpRow, text);
}

void print_dump(Writing& output, wire::Bytes payload, size_t begin, size_t most) {
    if (begin >= payload.size()) return;
    const size_t end = std::min(payload.size(), begin + most);
    output.print("{:{}}payload: {} bytes\n", "", kLayerIndent, payload.size());
    for (size_t at = begin; at < end; at += kDumpRow)
        print_dump_row(output, at, payload.subspan(at, std::min(kDumpRow, end - at)));
    if (end < payload.size())
        output.print("{:{}}and {} bytes more\n", "", kFieldIndent, payload.size() - end);
}

std::string_view checksum_word(std::optional<bool> holds) {
    if (!holds) return "not checked, the packet is cut";
    return *holds ? "right" : "WRONG";
}

void print_checksums(Writing& output, const Packet& packet) {
    if (!packet.is_transport()) return;
    output.print("{:{}}ICRC: 0x{:08x} {}\n", "", kLayerIndent, packet.frame.icrc.value,
                 checksum_word(packet.checksums.icrc));
    if (packet.checksums.vcrc)
        output.print("{:{}}VCRC: 0x{:04x} {}\n", "", kLayerIndent, packet.frame.vcrc.value,
                     checksum_word(packet.checksums.vcrc));
}

std::string duration_text(int64_t nanoseconds) {
    const auto value = static_cast<double>(nanoseconds);
    if (nanoseconds >= 1'000'000'000) return fmt::format("{:.3f} s", value / 1e9);
    if (nanoseconds >= 1'000'000) return fmt::format("{:.3f} ms", value / 1e6);
    return fmt::format("{:.3f} us", value / 1e3);
}

std::string joined(const std::vector<std::string>& parts) {
    return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

void TextReport::packet(const Packet& packet) {
    if (!started_) {
        started_ = true;
        first_time_ns_ = packet.record.time_ns;
        if (options_.show == TextOptions::Show::packets)
            output_.print("{:>6}  {:>13}  {:<{}}  {:<28}  {:<8}  {:<8}  {}\n", "packet", "seconds",
                          "source > destination", endpoints_width_, "opcode", "QP", "PSN",
                          "what it says");
        if (options_.show == TextOptions::Show::operations)
            output_.print("{:>13}  {:>13}  {:<{}}  {:<8}  {:<15}  {}\n", "packets", "seconds",
                          "source > destination", endpoints_width_, "QP", "operation",
                          "what became of it");
    }
    const bool is_other = packet.frame.kind == wire::FrameKind::foreign;
    if (options_.show == TextOptions::Show::packets && !(is_other && options_.roce_only)) {
        packet_line(packet);
        if (options_.verbose) packet_fields(packet);
    }
    if (options_.show == TextOptions::Show::operations)
        for (const FollowedOperation& operation : packet.noticed.completed)
            operation_line(operation);
}

void TextReport::unfinished(const FollowedOperation& operation) {
    if (options_.show == TextOptions::Show::operations) operation_line(operation);
}

void TextReport::finish(const Summary& summary) {
    if (started_ && options_.show != TextOptions::Show::summary) output_.print("\n");
    print_summary(summary, output_);
}

void TextReport::packet_line(const Packet& packet) {
    const wire::Frame& frame = packet.frame;
    std::string qp;
    std::string psn;
    if (packet.is_transport()) {
        qp = field_text(frame.transport.bth.dest_qp);
        psn = field_text(frame.transport.bth.psn);
    }
    std::string what = content_text(frame);
    const std::string notes = joined(notes_of(packet));
    if (!what.empty() && !notes.empty()) what += "; ";
    what += notes;
    output_.print("{:>6}  {:>13.9f}  {}  {:<28}  {:<8}  {:<8}  {}\n", packet.record.number,
                  relative_seconds(packet.record.time_ns),
                  endpoints_column(source_of(frame), destination_of(frame)), subject_text(frame),
                  qp, psn, what);
}

void TextReport::packet_fields(const Packet& packet) {
    const ShownLayers shown = layers_of(packet.frame, ShowAs::text);
    for (const ShownLayer& layer : shown.layers) print_layer(output_, layer);
    print_dump(output_, packet.frame.payload, shown.explained_bytes, options_.dump_bytes);
    print_checksums(output_, packet);
    for (const FollowedOperation& operation : packet.noticed.completed)
        output_.print("{:{}}completes {} of packet {}: {}, {}\n", "", kLayerIndent,
                      kind_name(operation.kind), operation.begin.packet, details_text(operation),
                      outcome_text(operation));
    output_.print("\n");
}

void TextReport::operation_line(const FollowedOperation& operation) {
    std::vector<std::string> what = {details_text(operation),
                                     fmt::format("PSN 0x{:06x}", operation.first_psn.value)};
    if (operation.last_psn != operation.first_psn)
        what.back() += fmt::format("-0x{:06x}", operation.last_psn.value);
    if (operation.retransmitted_packets != 0)
        what.push_back(counted(operation.retransmitted_packets, "packet") + " sent again");
    if (operation.rnr_naks != 0) what.push_back(counted(operation.rnr_naks, "RNR NAK"));
    what.push_back(outcome_text(operation));
    if (operation.end.packet != operation.begin.packet)
        what.back() += " after " + duration_text(operation.end.time_ns - operation.begin.time_ns);
    output_.print("{:>13}  {:>13.9f}  {}  0x{:06x}  {:<15}  {}\n",
                  fmt::format("{}-{}", operation.begin.packet, operation.end.packet),
                  relative_seconds(operation.begin.time_ns),
                  endpoints_column(operation.source, operation.destination),
                  operation.dest_qp.value,
                  fmt::format("{} {}", service_name(operation.service), kind_name(operation.kind)),
                  joined(what));
}

double TextReport::relative_seconds(int64_t time_ns) const {
    return static_cast<double>(time_ns - first_time_ns_) * 1e-9;
}

std::string TextReport::endpoints_column(const PacketAddress& source,
                                         const PacketAddress& destination) {
    const std::string text = fmt::format("{} > {}", to_string(source), to_string(destination));
    endpoints_width_ = std::max(endpoints_width_, text.size());
    return fmt::format("{:<{}}", text, endpoints_width_);
}

}  // namespace tulle::decode
