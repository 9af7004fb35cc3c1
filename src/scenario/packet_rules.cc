#include "scenario/packet_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/units.h"
#include "base/words.h"
#include "scenario/fields.h"
#include "wire/syndrome.h"

namespace tulle::scenario {
namespace {

using transport::FaultAct;
using transport::FaultRule;
using wire::NakCode;

constexpr size_t kMostRules = 256;
constexpr uint32_t kMostHosts = 254;

constexpr KnownKey kRuleFileKeys[] = {{"faults", "list", "rules, in the order in which they act"}};

constexpr KnownKey kMatchKeys[] = {
    {"program", "one of server, client, or a number",
     "the program of the sender: its role in --pair, or its rank"},
    {"from", "host", "the sender: its rank, or an address such as 127.0.0.2"},
    {"to", "host", "the receiver"},
    {"qp", "number", "the destination queue pair, as programs print it"},
    {"opcode", "word or list",
     "RC_SEND_ONLY; SEND_ONLY of any service; data, ack, request, "
     "response, send, write, read, atomic, cnp"},
    {"psn", "number or range", "such as 100-200; 0xffff00-0xff wraps around"},
    {"nth", "count",
     "which of the matching packets of each program: 5; 5-9; 5-; every 10; 100-200 every 10"},
    {"share", "share", "share of the matching packets: 1% or 0.01, drawn by the seed"},
    {"after", "duration", "the rule applies from this time of the run on"},
    {"until", "duration", "and up to this time"},
};

const std::vector<WorkKind> kRuleKinds = {
    {{"drop", "map", "the packet is lost"}, {}},
    {{"double", "map", "the packet is duplicated"}, {}},
    {{"reorder", "map", "other packets overtake it"},
     {{"by", "duration", "how late it is; 100us by default"}}},
    {{"delay", "map", "the packet is delayed"}, {{"by", "duration", "how late it is"}}},
    {{"damage", "map", "one bit of the packet is inverted"}, {}},
    {{"mark", "map", "the packet is marked as by a congested switch: ECN, or FECN on InfiniBand"},
     {}},
    {{"rnr", "map", "its receiver answers with an RNR NAK, and accepts the retransmission"}, {}},
    {{"nak", "map", "its receiver answers with a NAK"},
     {{"code", "one of sequence, invalid_request, remote_access, remote_operation",
       "the reason that it gives"}}},
    {{"link_down", "map",
      "the packet is lost, and so is everything that its sender sends or would receive"},
     {{"for", "duration", "how long the outage lasts"}}},
    {{"break", "map",
      "the packet is lost, and its receiver breaks for good, with an asynchronous event"},
     {{"what", "one of qp, srq, adapter",
       "the queue pair that it goes to, the shared receive queue of that, or all of the adapter"}}},
};
// In the order of kRuleKinds.
constexpr FaultAct kActs[] = {FaultAct::drop,    FaultAct::double_it, FaultAct::reorder,
                              FaultAct::delay,   FaultAct::damage,    FaultAct::mark,
                              FaultAct::refuse,  FaultAct::refuse,    FaultAct::link_down,
                              FaultAct::break_it};

constexpr std::pair<std::string_view, NakCode> kCodes[] = {
    {"sequence", NakCode::psn_sequence_error},
    {"invalid_request", NakCode::invalid_request},
    {"remote_access", NakCode::remote_access_error},
    {"remote_operation", NakCode::remote_operational_error},
};

// Reads the whole text as a number, decimal or with 0x.
bool read_number(std::string_view text, uint64_t& number) {
    const bool is_hex = text.starts_with("0x");
    if (is_hex) text.remove_prefix(2);
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number, is_hex ? 16 : 10);
    return !text.empty() && stop == end && error == std::errc{};
}

// "5", "5-9"; "5-" up to `most`.
bool read_range(std::string_view text, uint64_t most, uint64_t& first, uint64_t& last) {
    const size_t dash = text.find('-');
    if (!read_number(text.substr(0, dash), first)) return false;
    last = dash == std::string_view::npos ? first : most;
    if (dash != std::string_view::npos && dash + 1 != text.size() &&
        !read_number(text.substr(dash + 1), last))
        return false;
    return first <= most && last <= most;
}

class RuleReader {
public:
    RuleReader(Notes& notes, const Value& entry) : notes_(notes), entry_(entry) {}

    FaultRule read() {
        const WorkKind* kind = find_kind();
        if (kind == nullptr) return rule_;
        map_ = &entry_.items[0];
        std::vector<KnownKey> known(std::begin(kMatchKeys), std::end(kMatchKeys));
        known.insert(known.end(), kind->keys.begin(), kind->keys.end());
        if (!notes_.expect_map(*map_, kind->key.name, known)) return rule_;
        rule_.line = entry_.line;
        rule_.act = kActs[kind - kRuleKinds.data()];
        read_match();
        read_act(kind->key.name);
        return rule_;
    }

private:
    const WorkKind* find_kind() {
        std::vector<std::string_view> names;
        for (const WorkKind& kind : kRuleKinds) names.push_back(kind.key.name);
        if (!entry_.is_map() || entry_.keys.size() != 1) {
            notes_.fail(entry_.line, fmt::format("a rule has one of {}, such as drop: {{nth: 5}}",
                                                 fmt::join(names, ", ")));
            return nullptr;
        }
        const Key& key = entry_.keys[0];
        const auto found = std::ranges::find(names, key.name);
        if (found == names.end()) {
            notes_.fail(key.line, unknown_key(key.name, "a rule", names));
            return nullptr;
        }
        return &kRuleKinds[static_cast<size_t>(found - names.begin())];
    }

    // Calls take(text) if the key is present; its complaint gets the key's line.
    template <class Take>
    void with(std::string_view key, std::string_view example, Take&& take) {
        const Value* value = map_->find(key);
        if (value == nullptr || !notes_.expect_text(*value, key, example)) return;
        if (const Complaint wrong = take(value->text))
            notes_.fail(value->line, fmt::format("{}: {}", key, *wrong));
    }

    void read_time(std::string_view key, base::Duration& time) {
        with(key, "100us", [&](std::string_view text) -> Complaint {
            const auto duration = base::parse_duration(text);
            if (!duration) return duration.error().message;
            if (duration->ps < 0) return "a time before the beginning";
            time = *duration;
            return std::nullopt;
        });
    }

    void read_host(std::string_view key, uint32_t& host) {
        with(key, "1", [&](std::string_view text) -> Complaint {
            constexpr std::string_view kNet = "127.0.0.";
            uint64_t number = 0;
            const bool is_address = text.starts_with(kNet);
            const bool is_number =
                read_number(is_address ? text.substr(kNet.size()) : text, number);
            if (is_address) --number;  // 127.0.0.1 is host 0; 127.0.0.0 is no host
            if (!is_number || number >= kMostHosts)
                return fmt::format(
                    "'{}' is no host; write its rank, or an address from 127.0.0.1 "
                    "to 127.0.0.{}",
                    text, kMostHosts);
            host = static_cast<uint32_t>(number);
            return std::nullopt;
        });
    }

    void read_match() {
        with("program", "client", [&](std::string_view text) -> Complaint {
            uint64_t number = text == "client" ? 1 : 0;
            if (text != "server" && text != "client" &&
                (!read_number(text, number) || number >= kMostHosts))
                return fmt::format("'{}' is unknown here; write server, client or a number", text);
            rule_.program = static_cast<uint32_t>(number);
            return std::nullopt;
        });
        read_host("from", rule_.from);
        read_host("to", rule_.to);
        with("qp", "0x1002", [&](std::string_view text) -> Complaint {
            uint64_t number = 0;
            if (!read_number(text, number) || number > 0xff'ffff)
                return fmt::format("'{}' is no number of 24 bits", text);
            rule_.qp = static_cast<uint32_t>(number);
            return std::nullopt;
        });
        with("psn", "100-200", [&](std::string_view text) -> Complaint {
            uint64_t first = 0;
            uint64_t last = 0;
            if (!read_range(text, wire::kPsnMask, first, last))
                return fmt::format("'{}' is neither a number of 24 bits nor a range", text);
            rule_.first_psn = static_cast<uint32_t>(first);
            rule_.last_psn = static_cast<uint32_t>(last);
            return std::nullopt;
        });
        with("nth", "5", [&](std::string_view text) { return read_count(text); });
        with("share", "1%", [&](std::string_view text) -> Complaint {
            const auto share = parse_share(text);
            if (!share) return share.error().message;
            rule_.per_million = *share;
            return std::nullopt;
        });
        read_time("after", rule_.after);
        read_time("until", rule_.until);
        if (rule_.until <= rule_.after)
            notes_.fail(map_->line, "until is not later than after: the rule never acts");
        read_opcodes();
    }

    Complaint read_count(std::string_view text) {
        const std::string wrong =
            fmt::format("'{}' is no count; write 5, 5-9, 5-, every 10 or 100-200 every 10", text);
        constexpr std::string_view kEvery = "every ";
        const size_t every = text.find(kEvery);
        if (every != std::string_view::npos) {
            if (!read_number(text.substr(every + kEvery.size()), rule_.every) || rule_.every == 0)
                return wrong;
            rule_.first = rule_.every;  // "every 10" begins with the tenth
            if (every == 0) return std::nullopt;
            if (text[every - 1] != ' ') return wrong;
            text = text.substr(0, every - 1);
        }
        if (!read_range(text, UINT64_MAX, rule_.first, rule_.last) || rule_.first == 0 ||
            rule_.last < rule_.first)
            return wrong;
        return std::nullopt;
    }

    void read_opcodes() {
        const Value* value = map_->find("opcode");
        if (value == nullptr) return;
        rule_.opcodes = {};
        if (!value->is_list()) return add_opcode(*value);
        for (const Value& item : value->items) add_opcode(item);
        if (value->items.empty()) notes_.fail(value->line, "opcode: the list is empty");
    }

    void add_opcode(const Value& value) {
        if (!notes_.expect_text(value, "opcode", "data")) return;
        if (const auto set = transport::OpcodeSet::named(value.text)) {
            rule_.opcodes |= *set;
            return;
        }
        std::vector<std::string_view> known(transport::OpcodeSet::group_names().begin(),
                                            transport::OpcodeSet::group_names().end());
        std::vector<std::string> names;
        for (uint32_t opcode = 0; opcode < 256; ++opcode)
            if (wire::opcode_info(static_cast<uint8_t>(opcode)).known)
                names.push_back(wire::opcode_name(static_cast<uint8_t>(opcode)));
        known.insert(known.end(), names.begin(), names.end());
        notes_.fail(
            value.line,
            fmt::format("opcode: '{}' is unknown here; {}", value.text.substr(0, 60),
                        base::did_you_mean(value.text, known,
                                           "write data, ack or RC_SEND_ONLY, for instance")));
    }

    void read_act(std::string_view kind) {
        if (rule_.act == FaultAct::reorder) rule_.time = transport::kUsualLateness;
        const bool has_time = rule_.act == FaultAct::reorder || rule_.act == FaultAct::delay ||
                              rule_.act == FaultAct::link_down;
        if (has_time) {
            const std::string_view key = rule_.act == FaultAct::link_down ? "for" : "by";
            read_time(key, rule_.time);
            if (rule_.time.ps == 0 && !notes_.failed())
                notes_.fail(map_->line, fmt::format("how long is missing; write {}: 100us", key));
        }
        if (rule_.act == FaultAct::refuse) read_refusal(kind == "rnr");
        if (rule_.act == FaultAct::break_it) read_breakage();
    }

    void read_breakage() {
        using transport::Breakage;
        if (map_->find("what") == nullptr)
            notes_.fail(map_->line, "what breaks is missing; write what: qp");
        with("what", "qp", [&](std::string_view text) -> Complaint {
            constexpr std::string_view kWords[] = {"qp", "srq", "adapter"};
            constexpr Breakage kKinds[] = {Breakage::queue_pair, Breakage::shared_queue,
                                           Breakage::adapter};
            for (size_t i = 0; i < std::size(kWords); ++i)
                if (kWords[i] == text) {
                    rule_.syndrome = static_cast<uint8_t>(kKinds[i]);
                    return std::nullopt;
                }
            return base::unknown_word(text, kWords);
        });
    }

    void read_refusal(bool is_rnr) {
        rule_.syndrome = wire::syndrome_of(wire::AckKind::rnr_nak, 0);
        if (!is_rnr) {
            if (map_->find("code") == nullptr)
                notes_.fail(map_->line, "the reason is missing; write code: remote_access");
            with("code", "remote_access", [&](std::string_view text) -> Complaint {
                std::vector<std::string_view> words;
                for (const auto& [name, code] : kCodes) {
                    words.push_back(name);
                    if (name != text) continue;
                    rule_.syndrome = wire::syndrome_of(code);
                    return std::nullopt;
                }
                return base::unknown_word(text, words);
            });
        }
        // Other packets cannot be refused, so they are not counted either.
        transport::OpcodeSet refusable;
        for (uint32_t opcode = 0; opcode < 256; ++opcode)
            if (rule_.opcodes.has(static_cast<uint8_t>(opcode)) &&
                transport::may_be_refused(static_cast<uint8_t>(opcode)))
                refusable.add(static_cast<uint8_t>(opcode));
        rule_.opcodes = refusable;
        if (refusable == transport::OpcodeSet{})
            notes_.fail(map_->line, "only requests of RC and XRC have a receiver that refuses");
    }

    Notes& notes_;
    const Value& entry_;
    const Value* map_ = nullptr;
    FaultRule rule_;
};

}  // namespace

base::Result<std::vector<FaultRule>> read_packet_rules(std::string_view text,
                                                       std::string_view file) {
    const auto root = parse_tree(text, file);
    if (!root) return root.error();
    Notes notes{std::string(file)};
    std::vector<FaultRule> rules;
    if (notes.expect_map(*root, "a file of fault rules", kRuleFileKeys)) {
        const Value* list = root->find("faults");
        if (list == nullptr)
            notes.fail(1, "there are no rules; write a list called faults");
        else if (notes.expect_list(*list, "faults"))
            for (const Value& entry : list->items)
                if (!notes.failed()) rules.push_back(RuleReader(notes, entry).read());
        if (rules.size() > kMostRules)
            notes.fail(list->line,
                       fmt::format("{} rules are more than {}", rules.size(), kMostRules));
    }
    if (notes.failed()) return notes.error();
    return rules;
}

base::Result<uint32_t> parse_share(std::string_view text) {
    const bool is_percent = text.ends_with('%');
    double number = 0;
    const char* end = text.data() + text.size() - (is_percent ? 1 : 0);
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (is_percent) number /= 100;
    if (error != std::errc{} || stop != end || !(number >= 0 && number <= 1))
        return base::Error{
            fmt::format("'{}' is no share of packets; write 1% or 0.01", text.substr(0, 40))};
    return static_cast<uint32_t>(number * FaultRule::kMillion + 0.5);
}

std::span<const WorkKind> packet_rule_kinds() {
    return kRuleKinds;
}

std::span<const KnownKey> packet_match_keys() {
    return kMatchKeys;
}

}  // namespace tulle::scenario
