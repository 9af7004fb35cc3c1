// Any bytes, as MADs to subnet administration, to who asks it, and to the agents for performance
// and congestion of a small fabric that is up: none falls over, and none answers what is no
// question.
#include <algorithm>
#include <span>

#include "base/check.h"
#include "control/subnet/agent/congestion.h"
#include "control/subnet/agent/performance.h"
#include "control/subnet/sa/client.h"
#include "control/subnet/world.h"
#include "topology/spec.h"

namespace {

tulle::control::Manager& manager_of_a_star() {
    using namespace tulle;
    static control::World* const world = [] {
        auto* const made = new control::World(*topology::build_spec("star:3"), {});
        made->start_manager(made->add_manager(0, {}));
        TULLE_CHECK(made->run_until_settled({10'000'000'000'000}));
        return made;
    }();
    return world->manager(0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace tulle;
    control::Administration administration(manager_of_a_star());
    control::SaClient client;
    control::PerformanceAgent performance(true, 4);
    control::CongestionAgent congestion(true, 4);
    client.ask(
        {}, 1,
        control::question_of(wire::kMethodGetTable, wire::kSaNodeRecord, 0, wire::NodeRecord{}));
    const auto bytes = std::as_bytes(std::span(data, size));
    base::Instant now{};
    // A step is a MAD that begins with these bytes; the next one begins 64 bytes further on.
    for (size_t at = 0; at < bytes.size(); at += 64) {
        control::MadBytes mad;
        const auto part = bytes.subspan(at, std::min(wire::kMadSize, bytes.size() - at));
        std::copy(part.begin(), part.end(), mad.bytes().begin());
        now.ps += 1'000'000'000;
        administration.on_mad(now, static_cast<uint16_t>(1 + data[at] % 4), mad);
        administration.on_timer(now);
        client.on_mad(now, 1, mad);
        client.on_timer(now);
        for (int i = 0; i < 4 && administration.poll_transmit(now); ++i) continue;
        while (client.poll_transmit(now)) continue;
        control::MadBytes copy = mad;
        const bool is_question =
            mad.method() == wire::kMethodGet || mad.method() == wire::kMethodSet;
        TULLE_CHECK(performance.answer(copy) == is_question);
        TULLE_CHECK(!congestion.answer(now, mad) || is_question);
    }
    return 0;
}
