// Rules that hold for more than one service: a test of each calls them.
#pragma once

#include <gtest/gtest.h>

#include "pair.h"

namespace tulle::transport {

inline void expect_writes_reads_and_atomics(Pair& pair) {
    const uint64_t before = pair.server.word(0x9000);
    pair.client.post({.work = Work::write, .length = 5000, .remote_offset = 100});
    pair.client.post(
        {.work = Work::read, .length = 5000, .offset = 0x1'0000, .remote_offset = 0x2'0000});
    pair.client.post({.work = Work::fetch_add,
                      .length = 8,
                      .offset = 0x2'0000,
                      .remote_offset = 0x9000,
                      .compare_or_add = 3});
    pair.client.post({.work = Work::write_with_immediate, .length = 10, .remote_offset = 6000});
    pair.run();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 100, 5000));
    EXPECT_TRUE(same_bytes(pair.client, 0x1'0000, pair.server, 0x2'0000, 5000));
    EXPECT_EQ(pair.client.word(0x2'0000), before);
    EXPECT_EQ(pair.server.word(0x9000), before + 3);
    EXPECT_EQ(pair.server.receive_completion().kind, CompletionKind::receive_write_with_immediate);
}

}  // namespace tulle::transport
