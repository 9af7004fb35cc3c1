#include "transport/cm/connection.h"

#include <gtest/gtest.h>

namespace tulle::transport::cm {
namespace {

Connection& open_with_numbers(ConnectionTable& table, uint32_t number) {
    Connection& c = *table.open();
    c.remote_guid = wire::Guid{7};
    c.remote_id = number;
    c.remote_qpn = wire::Qpn{number};
    c.endpoint = 3;
    table.index_remote_id(c);
    table.index_remote_qpn(c);
    table.index_request_id(c);
    return c;
}

TEST(CmConnectionTable, a_connection_is_found_by_each_of_its_numbers) {
    ConnectionTable table({.max_connections = 10}, base::RandomStream({.seed = 1}));
    Connection& c = open_with_numbers(table, 42);
    EXPECT_EQ(table.find(c.self), &c);
    EXPECT_EQ(table.by_local_id(c.local_id), &c);
    EXPECT_EQ(table.by_remote_id(3, wire::Guid{7}, 42), &c);
    EXPECT_EQ(table.by_remote_qpn(3, wire::Guid{7}, wire::Qpn{42}), &c);
    EXPECT_EQ(table.by_request_id(3, 42), &c);
    EXPECT_EQ(table.by_remote_id(3, wire::Guid{8}, 42), nullptr);
    EXPECT_EQ(table.by_remote_id(4, wire::Guid{7}, 42), nullptr);
    EXPECT_EQ(table.by_request_id(4, 42), nullptr);
}

// A place has the same handle again after 128 uses; no number may still lead there.
TEST(CmConnectionTable, what_was_closed_is_never_found_again) {
    ConnectionTable table({.max_connections = 10}, base::RandomStream({.seed = 1}));
    Connection& first = open_with_numbers(table, 1'000);
    const CmHandle handle = first.self;
    const uint32_t local_id = first.local_id;
    table.close(first);
    Connection* c = table.open();
    while (c->self != handle) {
        table.close(*c);
        c = table.open();
    }
    EXPECT_EQ(table.by_local_id(local_id), nullptr);
    EXPECT_EQ(table.by_remote_id(3, wire::Guid{7}, 1'000), nullptr);
    EXPECT_EQ(table.by_remote_qpn(3, wire::Guid{7}, wire::Qpn{1'000}), nullptr);
    EXPECT_EQ(table.by_request_id(3, 1'000), nullptr);
}

TEST(CmConnectionTable, deadlines_come_in_order_and_may_move) {
    ConnectionTable table({.max_connections = 10}, base::RandomStream({.seed = 1}));
    Connection& a = *table.open();
    Connection& b = *table.open();
    EXPECT_EQ(table.next_deadline(), base::Instant::never());
    table.set_deadline(a, base::Instant{100});
    table.set_deadline(b, base::Instant{200});
    EXPECT_EQ(table.next_deadline(), base::Instant{100});
    table.set_deadline(a, base::Instant{300});
    EXPECT_EQ(table.due(base::Instant{199}), nullptr);
    EXPECT_EQ(table.due(base::Instant{200}), &b);
    table.close(b);
    EXPECT_EQ(table.next_deadline(), base::Instant{300});
    table.close(a);
    EXPECT_EQ(table.next_deadline(), base::Instant::never());
}

TEST(CmConnectionTable, there_is_room_for_as_many_as_agreed) {
    ConnectionTable table({.max_connections = 2}, base::RandomStream({.seed = 1}));
    Connection& a = *table.open();
    EXPECT_NE(table.open(), nullptr);
    EXPECT_EQ(table.open(), nullptr);
    table.close(a);
    EXPECT_NE(table.open(), nullptr);
    EXPECT_EQ(table.size(), 2u);
}

}  // namespace
}  // namespace tulle::transport::cm
