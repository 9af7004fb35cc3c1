// Forwarding tables as text: the format that OpenSM writes to opensm-lfts.dump, and the one that
// dump_lfts.sh and ibroute(8) print of a real fabric.
//
//   Unicast lids [0-36] of switch Lid 17 guid 0x0200000000001100 ('leaf0'):
//   0x0001 001 # Channel Adapter portguid 0x0200000000000101: 'h0'
//   ...
//   36 lids dumped
//
// Both formats are read; the first is written. LIDs are those of the dump. Its comments identify
// their owners by port GUID, or by name if the fabric has no such GUID.
#pragma once

#include <string>
#include <string_view>

#include "control/subnet/tables.h"

namespace tulle::control {

std::string write_lfts(const topology::Graph& graph, const Subnet& subnet,
                       const ForwardingTables& tables);

struct DumpedTables {
    struct Entry {
        uint32_t node = 0;  // a switch
        uint16_t lid = 0;
        uint8_t port = kNoPort;
    };
    LidOwners owners;
    std::vector<Entry> entries;

    // The subnet must be made from the same graph and these owners.
    ForwardingTables tables(const Subnet& subnet) const;
};

// `name` is the file's name, for error messages.
base::Result<DumpedTables> read_lfts(std::string_view text, std::string_view name,
                                     const topology::Graph& graph);

}  // namespace tulle::control
