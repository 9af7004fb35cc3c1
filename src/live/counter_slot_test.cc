#include "live/counter_slot.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <vector>

namespace tulle::live {
namespace {

using transport::Counters;

class PortCountersTest : public testing::Test {
protected:
    PortCountersTest() {
        std::string name = (std::filesystem::temp_directory_path() / "counters-XXXXXX").string();
        folder = mkdtemp(name.data());
        file = folder + "/file";
        std::ofstream(file) << std::string(kCountersBytes, '\0');
    }
    ~PortCountersTest() override { std::filesystem::remove_all(folder); }

    // What a reader of the file finds: the sum of all blocks.
    Counters sum() const {
        std::vector<uint64_t> words(kCountersBytes / 8);
        std::ifstream(file).read(reinterpret_cast<char*>(words.data()), kCountersBytes);
        Counters total;
        for (uint32_t block = 0; block < kCounterBlocks; ++block)
            for (uint32_t i = 0; i < kCounterWords; ++i)
                (&total.port_xmit_packets)[i] += words[block * kCounterBlockWords + i];
        return total;
    }

    std::string folder;
    std::string file;
};

TEST_F(PortCountersTest, what_processes_publish_adds_up) {
    CounterSlot one(file, 0);
    CounterSlot other(file, 255);
    Counters counted;
    counted.port_xmit_packets = 5;
    counted.rx_atomic_requests = 7;
    one.publish(counted);
    other.publish(counted);
    counted.port_xmit_packets = 6;
    one.publish(counted);
    EXPECT_EQ(sum().port_xmit_packets, 11u);
    EXPECT_EQ(sum().rx_atomic_requests, 14u);
}

TEST_F(PortCountersTest, what_the_wire_counts_is_shown_beside_it_and_lasts) {
    Counters counted;
    counted.port_rcv_packets = 3;
    WireCounters wire;
    wire.rx_unknown_source = 2;
    wire.tx_errors = 9;
    for (int processes = 0; processes < 2; ++processes) {
        CounterSlot one(file, 7);
        one.publish(counted, wire);
    }
    std::vector<uint64_t> words(kCountersBytes / 8);
    std::ifstream(file).read(reinterpret_cast<char*>(words.data()), kCountersBytes);
    std::map<std::string, uint64_t> shown;
    for (const CounterName& counter : kCounterNames)
        shown[counter.name] = value_of(words.data(), counter);
    EXPECT_EQ(shown["port_rcv_packets"], 6u);
    EXPECT_EQ(shown["rx_unknown_source"], 4u);
    EXPECT_EQ(shown["tx_errors"], 18u);
    EXPECT_EQ(shown["rx_malformed"], 0u);
}

TEST_F(PortCountersTest, who_takes_the_slot_of_one_that_has_ended_goes_on_from_there) {
    Counters counted;
    counted.port_rcv_packets = 100;
    {
        CounterSlot first(file, 3);
        first.publish(counted);
        first.count_at_initiator({1000, 1, false});
    }
    CounterSlot second(file, 3);
    EXPECT_EQ(sum().port_rcv_packets, 100u);
    counted.port_rcv_packets = 1;
    second.publish(counted);
    second.count_at_initiator({1000, 1, false});
    EXPECT_EQ(sum().port_rcv_packets, 101u);
    EXPECT_EQ(sum().port_xmit_data_bytes, 2000u);
}

TEST_F(PortCountersTest, a_transfer_without_packets_counts_at_both_ports) {
    CounterSlot port(file, 1);
    port.count_at_initiator({9000, 3, false});
    EXPECT_EQ(sum().port_xmit_packets, 3u);
    EXPECT_EQ(sum().port_xmit_data_bytes, 9000u);
    EXPECT_EQ(sum().port_rcv_packets, 0u);
    port.count_at_target({9000, 3, true});
    EXPECT_EQ(sum().port_rcv_packets, 1u);  // the request
    EXPECT_EQ(sum().port_xmit_packets, 6u);
    EXPECT_EQ(sum().port_xmit_data_bytes, 18000u);
    EXPECT_EQ(sum().rx_read_requests, 1u);
}

TEST_F(PortCountersTest, a_file_that_is_not_there_or_too_short_counts_nothing) {
    CounterSlot none(folder + "/none", 0);
    EXPECT_FALSE(none);
    none.publish({});
    none.count_at_target({1, 1, false});
    std::ofstream(file, std::ios::trunc) << "short";
    EXPECT_FALSE(CounterSlot(file, 0));
    EXPECT_FALSE(CounterSlot(file, 256));
}

TEST(CounterNames, each_is_shown_once_and_is_a_word_that_exists) {
    std::set<std::string> names;
    for (const CounterName& counter : kCounterNames) {
        EXPECT_TRUE(names.insert(std::string(counter.folder) + "/" + counter.name).second);
        EXPECT_TRUE(counter.word == kNoWord || counter.word < kCounterWords + kWireWords)
            << counter.name;
        EXPECT_TRUE(counter.minus == kNoWord || counter.minus < kCounterWords) << counter.name;
    }
}

}  // namespace
}  // namespace tulle::live
