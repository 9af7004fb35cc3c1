#include "cli/decode.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/decode/capture.h"
#include "cli/decode/json_report.h"
#include "cli/decode/link_type.h"
#include "cli/decode/qp_follower.h"
#include "cli/decode/summary.h"
#include "cli/decode/text_report.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/output.h"

namespace tulle::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  tulle decode trace.pcap                   a line a packet, then a summary
  tulle decode --operations trace.pcap      a line an operation: how it ended
  tulle decode -q trace.pcapng              the summary alone
  tulle decode -v trace.pcap | less         every field of every header
  tulle decode --json out.json trace.pcap   the same for programs
  tcpdump -i any -w - udp port 4791 | tulle decode -

Reads pcap and pcapng: Ethernet (RoCE v1 and v2, PFC), InfiniBand, ERF, Linux
cooked and raw IP.
A packet whose ICRC is wrong is reported and counted, but not followed.
`man tulle-decode` explains every column and every key of the JSON.)";

struct Options {
    std::string file;
    std::string json_file;
    TextOptions text;
    bool operations = false;
    bool quiet = false;
    bool partial = false;
};

int fail(const base::Error& error, int exit_code) {
    fmt::print(stderr, "tulle decode: {}\n", error.message);
    return exit_code;
}

std::string packets_text(uint64_t count) {
    return fmt::format("{} packet{}", count, count == 1 ? "" : "s");
}

base::Error damaged(const Capture& capture) {
    return {fmt::format("{}; write --partial to decode the {} before it", capture.problem(),
                        packets_text(capture.records()))};
}

// Reads the capture once, so that nothing is written of one that is damaged.
std::optional<base::Error> scan(Capture& capture) {
    while (!is_interrupted() && capture.next()) {
    }
    if (!is_interrupted() && !capture.problem().empty()) return damaged(capture);
    return capture.rewind();
}

// Takes one capture through the follower into the reports that were asked for.
class Decoder {
public:
    Decoder(Capture& capture, TextReport* text, JsonReport* json)
        : capture_(capture), text_(text), json_(json) {}

    template <class GoOn>
    void run(GoOn&& go_on) {
        while (go_on()) {
            const auto record = capture_.next();
            if (!record) break;
            packet(*record);
        }
        const std::vector<Operation> unfinished = follower_.finish();
        for (const Operation& operation : unfinished) {
            summary_.add_unfinished(operation);
            if (text_ != nullptr) text_->unfinished(operation);
        }
        if (text_ != nullptr) text_->finish(summary_);
        if (json_ != nullptr) json_->finish(summary_, unfinished, capture_.problem());
    }

private:
    void packet(const Record& record) {
        const Unwrapped unwrapped =
            unwrap(capture_.link_type(), record.bytes, record.original_size, scratch_);
        Packet packet{record, parse(unwrapped), {}, {}, Sighting::fresh};
        packet.checksums = check(packet.frame, unwrapped.bytes);
        const bool is_whole = packet.is_transport() && !packet.is_damaged();
        if (is_whole && !record.interface_name.empty())
            packet.sighting = repeats_.see(packet.frame, record.interface);
        if (is_whole && packet.sighting == Sighting::fresh)
            packet.noticed = follower_.follow(packet.frame, {record.number, record.time_ns});
        summary_.add(packet);
        if (text_ != nullptr) text_->packet(packet);
        if (json_ != nullptr) json_->packet(packet);
    }

    Capture& capture_;
    TextReport* text_;
    JsonReport* json_;
    QpFollower follower_;
    Repeats repeats_;  // of captures with several interfaces
    Summary summary_;
    std::vector<std::byte> scratch_;
};

int write_reports(const Options& options, Capture& capture) {
    const bool json_to_stdout = options.json_file == "-";
    Output standard = Output::standard();
    std::optional<FileToBe> file;
    if (!options.json_file.empty() && !json_to_stdout) {
        auto created = FileToBe::create(options.json_file);
        if (!created) return fail(created.error(), kInputWrong);
        file.emplace(std::move(*created));
    }
    std::optional<TextReport> text;
    if (!json_to_stdout) text.emplace(options.text, standard);
    std::optional<JsonReport> json;
    if (!options.json_file.empty()) json.emplace(file ? file->output() : standard);

    Decoder decoder(capture, text ? &*text : nullptr, json ? &*json : nullptr);
    decoder.run([&] {
        if (!capture.has_more_now()) standard.flush();  // somebody watches packets arrive
        return !is_interrupted() && (file || !standard.is_closed());
    });

    const bool is_damaged = !is_interrupted() && !capture.problem().empty();
    if (is_damaged && !options.partial) {
        standard.flush();  // a pipe, which could not be read beforehand
        return fail(damaged(capture), kInputWrong);
    }
    if (is_damaged)
        fmt::print(stderr, "tulle decode: {}; decoded the {} before it\n", capture.problem(),
                   packets_text(capture.records()));
    if (is_interrupted())
        fmt::print(stderr, "tulle decode: interrupted; decoded the {} until then\n",
                   packets_text(capture.records()));
    if (file) {
        if (const auto error = file->commit()) return fail(*error, kRunFailed);
    }
    if (const auto error = standard.finish()) return fail(*error, kRunFailed);
    return is_interrupted() ? kRunFailed : kDone;
}

int decode(const Options& options) {
    catch_interrupts();
    auto capture = Capture::open(options.file);
    if (!capture) return fail(capture.error(), kInputWrong);
    if (capture->can_rewind() && !options.partial) {
        if (const auto error = scan(*capture)) return fail(*error, kInputWrong);
    }
    return write_reports(options, *capture);
}

}  // namespace

void add_decode(Command& program) {
    const auto options = std::make_shared<Options>();
    Command command =
        program.add_command("decode", "Print and check captured RoCE and InfiniBand packets");
    command.add_examples(kExamples);
    command.option("FILE", options->file, "The capture, pcap or pcapng; - is standard input",
                   {.is_required = true});
    command.flag("--operations", options->operations,
                 "A line an operation instead of a line a packet");
    command.flag("-q,--quiet", options->quiet, "The summary alone");
    command.flag("-v,--verbose", options->text.verbose,
                 "Every field of every header, and the payload");
    command.option("--dump", options->text.dump_bytes, "Payload bytes that -v shows",
                   {.shown = "BYTES [128]"});
    command.flag("--roce-only", options->text.roce_only,
                 "No lines for packets that are not RoCE or InfiniBand");
    command.option("--json", options->json_file,
                   "Write everything as JSON to FILE; - is standard output, then without text",
                   {.shown = "FILE"});
    command.flag("--partial", options->partial,
                 "Decode a damaged capture up to the first packet that is not whole");
    command.when_chosen([options] {
        using Show = TextOptions::Show;
        if (options->operations) options->text.show = Show::operations;
        if (options->quiet) options->text.show = Show::summary;
        return decode(*options);
    });
}

}  // namespace tulle::cli
