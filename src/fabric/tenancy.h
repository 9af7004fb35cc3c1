// Which hosts may talk to each other in a fabric with several tenants.
//
// On InfiniBand a tenant is a partition. Each packet carries a P_Key, which the end points check
// (transport). Switches may check it at the ports of hosts: an incoming packet must carry a key of
// the host, an outgoing one a key that matches one of the host's. On Ethernet a tenant is a VLAN or
// a VRF. The port of a host is in those of its tenants, and the first switch has no route to a host
// that shares none of them.
//
// A full member talks to all members of its tenant, a limited one only to full members. This is
// limited membership of a partition (IBTA vol 1, 10.9.3), or an isolated port of a private VLAN
// (RFC 5517).
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "wire/packet.h"
#include "wire/partition_keys.h"

namespace tulle::fabric {

class Tenancy {
public:
    enum class Means : uint8_t { partitions, vlans };

    Tenancy(Means means, size_t endpoints) : means_(means), keys_(endpoints) {}

    // Adds a key of an end point; the key of a VLAN has the VLAN's number.
    void add(uint32_t endpoint, wire::PKey key) { keys_[endpoint].push_back(key); }
    // End points without a key get this one.
    void set_default(wire::PKey key) {
        for (auto& own : keys_)
            if (own.empty()) own.push_back(key);
    }

    Means means() const { return means_; }
    bool may_talk(uint32_t from, uint32_t to) const { return shared_key(from, to).has_value(); }
    // The key that `from` puts into packets to `to`: that of a partition which both are in, or else
    // its first key.
    wire::PKey key_for(uint32_t from, uint32_t to) const {
        return shared_key(from, to).value_or(keys_[from].front());
    }

    // Checks at the switch port of a host: of what the host sends, and of what is sent to it.
    bool lets_in(uint32_t host, const wire::Packet& packet) const {
        if (means_ == Means::vlans)
            return packet.destination >= keys_.size() || may_talk(host, packet.destination);
        return std::ranges::find(keys_[host], packet.pkey) != keys_[host].end();
    }
    bool lets_out(uint32_t host, const wire::Packet& packet) const {
        return means_ == Means::vlans || std::ranges::any_of(keys_[host], [&](wire::PKey own) {
                   return wire::partitions_match(own, packet.pkey);
               });
    }

private:
    std::optional<wire::PKey> shared_key(uint32_t from, uint32_t to) const {
        for (const wire::PKey own : keys_[from])
            for (const wire::PKey other : keys_[to])
                if (wire::partitions_match(own, other)) return own;
        return std::nullopt;
    }

    Means means_;
    std::vector<std::vector<wire::PKey>> keys_;  // by end point
};

// Checks tenants at the ports of a switch that lead to hosts.
class TenantGuard {
public:
    static constexpr uint32_t kNoHost = UINT32_MAX;

    TenantGuard(const Tenancy* tenancy, std::vector<uint32_t> hosts)
        : tenancy_(tenancy), hosts_(std::move(hosts)) {}

    // A packet that comes in at a port, and one that would leave there.
    bool refuses_from(uint32_t port, const wire::Packet& packet) const {
        return hosts_[port] != kNoHost && !tenancy_->lets_in(hosts_[port], packet);
    }
    bool refuses_to(uint32_t port, const wire::Packet& packet) const {
        return hosts_[port] != kNoHost && !tenancy_->lets_out(hosts_[port], packet);
    }

private:
    const Tenancy* tenancy_;
    std::vector<uint32_t> hosts_;  // by port: the end point at it, or kNoHost
};

// Packets from one host to another that were refused, at a port of the cabling.
struct RefusedPair {
    uint32_t port = 0;
    uint32_t source = 0;
    uint32_t destination = 0;
    bool as_sent = false;  // refused where they came in from their host
    auto operator<=>(const RefusedPair&) const = default;
};

}  // namespace tulle::fabric
