#include "cli/sim/progress.h"

#include <gtest/gtest.h>

namespace tulle::cli {
namespace {

using namespace base::literals;
using std::chrono::milliseconds;

constexpr base::Instant kNoStop = base::Instant::never();

drive::Progress half_done() {
    drive::Progress progress;
    progress.time = base::Instant{} + 150_us;
    progress.hops = 2'140'000;
    progress.flows = 4;
    progress.flows_done = 1;
    progress.tasks = 1000;
    progress.tasks_done = 501;
    return progress;
}

TEST(Progress, counts_tasks_and_flows_and_says_how_far_it_is_and_how_long_it_will_take) {
    EXPECT_EQ(
        progress_text(half_done(), kNoStop, milliseconds(10'000)),
        "50 %, 501 of 1000 tasks, 1 of 4 flows, 150 us simulated, 2.1 million hops, 11 s left");
}

TEST(Progress, counts_minutes_where_it_takes_long) {
    drive::Progress progress = half_done();
    progress.tasks_done = 11;
    progress.flows_done = 0;
    EXPECT_EQ(progress_text(progress, kNoStop, milliseconds(10'000)),
              "1 %, 11 of 1000 tasks, 0 of 4 flows, 150 us simulated, 2.1 million hops, "
              "16 min left");
}

TEST(Progress, a_run_that_stops_at_a_time_is_as_far_as_its_clock) {
    EXPECT_EQ(done_millionths(half_done(), base::Instant{} + 200_us), 750'000u);
}

TEST(Progress, a_second_pass_begins_in_the_middle) {
    drive::Progress progress = half_done();
    progress.passes = 2;
    EXPECT_EQ(done_millionths(progress, kNoStop), 250'000u);
    progress.pass = 2;
    EXPECT_EQ(done_millionths(progress, kNoStop), 750'000u);
}

TEST(Progress, does_not_guess_before_anything_is_done) {
    drive::Progress progress = half_done();
    progress.tasks_done = 0;
    progress.flows_done = 0;
    EXPECT_EQ(progress_text(progress, kNoStop, milliseconds(10'000)),
              "0 %, 0 of 1000 tasks, 0 of 4 flows, 150 us simulated, 2.1 million hops, time left "
              "unknown");
}

}  // namespace
}  // namespace tulle::cli
