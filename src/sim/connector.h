// Creates queue pairs: two per flow, two per connection of a program, and those of groups.
#pragma once

#include <functional>

#include "cluster/host.h"
#include "sim/network.h"

namespace tulle::sim {

// The level that decides the lane: the service level, or the DSCP where switches trust it.
uint8_t level_of(const fabric::Settings& fabric, uint8_t service_level, uint8_t traffic_class);

class Connector {
public:
    using HostOf = std::function<cluster::HostNode&(uint32_t endpoint)>;
    using TableOf = std::function<fabric::Groups&(uint32_t node)>;
    using SwitchOf = std::function<uint32_t(uint32_t endpoint)>;

    // `tenancy`: null if all hosts may talk to each other. `lanes`: the service level of each path,
    // decided by a subnet manager; null: there is none.
    Connector(const Setup& setup, const fabric::Tenancy* tenancy,
              const control::HistoryOfLanes* lanes, HostOf host)
        : setup_(setup), tenancy_(tenancy), lanes_(lanes), host_(std::move(host)) {}

    // Creates the queue pairs of flow `number` of the setup and posts the work of its source.
    // Returns the source's queue pair.
    transport::Qpn add_flow(uint32_t number) const;
    // Creates the queue pairs of a connection.
    void connect(Connection& connection) const;
    // Creates the queue pairs of a group's members, and its entry in the table of their switch.
    void add_group(SwitchGroup& group, fabric::Groups& table) const;
    // The same for a group whose members are on several switches; `table_of` gives their tables.
    void add_tree(SwitchGroup& group, const TableOf& table_of, const SwitchOf& switch_of) const;
    // Creates the queue pair of a connection that sends to a group.
    void join(Connection& connection, const SwitchGroup& group) const;

private:
    // What one end of a connection must know about the other.
    struct End {
        cluster::HostNode& host;
        uint32_t endpoint = 0;
        transport::Qpn qpn{};
        uint16_t entropy = 0;
    };

    transport::Qpn create(cluster::HostNode& host, uint32_t sends, uint32_t receives,
                          Service service) const;
    void connect(const End& from, const End& to, uint8_t service_level, uint8_t traffic_class,
                 Service service) const;
    // Creates the queue pair at which a member of a group receives packets from `address`.
    fabric::Group::Member receive_from(uint32_t address, uint32_t endpoint) const;
    transport::QpAttributes attributes_for(const End& from, const End& to, uint8_t service_level,
                                           uint8_t traffic_class) const;
    // Reliable datagrams: creates the queue pair at one end, and the contexts at both ends that
    // carry its messages.
    void connect_datagrams(const End& from, const End& to,
                           transport::QpAttributes attributes) const;
    void open_contexts(const End& from, const End& to,
                       const transport::QpAttributes& attributes) const;
    uint8_t level_for(uint32_t from, uint32_t to, uint8_t service_level,
                      uint8_t traffic_class) const;
    void control_congestion(cluster::HostNode& host, transport::Qpn qpn) const;

    const Setup& setup_;
    const fabric::Tenancy* tenancy_;
    const control::HistoryOfLanes* lanes_;
    HostOf host_;
};

}  // namespace tulle::sim
