// Datagrams that nobody sane sends, and owners and wires that do anything at any time. A driver of
// random steps plays two owners and the wire between them; what must hold all the time is checked
// outside of the managers.
#include <gtest/gtest.h>

#include <set>

#include "transport/cm/testing.h"

namespace tulle::transport {
namespace {

using namespace testing;
using base::RandomStream;

CmDatagram random_mad(RandomStream& random) {
    CmDatagram mad;
    for (std::byte& byte : mad) byte = static_cast<std::byte>(random.next());
    return mad;
}

// A datagram of the class with a known attribute and anything else behind it.
CmDatagram random_message(RandomStream& random) {
    CmDatagram mad = random_mad(random);
    wire::MadHeader header = *wire::parse<wire::MadHeader>(mad);
    header.base_version = wire::kMadBaseVersion;
    header.management_class.value = wire::kClassCommunication;
    header.class_version = random.chance(1, 20) ? 1 : wire::kCmClassVersion;
    header.method.value = wire::kMethodSend;
    header.attribute_id.value = static_cast<uint16_t>(wire::kCmReq + random.below(13));
    wire::write(header, mad);
    return mad;
}

TEST(CmHostile, random_bytes_are_counted_and_dropped) {
    RandomStream random({.seed = 1});
    ConnectionManager manager = sample_manager(1);
    for (int i = 0; i < 10'000; ++i) {
        const CmDatagram mad = random_mad(random);
        manager.on_mad({}, 1, wire::Qpn{1}, wire::Bytes(mad).first(random.below(257)));
    }
    EXPECT_EQ(manager.stats().received, 10'000u);
    EXPECT_EQ(manager.stats().malformed, 10'000u);
    EXPECT_FALSE(manager.poll_mad({}));
    EXPECT_FALSE(manager.poll_event());
}

TEST(CmHostile, random_messages_change_nothing_where_nobody_listens) {
    RandomStream random({.seed = 2});
    ConnectionManager manager = sample_manager(1);
    for (int i = 0; i < 10'000; ++i) {
        manager.on_mad({}, 1, wire::Qpn{1}, random_message(random));
        int answers = 0;
        while (manager.poll_mad({})) ++answers;
        EXPECT_LE(answers, 1);
        EXPECT_FALSE(manager.poll_event());
    }
    EXPECT_EQ(manager.open_connections(), 0u);
}

TEST(CmHostile, a_reject_is_never_answered) {
    RandomStream random({.seed = 3});
    ConnectionManager manager = sample_manager(1);
    for (int i = 0; i < 1'000; ++i) {
        CmDatagram mad = random_message(random);
        mad[16] = std::byte{0};
        mad[17] = std::byte{wire::kCmRej};
        manager.on_mad({}, 1, wire::Qpn{1}, mad);
        while (const auto out = manager.poll_mad({}))
            EXPECT_NE(attribute_of(out->mad), wire::kCmRej);
    }
}

// Who has guessed the ID of a request, from an address that it was not sent to.
TEST(CmHostile, a_stranger_with_the_right_ids_changes_nothing) {
    CmPair pair;
    EXPECT_EQ(pair.server.manager.listen(kService).status, CmStatus::ok);
    ConnectRequest request = sample_request();
    request.endpoint = 2;
    EXPECT_EQ(pair.client.manager.connect(pair.now(), request).status, CmStatus::ok);
    const uint32_t id =
        message_in<wire::CmReq>(pair.client.manager.poll_mad({})->mad).local_communication_id.value;
    const auto says = [&](uint32_t from, const CmDatagram& mad) {
        pair.client.manager.on_mad(pair.now(), from, wire::Qpn{1}, mad);
        return pair.client.manager.poll_event();
    };
    const auto refusal = cm::datagram(
        cm::rej_message({}, wire::kCmAnswersReq, {.local = 5, .remote = id}), wire::Key64{1});
    const auto reply = cm::datagram(cm::rep_message(sample_reply(), {}, {.local = 5, .remote = id}),
                                    wire::Key64{1});
    const auto patience = cm::datagram(
        cm::mra_message(wire::kCmAnswersReq, 24, {}, {.local = 5, .remote = id}), wire::Key64{1});
    for (const CmDatagram& mad : {refusal, reply, patience}) EXPECT_FALSE(says(7, mad));
    EXPECT_TRUE(says(2, refusal)) << "from its peer it counts";
}

// An owner that does anything with any handle, and keeps the books.
struct Owner {
    explicit Owner(uint64_t number, uint64_t seed)
        : manager({.ca_guid = wire::Guid{number},
                   .max_connections = 12,
                   .ask_every = base::Duration{3'000'000}},
                  RandomStream({.seed = seed, .kind = 2, .index = number})) {
        EXPECT_EQ(manager.listen(kService).status, CmStatus::ok);
    }

    ConnectionManager manager;
    std::set<uint32_t> alive{};          // handles that will have a last event
    std::vector<uint32_t> seen{{0, 7}};  // all that ever were, and some that never were
    std::array<int, std::variant_size_v<decltype(CmEvent::what)>> kinds{};
    int crossed = 0;

    CmHandle any(RandomStream& random) {
        if (alive.empty() || random.chance(1, 8)) return {seen[random.below(seen.size())]};
        return {*std::next(alive.begin(), static_cast<ptrdiff_t>(random.below(alive.size())))};
    }

    void opened(const CmOpened& result) {
        if (result.status == CmStatus::ok) born(result.handle);
    }
    void born(CmHandle handle) {
        EXPECT_TRUE(alive.insert(handle.bits).second) << "two things have one handle";
        seen.push_back(handle.bits);
    }
    void gave_up(CmHandle handle, CmStatus status) {
        if (status != CmStatus::ok) return;
        EXPECT_EQ(alive.erase(handle.bits), 1u);
    }

    void take_events() {
        while (const auto event = manager.poll_event()) {
            const auto* request = std::get_if<CmRequestArrived>(&event->what);
            const bool crosses = request != nullptr && request->listener == CmListener{};
            if ((request != nullptr && !crosses) ||
                std::holds_alternative<CmServiceRequested>(event->what))
                born(event->handle);
            crossed += crosses;
            EXPECT_TRUE(alive.contains(event->handle.bits)) << "an event after the last";
            ++kinds[event->what.index()];
            if (event->last) alive.erase(event->handle.bits);
        }
    }
};

class Driver {
public:
    explicit Driver(uint64_t seed)
        : random_({.seed = seed}), owners_{Owner(1, seed), Owner(2, seed)} {}

    void step() {
        Owner& owner = owners_[random_.below(2)];
        switch (random_.below(8)) {
            case 0: pass_time(); break;
            case 1:
            case 2:
            case 3: call(owner); break;
            default: deliver(); break;
        }
        drain();
    }

    // Everybody gives up; what is left must go away by itself.
    void end() {
        for (Owner& owner : owners_)
            for (const uint32_t bits : std::set(owner.alive))
                owner.gave_up({bits}, owner.manager.abandon(now_, {bits}));
        for (int i = 0; i < 10'000 && next_deadline() != base::Instant::never(); ++i) {
            now_ = next_deadline();
            run_timers();
            drain();
            history_.clear();
        }
        for (Owner& owner : owners_) {
            EXPECT_TRUE(owner.alive.empty());
            EXPECT_EQ(owner.manager.open_connections(), 0u);
        }
    }

    // How many events of a kind both owners saw.
    int events(size_t kind) const { return owners_[0].kinds[kind] + owners_[1].kinds[kind]; }
    int crossed() const { return owners_[0].crossed + owners_[1].crossed; }

private:
    base::Instant next_deadline() {
        return std::min(owners_[0].manager.next_deadline(), owners_[1].manager.next_deadline());
    }

    void run_timers() {
        for (Owner& owner : owners_) {
            owner.manager.on_timer(now_);
            EXPECT_GT(owner.manager.next_deadline(), now_);
        }
    }

    void pass_time() {
        if (random_.chance(1, 2))
            now_ += base::Duration{static_cast<int64_t>(random_.below(10'000'000))};
        if (random_.chance(1, 2) && next_deadline() != base::Instant::never())
            now_ = std::max(now_, next_deadline());
        run_timers();
    }

    void call(Owner& owner) {
        const CmHandle handle = owner.any(random_);
        ConnectionManager& manager = owner.manager;
        switch (random_.below(14)) {
            case 0:
            case 1: owner.opened(manager.connect(now_, any_request(owner))); break;
            case 2: owner.opened(manager.resolve_service(now_, any_question())); break;
            case 3: ignore(manager.ready(now_, handle)); break;
            case 4: ignore(manager.communication_established(now_, handle)); break;
            case 5: ignore(manager.prepare(handle, static_cast<uint8_t>(random_.below(20)))); break;
            case 6: ignore(manager.disconnect(now_, handle)); break;
            case 7: owner.gave_up(handle, manager.reject(now_, handle, any_rejection())); break;
            case 8:
                owner.gave_up(handle, manager.answer_service(now_, handle, {.qpn = wire::Qpn{5}}));
                break;
            case 9: owner.gave_up(handle, manager.abandon(now_, handle)); break;
            case 10: ignore(manager.follow(now_, handle, 1 - endpoint_of(owner), {})); break;
            case 11:
                if (random_.chance(1, 16)) manager.lose_endpoint(1 - endpoint_of(owner));
                if (random_.chance(1, 4))
                    manager.on_unreachable(now_, 1 - endpoint_of(owner), random_.chance(1, 2),
                                           any_quote());
                break;
            default: ignore(manager.accept(now_, handle, sample_reply(any_qpn()))); break;
        }
    }

    static void ignore(CmStatus) {}

    wire::Bytes any_quote() const {
        return history_.empty() ? wire::Bytes{} : wire::Bytes(history_.back().mad);
    }

    uint32_t any_qpn() { return static_cast<uint32_t>(2 + random_.below(6)); }

    uint32_t endpoint_of(const Owner& owner) const { return &owner == &owners_[0] ? 0 : 1; }

    static Rejection elsewhere() {
        static constexpr std::array<std::byte, 16> kGid{};
        return {.reason = wire::kCmRejectPortRedirect, .additional_info = kGid};
    }
    Rejection any_rejection() {
        if (random_.chance(1, 4)) return {.reason = wire::kCmRejectInvalidMtu};
        return random_.chance(1, 2) ? elsewhere() : Rejection{};
    }

    ConnectRequest any_request(const Owner& owner) {
        ConnectRequest request = sample_request(any_qpn());
        request.endpoint = 1 - endpoint_of(owner);
        request.peer_to_peer = random_.chance(1, 4);
        request.watches_peer = random_.chance(1, 2);
        request.max_cm_retries = static_cast<uint8_t>(random_.below(4));
        if (random_.chance(1, 10)) request.service_id.value = 1;
        return request;
    }

    ServiceRequest any_question() {
        return {.endpoint = static_cast<uint32_t>(random_.below(2)), .service_id = kService};
    }

    // Mostly the newest message to its destination; else an old one, a changed one, or nonsense.
    void deliver() {
        if (history_.empty()) return;
        const bool newest = random_.chance(3, 4);
        CmOutgoing out = newest ? history_.back() : history_[random_.below(history_.size())];
        if (newest && random_.chance(3, 4)) history_.pop_back();
        if (random_.chance(1, 8)) out.mad[random_.below(60)] ^= std::byte{1};
        if (random_.chance(1, 16)) out.mad[17] = static_cast<std::byte>(0x10 + random_.below(11));
        if (random_.chance(1, 32)) out.mad = random_message(random_);
        const uint32_t to = random_.chance(1, 32) ? 1 - out.endpoint : out.endpoint;
        owners_[to].manager.on_mad(now_, 1 - out.endpoint, wire::Qpn{1}, out.mad);
    }

    void drain() {
        for (Owner& owner : owners_) {
            while (const auto out = owner.manager.poll_mad(now_))
                if (out->endpoint < 2) history_.push_back(*out);
            owner.take_events();
        }
    }

    RandomStream random_;
    std::array<Owner, 2> owners_;
    base::Instant now_;
    std::vector<CmOutgoing> history_;
};

TEST(CmHostile, whatever_happens_each_handle_ends_once_and_nothing_is_left) {
    std::array<int, std::variant_size_v<decltype(CmEvent::what)>> kinds{};
    int crossed = 0;
    for (uint64_t seed = 0; seed < 1'500 && !HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        Driver driver(seed);
        for (int i = 0; i < 400; ++i) driver.step();
        driver.end();
        for (size_t kind = 0; kind < kinds.size(); ++kind) kinds[kind] += driver.events(kind);
        crossed += driver.crossed();
    }
    EXPECT_GT(crossed, 10);
    for (size_t kind = 0; kind < kinds.size(); ++kind)
        EXPECT_GT(kinds[kind], 10) << "the driver hardly ever sees events of kind " << kind;
}

}  // namespace
}  // namespace tulle::transport
