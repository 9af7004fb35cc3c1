// Strangers among those who share an XRC domain: they ask for receives, say how receives have ended
// and lend what nobody asked for. They know the secret of their victim, as any process of its user
// may, or do not.
#include <sys/uio.h>

#include "stranger.h"
#include "victim.h"

namespace tulle::live {
namespace {

constexpr DomainFile kFile{7, 4711};
constexpr DomainFile kOtherFile{7, 4712};
constexpr uint32_t kPosted = 8;
constexpr int kMostLooks = 100'000;  // until it has noticed that somebody has gone

// What the victim says of itself.
struct Wellbeing {
    uint32_t queue = 0;
    uint32_t slot = 0;
    uint32_t waiting = 0;
    uint32_t completed = 0;
    bool is_unharmed = false;
};

// A program with an XRC queue that a file stands for.
class Lender {
public:
    explicit Lender(const Identity& who) : program(who) {
        SoftwareAdapter& host = *program.side.host;
        const std::lock_guard guard(host.lock());
        const auto domain = host.adapter().xrc_domains().create();
        host.xrc_borrower().open(domain, kFile);
        queue = *host.adapter().shared_receives().create_for_xrc(domain, program.side.pd,
                                                                 program.side.cq, 64, 1);
        host.xrc_lender().show(queue, {program.side.pd.value, kFile});
        const transport::Sge sge{program.side.request.address, 64, program.side.key};
        for (uint32_t i = 0; i < kPosted; ++i)
            (void)host.adapter().shared_receives().post(queue, {i, std::span(&sge, 1)});
    }
    Wellbeing wellbeing() {
        Completion completion;
        for (int i = 0; i < 50; ++i)
            if (program.side.take(completion)) ++completed;
        SoftwareAdapter& host = *program.side.host;
        const std::lock_guard guard(host.lock());
        return {host.world().own().outside_of_srq(queue.value), host.world().own().slot(),
                host.adapter().shared_receives().waiting(queue), completed, program.is_unharmed()};
    }

private:
    Program program;
    transport::SrqId queue;
    uint32_t completed = 0;
};

int live_as_lender(const Channel& parent, const Identity& who) {
    Lender lender(who);
    parent.send(lender.wellbeing());
    char word = 0;
    while (parent.receive(word) && word != 'q') parent.send(lender.wellbeing());
    return 0;
}

template <class Record>
void put(Stranger& stranger, const Record& record) {
    stranger.put(std::as_bytes(std::span(&record, 1)));
}

uint64_t secret_of(const Introduction& victim) {
    void* board = mmap(nullptr, sizeof(Board), PROT_READ, MAP_SHARED, victim.board.get(), 0);
    Secret secret;
    const iovec here{&secret, sizeof secret};
    const iovec there{reinterpret_cast<void*>(static_cast<const Board*>(board)->secret_place),
                      sizeof secret};
    return process_vm_readv(victim.who.pid, &here, 1, &there, 1, 0) == sizeof secret ? secret.word
                                                                                     : 0;
}

class LendingTest : public testing::Test {
protected:
    using Say = std::function<void(Stranger&, uint32_t queue)>;
    enum class Fate : uint8_t { heard, turned_away };

    void SetUp() override { before = victim.channel().take<Wellbeing>(); }

    // What becomes of one who says this. `meanwhile` is how the victim fares as long as it is
    // there.
    Fate fate_of(const Say& say, bool has_proof = true) {
        Process attacker(uid, [&](const Channel& parent) {
            Stranger stranger(world_for(world, false, uid));
            for (auto& block : stranger.board().blocks) block.store(0);
            stranger.board().blocks[stranger.card.slot].store(1);
            const auto answer = stranger.call(before.slot);
            if (!answer || !answer->bell) return 1;
            if (has_proof) stranger.ring().proof.store(secret_of(*answer));
            say(stranger, before.queue);
            eventfd_write(answer->bell.get(), 1);
            parent.send(fate(stranger, answer->socket.get()));
            (void)parent.take<char>();
            return 0;
        });
        const auto found = attacker.channel().take<Fate>();
        meanwhile = look();
        attacker.channel().send('q');
        EXPECT_EQ(attacker.exit_code(), 0);
        return found;
    }
    static Fate fate(Stranger& stranger, int socket) {
        while (stranger.ring().read.load() != stranger.ring().written.load()) {
            stranger.answer_callers();
            if (!hear(socket)) return Fate::turned_away;
        }
        for (int i = 0; i < 20; ++i) stranger.await_callers();
        return hear(socket) ? Fate::heard : Fate::turned_away;
    }
    Wellbeing look() {
        victim.channel().send('?');
        return victim.channel().take<Wellbeing>();
    }
    // All that was lent has come back, nothing completed, and nothing was touched.
    void expect_unharmed() {
        Wellbeing after = look();
        for (int looks = 0; looks < kMostLooks && after.waiting != kPosted; ++looks) after = look();
        EXPECT_EQ(after.waiting, kPosted);
        EXPECT_EQ(after.completed, 0u);
        EXPECT_TRUE(after.is_unharmed);
    }

    const std::string world = new_world();
    const uid_t uid = user(kVictim);
    Process victim{
        uid, [this](const Channel& c) { return live_as_lender(c, identity_in(world, 0, false)); }};
    Wellbeing before;
    Wellbeing meanwhile;
};

TEST_F(LendingTest, a_process_that_has_proven_nothing_is_lent_nothing) {
    EXPECT_EQ(fate_of(
                  [](Stranger& stranger, uint32_t queue) {
                      AskRecord ask;
                      ask.queue = queue;
                      ask.count = 4;
                      ask.file = kFile;
                      put(stranger, ask);
                  },
                  false),
              Fate::turned_away);
    EXPECT_EQ(meanwhile.waiting, kPosted);
    expect_unharmed();
}

TEST_F(LendingTest, what_was_lent_to_one_that_goes_comes_back) {
    EXPECT_EQ(fate_of([](Stranger& stranger, uint32_t queue) {
                  AskRecord ask;
                  ask.queue = queue;
                  ask.count = kLentAtOnce;
                  ask.file = kFile;
                  put(stranger, ask);
              }),
              Fate::heard);
    EXPECT_LT(meanwhile.waiting, kPosted);
    expect_unharmed();
}

TEST_F(LendingTest, a_queue_of_another_domain_lends_nothing) {
    EXPECT_EQ(fate_of([](Stranger& stranger, uint32_t queue) {
                  AskRecord ask;
                  ask.queue = queue;
                  ask.count = 1;
                  ask.file = kOtherFile;
                  put(stranger, ask);
                  ask.file = kFile;
                  ask.queue = queue + 1;
                  put(stranger, ask);
              }),
              Fate::heard);
    EXPECT_EQ(meanwhile.waiting, kPosted);
    expect_unharmed();
}

TEST_F(LendingTest, whoever_asks_for_more_than_is_lent_at_once_is_turned_away) {
    for (const uint32_t count : {0u, kLentAtOnce + 1, UINT32_MAX}) {
        EXPECT_EQ(fate_of([&](Stranger& stranger, uint32_t queue) {
                      AskRecord ask;
                      ask.queue = queue;
                      ask.count = count;
                      ask.file = kFile;
                      put(stranger, ask);
                  }),
                  Fate::turned_away);
    }
    expect_unharmed();
}

TEST_F(LendingTest, receives_that_were_never_lent_do_not_complete) {
    EXPECT_EQ(fate_of([](Stranger& stranger, uint32_t) {
                  for (uint32_t token = 0; token < 64; ++token) {
                      CompleteRecord done;
                      done.token = token;
                      done.kind = static_cast<uint8_t>(transport::CompletionKind::receive);
                      done.qpn = outside(wire::Qpn{2}, stranger.card.slot).value;
                      put(stranger, done);
                      GiveBackRecord back;
                      back.token = token;
                      put(stranger, back);
                  }
              }),
              Fate::heard);
    expect_unharmed();
}

// Tokens are counted, so anybody can guess those of others.
TEST_F(LendingTest, a_receive_that_was_lent_to_another_does_not_complete) {
    Process borrower(uid, [&](const Channel& parent) {
        Stranger stranger(world_for(world, false, uid));
        for (auto& block : stranger.board().blocks) block.store(0);
        stranger.board().blocks[stranger.card.slot].store(1);
        const auto answer = stranger.call(before.slot);
        if (!answer || !answer->bell) return 1;
        stranger.ring().proof.store(secret_of(*answer));
        AskRecord ask;
        ask.queue = before.queue;
        ask.count = 4;
        ask.file = kFile;
        put(stranger, ask);
        eventfd_write(answer->bell.get(), 1);
        parent.send(fate(stranger, answer->socket.get()));
        (void)parent.take<char>();
        return 0;
    });
    EXPECT_EQ(borrower.channel().take<Fate>(), Fate::heard);
    EXPECT_LT(look().waiting, kPosted);
    EXPECT_EQ(fate_of([](Stranger& stranger, uint32_t) {
                  for (uint32_t token = 1; token <= 4; ++token) {
                      CompleteRecord record;
                      record.token = token;
                      record.kind = static_cast<uint8_t>(transport::CompletionKind::receive);
                      record.qpn = stranger.card.slot << kSlotShift;
                      put(stranger, record);
                  }
              }),
              Fate::heard);
    EXPECT_EQ(meanwhile.completed, 0u);
    borrower.channel().send('q');
    EXPECT_EQ(borrower.exit_code(), 0);
    expect_unharmed();
}

TEST_F(LendingTest, whoever_says_what_no_completion_is_is_turned_away) {
    CompleteRecord good;
    good.kind = static_cast<uint8_t>(transport::CompletionKind::receive);
    std::vector<CompleteRecord> bad(6, good);
    bad[0].status = 200;
    bad[1].kind = 0;
    bad[2].flags = 0x80;
    bad[3].byte_count = UINT32_MAX;
    bad[4].qpn = UINT32_MAX;
    bad[5].qpn = outside(wire::Qpn{2}, before.slot).value;  // the victim's own
    for (CompleteRecord& record : bad)
        EXPECT_EQ(fate_of([&](Stranger& stranger, uint32_t) {
                      if (record.qpn == 0)
                          record.qpn = outside(wire::Qpn{2}, stranger.card.slot).value;
                      put(stranger, record);
                  }),
                  Fate::turned_away);
    expect_unharmed();
}

TEST_F(LendingTest, receives_that_nobody_asked_for_are_not_taken) {
    EXPECT_EQ(fate_of([](Stranger& stranger, uint32_t queue) {
                  for (const uint32_t number : {queue, stranger.card.slot << kSrqShift | 1}) {
                      LendRecord lend;
                      lend.queue = number;
                      lend.token = 1;
                      put(stranger, lend);
                  }
              }),
              Fate::heard);
    expect_unharmed();
}

TEST_F(LendingTest, a_receive_with_more_pieces_than_it_has_is_turned_away) {
    for (const uint32_t pieces : {1u, kMostPieces + 1, UINT32_MAX, 0x1000'0000u}) {
        EXPECT_EQ(fate_of([&](Stranger& stranger, uint32_t) {
                      LendRecord lend;
                      lend.queue = stranger.card.slot << kSrqShift | 1;
                      lend.pieces = pieces;
                      put(stranger, lend);
                  }),
                  Fate::turned_away);
    }
    expect_unharmed();
}

TEST_F(LendingTest, records_that_are_cut_short_are_turned_away) {
    for (const RecordKind kind : {RecordKind::ask_receives, RecordKind::lend_receive,
                                  RecordKind::complete_lent, RecordKind::give_back_lent})
        EXPECT_EQ(fate_of([&](Stranger& stranger, uint32_t) { put(stranger, RecordHead{kind}); }),
                  Fate::turned_away);
    expect_unharmed();
}

}  // namespace
}  // namespace tulle::live
