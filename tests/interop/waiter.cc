// One end of a connection of rdma_cm that only waits for the other to end it. Prints "connected",
// and the events that follow, until the connection is over.
//
// usage: waiter listen|connect ADDRESS PORT
#include <rdma/rdma_cma.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void need(bool is_right, const char* what) {
    if (is_right) return;
    std::perror(what);
    std::exit(1);
}

rdma_cm_id* connected(bool listens, const char* host, const char* port) {
    rdma_addrinfo hints{};
    hints.ai_port_space = RDMA_PS_TCP;
    hints.ai_flags = listens ? RAI_PASSIVE : 0;
    rdma_addrinfo* address = nullptr;
    need(rdma_getaddrinfo(host, port, &hints, &address) == 0, "rdma_getaddrinfo");
    ibv_qp_init_attr attributes{};
    attributes.cap = {1, 1, 1, 1, 0};
    attributes.qp_type = IBV_QPT_RC;
    rdma_cm_id* id = nullptr;
    need(rdma_create_ep(&id, address, nullptr, &attributes) == 0, "rdma_create_ep");
    rdma_freeaddrinfo(address);
    if (!listens) {
        need(rdma_connect(id, nullptr) == 0, "rdma_connect");
        return id;
    }
    rdma_cm_id* listener = id;
    need(rdma_listen(listener, 1) == 0, "rdma_listen");
    need(rdma_get_request(listener, &id) == 0, "rdma_get_request");
    need(rdma_accept(id, nullptr) == 0, "rdma_accept");
    return id;
}

}  // namespace

int main(int count, char** words) {
    need(count == 4, "usage: waiter listen|connect ADDRESS PORT");
    rdma_cm_id* id = connected(std::strcmp(words[1], "listen") == 0, words[2], words[3]);
    std::puts("connected");
    std::fflush(stdout);
    for (bool is_over = false; !is_over;) {
        rdma_cm_event* event = nullptr;
        need(rdma_get_cm_event(id->channel, &event) == 0, "rdma_get_cm_event");
        std::puts(rdma_event_str(event->event));
        is_over = event->event == RDMA_CM_EVENT_DISCONNECTED;
        need(rdma_ack_cm_event(event) == 0, "rdma_ack_cm_event");
    }
}
