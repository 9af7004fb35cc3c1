// An incast into a shallow buffer, without PFC: the profile of selective repeat against adapters
// that go back. What the two lose is sent again once by the one; the other also sends what had
// arrived.
#include "lab.h"
#include "scenario/scenario.h"

namespace tulle::exact {
namespace {

base::Result<std::string> no_file(const std::string& path) {
    return base::Error{"no file " + path};
}

struct Incast {
    int senders;
    const char* buffer;
    const char* bytes;
};
constexpr Incast kIncasts[] = {{8, "1MiB", "1MB"},  {8, "4MiB", "1MB"},  {24, "1MiB", "1MB"},
                               {24, "4MiB", "1MB"}, {8, "1MiB", "4MiB"}, {8, "4MiB", "4MiB"}};

Result incast(const Incast& incast, const char* profile, scenario::Overrides overrides = {}) {
    const std::string text =
        "name: incast\ntopology: leaf-spine:leaves=4,spines=4,hosts=8\nprofile: " +
        std::string(profile) + "\nfabric: {switch: {buffer: " + incast.buffer +
        "}}\nwork:\n  - incast: {to: 0, senders: " + std::to_string(incast.senders) +
        ", bytes: " + incast.bytes + "}\n";
    overrides.unused_is_fine = true;
    auto setup = scenario::read_scenario(text, "incast.yaml", no_file, overrides);
    if (!setup) {
        ADD_FAILURE() << setup.error().message;
        return {};
    }
    return run(*setup);
}

Duration last(const Result& result) {
    Duration longest{};
    for (const sim::FlowResult& flow : result.flows) {
        EXPECT_TRUE(flow.finished);
        longest = std::max(longest, flow.completion);
    }
    return longest;
}

TEST(LossyIncast, the_profile_beats_adapters_that_go_back_in_each_incast) {
    for (const Incast& shape : kIncasts) {
        const Duration selective = last(incast(shape, "roce-v2-lossy"));
        const Duration back = last(incast(shape, "roce-v2-400g-no-pfc"));
        EXPECT_LT(selective * 10, back * 9)
            << shape.senders << " " << shape.buffer << " " << shape.bytes;
    }
}

// The same fabric, window and timeouts: what is sent again is all that differs. Summed over the
// incasts: in one of them a timer may decide that fires once more or once less.
TEST(LossyIncast, selective_repeat_beats_going_back_all_else_being_equal) {
    Duration selective{};
    Duration back{};
    scenario::Overrides goes_back;
    goes_back.set = {{"hosts.loss", "go_back_n"}};
    for (const Incast& shape : kIncasts) {
        selective += last(incast(shape, "roce-v2-lossy"));
        back += last(incast(shape, "roce-v2-lossy", goes_back));
    }
    EXPECT_LT(selective * 4, back * 3) << selective.ps << " " << back.ps;
}

TEST(LossyIncast, selective_repeat_sends_again_what_was_lost) {
    for (const Incast& shape : kIncasts) {
        const Result result = incast(shape, "roce-v2-lossy");
        const auto lost = static_cast<double>(dropped(result, sim::Drop::buffer_full));
        EXPECT_GT(lost, 0);
        // Besides, a probe for each timeout.
        EXPECT_NEAR(static_cast<double>(result.totals.retransmitted), lost, 0.03 * lost + 30);
    }
}

}  // namespace
}  // namespace tulle::exact
