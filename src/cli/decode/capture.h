// Reads captures, pcap and pcapng, and says why one cannot be read.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/decode/interfaces.h"
#include "decode/record.h"
#include "live/descriptor.h"

struct pcap;

namespace tulle::cli {

class Capture {
public:
    // "-" is standard input. Errors are sentences that name the file.
    static base::Result<Capture> open(const std::string& path);

    // The next record; nothing at the end of the capture or where it is damaged: see problem().
    std::optional<decode::Record> next();

    // Says where the capture is damaged, as a sentence without a full stop; empty if it is not.
    const std::string& problem() const { return problem_; }
    // Complete records so far.
    uint64_t records() const { return records_; }

    int link_type() const;

    // False if reading would block: a pipe may have no data at the moment.
    bool has_more_now() const;

    // Whether it can be read again; rewind() returns to the first record.
    bool can_rewind() const { return can_rewind_; }
    std::optional<base::Error> rewind();

private:
    struct ClosePcap {
        void operator()(pcap* handle) const;
    };

    Capture() = default;
    std::optional<base::Error> start();
    base::Error unreadable(const std::string& reason) const;
    std::string damage(const std::string& reason) const;

    std::string path_;
    // libpcap closes the file it is given, so it gets a copy for each pass.
    live::Descriptor descriptor_;
    bool can_rewind_ = false;
    std::unique_ptr<pcap, ClosePcap> handle_;
    uint64_t records_ = 0;
    Interfaces interfaces_;
    std::string problem_;
};

}  // namespace tulle::cli
