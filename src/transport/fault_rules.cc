#include "transport/fault_rules.h"

#include <algorithm>
#include <charconv>

namespace tulle::transport {
namespace {

constexpr uint32_t kStreamRules = 0x7275'6c65;

using Belongs = bool (*)(uint8_t opcode);

bool is_request(uint8_t opcode) {
    return opcode != wire::kCnpOpcode && !wire::opcode_info(opcode).response;
}

bool is_response(uint8_t opcode) {
    return wire::opcode_info(opcode).response;
}

bool is_ack(uint8_t opcode) {
    return opcode != wire::kCnpOpcode &&
           (wire::operation_of(opcode) == wire::Operation::acknowledge ||
            wire::operation_of(opcode) == wire::Operation::atomic_acknowledge);
}

// Whether the name of the operation begins with this word.
template <size_t N>
bool begins(uint8_t opcode, const char (&word)[N]) {
    const std::string name = wire::opcode_name(opcode);
    const size_t service = name.find('_');
    return service != std::string::npos && name.compare(service + 1, N - 1, word) == 0;
}

struct Group {
    std::string_view name;
    Belongs belongs;
};

constexpr Group kGroups[] = {
    {"all", [](uint8_t) { return true; }},
    {"data", [](uint8_t opcode) { return wire::opcode_info(opcode).payload; }},
    {"ack", is_ack},
    {"request", is_request},
    {"response", is_response},
    {"send", [](uint8_t opcode) { return begins(opcode, "SEND"); }},
    {"write", [](uint8_t opcode) { return begins(opcode, "RDMA_WRITE"); }},
    {"read", [](uint8_t opcode) { return begins(opcode, "RDMA_READ"); }},
    {"atomic",
     [](uint8_t opcode) {
         return begins(opcode, "COMPARE_SWAP") || begins(opcode, "FETCH_ADD") ||
                begins(opcode, "ATOMIC");
     }},
    {"cnp", [](uint8_t opcode) { return opcode == wire::kCnpOpcode; }},
};

constexpr auto kGroupNames = [] {
    std::array<std::string_view, std::size(kGroups)> names;
    for (size_t i = 0; i < names.size(); ++i) names[i] = kGroups[i].name;
    return names;
}();

template <class Wanted>
OpcodeSet set_of(Wanted&& wanted) {
    OpcodeSet set;
    for (size_t opcode = 0; opcode < 256; ++opcode)
        if (wire::opcode_info(static_cast<uint8_t>(opcode)).known &&
            wanted(static_cast<uint8_t>(opcode)))
            set.add(static_cast<uint8_t>(opcode));
    return set;
}

bool is_or_any(uint32_t wanted, uint32_t found) {
    return wanted == FaultRule::kAny || wanted == found;
}

bool matches(const FaultRule& rule, const Sighting& seen) {
    const wire::Packet& packet = *seen.packet;
    return is_or_any(rule.program, seen.program) && is_or_any(rule.from, seen.from) &&
           is_or_any(rule.to, seen.to) && is_or_any(rule.qp, packet.dest_qp().value) &&
           rule.opcodes.has(static_cast<uint8_t>(packet.opcode)) &&
           psn_distance(wire::Psn{rule.first_psn}, packet.psn()) <=
               psn_distance(wire::Psn{rule.first_psn}, wire::Psn{rule.last_psn}) &&
           seen.since_start >= rule.after && seen.since_start < rule.until;
}

// Visits all numbers of a rule, for both directions of conversion.
template <class Rule, class Visit>
void for_each_number(Rule& rule, Visit&& visit) {
    for (auto* number : {&rule.program, &rule.from, &rule.to, &rule.qp}) visit(*number);
    for (auto& word : rule.opcodes.words) visit(word);
    for (auto* number : {&rule.first_psn, &rule.last_psn}) visit(*number);
    for (auto* time : {&rule.after, &rule.until}) visit(time->ps);
    for (auto* number : {&rule.first, &rule.last, &rule.every}) visit(*number);
    visit(rule.per_million);
    visit(rule.act);
    visit(rule.time.ps);
    visit(rule.syndrome);
    visit(rule.line);
}

}  // namespace

OpcodeSet OpcodeSet::all() {
    return set_of([](uint8_t) { return true; });
}

std::optional<OpcodeSet> OpcodeSet::named(std::string_view name) {
    for (const Group& group : kGroups)
        if (group.name == name) return set_of(group.belongs);
    const OpcodeSet set = set_of([&](uint8_t opcode) {
        const std::string full = wire::opcode_name(opcode);
        const size_t service = full.find('_');
        return full == name ||
               (service != std::string::npos && std::string_view(full).substr(service + 1) == name);
    });
    if (set == OpcodeSet{}) return std::nullopt;
    return set;
}

std::span<const std::string_view> OpcodeSet::group_names() {
    return kGroupNames;
}

OpcodeSet& OpcodeSet::operator|=(const OpcodeSet& other) {
    for (size_t i = 0; i < words.size(); ++i) words[i] |= other.words[i];
    return *this;
}

bool may_be_refused(uint8_t opcode) {
    const wire::Service service = wire::service_of(opcode);
    return is_request(opcode) && (service == wire::Service::rc || service == wire::Service::xrc);
}

FaultRules::FaultRules(std::vector<FaultRule> rules, uint64_t seed, uint32_t owner)
    : rules_(std::move(rules)) {
    for (uint32_t i = 0; i < rules_.size(); ++i)
        progress_.push_back(
            {0, base::RandomStream({seed, kStreamRules, uint64_t{owner} << 32 | i})});
}

// A random number is drawn only for packets that the count has selected.
bool FaultRules::acts(const FaultRule& rule, Progress& progress) const {
    const uint64_t number = ++progress.found;
    if (number < rule.first || number > rule.last || (number - rule.first) % rule.every != 0)
        return false;
    return rule.per_million >= FaultRule::kMillion ||
           progress.chance.chance(rule.per_million, FaultRule::kMillion);
}

const FaultRule* FaultRules::judge(const Sighting& sighting) {
    for (size_t i = 0; i < rules_.size(); ++i)
        if (matches(rules_[i], sighting) && acts(rules_[i], progress_[i])) return &rules_[i];
    return nullptr;
}

bool FaultRules::has(FaultAct one, FaultAct other) const {
    return std::ranges::any_of(
        rules_, [&](const FaultRule& rule) { return rule.act == one || rule.act == other; });
}

uint64_t FaultRules::draw(const FaultRule& rule, uint64_t below) {
    return progress_[static_cast<size_t>(&rule - rules_.data())].chance.below(below);
}

std::string to_text(std::span<const FaultRule> rules) {
    std::string text;
    for (const FaultRule& rule : rules) {
        for_each_number(rule, [&](auto number) {
            char digits[20];
            const auto end =
                std::to_chars(digits, digits + sizeof digits, static_cast<uint64_t>(number), 16);
            text.append(digits, end.ptr).push_back(',');
        });
        text.back() = ';';
    }
    return text;
}

std::optional<std::vector<FaultRule>> fault_rules_of(std::string_view text) {
    std::vector<FaultRule> rules;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
        FaultRule rule;
        bool is_right = true;
        char last = 0;
        for_each_number(rule, [&]<class T>(T& number) {
            uint64_t value = 0;
            const auto [stop, error] = std::from_chars(at, end, value, 16);
            is_right = is_right && error == std::errc{} && stop != end && last != ';';
            if (!is_right) return;
            last = *stop;
            at = stop + 1;
            number = static_cast<T>(value);
        });
        if (!is_right || last != ';' || rule.every == 0) return std::nullopt;
        rules.push_back(rule);
    }
    return rules;
}

}  // namespace tulle::transport
