// Who is believed at the door of a process.
#include "live/meeting.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "live/shared_memory.h"

namespace tulle::live {
namespace {

class MeetingTest : public testing::Test {
protected:
    MeetingTest() : ours(Door::open(world)) {}

    // Calls us as the owner of this slot. The connection stays open until it is closed.
    Descriptor call_as(uint32_t slot) const {
        auto line = reach(world, ours->slot());
        const auto memory = SharedMemory::create(4096, SharedMemory::Peers::write);
        Card card{.instance = 1, .slot = slot, .board = memory.file(), .ring = memory.file()};
        if (!line || !send_card(line->socket.get(), card, true)) return Descriptor();
        return std::move(line->socket);
    }
    // The first at our door who is believed. A process that looks for a free slot rings, too.
    std::optional<Introduction> caller() {
        const auto memory = SharedMemory::create(4096, SharedMemory::Peers::read);
        const Card mine{.instance = 2, .slot = ours->slot(), .board = memory.file()};
        while (Descriptor socket = ours->accept(mine))
            if (auto found = ours->read_caller(std::move(socket))) return found;
        return std::nullopt;
    }
    // Another process does this, and has ended when this returns.
    static void elsewhere(const std::function<bool()>& act) {
        const pid_t process = fork();
        if (process == 0) _exit(act() ? 0 : 1);
        int status = -1;
        EXPECT_EQ(waitpid(process, &status, 0), process);
        EXPECT_EQ(status, 0);
    }
    bool call_from_own_slot() const {
        const auto theirs = Door::open(world);
        return theirs && theirs->slot() == 1 && call_as(1);
    }

    Realm world{"meeting-" + std::to_string(getpid()), geteuid(), false};
    std::optional<Door> ours;
};

TEST_F(MeetingTest, the_owner_of_a_slot_is_believed) {
    const auto theirs = Door::open(world);
    const Descriptor socket = call_as(theirs->slot());
    const auto found = caller();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->slot, theirs->slot());
    EXPECT_FALSE(found->is_leaving);
}

TEST_F(MeetingTest, who_called_and_ended_is_heard) {
    elsewhere([&] { return call_from_own_slot(); });
    const auto found = caller();
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->is_leaving);
}

TEST_F(MeetingTest, who_called_and_ended_is_heard_though_another_has_its_slot) {
    elsewhere([&] { return call_from_own_slot(); });
    const auto successor = Door::open(world);
    ASSERT_EQ(successor->slot(), 1u);
    const auto found = caller();
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->is_leaving);
}

TEST_F(MeetingTest, who_claims_the_slot_of_another_is_not_believed) {
    const auto other = Door::open(world);
    int told[2];
    ASSERT_EQ(pipe(told), 0);
    const pid_t process = fork();
    if (process == 0) {
        const Descriptor socket = call_as(other->slot());
        const char has_called = socket ? 1 : 0;
        if (write(told[1], &has_called, 1) != 1) _exit(1);
        while (true) pause();
    }
    char has_called = 0;
    ASSERT_EQ(read(told[0], &has_called, 1), 1);
    EXPECT_EQ(has_called, 1);
    EXPECT_FALSE(caller());
    close(told[0]);
    close(told[1]);
    kill(process, SIGKILL);
    EXPECT_EQ(waitpid(process, nullptr, 0), process);
}

}  // namespace
}  // namespace tulle::live
