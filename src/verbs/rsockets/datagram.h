// Datagrams. A socket has a UD queue pair and a UDP socket of the kernel. The first datagram to an
// address goes by UDP, after a header that names the sender's queue pair; the receiver answers with
// its own. From then on datagrams go between the queue pairs. Datagrams that are too long for that
// go by UDP.
//
// The headers are those of the "rsocket Protocol and Design Guide" of rdma-core.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "verbs/rdmacm/ids.h"
#include "verbs/rsockets/socket.h"
#include "verbs/rsockets/stream.h"

namespace tulle::verbs::rsockets {

class Datagram final : public Socket {
public:
    explicit Datagram(int domain) : Socket(domain, SOCK_DGRAM) {}
    ~Datagram() override;
    bool open();

    int bind(const Name& name) override;
    int connect(const Name& name) override;
    void close() override;
    ssize_t receive(Pieces into, int flags, Name* from) override;
    ssize_t send(Pieces from, int flags, const Name* to) override;
    Name own_name() override;
    int peer_name(Name& name) override;

private:
    struct Peer {
        ibv_ah* way = nullptr;
        uint32_t qpn = 0;  // 0: unknown
        Name own;          // our address, as the peer knows it
    };
    struct Arrived {
        Name from;
        std::vector<std::byte> bytes;
    };

    bool take_news(bool thoroughly) override;
    short ready(short wanted) const override;
    void arm() override;
    bool is_armed() const override { return is_armed_; }
    void add_files(std::vector<pollfd>& files) const override;

    void show_port();
    bool take_completions();
    bool take_udp();
    void on_datagram(const std::byte* bytes, size_t length);
    void on_udp(std::span<const std::byte> bytes, const Name& from);
    void keep(const Name& from, std::span<const std::byte> bytes);
    void learn(Peer& peer, uint32_t qpn);
    bool post_receive(uint32_t place);
    static std::string key_of(const Name& name);
    bool knows(const Name& name) const { return peers_.contains(key_of(name)); }
    Peer& peer_at(const Name& name) { return peers_[key_of(name)]; }
    ssize_t send_by_udp(const Name& to, Peer& peer, std::span<const std::byte> bytes, uint8_t kind);
    ssize_t send_by_queue_pair(Guard& guard, Peer& peer, std::span<const std::byte> bytes,
                               int flags);
    bool has_place() const { return !free_places_.empty(); }

    live::Descriptor udp_;
    uint16_t shown_port_ = 0;
    ibv_context* context_ = nullptr;
    ibv_pd* pd_ = nullptr;
    ibv_comp_channel* channel_ = nullptr;
    ibv_cq* cq_ = nullptr;
    ibv_qp* qp_ = nullptr;
    bool is_armed_ = false;
    Buffer incoming_;
    Buffer outgoing_;
    std::vector<uint32_t> free_places_;  // of outgoing_
    std::map<std::string, Peer> peers_;  // by the bytes of the address
    std::deque<Arrived> arrived_;
    Name destination_;
};

}  // namespace tulle::verbs::rsockets
