// Two connection managers and a scripted wire between them, for tests. Datagrams take one
// microsecond; each kind may be lost, doubled or delayed by its number, counted from one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string_view>
#include <vector>

#include "transport/cm/connection_manager.h"
#include "transport/cm/times.h"
#include "wire/mad/cm.h"

namespace tulle::transport::testing {

using namespace base::literals;

inline constexpr wire::Key64 kService{0x1000'0000'0000'0042};
inline constexpr uint8_t kLifetime = 4;   // 65.536 us
inline constexpr uint8_t kResponse = 10;  // 4.194304 ms
inline constexpr uint8_t kRetries = 3;
inline constexpr base::Duration kOneTry = cm_time(kResponse) + round_trip(kLifetime);

inline wire::Bytes bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

template <size_t N>
std::string_view text_in(const std::array<uint8_t, N>& data) {
    return reinterpret_cast<const char*>(data.data());
}

inline uint16_t attribute_of(const CmDatagram& mad) {
    return wire::parse<wire::MadHeader>(mad)->attribute_id.value;
}

template <class Message>
Message message_in(const CmDatagram& mad) {
    return *wire::parse<Message>(wire::Bytes(mad).subspan(wire::kCmDataOffset));
}

inline ConnectRequest sample_request(uint32_t qpn = 0x100) {
    ConnectRequest request;
    request.endpoint = 2;
    request.path.local_gid = wire::gid_of(wire::Ipv4Address{{192, 0, 2, 1}});
    request.path.remote_gid = wire::gid_of(wire::Ipv4Address{{192, 0, 2, 2}});
    request.path.packet_lifetime = kLifetime;
    request.service_id = kService;
    request.qpn = wire::Qpn{qpn};
    request.starting_psn = wire::Psn{0xabcdef};
    request.responder_resources = 4;
    request.initiator_depth = 5;
    request.remote_cm_response_timeout = kResponse;
    request.local_cm_response_timeout = kResponse;
    request.max_cm_retries = kRetries;
    return request;
}

inline AcceptReply sample_reply(uint32_t qpn = 0x200) {
    return {.qpn = wire::Qpn{qpn},
            .starting_psn = wire::Psn{0x123456},
            .responder_resources = 5,
            .initiator_depth = 4};
}

// One manager with its events. The endpoint of client and server is 1 and 2 in each other's table.
struct Side {
    ConnectionManager manager;
    std::deque<CmEvent> events{};

    // The next event, which must be of this kind.
    template <class What>
    std::pair<CmEvent, What> take() {
        EXPECT_FALSE(events.empty()) << "no event";
        if (events.empty()) return {};
        const CmEvent event = events.front();
        events.pop_front();
        const What* what = std::get_if<What>(&event.what);
        EXPECT_NE(what, nullptr) << "event of kind " << event.what.index();
        return {event, what != nullptr ? *what : What{}};
    }
};

inline ConnectionManager sample_manager(uint64_t number, CmConfig config = {}) {
    config.ca_guid = wire::Guid{0xca00 + number};
    config.ack_delay = 3;
    return ConnectionManager(config, base::RandomStream({.seed = 7, .kind = 1, .index = number}));
}

class CmPair {
public:
    explicit CmPair(const CmConfig& config = {})
        : client{sample_manager(1, config)}, server{sample_manager(2, config)} {}

    Side client;
    Side server;
    bool watches = false;  // what connect() asks for
    bool server_watches = false;

    void drop_nth(uint16_t attribute, int n) { faults_[{attribute, n}].copies = 0; }
    void drop_all(uint16_t attribute) {
        for (int n = 1; n < 100; ++n) drop_nth(attribute, n);
    }
    void double_nth(uint16_t attribute, int n) { faults_[{attribute, n}].copies = 2; }
    void delay_nth(uint16_t attribute, int n, base::Duration by) {
        faults_[{attribute, n}].delay = by;
    }

    base::Instant now() const { return now_; }
    // How many messages of a kind were sent, lost ones included.
    int sent(uint16_t attribute) const {
        const auto found = counts_.find(attribute);
        return found == counts_.end() ? 0 : found->second;
    }
    const CmDatagram& last_sent() const { return last_sent_; }
    bool idle() const { return in_flight_.empty() && next_deadline() == base::Instant::never(); }

    void run_for(base::Duration time) { run_until(now_ + time); }
    void run_until_idle() {
        for (drain(); !idle(); drain()) step(std::min(next_arrival(), next_deadline()));
    }
    void run_until(base::Instant end) {
        for (drain(); std::min(next_arrival(), next_deadline()) <= end; drain())
            step(std::min(next_arrival(), next_deadline()));
        now_ = end;
    }

    // Straight to an established connection; all events are taken.
    struct Handles {
        CmHandle client;
        CmHandle server;
    };
    Handles connect(uint32_t qpn = 0x100) {
        if (!listening_) listening_ = server.manager.listen(kService).status == CmStatus::ok;
        ConnectRequest request = sample_request(qpn);
        request.endpoint = 2;
        request.watches_peer = watches;
        Handles handles{client.manager.connect(now_, request).handle, {}};
        run_for(10_us);
        handles.server = server.take<CmRequestArrived>().first.handle;
        AcceptReply reply = sample_reply(qpn + 0x100'000);
        reply.watches_peer = server_watches;
        EXPECT_EQ(server.manager.accept(now_, handles.server, reply), CmStatus::ok);
        run_for(10_us);
        client.take<CmReplyArrived>();
        EXPECT_EQ(client.manager.ready(now_, handles.client), CmStatus::ok);
        run_for(10_us);
        client.take<CmEstablished>();
        server.take<CmEstablished>();
        return handles;
    }

    // A REQ is under way and has arrived; its event is taken.
    Handles request(const ConnectRequest& sample = sample_request()) {
        if (!listening_) listening_ = server.manager.listen(kService).status == CmStatus::ok;
        ConnectRequest request = sample;
        request.endpoint = 2;
        Handles handles{client.manager.connect(now_, request).handle, {}};
        run_for(10_us);
        handles.server = server.take<CmRequestArrived>().first.handle;
        return handles;
    }

private:
    struct Fault {
        int copies = 1;
        base::Duration delay{};
    };
    struct Flying {
        base::Instant at;
        Side* to;
        uint32_t from;
        CmDatagram mad;
    };

    void drain() {
        drain(client, server, 1);
        drain(server, client, 2);
    }

    void drain(Side& side, Side& other, uint32_t endpoint) {
        while (auto out = side.manager.poll_mad(now_)) transmit(*out, other, endpoint);
        while (auto event = side.manager.poll_event()) side.events.push_back(*event);
    }

    void transmit(const CmOutgoing& out, Side& to, uint32_t from) {
        const uint16_t attribute = attribute_of(out.mad);
        const auto fault = faults_.find({attribute, ++counts_[attribute]});
        const Fault how = fault == faults_.end() ? Fault{} : fault->second;
        last_sent_ = out.mad;
        const base::Instant at = now_ + 1_us + how.delay;
        const auto place =
            std::upper_bound(in_flight_.begin(), in_flight_.end(), at,
                             [](base::Instant t, const Flying& f) { return t < f.at; });
        in_flight_.insert(place, static_cast<size_t>(how.copies), {at, &to, from, out.mad});
    }

    base::Instant next_arrival() const {
        return in_flight_.empty() ? base::Instant::never() : in_flight_.front().at;
    }
    base::Instant next_deadline() const {
        return std::min(client.manager.next_deadline(), server.manager.next_deadline());
    }

    void step(base::Instant at) {
        now_ = at;
        if (next_arrival() <= now_) {
            const Flying arrived = in_flight_.front();
            in_flight_.pop_front();
            arrived.to->manager.on_mad(now_, arrived.from, wire::Qpn{1}, arrived.mad);
        } else {
            client.manager.on_timer(now_);
            server.manager.on_timer(now_);
        }
    }

    base::Instant now_;
    bool listening_ = false;
    std::map<std::pair<uint16_t, int>, Fault> faults_;
    std::map<uint16_t, int> counts_;
    std::deque<Flying> in_flight_;
    CmDatagram last_sent_{};
};

}  // namespace tulle::transport::testing
