// Any text, as a scenario and as fault rules: it is read, or refused with one sentence that names
// file and line. Files that it names are the text itself, so a scenario that is like another one is
// like itself. The topology is given, since the largest ones take their time.
#include <string_view>

#include "base/check.h"
#include "scenario/packet_rules.h"
#include "scenario/scenario.h"

namespace {

using namespace tulle::scenario;

bool same(const Value& a, const Value& b) {
    if (a.kind != b.kind || a.keys.size() != b.keys.size() || a.items.size() != b.items.size())
        return false;
    for (size_t i = 0; i < a.items.size(); ++i)
        if (!same(a.items[i], b.items[i])) return false;
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const FileReader files = [&](const std::string&) { return tulle::base::Result(text); };
    Overrides overrides;
    overrides.topology = "leaf-spine:leaves=2,spines=2,hosts=4";
    overrides.most_tasks = 20'000;
    const auto setup = read_scenario(text, "s.yaml", files, overrides);
    if (setup) {
        TULLE_CHECK(!setup->flows.empty() || !setup->program.empty());
        TULLE_CHECK(!setup->program.check(static_cast<uint32_t>(setup->ranks.size())));
        for (const auto& flow : setup->flows) {
            TULLE_CHECK(flow.source < 8 && flow.destination < 8);
            TULLE_CHECK(flow.source != flow.destination && flow.start.ps >= 0);
            TULLE_CHECK(flow.group < setup->groups.size());
        }
    } else {
        TULLE_CHECK(setup.error().message.find(':') != std::string::npos);
    }
    if (const auto rules = read_packet_rules(text, "s.yaml"))
        TULLE_CHECK(tulle::transport::fault_rules_of(tulle::transport::to_text(*rules)) == *rules);
    else
        TULLE_CHECK(rules.error().message.starts_with("s.yaml:"));
    if (const auto tree = parse_tree(text, "s.yaml")) {
        const auto again = parse_tree(to_yaml(*tree), "s.yaml");
        TULLE_CHECK(again.ok() && same(*tree, *again));
    }
    return 0;
}
