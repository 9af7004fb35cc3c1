// One of a crowd: a program that serves all others and talks to each of them, while others come and
// go. It ends at the end of its standard input, but not within a session.
//
// usage: crowd SLOT ADDRESS...       the address of each slot, its own included
//
// A session is a connection with a few messages, echoed and compared. A session that fails, because
// the other side is not there yet or is leaving, is repeated. "done" is printed when all others
// have answered.
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kFirstPort = 20'000;
constexpr uint32_t kMessages = 4;
constexpr size_t kBytes = 3000;
constexpr int kBetweenTriesMs = 5;

std::atomic<uint32_t> sessions{0};
std::atomic<bool> is_closing{false};

using Room = std::array<unsigned char, kBytes>;

ibv_qp_init_attr queue_pair() {
    ibv_qp_init_attr made{};
    made.cap = {kMessages, kMessages, 1, 1, 0};
    made.qp_type = IBV_QPT_RC;
    made.sq_sig_all = 1;
    return made;
}

rdma_addrinfo* address_of(const char* host, int port, bool is_passive) {
    rdma_addrinfo hints{};
    hints.ai_port_space = RDMA_PS_TCP;
    hints.ai_flags = is_passive ? RAI_PASSIVE : 0;
    rdma_addrinfo* found = nullptr;
    if (rdma_getaddrinfo(host, std::to_string(port).c_str(), &hints, &found) != 0) return nullptr;
    return found;
}

bool is_good(int polled, const ibv_wc& completion) {
    return polled == 1 && completion.status == IBV_WC_SUCCESS;
}

// Memory and queue pair of one connection. Receiving and sending have separate buffers: a receive
// is posted before the other side may send, or it is told to retry in 655 ms, which is the meaning
// of librdmacm's RNR timer of 0.
struct Session {
    explicit Session(rdma_cm_id* the_id) : id(the_id) {
        region = rdma_reg_msgs(id, rooms.data(), sizeof rooms);
        if (region != nullptr) (void)expect();
    }
    ~Session() {
        if (region != nullptr) rdma_dereg_mr(region);
        rdma_destroy_ep(id);
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    Room& received() { return rooms[0]; }
    Room& sent() { return rooms[1]; }
    bool receive() {
        ibv_wc completion{};
        return is_good(rdma_get_recv_comp(id, &completion), completion);
    }
    bool send() {
        ibv_wc completion{};
        return rdma_post_send(id, nullptr, sent().data(), kBytes, region, 0) == 0 &&
               is_good(rdma_get_send_comp(id, &completion), completion);
    }
    bool expect() { return rdma_post_recv(id, nullptr, received().data(), kBytes, region) == 0; }

    rdma_cm_id* id;
    ibv_mr* region = nullptr;
    std::array<Room, 2> rooms{};
};

bool echo(Session& session, bool is_last) {
    if (!session.receive()) return false;
    session.sent() = session.received();
    return (is_last || session.expect()) && session.send();
}

void serve(rdma_cm_id* id) {
    {
        Session session(id);
        bool is_on = session.region != nullptr && rdma_accept(id, nullptr) == 0;
        for (uint32_t i = 0; is_on && i < kMessages; ++i) is_on = echo(session, i + 1 == kMessages);
        (void)rdma_disconnect(id);
    }
    --sessions;
}

void listen_on(const char* host, int port) {
    rdma_addrinfo* address = address_of(host, port, true);
    ibv_qp_init_attr attributes = queue_pair();
    rdma_cm_id* listener = nullptr;
    if (address == nullptr || rdma_create_ep(&listener, address, nullptr, &attributes) != 0 ||
        rdma_listen(listener, 128) != 0) {
        std::perror("crowd: listen");
        std::_Exit(1);
    }
    std::thread([listener] {
        rdma_cm_id* id = nullptr;
        while (rdma_get_request(listener, &id) == 0) {
            ++sessions;
            if (is_closing) {
                (void)rdma_reject(id, nullptr, 0);
                rdma_destroy_ep(id);
                --sessions;
            } else {
                std::thread(serve, id).detach();
            }
        }
    }).detach();
}

void fill(Room& room, uint32_t slot, uint32_t message) {
    for (size_t i = 0; i < room.size(); ++i)
        room[i] = static_cast<unsigned char>(slot * 7 + message * 31 + i);
}

// False if it has to be repeated.
bool talk(uint32_t slot, const char* host, int port) {
    rdma_addrinfo* address = address_of(host, port, false);
    ibv_qp_init_attr attributes = queue_pair();
    rdma_cm_id* id = nullptr;
    if (address == nullptr) return false;
    const int made = rdma_create_ep(&id, address, nullptr, &attributes);
    rdma_freeaddrinfo(address);
    if (made != 0) return false;
    Session session(id);
    if (session.region == nullptr || rdma_connect(id, nullptr) != 0) return false;
    bool is_on = true;
    for (uint32_t message = 0; is_on && message < kMessages; ++message) {
        fill(session.sent(), slot, message);
        is_on = session.send() && session.receive();
        if (is_on && session.received() != session.sent()) {
            std::fprintf(stderr, "crowd: slot %u: the echo is another\n", slot);
            std::_Exit(1);
        }
        if (is_on && message + 1 < kMessages) is_on = session.expect();
    }
    (void)rdma_disconnect(id);
    return is_on;
}

}  // namespace

int main(int count, char** words) {
    if (count < 3) return 2;
    const auto slot = static_cast<uint32_t>(std::atoi(words[1]));
    char** hosts = words + 2;
    const auto crowd = static_cast<uint32_t>(count - 2);
    listen_on(hosts[slot], kFirstPort + static_cast<int>(slot));
    // Each begins with its neighbour, so that they do not all ask the same one.
    for (uint32_t i = 1; i < crowd; ++i) {
        const uint32_t other = (slot + i) % crowd;
        while (!talk(slot, hosts[other], kFirstPort + static_cast<int>(other)))
            (void)poll(nullptr, 0, kBetweenTriesMs);
    }
    std::puts("done");
    std::fflush(stdout);
    char end = 0;
    while (read(STDIN_FILENO, &end, 1) > 0) continue;
    is_closing = true;
    while (sessions != 0) (void)poll(nullptr, 0, kBetweenTriesMs);
    std::_Exit(0);
}
