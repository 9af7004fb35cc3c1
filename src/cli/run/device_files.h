// Files that describe the adapter to programs that look into /sys/class/infiniband and
// /dev/infiniband. The shim in front of the C library redirects those paths to this tree. The
// destructor removes the tree; the next run removes one that a killed run has left.
#pragma once

#include <string>

#include "live/descriptor.h"
#include "live/identity.h"

namespace tulle::cli {

class DeviceFiles {
public:
    // path() is empty if there is no room; programs then see the machine's own files.
    DeviceFiles();
    ~DeviceFiles();
    DeviceFiles(const DeviceFiles&) = delete;
    DeviceFiles& operator=(const DeviceFiles&) = delete;

    // Makes the tree of one host.
    struct Adapters {
        bool is_ethernet = true;
        uint32_t devices = 1;
        uint32_t ports = 1;  // of each adapter
    };
    std::string add(uint32_t rank, const Adapters& adapters,
                    const std::vector<live::UdpAddress>& addresses);

    // A file that a program removes when it cannot write all of the capture or the log: removing
    // needs no space on the disk. wire_setting() passes its name to programs.
    std::string wire_setting() const;
    bool is_wire_whole() const;

private:
    std::string root_;
    live::Descriptor held_;  // a lock that tells later runs that this one lives
};

}  // namespace tulle::cli
