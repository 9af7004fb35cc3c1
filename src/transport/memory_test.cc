#include "transport/memory.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <set>

namespace tulle::transport {
namespace {

constexpr uint32_t kAll = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;

Memory make_memory(uint64_t seed = 1) {
    return Memory(base::RandomStream({seed, 0x6d65, 0}));
}

RegionRequest region(PdId pd, uint64_t length = 4096, uint32_t access = kAll) {
    return {pd, 0x1000, length, nullptr, access};
}

TEST(Memory, a_key_opens_its_range_and_nothing_around_it) {
    Memory memory = make_memory();
    const PdId pd = memory.create_pd();
    const uint32_t key = *memory.register_region(region(pd));
    const Asker asker{pd, {}};
    EXPECT_TRUE(memory.check(key, asker, 0x1000, 4096, kRemoteRead));
    EXPECT_TRUE(memory.check(key, asker, 0x1fff, 1, kRemoteRead));
    EXPECT_TRUE(memory.check(key, asker, 0x2000, 0, kRemoteRead));
    EXPECT_FALSE(memory.check(key, asker, 0x0fff, 1, kRemoteRead));
    EXPECT_FALSE(memory.check(key, asker, 0x2000, 1, kRemoteRead));
    EXPECT_FALSE(memory.check(key, asker, 0x1001, 4096, kRemoteRead));
    EXPECT_FALSE(memory.check(key, asker, 0x1800, UINT64_MAX - 0x17ff, kRemoteRead));
    EXPECT_FALSE(memory.check(key, asker, UINT64_MAX, 2, kRemoteRead));
}

TEST(Memory, every_right_has_to_be_there) {
    const std::array rights = {kLocalWrite,   kRemoteWrite, kRemoteRead,
                               kRemoteAtomic, kFlushGlobal, kFlushPersistent};
    for (unsigned given = 0; given < 64; ++given) {
        uint32_t access = 0;
        for (size_t i = 0; i < rights.size(); ++i)
            if ((given >> i & 1) != 0) access |= rights[i];
        Memory memory = make_memory();
        const PdId pd = memory.create_pd();
        const auto key = memory.register_region(region(pd, 64, access));
        const bool writes = (access & (kRemoteWrite | kRemoteAtomic)) != 0;
        ASSERT_EQ(key.has_value(), !writes || (access & kLocalWrite) != 0) << access;
        if (!key) continue;
        for (const uint32_t right : rights)
            EXPECT_EQ(memory.check(*key, {pd, {}}, 0x1000, 8, right).has_value(),
                      (access & right) != 0);
    }
}

TEST(Memory, a_region_around_the_end_of_the_address_space_is_refused) {
    Memory memory = make_memory();
    const PdId pd = memory.create_pd();
    EXPECT_FALSE(memory.register_region({pd, UINT64_MAX - 10, 12, nullptr, 0}));
    EXPECT_FALSE(memory.register_region({PdId{9}, 0, 10, nullptr, 0}));
    EXPECT_FALSE(memory.register_region({PdId{}, 0, 10, nullptr, 0}));
}

// As a region that was imported from another adapter has it.
TEST(Memory, a_region_goes_by_the_key_of_another_adapter_too_until_it_goes) {
    Memory memory = make_memory();
    const PdId pd = memory.create_pd();
    const Asker asker{pd, {}};
    const uint32_t key = *memory.register_region(region(pd));
    const uint32_t foreign = key ^ 0x5500;
    ASSERT_FALSE(memory.check(foreign, asker, 0x1000, 1, kRemoteRead));
    ASSERT_TRUE(memory.add_name(key, foreign));
    EXPECT_TRUE(memory.check(foreign, asker, 0x1000, 1, kRemoteRead));
    EXPECT_TRUE(memory.check(key, asker, 0x1000, 1, kRemoteRead));
    EXPECT_EQ(memory.denial(foreign, asker, 0x1000, 5000, kRemoteRead), Denial::out_of_bounds);
    EXPECT_EQ(memory.denial(foreign, {memory.create_pd(), {}}, 0x1000, 1, kRemoteRead),
              Denial::other_domain);
    EXPECT_EQ(memory.deregister_region(foreign), Refusal::none);
    EXPECT_FALSE(memory.check(foreign, asker, 0x1000, 1, kRemoteRead));
    EXPECT_FALSE(memory.check(key, asker, 0x1000, 1, kRemoteRead));
}

TEST(Memory, a_key_names_one_region_whoever_gave_it) {
    Memory memory = make_memory();
    const PdId pd = memory.create_pd();
    const uint32_t first = *memory.register_region(region(pd));
    const uint32_t second = *memory.register_region(region(pd));
    EXPECT_FALSE(memory.add_name(first, second));
    EXPECT_TRUE(memory.add_name(first, 0x1234'5678));
    EXPECT_FALSE(memory.add_name(second, 0x1234'5678));
    EXPECT_FALSE(memory.add_name(0x1111'2222, 0x8765'4321));
}

// Of two keys that were given out one after the other every bit of the name differs as often as
// chance has it, and no difference comes twice: one key does not tell the next.
TEST(Memory, one_key_does_not_tell_another) {
    Memory memory = make_memory();
    const PdId pd = memory.create_pd();
    constexpr unsigned kKeys = 20'000;
    std::set<uint32_t> names;
    std::set<uint32_t> differences;
    std::array<unsigned, 32> flips{};
    uint32_t last = *memory.register_region(region(pd));
    for (unsigned i = 0; i < kKeys; ++i) {
        const uint32_t key = *memory.register_region(region(pd));
        EXPECT_TRUE(names.insert(key >> 8).second);
        differences.insert(key - last);
        for (unsigned bit = 0; bit < 32; ++bit) flips[bit] += (key ^ last) >> bit & 1;
        last = key;
    }
    for (unsigned bit = 0; bit < 32; ++bit) EXPECT_NEAR(flips[bit], kKeys / 2, kKeys / 40) << bit;
    EXPECT_GT(differences.size(), kKeys - 10);
}

TEST(Memory, guessed_keys_open_nothing) {
    Memory memory = make_memory();
    const PdId pd = memory.create_pd();
    std::set<uint32_t> keys;
    for (int i = 0; i < 100; ++i) keys.insert(*memory.register_region(region(pd)));
    unsigned opened = 0;
    for (uint32_t key = 0; key < 0x10'0000; ++key)
        opened += keys.count(key) == 0 && memory.check(key, {pd, {}}, 0x1000, 1, kRemoteRead);
    base::RandomStream random({2, 2, 2});
    for (int i = 0; i < 1'000'000; ++i) {
        const auto key = static_cast<uint32_t>(random.next());
        opened += keys.count(key) == 0 && memory.check(key, {pd, {}}, 0x1000, 1, kRemoteRead);
    }
    EXPECT_EQ(opened, 0u);
}

TEST(Memory, adapters_with_other_seeds_give_other_keys) {
    Memory a = make_memory(1);
    Memory b = make_memory(2);
    const uint32_t first = *a.register_region(region(a.create_pd()));
    EXPECT_NE(first >> 8, *b.register_region(region(b.create_pd())) >> 8);
    Memory again = make_memory(1);
    EXPECT_EQ(first, *again.register_region(region(again.create_pd())));
}

TEST(Memory, a_key_that_was_given_back_is_not_given_out_next) {
    Memory memory = make_memory();
    const PdId pd = memory.create_pd();
    std::set<uint32_t> seen;
    for (int i = 0; i < 64; ++i) {
        const uint32_t key = *memory.register_region(region(pd));
        EXPECT_TRUE(seen.insert(key).second);
        EXPECT_EQ(memory.deregister_region(key), Refusal::none);
        EXPECT_EQ(memory.deregister_region(key), Refusal::invalid_argument);
    }
    EXPECT_EQ(memory.live(), 0u);
}

TEST(Memory, a_grant_stands_until_its_memory_changes) {
    Memory memory = make_memory();
    const PdId pd = memory.create_pd();
    const uint32_t key = *memory.register_region(region(pd));
    const Grant first = *memory.check(key, {pd, {}}, 0x1000, 8, kRemoteRead);
    EXPECT_TRUE(memory.stands(first));
    ASSERT_EQ(memory.reregister_region(key, region(pd, 100)), Refusal::none);
    EXPECT_FALSE(memory.stands(first));
    const Grant second = *memory.check(key, {pd, {}}, 0x1000, 8, kRemoteRead);
    ASSERT_EQ(memory.deregister_region(key), Refusal::none);
    EXPECT_FALSE(memory.stands(second));
    for (int i = 0; i < 200; ++i) {  // also when the slot is used again
        memory.deregister_region(*memory.register_region(region(pd)));
        EXPECT_FALSE(memory.stands(second));
    }
}

TEST(Memory, a_protection_domain_goes_when_nothing_is_in_it) {
    Memory memory = make_memory();
    const PdId pd = memory.create_pd();
    const PdId other = memory.create_pd();
    const uint32_t key = *memory.register_region(region(pd));
    EXPECT_EQ(memory.destroy_pd(pd), Refusal::busy);
    ASSERT_EQ(memory.reregister_region(key, region(other)), Refusal::none);
    EXPECT_FALSE(memory.check(key, {pd, {}}, 0x1000, 8, kRemoteRead));
    EXPECT_TRUE(memory.check(key, {other, {}}, 0x1000, 8, kRemoteRead));
    EXPECT_EQ(memory.destroy_pd(pd), Refusal::none);
    EXPECT_EQ(memory.destroy_pd(pd), Refusal::invalid_argument);
    EXPECT_EQ(memory.destroy_pd(other), Refusal::busy);
}

WindowBinding over(uint32_t window, uint32_t region_key, uint64_t address = 0x1000,
                   uint64_t length = 64, uint32_t access = kRemoteWrite) {
    return {window, (window & ~0xffu) | ((window + 1) & 0xff), region_key, address, length, access};
}

TEST(Memory, a_window_is_bound_only_where_its_region_allows_it) {
    Memory memory = make_memory();
    const PdId pd = memory.create_pd();
    const PdId other = memory.create_pd();
    const Asker asker{pd, Qpn{5}};
    const uint32_t open = *memory.register_region(region(pd, 4096, kAll | kWindowBind));
    const uint32_t closed = *memory.register_region(region(pd, 4096, kAll));
    const uint32_t foreign = *memory.register_region(region(other, 4096, kAll | kWindowBind));
    const uint32_t read_only = *memory.register_region(region(pd, 4096, kRemoteRead | kWindowBind));
    const uint32_t window = *memory.create_window(pd, WindowType::type2);
    const Status no = Status::window_bind_error;
    EXPECT_EQ(memory.bind_type2(over(window, closed), asker), no);
    EXPECT_EQ(memory.bind_type2(over(window, foreign), asker), no);
    EXPECT_EQ(memory.bind_type2(over(window, read_only), asker), no);
    EXPECT_EQ(memory.bind_type2(over(window, open, 0x0fff), asker), no);
    EXPECT_EQ(memory.bind_type2(over(window, open, 0x1fff, 2), asker), no);
    EXPECT_EQ(memory.bind_type2(over(window, open, 0x1000, 0), asker), no);
    EXPECT_EQ(memory.bind_type2(over(window, open), {other, Qpn{5}}), no);
    EXPECT_EQ(memory.bind_type2(over(window, window), asker), no);
    WindowBinding renamed = over(window, open);
    renamed.new_rkey ^= 0x100;
    EXPECT_EQ(memory.bind_type2(renamed, asker), no);
    EXPECT_EQ(memory.bind_type2(over(window, open), asker), Status::success);
    const uint32_t key = over(window, open).new_rkey;
    EXPECT_EQ(memory.bind_type2(over(key, open), asker), no);  // bound already
    EXPECT_EQ(memory.deregister_region(open), Refusal::busy);
    EXPECT_EQ(memory.reregister_region(open, region(pd)), Refusal::busy);
    EXPECT_TRUE(memory.invalidate(key, asker));
    EXPECT_FALSE(memory.invalidate(key, asker));
    EXPECT_EQ(memory.deregister_region(open), Refusal::none);
}

TEST(Memory, a_window_that_is_destroyed_lets_go_of_its_region) {
    Memory memory = make_memory();
    const PdId pd = memory.create_pd();
    const Asker asker{pd, Qpn{5}};
    const uint32_t key = *memory.register_region(region(pd, 4096, kAll | kWindowBind));
    const uint32_t window = *memory.create_window(pd, WindowType::type1);
    const uint32_t bound = *memory.bind_type1(window, over(window, key), asker);
    EXPECT_TRUE(memory.check(bound, asker, 0x1000, 64, kRemoteWrite));
    const uint32_t unbound = *memory.bind_type1(bound, over(window, key, 0x1000, 0), asker);
    EXPECT_FALSE(memory.check(unbound, asker, 0x1000, 64, kRemoteWrite));
    const uint32_t again = *memory.bind_type1(unbound, over(window, key), asker);
    EXPECT_EQ(memory.deregister_region(key), Refusal::busy);
    EXPECT_EQ(memory.destroy_window(again), Refusal::none);
    EXPECT_EQ(memory.destroy_window(again), Refusal::invalid_argument);
    EXPECT_EQ(memory.deregister_region(key), Refusal::none);
}

}  // namespace
}  // namespace tulle::transport
