#include "scenario/tenants.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace tulle::scenario {
namespace {

constexpr KnownKey kTenantKeys[] = {
    {"name", "text", "the name in reports"},
    {"hosts", "hosts", "its full members, such as [0-3, 8], which may talk to all members"},
    {"limited", "hosts",
     "its limited members, which may talk to full members but not to each other, as isolated ports "
     "of a private VLAN"},
    {"pkey", "number",
     "P_Key of its partition on InfiniBand, 1 to 0x7ffe; by default the first free one"},
    {"vlan", "number",
     "number of its VLAN or VRF on Ethernet, 2 to 4094; by default the first free one"},
};

// A kind of number that differs for each tenant.
struct Numbers {
    std::string_view key;
    uint16_t sim::Tenant::*of;
    uint16_t first;
    uint16_t last;
    std::string_view range;
};

constexpr Numbers kPkeys{"pkey", &sim::Tenant::pkey, 1, 0x7ffe,
                         "1 to 0x7ffe (the bit of full members is not part of it, and 0x7fff is "
                         "the default partition)"};
constexpr Numbers kVlans{"vlan", &sim::Tenant::vlan, 2, 4094, "2 to 4094 (1 is the default VLAN)"};

// "17" or "0x11".
std::optional<uint32_t> key_number(const Value& value) {
    const bool is_hexadecimal = value.text.starts_with("0x") || value.text.starts_with("0X");
    const std::string_view digits = std::string_view(value.text).substr(is_hexadecimal ? 2 : 0);
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number,
                                              is_hexadecimal ? 16 : 10);
    if (!value.is_text() || error != std::errc{} || end != digits.data() + digits.size())
        return std::nullopt;
    return number;
}

class TenantReader {
public:
    TenantReader(const Names& names, Notes& notes, sim::Setup& setup)
        : names_(names), notes_(notes), setup_(setup) {}

    void read(const Value& map) {
        if (!notes_.expect_map(map, "a tenant", kTenantKeys)) return;
        sim::Tenant tenant;
        tenant.name = name_of(map);
        tenant.full = members(map, "hosts");
        tenant.limited = members(map, "limited");
        if (notes_.failed()) return;
        check_members(map, tenant);
        for (const Numbers& numbers : {kPkeys, kVlans})
            if (const Value* value = map.find(numbers.key)) read_number(*value, numbers, tenant);
        setup_.tenants.push_back(std::move(tenant));
    }

    // Assigns the numbers that were not given.
    void number(const Numbers& numbers) {
        uint16_t next = numbers.first;
        for (sim::Tenant& tenant : setup_.tenants) {
            if (tenant.*numbers.of != 0) continue;
            while (std::ranges::find(setup_.tenants, next, numbers.of) != setup_.tenants.end())
                ++next;
            tenant.*numbers.of = next;
        }
    }

private:
    std::string name_of(const Value& map) {
        const Value* name = map.find("name");
        if (name == nullptr) {
            notes_.fail(map.line, "the tenant has no name; write name: red");
            return "";
        }
        if (!notes_.expect_text(*name, "name", "red")) return "";
        if (std::ranges::find(setup_.tenants, name->text, &sim::Tenant::name) !=
            setup_.tenants.end())
            notes_.fail(name->line, fmt::format("name: there are two tenants called '{}'",
                                                name->text.substr(0, 40)));
        return name->text;
    }

    std::vector<uint32_t> members(const Value& map, std::string_view key) {
        const Value* list = map.find(key);
        return list != nullptr ? read_hosts(*list, key, names_, notes_) : std::vector<uint32_t>{};
    }

    void check_members(const Value& map, const sim::Tenant& tenant) {
        if (tenant.full.empty() && tenant.limited.empty())
            return notes_.fail(map.line, fmt::format("tenant '{}' has no hosts; write hosts: [0-3]",
                                                     tenant.name.substr(0, 40)));
        for (const uint32_t host : tenant.limited)
            if (std::ranges::binary_search(tenant.full, host))
                return notes_.fail(
                    map.find("limited")->line,
                    fmt::format("host {} is a full and a limited member of '{}'; name it once",
                                host, tenant.name.substr(0, 40)));
    }

    void read_number(const Value& value, const Numbers& numbers, sim::Tenant& tenant) {
        const auto number = key_number(value);
        if (!number || *number < numbers.first || *number > numbers.last)
            return notes_.fail(value.line,
                               fmt::format("{}: '{}' is not a number from {}", numbers.key,
                                           value.text.substr(0, 40), numbers.range));
        const auto own = static_cast<uint16_t>(*number);
        const auto other = std::ranges::find(setup_.tenants, own, numbers.of);
        if (other != setup_.tenants.end())
            return notes_.fail(value.line,
                               fmt::format("{}: tenant '{}' has {} already; give each its own",
                                           numbers.key, other->name.substr(0, 40), value.text));
        tenant.*numbers.of = own;
    }

    const Names& names_;
    Notes& notes_;
    sim::Setup& setup_;
};

}  // namespace

std::span<const KnownKey> tenant_keys() {
    return kTenantKeys;
}

void read_tenants(const Value& list, const Names& names, Notes& notes, sim::Setup& setup) {
    if (!notes.expect_list(list, "tenants")) return;
    if (list.items.empty())
        return notes.fail(list.line, "tenants: name at least one, or leave the key out");
    TenantReader reader(names, notes, setup);
    for (const Value& item : list.items)
        if (!notes.failed()) reader.read(item);
    if (notes.failed()) return;
    reader.number(kPkeys);
    reader.number(kVlans);
}

}  // namespace tulle::scenario
