// Any bytes, as SMPs to an agent and as answers to a manager: neither falls over, and an agent
// sends no more than it was asked.
#include <algorithm>
#include <span>

#include "base/check.h"
#include "control/subnet/agent/agent.h"
#include "control/subnet/manager/manager.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace tulle;
    control::Agent agent({.is_switch = true, .port_count = 4, .guid = 7, .description = "leaf"});
    for (uint8_t port = 1; port <= 4; ++port) agent.set_link({}, port, true);
    control::Manager manager({.port_guid = 1});
    manager.start({});
    const auto bytes = std::as_bytes(std::span(data, size));
    for (size_t at = 0; at + wire::kSmpDataSize <= bytes.size(); at += wire::kSmpDataSize) {
        control::MadBytes smp;
        const auto part = bytes.subspan(at, std::min(wire::kMadSize, bytes.size() - at));
        std::copy(part.begin(), part.end(), smp.bytes().begin());
        agent.on_smp({}, 2, smp);
        int sent = 0;
        while (agent.poll_transmit()) ++sent;
        TULLE_CHECK(sent <= 1);
        if (auto request = manager.poll_transmit({})) {
            std::copy(part.begin(), part.begin() + wire::kSmpDataSize, request->mad.data().begin());
            request->mad.answer(wire::kStatusOk);
            manager.on_mad({}, request->mad);
        }
    }
    return 0;
}
