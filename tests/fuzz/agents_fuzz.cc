// Any bytes, as MADs to the agents for performance and for congestion control of a switch and of an
// adapter: an answer is an answer, and Get gives the same twice. Then as packets that a host sends
// into a fabric, which is protected by keys that it does not know: every pair keeps its route.
#include <algorithm>
#include <span>

#include "base/check.h"
#include "control/subnet/world.h"
#include "topology/spec.h"
#include "wire/mad/perf.h"

namespace tulle::control {
namespace {

// Get gives the same twice, so it changes nothing.
template <class Answer>
void expect_stable(const MadBytes& request, Answer&& answer) {
    MadBytes first = request;
    if (!answer(first)) return;
    TULLE_CHECK((first.method() & wire::kMethodResponse) != 0);
    TULLE_CHECK(first.attribute() == request.attribute());
    MadBytes get = request;
    get.bytes()[3] = std::byte{wire::kMethodGet};
    MadBytes again = get;
    if (!answer(get)) return;
    TULLE_CHECK(answer(again));
    TULLE_CHECK(std::ranges::equal(get.bytes(), again.bytes()));
}

void ask_agents(const MadBytes& mad) {
    for (const bool is_switch : {false, true}) {
        PerformanceAgent performance(is_switch, is_switch ? 4 : 1);
        performance.count(1, PortCounter::xmit_wait, 1'000'000'000'000);
        expect_stable(mad, [&](MadBytes& request) { return performance.answer(request); });
        CongestionAgent congestion(is_switch, is_switch ? 4 : 1);
        expect_stable(mad, [&](MadBytes& request) { return congestion.answer({}, request); });
    }
}

// A MAD with the keys of the fabric would not be a stranger's: one bit of each key is wrong.
constexpr uint64_t kKey = 0x5a5a'0000'0000'0001;
bool has_a_key(const MadBytes& mad) {
    if (mad.is_smp()) {
        const auto info = wire::parse<wire::SmInfo>(mad.data());
        return mad.m_key() == kKey || info->sm_key.value == kKey;
    }
    return false;
}

void ask_fabric(std::span<const MadBytes> mads) {
    static const topology::Graph graph =
        *topology::build_spec("leaf-spine:leaves=2,spines=2,hosts=1");
    World world(graph, {});
    const uint32_t manager_node = graph.endpoints().front();
    const uint32_t stranger = graph.endpoints().back();
    world.start_manager(world.add_manager(
        manager_node, {.m_key = kKey, .sm_key = kKey, .m_key_protection_level = 1}));
    constexpr base::Duration kWhile{1'000'000'000'000};
    TULLE_CHECK(world.run_until_settled(world.now() + kWhile));
    const topology::Ports ports(graph);
    const topology::CableEnd leaf = ports.of(stranger)[0].peer;
    for (const MadBytes& mad : mads) {
        if (has_a_key(mad)) continue;
        for (const uint8_t lane : {uint8_t{0}, kManagementLane})
            world.inject(leaf.node, static_cast<uint8_t>(leaf.port + 1), lane, mad);
    }
    world.run_until_at_rest(world.now() + kWhile);
    TULLE_CHECK(world.reach().is_whole());
}

}  // namespace
}  // namespace tulle::control

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace tulle;
    const auto bytes = std::as_bytes(std::span(data, size));
    std::vector<control::MadBytes> mads;
    for (size_t at = 0; at < bytes.size() && mads.size() < 8; at += wire::kMadSize) {
        const auto part = bytes.subspan(at, std::min(wire::kMadSize, bytes.size() - at));
        std::ranges::copy(part, mads.emplace_back().bytes().begin());
        control::ask_agents(mads.back());
    }
    control::ask_fabric(mads);
    return 0;
}
