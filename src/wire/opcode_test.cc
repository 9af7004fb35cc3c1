#include "wire/opcode.h"

#include <gtest/gtest.h>

namespace tulle::wire {
namespace {

constexpr uint8_t opcode(Service service, Operation operation) {
    return opcode_of(service, operation);
}

TEST(Opcode, names_are_those_of_the_specification) {
    EXPECT_EQ(opcode_name(0x00), "RC_SEND_FIRST");
    EXPECT_EQ(opcode_name(0x0b), "RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE");
    EXPECT_EQ(opcode_name(0x1c), "RC_FLUSH");
    EXPECT_EQ(opcode_name(0x1d), "RC_ATOMIC_WRITE");
    EXPECT_EQ(opcode_name(0x2a), "UC_RDMA_WRITE_ONLY");
    EXPECT_EQ(opcode_name(0x55), "RD_RESYNC");
    EXPECT_EQ(opcode_name(0x64), "UD_SEND_ONLY");
    EXPECT_EQ(opcode_name(0x81), "CNP");
    EXPECT_EQ(opcode_name(0xb7), "XRC_SEND_ONLY_WITH_INVALIDATE");
    EXPECT_EQ(opcode_name(0xe0), "UNKNOWN_0xe0");
}

TEST(Opcode, the_service_says_which_operations_exist) {
    EXPECT_FALSE(opcode_info(opcode(Service::uc, Operation::read_request)).known);
    EXPECT_FALSE(opcode_info(opcode(Service::ud, Operation::send_first)).known);
    EXPECT_FALSE(opcode_info(opcode(Service::rc, Operation::resync)).known);
    EXPECT_FALSE(opcode_info(opcode(Service::rd, Operation::send_only_with_invalidate)).known);
    EXPECT_FALSE(opcode_info(0x80).known);
    EXPECT_FALSE(opcode_info(0x18).known);
    int known = 0;
    for (int i = 0; i < 256; ++i) known += opcode_info(static_cast<uint8_t>(i)).known ? 1 : 0;
    // RC and XRC 25 each, UC 12, RD 24, UD 2, CNP 1.
    EXPECT_EQ(known, 25 + 25 + 12 + 24 + 2 + 1);
}

TEST(Opcode, header_sizes_add_up) {
    EXPECT_EQ(opcode_info(opcode(Service::rc, Operation::send_only)).header_size, 12);
    EXPECT_EQ(opcode_info(opcode(Service::rc, Operation::write_only_with_immediate)).header_size,
              12 + 16 + 4);
    EXPECT_EQ(opcode_info(opcode(Service::rc, Operation::read_response_middle)).header_size, 12);
    EXPECT_EQ(opcode_info(opcode(Service::rc, Operation::atomic_acknowledge)).header_size,
              12 + 4 + 8);
    EXPECT_EQ(opcode_info(opcode(Service::rc, Operation::flush)).header_size, 12 + 4 + 16);
    EXPECT_EQ(opcode_info(opcode(Service::rd, Operation::fetch_add)).header_size, 12 + 4 + 8 + 28);
    EXPECT_EQ(opcode_info(opcode(Service::rd, Operation::acknowledge)).header_size, 12 + 4 + 4);
    EXPECT_EQ(opcode_info(opcode(Service::ud, Operation::send_only_with_immediate)).header_size,
              12 + 8 + 4);
    EXPECT_EQ(opcode_info(opcode(Service::xrc, Operation::write_first)).header_size, 12 + 4 + 16);
    EXPECT_EQ(opcode_info(opcode(Service::xrc, Operation::acknowledge)).header_size, 12 + 4);
    EXPECT_EQ(opcode_info(kCnpOpcode).header_size, 12 + 16);
}

}  // namespace
}  // namespace tulle::wire
