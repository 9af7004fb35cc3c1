#include "traces/kineto_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "traces/trace.h"

namespace tulle::traces {
namespace {

using Json = nlohmann::json;

// Chosen: more takes 2 GB, and nobody would look at it.
constexpr size_t kMostKernels = 8'000'000;

// Receives each value of the text as it is parsed, and keeps the kernels.
class EventHandler {
public:
    explicit EventHandler(const std::string& file) : file_(file) {}

    bool null() { return true; }
    bool boolean(bool) { return true; }
    bool binary(Json::binary_t&) { return true; }
    bool number_integer(Json::number_integer_t value) { return whole(value); }
    bool number_unsigned(Json::number_unsigned_t value) {
        return whole(static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX)));
    }
    bool number_float(Json::number_float_t, const std::string& text) {
        if (is_in_event() && (key_ == "ts" || key_ == "dur")) return time(text);
        return true;
    }
    bool string(std::string& text) {
        if (is_in_event()) {
            if (key_ == "cat") is_kernel_ = text == "kernel";
            if (key_ == "ph") is_complete_ = text == "X";
            if (key_ == "name") kernel_.is_nccl = text.starts_with("nccl");
            if (key_ == "ts" || key_ == "dur") return time(text);
        } else if (is_in_arguments()) {
            if (key_ == "Collective name") kernel_.collective = text;
            if (key_ == "dtype") kernel_.type = text;
            if (key_ == "Process Group Name") kernel_.group = text;
            if (key_ == "Process Group Ranks") kernel_.ranks = text;
        }
        return true;
    }
    bool key(std::string& text) {
        key_ = text;
        if (depth_ == 1) is_events_ = text == "traceEvents";
        if (depth_ == 1) is_job_ = text == "distributedInfo";
        if (depth_ == 3 && is_events_) is_arguments_ = text == "args";
        return true;
    }
    bool start_object(size_t) {
        ++depth_;
        if (is_events_ && depth_ == 3) begin_event();
        return true;
    }
    bool end_object() {
        const bool ends = is_events_ && depth_ == 3;
        if (depth_ == 4) is_arguments_ = false;
        --depth_;
        return !ends || end_event();
    }
    // Some versions write the ranks as a list.
    bool start_array(size_t) {
        if (is_in_arguments() && key_ == "Process Group Ranks") is_ranks_ = true;
        ++depth_;
        return true;
    }
    bool end_array() {
        --depth_;
        if (depth_ == 1) is_events_ = false;
        is_ranks_ = false;
        return true;
    }
    bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) {
        return fail(position, "the text is no JSON from here on; is it all of the trace?");
    }

    const std::string& error() const { return error_; }
    bool saw_events() const { return saw_events_; }
    Recording take() { return std::move(recording_); }

private:
    bool is_in_event() const { return is_events_ && depth_ == 3; }
    bool is_in_arguments() const { return is_arguments_ && depth_ == 4; }

    bool fail(size_t position, std::string_view sentence) {
        error_ = fmt::format("{}: byte {}: {}", file_, position, sentence);
        return false;
    }
    bool fail_event(std::string_view sentence) {
        error_ = fmt::format("{}: event {}: {}", file_, events_ - 1, sentence);
        return false;
    }

    void begin_event() {
        ++events_;
        saw_events_ = true;
        kernel_ = {};
        kernel_.number = events_ - 1;
        is_kernel_ = is_complete_ = false;
        begin_ = -1;
        duration_ = 0;
    }

    bool end_event() {
        if (!is_kernel_ || !is_complete_) return true;
        if (begin_ < 0) return fail_event("the kernel has no ts, when it began in microseconds");
        if (recording_.kernels.size() >= kMostKernels)
            return fail_event(
                fmt::format("there are more than {} kernels; record fewer steps", kMostKernels));
        kernel_.begin_ps = begin_;
        kernel_.end_ps = begin_ + duration_;
        recording_.kernels.push_back(std::move(kernel_));
        return true;
    }

    // Microseconds as written, exact to the picosecond. Times of day are below 2^63 ps.
    bool time(const std::string& text) {
        constexpr int64_t kMost = INT64_MAX / 4;
        uint64_t micros = 0;
        uint64_t picos = 0;
        const char* end = text.data() + text.size();
        auto [stop, error] = std::from_chars(text.data(), end, micros);
        if (error != std::errc()) return fail_event(fmt::format("'{}' is no time", text));
        uint64_t unit = 100'000;
        if (stop != end && *stop == '.')
            for (++stop; stop != end && *stop >= '0' && *stop <= '9'; ++stop, unit /= 10)
                picos += unit * static_cast<uint64_t>(*stop - '0');
        if (stop != end)
            return fail_event(fmt::format("'{}' is no time in microseconds", text.substr(0, 40)));
        // Clocks count from 1970. Only differences matter, so whole days are dropped.
        constexpr uint64_t kDay = 86'400'000'000;
        if (key_ == "ts") {
            if (first_day_ == kUnknownDay) first_day_ = micros / kDay;
            if (micros / kDay < first_day_) return fail_event("it began a day before the others");
            micros -= first_day_ * kDay;
        }
        if (micros > static_cast<uint64_t>(kMost) / 1'000'000)
            return fail_event(fmt::format("{} of {} us is days away; times are microseconds", key_,
                                          text.substr(0, 40)));
        (key_ == "ts" ? begin_ : duration_) = static_cast<int64_t>(micros * 1'000'000 + picos);
        return true;
    }

    bool whole(int64_t value) {
        if (is_ranks_) {
            kernel_.ranks += fmt::format("{} ", value);
            return true;
        }
        if (is_in_event() && (key_ == "ts" || key_ == "dur")) return time(std::to_string(value));
        if (is_job_ && depth_ == 2 && key_ == "rank") recording_.rank = value;
        if (is_job_ && depth_ == 2 && key_ == "world_size") recording_.job_ranks = value;
        if (!is_in_arguments()) return true;
        const auto size = static_cast<uint64_t>(std::max<int64_t>(0, value));
        if (key_ == "In msg nelems") kernel_.elements_in = size;
        if (key_ == "Out msg nelems") kernel_.elements_out = size;
        if (key_ == "Group size") kernel_.group_size = size;
        if (key_ == "Global rank start") kernel_.rank_start = value;
        if (key_ == "Global rank stride") kernel_.rank_stride = value;
        if (key_ == "Src Rank") kernel_.source = value;
        if (key_ == "Dst Rank") kernel_.destination = value;
        if (key_ == "Process Group Name") kernel_.group = std::to_string(value);
        return true;
    }

    static constexpr uint64_t kUnknownDay = UINT64_MAX;

    const std::string& file_;
    std::string error_;
    Recording recording_;
    size_t depth_ = 0;
    bool is_events_ = false;     // inside "traceEvents"
    bool is_job_ = false;        // inside "distributedInfo"
    bool is_arguments_ = false;  // inside "args" of an event
    bool is_ranks_ = false;
    bool saw_events_ = false;
    std::string key_;
    uint64_t events_ = 0;
    Kernel kernel_;
    bool is_kernel_ = false;
    bool is_complete_ = false;
    int64_t begin_ = -1;
    int64_t duration_ = 0;
    uint64_t first_day_ = kUnknownDay;
};

}  // namespace

base::Result<Recording> read_recording(std::string_view text, const std::string& file) {
    if (text.starts_with("\x1f\x8b"))
        return base::Error{
            fmt::format("{}: byte 0: the file is compressed; unpack it with gunzip", file)};
    EventHandler handler(file);
    if (!Json::sax_parse(text.begin(), text.end(), &handler)) return base::Error{handler.error()};
    if (!handler.saw_events())
        return base::Error{
            fmt::format("{}: byte 0: there is no list \"traceEvents\"; export the "
                        "trace with export_chrome_trace()",
                        file)};
    Recording recording = handler.take();
    std::ranges::stable_sort(recording.kernels, {}, &Kernel::begin_ps);
    return recording;
}

}  // namespace tulle::traces
