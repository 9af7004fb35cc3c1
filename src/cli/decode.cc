#include "cli/decode.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/decode/capture.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "decode/decoder.h"

namespace tulle::cli {
namespace {

constexpr const char* kDecodeExamples = R"(Examples:
  tulle decode trace.pcap                   one line per packet, then a summary
  tulle decode --operations trace.pcap      one line per operation
  tulle decode -q trace.pcapng              only the summary
  tulle decode -v trace.pcap | less         every field of every header
  tulle decode --json out.json trace.pcap   the same for programs
  tcpdump -i any -w - udp port 4791 | tulle decode -

Reads pcap and pcapng: Ethernet (RoCE v1 and v2, PFC), InfiniBand, ERF, Linux
cooked and raw IP.
A packet whose ICRC is wrong is reported and counted, but not followed.
`man tulle-decode` explains every column and every key of the JSON.)";

struct DecodeOptions {
    std::string file;
    std::string json_file;
    decode::TextOptions text;
    bool operations = false;
    bool quiet = false;
    bool partial = false;
};

std::string packets_text(uint64_t count) {
    return fmt::format("{} packet{}", count, count == 1 ? "" : "s");
}

base::Error damaged(const Capture& capture) {
    return {fmt::format("{}; write --partial to decode the {} before it", capture.problem(),
                        packets_text(capture.records()))};
}

// Reads the whole capture first, so that nothing is printed for a damaged one.
std::optional<base::Error> scan(Capture& capture) {
    while (!is_interrupted() && capture.next()) {
    }
    if (!is_interrupted() && !capture.problem().empty()) return damaged(capture);
    return capture.rewind();
}

void hand_over(decode::Writing& text, Output& output) {
    output.write(text.text());
    text.clear();
}

int write_reports(const DecodeOptions& options, Capture& capture) {
    const bool json_to_stdout = options.json_file == "-";
    Output standard = Output::standard();
    std::optional<FileToBe> file;
    if (!options.json_file.empty() && !json_to_stdout) {
        auto created = FileToBe::create(options.json_file);
        if (!created) return fail("decode", created.error(), kInputWrong);
        file.emplace(std::move(*created));
    }
    decode::Writing text_written;
    decode::Writing json_written;
    std::optional<decode::TextReport> text;
    if (!json_to_stdout) text.emplace(options.text, text_written);
    std::optional<decode::JsonReport> json;
    if (!options.json_file.empty()) json.emplace(json_written);
    const auto hand_on = [&] {
        hand_over(text_written, standard);
        hand_over(json_written, file ? file->output() : standard);
    };

    decode::Decoder decoder(capture.link_type(), text ? &*text : nullptr, json ? &*json : nullptr);
    while (!is_interrupted() && (file || !standard.is_closed())) {
        if (!capture.has_more_now()) standard.flush();  // for a user who watches packets arrive
        const auto record = capture.next();
        if (!record) break;
        decoder.packet(*record);
        hand_on();
    }
    decoder.finish(capture.problem());
    hand_on();

    const bool is_damaged = !is_interrupted() && !capture.problem().empty();
    if (is_damaged && !options.partial) {
        standard.flush();  // input from a pipe cannot be scanned first
        return fail("decode", damaged(capture), kInputWrong);
    }
    if (is_damaged)
        tell("tulle decode: {}; decoded the {} before it\n", capture.problem(),
             packets_text(capture.records()));
    if (is_interrupted())
        tell("tulle decode: interrupted; decoded the {} until then\n",
             packets_text(capture.records()));
    if (file) {
        if (const auto error = file->commit()) return fail("decode", *error, kRunFailed);
    }
    if (const auto error = standard.finish()) return fail("decode", *error, kRunFailed);
    return is_interrupted() ? kRunFailed : kDone;
}

int decode_file(const DecodeOptions& options) {
    catch_interrupts();
    auto capture = Capture::open(options.file);
    if (!capture) return fail("decode", capture.error(), kInputWrong);
    if (capture->can_rewind() && !options.partial) {
        if (const auto error = scan(*capture)) return fail("decode", *error, kInputWrong);
    }
    return write_reports(options, *capture);
}

}  // namespace

void add_decode(Command& program) {
    const auto options = std::make_shared<DecodeOptions>();
    Command command =
        program.add_command("decode", "Print and check captured RoCE and InfiniBand packets");
    command.add_examples(kDecodeExamples);
    command.option("FILE", options->file, "The capture, pcap or pcapng; - is standard input",
                   {.is_required = true});
    command.flag("--operations", options->operations,
                 "Print one line per operation instead of per packet");
    command.flag("-q,--quiet", options->quiet, "Print only the summary");
    command.flag("-v,--verbose", options->text.verbose,
                 "Print every field of every header, and the payload");
    command.option("--dump", options->text.dump_bytes, "Number of payload bytes that -v shows",
                   {.shown = "BYTES [128]"});
    command.flag("--roce-only", options->text.roce_only,
                 "Print only packets of RoCE and InfiniBand");
    command.option("--json", options->json_file, "Write everything as JSON; - is standard output",
                   {.shown = "FILE"});
    command.flag("--partial", options->partial,
                 "Decode a damaged capture up to the first incomplete packet");
    command.exclude("--quiet", "--verbose");
    command.exclude("--quiet", "--operations");
    command.exclude("--operations", "--verbose");
    command.need("--dump", "--verbose");
    command.when_chosen([options] {
        using Show = decode::TextOptions::Show;
        if (options->operations) options->text.show = Show::operations;
        if (options->quiet) options->text.show = Show::summary;
        return decode_file(*options);
    });
}

}  // namespace tulle::cli
