#include "transport/qp_state.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace tulle::transport {
namespace {

using enum QpState;
using enum QpType;

constexpr std::array kTypes = {rc, uc, ud, rd, xrc_initiator, xrc_target};
constexpr std::array kStates = {reset, init, rtr, rts, sqd, sqe, error};
constexpr std::array<uint32_t, 20> kAttributes = {
    kCurrentState, kDrainNotify, kAccessFlags,      kPkeyIndex,      kPort,
    kQkey,         kAddress,     kPathMtu,          kTimeout,        kRetryCount,
    kRnrRetry,     kReceivePsn,  kMaxReads,         kAlternatePath,  kMinRnrTimer,
    kSendPsn,      kDestQpn,     kMaxIncomingReads, kMigrationState, 1u << 19};

struct Legal {
    QpState from;
    QpState to;
    uint32_t required;
    uint32_t optional;
};

// The table of ibv_modify_qp(3) and of IBTA vol 1, 11.2.5.2, a service at a time.
std::vector<Legal> legal_changes(QpType type) {
    switch (type) {
        case rc:
            return {
                {reset, init, kPkeyIndex | kPort | kAccessFlags, 0},
                {init, init, 0, kPkeyIndex | kPort | kAccessFlags},
                {init, rtr,
                 kAddress | kPathMtu | kDestQpn | kReceivePsn | kMaxIncomingReads | kMinRnrTimer,
                 kAlternatePath | kAccessFlags | kPkeyIndex},
                {rtr, rts, kSendPsn | kMaxReads | kRetryCount | kRnrRetry | kTimeout,
                 kCurrentState | kAccessFlags | kAlternatePath | kMinRnrTimer | kMigrationState},
                {rts, rts, 0,
                 kCurrentState | kAccessFlags | kAlternatePath | kMinRnrTimer | kMigrationState},
                {rts, sqd, 0, kDrainNotify},
                {sqd, rts, 0,
                 kCurrentState | kAccessFlags | kAlternatePath | kMinRnrTimer | kMigrationState},
                {sqd, sqd, 0,
                 kPort | kAddress | kMaxReads | kMaxIncomingReads | kAlternatePath | kTimeout |
                     kRetryCount | kRnrRetry | kAccessFlags | kPkeyIndex | kMinRnrTimer |
                     kMigrationState}};
        case uc:
            return {
                {reset, init, kPkeyIndex | kPort | kAccessFlags, 0},
                {init, init, 0, kPkeyIndex | kPort | kAccessFlags},
                {init, rtr, kAddress | kPathMtu | kDestQpn | kReceivePsn,
                 kAlternatePath | kAccessFlags | kPkeyIndex},
                {rtr, rts, kSendPsn,
                 kCurrentState | kAccessFlags | kAlternatePath | kMigrationState},
                {rts, rts, 0, kCurrentState | kAccessFlags | kAlternatePath | kMigrationState},
                {rts, sqd, 0, kDrainNotify},
                {sqd, rts, 0, kCurrentState | kAccessFlags | kAlternatePath | kMigrationState},
                {sqd, sqd, 0,
                 kPort | kAddress | kAlternatePath | kAccessFlags | kPkeyIndex | kMigrationState},
                {sqe, rts, 0, kCurrentState | kAccessFlags}};
        case ud:
            return {{reset, init, kPkeyIndex | kPort | kQkey, 0},
                    {init, init, 0, kPkeyIndex | kPort | kQkey},
                    {init, rtr, 0, kPkeyIndex | kQkey},
                    {rtr, rts, kSendPsn, kCurrentState | kQkey},
                    {rts, rts, 0, kCurrentState | kQkey},
                    {rts, sqd, 0, kDrainNotify},
                    {sqd, rts, 0, kCurrentState | kQkey},
                    {sqd, sqd, 0, kPkeyIndex | kQkey},
                    {sqe, rts, 0, kCurrentState | kQkey}};
        default: return {};
    }
}

const Legal* find(const std::vector<Legal>& table, QpState from, QpState to) {
    for (const Legal& legal : table)
        if (legal.from == from && legal.to == to) return &legal;
    return nullptr;
}

TEST(QpState, every_legal_change_takes_what_it_requires_and_what_it_knows) {
    for (const QpType type : {rc, uc, ud}) {
        for (const Legal& legal : legal_changes(type)) {
            EXPECT_TRUE(is_legal_change(type, legal.from, legal.to, legal.required));
            EXPECT_TRUE(is_legal_change(type, legal.from, legal.to, legal.required | kState));
            EXPECT_TRUE(
                is_legal_change(type, legal.from, legal.to, legal.required | legal.optional));
            for (const uint32_t bit : kAttributes) {
                const uint32_t all = legal.required | legal.optional;
                if ((legal.optional & bit) != 0) {
                    EXPECT_TRUE(is_legal_change(type, legal.from, legal.to, all & ~bit));
                }
            }
        }
    }
}

TEST(QpState, a_change_that_lacks_what_it_requires_is_refused) {
    for (const QpType type : {rc, uc, ud})
        for (const Legal& legal : legal_changes(type))
            for (const uint32_t bit : kAttributes) {
                if ((legal.required & bit) == 0) continue;
                EXPECT_FALSE(is_legal_change(type, legal.from, legal.to, legal.required & ~bit))
                    << int(type) << int(legal.from) << int(legal.to) << " " << bit;
            }
}

TEST(QpState, a_change_with_what_it_does_not_know_is_refused) {
    for (const QpType type : {rc, uc, ud})
        for (const Legal& legal : legal_changes(type))
            for (const uint32_t bit : kAttributes) {
                if (((legal.required | legal.optional) & bit) != 0) continue;
                EXPECT_FALSE(is_legal_change(type, legal.from, legal.to, legal.required | bit))
                    << int(type) << int(legal.from) << int(legal.to) << " " << bit;
            }
}

TEST(QpState, there_is_no_other_change) {
    const uint32_t everything = (1u << 21) - 1;
    for (const QpType type : {rc, uc, ud}) {
        const std::vector<Legal> table = legal_changes(type);
        for (const QpState from : kStates)
            for (const QpState to : kStates) {
                if (to == reset || to == error || find(table, from, to) != nullptr) continue;
                EXPECT_FALSE(is_legal_change(type, from, to, 0)) << int(from) << int(to);
                EXPECT_FALSE(is_legal_change(type, from, to, everything));
                for (const Legal& legal : table)
                    EXPECT_FALSE(is_legal_change(type, from, to, legal.required));
            }
    }
}

TEST(QpState, every_state_leads_to_reset_and_to_error_without_attributes) {
    for (const QpType type : kTypes)
        for (const QpState from : kStates)
            for (const QpState to : {reset, error}) {
                EXPECT_TRUE(is_legal_change(type, from, to, kState));
                for (const uint32_t bit : kAttributes)
                    EXPECT_FALSE(is_legal_change(type, from, to, bit));
            }
}

TEST(QpState, the_service_says_which_work_is_offered) {
    const std::array all = {
        Work::write,       Work::write_with_immediate, Work::send,      Work::send_with_immediate,
        Work::read,        Work::compare_swap,         Work::fetch_add, Work::local_invalidate,
        Work::bind_window, Work::send_with_invalidate, Work::flush,     Work::atomic_write};
    for (const Work work : all) {
        const bool is_send = work == Work::send || work == Work::send_with_immediate;
        const bool is_write = work == Work::write || work == Work::write_with_immediate;
        const bool is_local = work == Work::local_invalidate || work == Work::bind_window;
        EXPECT_TRUE(offers(rc, work));
        EXPECT_EQ(offers(uc, work), is_send || is_write || is_local);
        EXPECT_EQ(offers(ud, work), is_send);
        EXPECT_FALSE(offers(xrc_target, work));
    }
}

}  // namespace
}  // namespace tulle::transport
