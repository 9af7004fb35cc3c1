#include "workload/patterns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tulle::workload {
namespace {

base::RandomStream stream(uint64_t seed) {
    return base::RandomStream({.seed = seed});
}

TEST(patterns, in_a_permutation_every_host_sends_once_and_receives_once_and_never_to_itself) {
    for (const uint32_t hosts : {2u, 3u, 128u}) {
        base::RandomStream random = stream(hosts);
        std::set<uint32_t> sources;
        std::set<uint32_t> destinations;
        for (const Message& message : permutation(hosts, hosts, 10, random)) {
            EXPECT_NE(message.source, message.destination);
            sources.insert(message.source);
            destinations.insert(message.destination);
        }
        EXPECT_EQ(sources.size(), hosts);
        EXPECT_EQ(destinations.size(), hosts);
    }
}

TEST(patterns, a_permutation_depends_on_its_stream_alone) {
    base::RandomStream one = stream(1);
    base::RandomStream same = stream(1);
    base::RandomStream other = stream(2);
    const auto messages = permutation(64, 64, 10, one);
    EXPECT_EQ(messages, permutation(64, 64, 10, same));
    EXPECT_NE(messages, permutation(64, 64, 10, other));
}

TEST(patterns, a_permutation_with_a_count_has_so_many_different_senders) {
    base::RandomStream random = stream(1);
    std::set<uint32_t> sources;
    for (const Message& message : permutation(64, 10, 10, random)) sources.insert(message.source);
    EXPECT_EQ(sources.size(), 10u);
}

TEST(patterns, an_incast_has_one_destination) {
    const std::vector<uint32_t> sources = {1, 5, 7};
    const auto messages = incast(sources, 3, 1000);
    ASSERT_EQ(messages.size(), 3u);
    EXPECT_EQ(messages[1].source, 5u);
    EXPECT_EQ(messages[1].destination, 3u);
    EXPECT_EQ(messages[1].bytes, 1000u);
    EXPECT_EQ(messages[1].id, 2u);
}

TEST(patterns, a_shift_goes_around_the_end) {
    const auto messages = shift(4, 3, 1);
    EXPECT_EQ(messages[0].destination, 3u);
    EXPECT_EQ(messages[2].destination, 1u);
}

TEST(patterns, in_a_bisection_partners_send_to_each_other_and_an_odd_host_sits_out) {
    base::RandomStream random = stream(1);
    const auto messages = bisection(9, 1, random);
    ASSERT_EQ(messages.size(), 8u);
    for (size_t i = 0; i < messages.size(); i += 2) {
        EXPECT_EQ(messages[i].source, messages[i + 1].destination);
        EXPECT_EQ(messages[i].destination, messages[i + 1].source);
    }
}

}  // namespace
}  // namespace tulle::workload
