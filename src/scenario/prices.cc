#include "scenario/prices.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/units.h"
#include "base/words.h"
#include "scenario/built_in.h"
#include "scenario/fields.h"
#include "scenario/notes.h"
#include "topology/quantities.h"

namespace tulle::scenario {
namespace {

constexpr KnownKey kPriceFileKeys[] = {
    {"currency", "text", "of all prices"},
    {"switches", "list", "a box each"},
    {"adapters", "list", "one for each host's port"},
    {"copper", "list", "cables with their ends"},
    {"optics", "list", "transceivers"},
    {"fibre", "list", "between transceivers"},
};
constexpr KnownKey kPartKeys[] = {
    {"name", "text", "the name in reports"},
    {"link", "one of infiniband, ethernet, any", "where it serves"},
    {"rate", "rate", "of a port"},
    {"ports", "number", "of a switch"},
    {"reach", "length", "of copper"},
    {"price", "number", "of one"},
    {"watts", "number", "of one"},
    {"price_source", "text", "where the price comes from; `guess` is told in reports"},
    {"watts_source", "text", "the same of the watts"},
};
constexpr uint64_t kThousandth = 1000;
constexpr uint64_t kMostPrice = 1'000'000'000'000;  // of one part

// Reads "1800" or "0.45", in thousandths.
base::Result<uint64_t> parse_thousandths(std::string_view text) {
    uint64_t value = 0;
    size_t decimals = 0;
    bool has_point = false;
    for (const char c : text) {
        const bool is_digit = c >= '0' && c <= '9';
        if (c == '.' && !has_point)
            has_point = true;
        else if (is_digit && value < kMostPrice && decimals < 3) {
            value = value * 10 + static_cast<uint64_t>(c - '0');
            decimals += has_point ? 1 : 0;
        } else
            return base::Error{fmt::format("'{}' is no number such as 1800 or 0.45", text)};
    }
    if (text.empty() || text == ".") return base::Error{"the number is missing"};
    for (; decimals < 3; ++decimals) value *= 10;
    return value;
}

class PriceReader {
public:
    explicit PriceReader(Notes& notes) : notes_(notes) {}

    std::vector<PricedPart> parts(const Value& root, std::string_view key) {
        std::vector<PricedPart> parts;
        const Value* list = root.find(key);
        if (list == nullptr || !notes_.expect_list(*list, key)) return parts;
        for (const Value& item : list->items) {
            if (notes_.failed() || !notes_.expect_map(item, key, kPartKeys)) break;
            parts.push_back(part(item, key));
        }
        return parts;
    }

private:
    PricedPart part(const Value& map, std::string_view kind) {
        PricedPart part;
        part.name = kind;
        if (const Value* name = map.find("name")) part.name = name->text;
        part.link = link(map);
        for (auto [key, place] :
             {std::pair{"price_source", &part.price_source}, {"watts_source", &part.watts_source}})
            if (const Value* source = map.find(key))
                if (notes_.expect_text(*source, key, "guess")) *place = source->text;
        read(map, "rate", true, [&](std::string_view text) -> Complaint {
            const auto rate = topology::parse_rate_bps(text);
            if (rate) part.rate_bps = *rate;
            return rate ? Complaint{} : rate.error().message;
        });
        read(map, "reach", kind == "copper", [&](std::string_view text) -> Complaint {
            const auto reach = topology::parse_length_mm(text);
            if (reach) part.reach_mm = *reach;
            return reach ? Complaint{} : reach.error().message;
        });
        read(map, "ports", kind == "switches", [&](std::string_view text) -> Complaint {
            const auto ports = parse_thousandths(text);
            if (ports) part.ports = static_cast<uint32_t>(*ports / kThousandth);
            return ports ? Complaint{} : ports.error().message;
        });
        for (auto [key, place] : {std::pair{"price", &part.price}, {"watts", &part.milliwatts}})
            read(map, key, true, [place = place](std::string_view text) -> Complaint {
                const auto value = parse_thousandths(text);
                if (value) *place = *value;
                return value ? Complaint{} : value.error().message;
            });
        return part;
    }

    LinkLayer link(const Value& map) {
        const Value* value = map.find("link");
        if (value == nullptr || value->text == "any") return LinkLayer::any;
        if (value->text == "infiniband") return LinkLayer::infiniband;
        if (value->text == "ethernet") return LinkLayer::ethernet;
        constexpr std::string_view kLayers[] = {"infiniband", "ethernet", "any"};
        notes_.fail(value->line, fmt::format("link: {}", base::unknown_word(value->text, kLayers)));
        return LinkLayer::any;
    }

    template <class Take>
    void read(const Value& map, std::string_view key, bool is_needed, Take&& take) {
        const Value* value = map.find(key);
        if (value == nullptr) {
            if (is_needed) notes_.fail(map.line, fmt::format("`{}` is missing", key));
            return;
        }
        if (!notes_.expect_text(*value, key, "400")) return;
        if (const Complaint wrong = take(value->text))
            notes_.fail(value->line, fmt::format("{}: {}", key, *wrong));
    }

    Notes& notes_;
};

}  // namespace

base::Result<Prices> read_prices(std::string_view text, std::string_view file) {
    const auto root = parse_tree(text, file);
    if (!root) return root.error();
    Notes notes{std::string(file)};
    Prices prices;
    prices.file = file;
    if (notes.expect_map(*root, "a file of prices", kPriceFileKeys)) {
        PriceReader reader(notes);
        prices.switches = reader.parts(*root, "switches");
        prices.adapters = reader.parts(*root, "adapters");
        prices.copper = reader.parts(*root, "copper");
        prices.optics = reader.parts(*root, "optics");
        prices.fibre = reader.parts(*root, "fibre");
        const Value* currency = root->find("currency");
        if (currency == nullptr)
            notes.fail(root->line, "`currency` is missing; write the currency of all prices");
        else if (notes.expect_text(*currency, "currency", "USD"))
            prices.currency = currency->text;
    }
    if (notes.failed()) return notes.error();
    return prices;
}

bool is_guess(std::string_view source) {
    constexpr std::string_view kGuess = "guess";
    return source.substr(0, kGuess.size()) == kGuess;
}

std::string_view built_in_text(std::string_view name) {
    for (const auto& texts : {built_in_texts(), built_in_examples()})
        for (const BuiltInText& one : texts)
            if (one.name == name) return one.text;
    TULLE_CHECK(false);
}

Prices sample_prices() {
    auto prices = read_prices(built_in_text("sample"), "cost/sample.yaml");
    TULLE_CHECK(prices.ok());
    prices->is_sample = true;
    return *prices;
}

}  // namespace tulle::scenario
