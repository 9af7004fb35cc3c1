// Subnet administration (IBTA vol 1, 15). It answers queries about what its manager found and
// routed, keeps groups, services and subscriptions, and reports events to subscribers.
//
//   in :  on_mad(now, from, mad), on_sweep(now), on_trap(now, notice), on_timer(now)
//   out:  poll_transmit(now), next_deadline(), groups()
//
// RMPP segments long answers and long questions.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "control/subnet/sa/groups.h"
#include "control/subnet/sa/records.h"
#include "control/subnet/sa/rmpp.h"
#include "wire/mad/notice.h"

namespace tulle::control {

// A MAD to send to a LID on QP 1.
struct GmpOut {
    uint16_t to = 0;
    MadBytes mad;
};

class Administration {
public:
    explicit Administration(const Manager& manager) : manager_(manager), groups_(manager) {}

    void on_mad(base::Instant now, uint16_t from, const MadBytes& mad);
    // The manager has completed a sweep: ports may have appeared or gone.
    void on_sweep(base::Instant now);
    // A trap that the manager received.
    void on_trap(const wire::Notice& notice) { report(notice, {}); }
    void on_timer(base::Instant now);
    std::optional<GmpOut> poll_transmit(base::Instant now);
    base::Instant next_deadline() const;

    std::vector<MulticastGroup> groups() const { return groups_.groups(); }

private:
    using Place = std::pair<uint16_t, uint64_t>;  // the LID of a requester, and its transaction
    struct Service {
        wire::ServiceRecord record;
        base::Instant ends = base::Instant::never();
    };
    struct Subscription {
        uint16_t lid = 0;
        wire::InformInfo info;
    };
    struct Report {
        GmpOut out;
        base::Instant at{};  // when it is sent next
        uint8_t tries = 0;
    };

    void take_segment(base::Instant now, uint16_t from, const MadBytes& mad);
    void serve(base::Instant now, uint16_t from, const MadBytes& mad, wire::Bytes data);
    RecordList find(const MadBytes& mad, wire::Bytes data) const;
    RecordList service_records(uint64_t mask, wire::Bytes query) const;
    RecordList group_records(uint64_t mask, wire::Bytes query) const;
    void answer(uint16_t to, const MadBytes& request, uint16_t status, const RecordList& records);
    void answer_with(uint16_t to, const MadBytes& request, uint16_t status, wire::Bytes record);
    void serve_group(uint16_t from, const MadBytes& mad, wire::Bytes data);
    void serve_service(base::Instant now, uint16_t from, const MadBytes& mad, wire::Bytes data);
    void subscribe(uint16_t from, const MadBytes& mad, wire::Bytes data);
    void report(const wire::Notice& notice, const wire::Gid& issuer);
    void report_gid(uint16_t trap, const wire::Gid& gid);

    const Manager& manager_;
    GroupBook groups_;
    std::vector<Service> services_;
    std::vector<Subscription> subscriptions_;
    std::set<uint64_t> ports_;  // GUIDs found by the last sweep
    std::deque<GmpOut> out_;
    std::map<Place, RmppSender> senders_;
    struct Arriving {
        RmppReceiver receiver;
        base::Instant ends{};  // dropped at this time
    };
    std::map<Place, Arriving> receivers_;
    std::vector<Report> reports_;
    uint64_t transaction_ = 0;
};

}  // namespace tulle::control
