// Files that say there is an adapter, for programs that look into /sys/class/infiniband and
// /dev/infiniband: a tree of our own, which the shim in front of the C library shows in their
// place. It goes when this object does; one that was left by a run that was killed goes with the
// next.
#pragma once

#include <string>

#include "live/descriptor.h"
#include "live/identity.h"

namespace tulle::cli {

class DeviceFiles {
public:
    // Empty path() if there is no room for it; programs then see the machine's own.
    DeviceFiles();
    ~DeviceFiles();
    DeviceFiles(const DeviceFiles&) = delete;
    DeviceFiles& operator=(const DeviceFiles&) = delete;

    // The tree of one host.
    struct Adapters {
        bool is_ethernet = true;
        uint32_t devices = 1;
        uint32_t ports = 1;  // of each
    };
    std::string add(uint32_t rank, const Adapters& adapters,
                    const std::vector<live::UdpAddress>& addresses);

    // A file that a program removes when it cannot write all of a capture or of a log: that takes
    // no room, where all else might. What programs are told of it, and whether it is there.
    std::string wire_setting() const;
    bool is_wire_whole() const;

private:
    std::string root_;
    live::Descriptor held_;  // says to later runs that this one lives
};

}  // namespace tulle::cli
