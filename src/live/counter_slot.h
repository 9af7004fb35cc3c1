// A port's counters, in a file of the run. Processes of the host map it, and others read it
// (counter_names.h). Each process writes only its own blocks, so no store waits for another.
#pragma once

#include <cstddef>
#include <string>

#include "live/counter_names.h"
#include "transport/counters.h"

namespace tulle::live {

class CounterSlot {
public:
    CounterSlot() = default;
    // Maps the counters in this file, to which this slot adds. Empty if there is no such file.
    CounterSlot(const std::string& file, uint32_t slot);
    ~CounterSlot();
    CounterSlot(CounterSlot&& other) noexcept { *this = std::move(other); }
    CounterSlot& operator=(CounterSlot&& other) noexcept;

    explicit operator bool() const { return memory_ != nullptr; }
    // Publishes what the adapter and the wire have counted since they were created.
    void publish(const transport::Counters& counters, const WireCounters& wire = {});

    // A WRITE or READ without packets, seen from the port that its data left or reached.
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
    transport::Counters before_;  // counted by earlier processes in our slot
    WireCounters wire_before_;
};

}  // namespace tulle::live
