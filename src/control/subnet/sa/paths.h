// Path records of subnet administration. They follow the forwarding tables, so the service level,
// MTU and rate are those of the links on the actual path.
#pragma once

#include <optional>

#include "control/subnet/manager/manager.h"
#include "wire/mad/sa_records.h"

namespace tulle::control {

wire::Gid port_gid(uint64_t port_guid);
// The port GUID in a GID of this subnet; 0: the GID is of another subnet.
uint64_t guid_in(const wire::Gid& gid);

struct PathQuestion {
    uint32_t source = 0;  // nodes of FoundFabric
    uint32_t destination = 0;
    uint16_t slid = 0;  // 0: the first LID of the port
    uint16_t dlid = 0;
    uint16_t key = 0;  // a partition key; 0: any that both have
};

// Nothing if no cables, no routes or no partition join them.
std::optional<wire::PathRecord> find_path(const Manager& manager, const PathQuestion& question);

// The rate of a link, by its active width and speed.
uint8_t rate_code(const wire::PortInfo& port);
// Mb/s on the wire, to compare rates; 0: no such code.
uint32_t rate_mbps(uint8_t code);

}  // namespace tulle::control
