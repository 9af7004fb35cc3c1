// Queue pairs: two for a flow, two that the messages of a program share, and those of groups.
#pragma once

#include <functional>

#include "cluster/host.h"
#include "sim/network.h"

namespace tulle::sim {

// Where switches trust the DSCP instead, it is the level that says the lane.
uint8_t level_of(const fabric::Settings& fabric, uint8_t service_level, uint8_t traffic_class);

class Connector {
public:
    using HostOf = std::function<cluster::Host&(uint32_t endpoint)>;

    Connector(const Setup& setup, HostOf host) : setup_(setup), host_(std::move(host)) {}

    // Flow `number` of the setup: its queue pairs and what its source posts. Returns the source's.
    transport::Qpn add_flow(uint32_t number) const;
    // The queue pairs of a connection.
    void connect(Connection& connection) const;
    // The queue pairs of a group's members, and its place in the table of their switch.
    void add_group(SwitchGroup& group, fabric::Groups& table) const;
    // The queue pair of a connection that sends to a group.
    void join(Connection& connection, const SwitchGroup& group) const;

private:
    // One end of a connection as the other has to know it.
    struct End {
        cluster::Host& host;
        uint32_t endpoint = 0;
        transport::Qpn qpn{};
        uint16_t entropy = 0;
    };

    transport::Qpn create(cluster::Host& host, uint32_t sends, uint32_t receives) const;
    void connect(const End& from, const End& to, uint8_t service_level,
                 uint8_t traffic_class) const;
    transport::QpAttributes attributes_for(const End& from, const End& to, uint8_t service_level,
                                           uint8_t traffic_class) const;
    // Reliable datagrams: the queue pair at one end, and the contexts at both that carry its
    // messages.
    void connect_datagrams(const End& from, const End& to,
                           transport::QpAttributes attributes) const;
    void open_contexts(const End& from, const End& to,
                       const transport::QpAttributes& attributes) const;
    void control_congestion(cluster::Host& host, transport::Qpn qpn) const;

    const Setup& setup_;
    HostOf host_;
};

}  // namespace tulle::sim
