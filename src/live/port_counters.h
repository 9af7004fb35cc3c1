// A port's counters, in a file of the run that processes of the host map and others read
// (counter_names.h). Each process writes blocks of its own: no store waits for another.
#pragma once

#include <cstddef>
#include <string>

#include "live/counter_names.h"
#include "transport/counters.h"

namespace tulle::live {

class PortCounters {
public:
    PortCounters() = default;
    // Those of the host with this file, as this slot adds to them. Empty if there is no such file.
    PortCounters(const std::string& file, uint32_t slot);
    ~PortCounters();
    PortCounters(PortCounters&& other) noexcept { *this = std::move(other); }
    PortCounters& operator=(PortCounters&& other) noexcept;

    explicit operator bool() const { return memory_ != nullptr; }
    // What the adapter has counted since it exists, and the wire.
    void publish(const transport::Counters& counters, const WireCounters& wire = {});

    // A WRITE or READ that no packet was sent for, seen from the port that data left or reached.
    struct Transfer {
        uint64_t bytes = 0;
        uint64_t packets = 0;
        bool is_read = false;
    };
    void count_at_initiator(const Transfer& transfer);
    void count_at_target(const Transfer& transfer);

private:
    std::byte* memory_ = nullptr;
    transport::Counters* counted_ = nullptr;  // our two blocks
    transport::Counters* direct_ = nullptr;
    WireCounters* wire_ = nullptr;
    transport::Counters before_;  // what those counted who had our slot
    WireCounters wire_before_;
};

}  // namespace tulle::live
