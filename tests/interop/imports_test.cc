// A process imports objects of another one: by the file of its device and by handles, as with real
// adapters. Run by `tulle run`.
#include <sys/mman.h>
#include <sys/prctl.h>

#include <algorithm>
#include <string>

#include "two.h"

namespace {

using two::kAll;
using two::kPage;
using two::Side;

constexpr uid_t kNobody = 65534;

// The owner's description of its objects.
struct Handles {
    uint32_t pd = 0;
    uint32_t mr = 0;
    uint64_t address = 0;
};

struct Offer {
    int access = kAll;
    bool is_of_another_domain = false;
};

// The owner registers its first page and passes on its device.
Handles offer(Side& side, const Offer& what = {}) {
    side.open();
    std::fill_n(side.memory.begin(), kPage, 'o');
    ibv_pd* domain = what.is_of_another_domain ? ibv_alloc_pd(side.context) : side.pd;
    ibv_mr* offered = ibv_reg_mr(domain, side.memory.data(), kPage, what.access);
    const Handles handles{side.pd->handle, offered->handle,
                          reinterpret_cast<uint64_t>(side.memory.data())};
    side.hand(side.context->cmd_fd);
    side.tell(handles);
    // Tests deregister side.mr.
    if (ibv_dereg_mr(side.mr) != 0) std::abort();
    side.mr = offered;
    return handles;
}

bool is_all(const Side& side, char byte) {
    return std::all_of(side.memory.begin(), side.memory.begin() + kPage,
                       [&](char c) { return c == byte; });
}

// The importer: a context from that file, and two queue pairs of the imported domain, connected to
// each other.
class Importer {
public:
    explicit Importer(Side& side) : side_(side) {
        const int file = side_.take();
        handles = side_.hear<Handles>();
        side_.context = ibv_import_device(file);
        if (side_.context == nullptr) std::abort();
        side_.pd = ibv_import_pd(side_.context, handles.pd);
        if (side_.pd == nullptr) return;
        side_.cq = ibv_create_cq(side_.context, 256, nullptr, nullptr, 0);
        std::fill_n(side_.memory.begin(), kPage, 'i');
        side_.mr = ibv_reg_mr(side_.pd, side_.memory.data(), side_.memory.size(), kAll);
        connect();
        imported = ibv_import_mr(side_.pd, handles.mr);
    }
    ~Importer() {
        if (imported != nullptr) ibv_unimport_mr(imported);
        if (side_.pd == nullptr) return;
        disconnect();
        EXPECT_EQ(ibv_dereg_mr(side_.mr), 0);
        EXPECT_EQ(ibv_destroy_cq(side_.cq), 0);
        ibv_unimport_pd(side_.pd);
        EXPECT_EQ(ibv_close_device(side_.context), 0);
    }
    Importer(const Importer&) = delete;
    Importer& operator=(const Importer&) = delete;

    void connect() {
        side_.qp = side_.make(side_.pd);
        taker_ = side_.make(side_.pd);
        if (!side_.bring_up(side_.qp, side_.card(taker_, side_.mr)) ||
            !side_.bring_up(taker_, side_.card(side_.qp, side_.mr)))
            std::abort();
    }
    void disconnect() {
        EXPECT_EQ(ibv_destroy_qp(taker_), 0);
        EXPECT_EQ(ibv_destroy_qp(side_.qp), 0);
    }

    ibv_sge own() {
        return {reinterpret_cast<uint64_t>(side_.memory.data()), kPage, side_.mr->lkey};
    }
    ibv_sge theirs() const { return {handles.address, kPage, key}; }

    // Through the owner's memory, by the key that peers know.
    ibv_wc_status rdma(ibv_wr_opcode opcode) {
        ibv_send_wr wr = side_.request(opcode, opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : kPage);
        if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
            wr.wr.atomic = {handles.address, 1, 0, key};
        else
            wr.wr.rdma = {handles.address, key};
        return side_.result_of(wr);
    }
    // A message from one address to another. Returns the status of the sender and of the receiver.
    std::pair<ibv_wc_status, ibv_wc_status> send(ibv_sge from, ibv_sge to) {
        ibv_recv_wr receive{};
        receive.sg_list = &to;
        receive.num_sge = 1;
        ibv_recv_wr* bad_receive = nullptr;
        EXPECT_EQ(ibv_post_recv(taker_, &receive, &bad_receive), 0);
        ibv_send_wr wr = side_.request(IBV_WR_SEND, kPage);
        wr.sg_list = &from;
        EXPECT_EQ(side_.post(wr), 0);
        std::pair<ibv_wc_status, ibv_wc_status> found{IBV_WC_GENERAL_ERR, IBV_WC_GENERAL_ERR};
        const bool fails_here = from.lkey == key && is_refused;
        for (int i = 0; i < (fails_here ? 1 : 2); ++i) {
            const ibv_wc wc = side_.completion();
            (wc.qp_num == taker_->qp_num ? found.second : found.first) = wc.status;
        }
        return found;
    }

    Handles handles;
    ibv_mr* imported = nullptr;
    uint32_t key = 0;
    bool is_refused = false;  // data from there cannot be sent

private:
    Side& side_;
    ibv_qp* taker_ = nullptr;
};

bool hold(Side& side, const Offer& what, char expected) {
    offer(side, what);
    side.meet();
    return is_all(side, expected);
}

void with_import(const Offer& what, char expected,
                 const std::function<void(Side&, Importer&)>& act) {
    two::run([&](Side& side) { return hold(side, what, expected); },
             [&](Side& side) {
                 Importer importer(side);
                 EXPECT_NE(importer.imported, nullptr);
                 if (importer.imported != nullptr) {
                     importer.key = importer.imported->lkey;
                     act(side, importer);
                 }
                 side.meet();
             });
}

TEST(Imports, a_region_keeps_the_key_and_the_length_that_its_owner_gave_it) {
    with_import({}, 'o', [](Side&, Importer& importer) {
        EXPECT_EQ(importer.imported->lkey, importer.handles.mr);
        EXPECT_EQ(importer.imported->rkey, importer.handles.mr);
        EXPECT_EQ(importer.imported->length, kPage);
        EXPECT_EQ(importer.imported->addr, nullptr);
    });
}

TEST(Imports, memory_of_another_process_is_written_by_its_key) {
    with_import({}, 'i', [](Side&, Importer& importer) {
        EXPECT_EQ(importer.rdma(IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
    });
}

TEST(Imports, memory_of_another_process_is_read_by_its_key) {
    with_import({}, 'o', [](Side& side, Importer& importer) {
        EXPECT_EQ(importer.rdma(IBV_WR_RDMA_READ), IBV_WC_SUCCESS);
        EXPECT_TRUE(is_all(side, 'o'));
    });
}

TEST(Imports, a_message_is_sent_from_memory_of_another_process) {
    with_import({}, 'o', [](Side& side, Importer& importer) {
        const auto both = importer.send(importer.theirs(), importer.own());
        EXPECT_EQ(both, std::pair(IBV_WC_SUCCESS, IBV_WC_SUCCESS));
        EXPECT_TRUE(is_all(side, 'o'));
    });
}

TEST(Imports, a_message_is_received_into_memory_of_another_process) {
    with_import({}, 'i', [](Side&, Importer& importer) {
        const auto both = importer.send(importer.own(), importer.theirs());
        EXPECT_EQ(both, std::pair(IBV_WC_SUCCESS, IBV_WC_SUCCESS));
    });
}

TEST(Imports, a_message_goes_from_imported_memory_to_imported_memory) {
    with_import({}, 'o', [](Side&, Importer& importer) {
        const auto both = importer.send(importer.theirs(), importer.theirs());
        EXPECT_EQ(both, std::pair(IBV_WC_SUCCESS, IBV_WC_SUCCESS));
    });
}

TEST(Imports, a_region_that_is_imported_twice_stays_until_both_are_given_back) {
    with_import({}, 'i', [](Side& side, Importer& importer) {
        ibv_pd* again = ibv_import_pd(side.context, importer.handles.pd);
        ASSERT_NE(again, nullptr);
        ibv_mr* second = ibv_import_mr(again, importer.handles.mr);
        ASSERT_NE(second, nullptr);
        ibv_unimport_mr(second);
        ibv_unimport_pd(again);
        EXPECT_EQ(importer.rdma(IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
    });
}

TEST(Imports, what_was_given_back_is_no_key_any_more) {
    with_import({}, 'o', [](Side&, Importer& importer) {
        ibv_unimport_mr(std::exchange(importer.imported, nullptr));
        EXPECT_EQ(importer.rdma(IBV_WR_RDMA_WRITE), IBV_WC_REM_ACCESS_ERR);
    });
}

// Between processes: the owner writes into its own memory, through the importer's queue pair.
TEST(Imports, a_peer_reaches_imported_memory_through_the_importers_queue_pair) {
    two::run(
        [](Side& side) {
            offer(side);
            side.qp = side.make();
            if (!side.connect()) return false;
            const Handles own{0, side.mr->rkey, reinterpret_cast<uint64_t>(side.memory.data())};
            std::fill_n(side.memory.begin() + kPage, kPage, 'w');
            ibv_mr* source = ibv_reg_mr(side.pd, side.memory.data() + kPage, kPage, kAll);
            ibv_send_wr wr = side.request(IBV_WR_RDMA_WRITE, kPage);
            side.sge = {own.address + kPage, kPage, source->lkey};
            wr.wr.rdma = {own.address, own.mr};
            const bool is_written = side.result_of(wr) == IBV_WC_SUCCESS && is_all(side, 'w');
            side.meet();
            return is_written;
        },
        [](Side& side) {
            Importer importer(side);
            ibv_qp* looped = std::exchange(side.qp, side.make(side.pd));
            EXPECT_TRUE(side.connect());
            side.poll_until_told();
            side.meet();
            EXPECT_EQ(ibv_destroy_qp(std::exchange(side.qp, looped)), 0);
        });
}

TEST(Imports, imported_memory_is_written_to_where_a_peer_has_its_own) {
    two::run(
        [](Side& side) {
            offer(side);
            ibv_mr* own = std::exchange(
                side.mr, ibv_reg_mr(side.pd, side.memory.data() + kPage, kPage, kAll));
            if (!side.connect()) return false;
            side.meet();
            (void)own;
            return std::equal(side.memory.begin(), side.memory.begin() + kPage,
                              side.memory.begin() + kPage);
        },
        [](Side& side) {
            Importer importer(side);
            ibv_qp* looped = std::exchange(side.qp, side.make(side.pd));
            EXPECT_TRUE(side.connect());
            for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE}) {
                ibv_send_wr wr = side.request(opcode, kPage);
                // Only the data there crosses: READ would replace it.
                if (opcode == IBV_WR_RDMA_WRITE)
                    side.sge = {importer.handles.address, kPage, importer.imported->lkey};
                EXPECT_EQ(side.result_of(wr), IBV_WC_SUCCESS) << opcode;
            }
            side.meet();
            EXPECT_EQ(ibv_destroy_qp(std::exchange(side.qp, looped)), 0);
        });
}

// ---- refusals -----------------------------------------------------------------------------------

TEST(Imports, a_region_that_its_owner_has_deregistered_is_refused) {
    for (const bool is_remote : {false, true})
        two::run(
            [](Side& side) {
                offer(side);
                side.meet();
                if (ibv_dereg_mr(side.mr) != 0) return false;
                side.meet();
                side.meet();
                return is_all(side, 'o');
            },
            [&](Side& side) {
                Importer importer(side);
                ASSERT_NE(importer.imported, nullptr);
                importer.key = importer.imported->lkey;
                side.meet();
                side.meet();
                importer.is_refused = true;
                if (is_remote)
                    EXPECT_EQ(importer.rdma(IBV_WR_RDMA_WRITE), IBV_WC_REM_ACCESS_ERR);
                else
                    EXPECT_EQ(importer.send(importer.theirs(), importer.own()).first,
                              IBV_WC_LOC_PROT_ERR);
                errno = 0;
                ibv_unimport_mr(std::exchange(importer.imported, nullptr));
                EXPECT_EQ(ibv_import_mr(side.pd, importer.handles.mr), nullptr);
                EXPECT_EQ(errno, EINVAL);
                side.meet();
            });
}

TEST(Imports, memory_of_a_process_that_has_ended_is_refused) {
    two::run(
        [](Side& side) {
            offer(side);
            side.meet();
            return true;
        },
        [&](Side& side) {
            Importer importer(side);
            ASSERT_NE(importer.imported, nullptr);
            importer.key = importer.imported->lkey;
            side.meet();
            while (!side.is_told()) continue;  // until it has disappeared
            importer.is_refused = true;
            EXPECT_EQ(importer.rdma(IBV_WR_RDMA_READ), IBV_WC_REM_ACCESS_ERR);
            errno = 0;
            EXPECT_EQ(ibv_import_pd(side.context, importer.handles.pd + 1), nullptr);
            EXPECT_EQ(errno, ENODEV);
        });
}

// When the owner gets its memory back, copies in progress are done, and no others start.
bool deregister_amid_copies(Side& side) {
    std::fill(side.memory.begin(), side.memory.end(), 'x');
    ibv_mr* mr = ibv_reg_mr(side.pd, side.memory.data(), side.memory.size(), kAll);
    side.tell(mr->handle);
    const volatile char* first = side.memory.data();
    while (*first == 'x') continue;
    if (ibv_dereg_mr(mr) != 0) return false;
    const std::vector<char> then = side.memory;
    side.meet();
    return then == side.memory;
}

void write_until_refused(Side& side, Importer& importer) {
    ibv_mr* mr = ibv_import_mr(side.pd, side.hear<uint32_t>());
    ASSERT_NE(mr, nullptr);
    ibv_wc wc{};
    for (int i = 0; wc.status == IBV_WC_SUCCESS; ++i) {
        std::fill(side.memory.begin(), side.memory.end(), static_cast<char>(i % 20));
        ibv_send_wr wr = side.request(IBV_WR_RDMA_WRITE, static_cast<uint32_t>(side.memory.size()));
        wr.wr.rdma = {importer.handles.address, mr->rkey};
        ASSERT_EQ(side.post(wr), 0);
        wc = side.completion();
    }
    EXPECT_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
    side.meet();
    ibv_unimport_mr(mr);
}

TEST(Imports, deregistration_waits_for_copies_of_other_processes) {
    constexpr int kRounds = 40;
    two::run(
        [](Side& side) {
            offer(side);
            for (int round = 0; round < kRounds; ++round)
                if (!deregister_amid_copies(side)) return false;
            return true;
        },
        [](Side& side) {
            Importer importer(side);
            for (int round = 0; round < kRounds; ++round) {
                write_until_refused(side, importer);
                importer.disconnect();
                importer.connect();
            }
        });
}

TEST(Imports, a_region_that_may_only_be_read_takes_no_message) {
    with_import({.access = 0}, 'o', [](Side&, Importer& importer) {
        const auto both = importer.send(importer.own(), importer.theirs());
        EXPECT_EQ(both, std::pair(IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR));
    });
}

TEST(Imports, a_region_without_the_right_is_not_written_by_peers) {
    with_import({.access = IBV_ACCESS_LOCAL_WRITE}, 'o', [](Side&, Importer& importer) {
        EXPECT_EQ(importer.rdma(IBV_WR_RDMA_WRITE), IBV_WC_REM_ACCESS_ERR);
    });
}

TEST(Imports, a_region_whose_owner_has_taken_the_right_away_is_not_written) {
    two::run(
        [](Side& side) {
            offer(side);
            side.meet();
            if (ibv_rereg_mr(side.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                             IBV_ACCESS_REMOTE_READ) != 0)
                return false;
            side.meet();
            side.meet();
            return is_all(side, 'o');
        },
        [](Side& side) {
            Importer importer(side);
            ASSERT_NE(importer.imported, nullptr);
            importer.key = importer.imported->lkey;
            side.meet();
            side.meet();
            const auto both = importer.send(importer.own(), importer.theirs());
            EXPECT_EQ(both, std::pair(IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR));
            side.meet();
        });
}

// They would not be atomic with respect to the owner's adapter.
TEST(Imports, atomics_on_imported_memory_are_refused) {
    with_import({}, 'o', [](Side&, Importer& importer) {
        EXPECT_EQ(importer.rdma(IBV_WR_ATOMIC_FETCH_AND_ADD), IBV_WC_REM_ACCESS_ERR);
    });
}

TEST(Imports, a_region_of_another_domain_is_not_imported) {
    two::run([](Side& side) { return hold(side, {.is_of_another_domain = true}, 'o'); },
             [](Side& side) {
                 Importer importer(side);
                 EXPECT_EQ(importer.imported, nullptr);
                 EXPECT_EQ(errno, EINVAL);
                 side.meet();
             });
}

TEST(Imports, a_domain_that_does_not_exist_is_not_imported) {
    with_import({}, 'o', [](Side& side, Importer& importer) {
        EXPECT_EQ(ibv_import_pd(side.context, importer.handles.pd + 7), nullptr);
        EXPECT_EQ(errno, EINVAL);
        EXPECT_EQ(ibv_import_pd(side.context, 0), nullptr);
        EXPECT_EQ(errno, EINVAL);
    });
}

// The file of a device gives no access to another user's memory.
TEST(Imports, another_user_who_was_handed_the_file_imports_nothing) {
    if (geteuid() != 0) GTEST_SKIP() << "two users take root";
    for (const bool is_shared : {false, true})
        two::run(
            [&](Side& side) {
                if (is_shared) setenv("TULLE_SHARED", "1", 1);
                return hold(side, {}, 'o');
            },
            [&](Side& outer) {
                const pid_t child = fork();
                if (child == 0) {
                    if (is_shared) setenv("TULLE_SHARED", "1", 1);
                    if (setresuid(kNobody, kNobody, kNobody) != 0) _exit(2);
                    const int file = outer.take();
                    const auto handles = outer.hear<Handles>();
                    ibv_context* context = ibv_import_device(file);
                    const bool is_imported =
                        context != nullptr && ibv_import_pd(context, handles.pd) != nullptr;
                    outer.meet();
                    _exit(is_imported ? 1 : 0);
                }
                int status = -1;
                EXPECT_EQ(waitpid(child, &status, 0), child);
                EXPECT_EQ(status, 0);
            });
}

// A process that knows another's slot and instance makes a file that names it, and lets a program
// of that user import from it. This fails: the file lacks the owner's secret.
TEST(Imports, a_forged_file_imports_nothing) {
    for (const size_t forged_byte : {size_t{16}, size_t{24}})  // in the instance, and in the secret
        two::run([](Side& side) { return hold(side, {}, 'o'); },
                 [&](Side& side) {
                     const int file = side.take();
                     const auto handles = side.hear<Handles>();
                     std::string told(64, 0);
                     const ssize_t length = pread(file, told.data(), told.size(), 0);
                     ASSERT_GT(length, 24);
                     EXPECT_EQ(pwrite(file, told.data(), 1, 0), -1) << "the file can be changed";
                     told[forged_byte] = static_cast<char>(told[forged_byte] ^ 1);
                     const int forged = memfd_create("forged", MFD_CLOEXEC);
                     ASSERT_EQ(pwrite(forged, told.data(), static_cast<size_t>(length), 0), length);
                     ibv_context* context = ibv_import_device(forged);
                     ASSERT_NE(context, nullptr);
                     EXPECT_EQ(ibv_import_pd(context, handles.pd), nullptr);
                     EXPECT_EQ(errno, forged_byte == 16 ? ENODEV : EPERM);
                     EXPECT_EQ(ibv_close_device(context), 0);
                     close(file);
                     side.meet();
                 });
}

}  // namespace
