#include "workload/serving/requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/units.h"
#include "workload/lines.h"
#include "workload/message.h"

namespace tulle::workload {
namespace {

constexpr uint64_t kMostTokens = 1 << 24;

uint32_t draw(TokenRange range, base::RandomStream& random) {
    return range.least + static_cast<uint32_t>(random.below(range.most - range.least + 1));
}

}  // namespace

// The binary logarithm bit by bit: squaring a number in [1, 2) doubles its logarithm.
uint64_t negative_logarithm(uint64_t x) {
    const int whole = std::bit_width(x) - 1;
    uint64_t mantissa = x << (63 - whole);  // in [1, 2), units of 2^-63
    uint64_t fraction = 0;
    for (int bit = 0; bit < 32; ++bit) {
        base::uint128_t square = base::uint128_t{mantissa} * mantissa >> 63;
        fraction <<= 1;
        if (square >> 64 != 0) {
            fraction |= 1;
            square >>= 1;
        }
        mantissa = static_cast<uint64_t>(square);
    }
    const uint64_t binary =
        (uint64_t{64} << 32) - ((static_cast<uint64_t>(whole) << 32) + fraction);
    constexpr uint64_t kLn2 = 2'977'044'472;  // ln 2 in units of 2^-32
    return static_cast<uint64_t>(base::uint128_t{binary} * kLn2 >> 32);
}

std::vector<Request> draw_requests(const RequestPattern& pattern, base::RandomStream& random) {
    std::vector<Request> requests;
    base::Duration now{};
    for (uint64_t i = 0; i < pattern.count; ++i) {
        const uint64_t times = negative_logarithm(std::max<uint64_t>(1, random.next()));
        now.ps += static_cast<int64_t>(
            base::uint128_t{static_cast<uint64_t>(pattern.between.ps)} * times >> 32);
        Request request;
        request.arrival = now;
        request.prompt = draw(pattern.prompt, random);
        request.output = draw(pattern.output, random);
        requests.push_back(request);
    }
    return requests;
}

base::Result<std::vector<Request>> read_requests(std::string_view text, std::string_view file) {
    std::vector<Request> requests;
    Lines lines(text);
    for (Line line; lines.next(line);) {
        if (line.words.size() != 3)
            return located(file, line.number,
                           fmt::format("a request has three words, not {}: when it comes and the "
                                       "tokens of prompt and answer, such as 1.5s 800 200",
                                       line.words.size()));
        const auto arrival = base::parse_duration(std::string(line.words[0]));
        if (!arrival) return located(file, line.number, arrival.error().message);
        if (*arrival > kLatestStart)
            return located(file, line.number, "the request comes after more than a day");
        if (!requests.empty() && *arrival < requests.back().arrival)
            return located(file, line.number, "the request comes before the one above; sort them");
        const auto prompt = parse_number(line.words[1], "the prompt", kMostTokens);
        if (!prompt) return located(file, line.number, prompt.error().message);
        const auto output = parse_number(line.words[2], "the answer", kMostTokens);
        if (!output) return located(file, line.number, output.error().message);
        if (*prompt == 0 || *output == 0)
            return located(file, line.number, "prompt and answer have at least one token");
        requests.push_back(
            {*arrival, static_cast<uint32_t>(*prompt), static_cast<uint32_t>(*output)});
    }
    if (requests.empty()) return located(file, 1, "there is no request in it");
    return requests;
}

}  // namespace tulle::workload
