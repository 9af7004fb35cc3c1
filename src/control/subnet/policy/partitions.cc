#include "control/subnet/policy/partitions.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "control/subnet/policy/words.h"
#include "topology/text.h"

namespace tulle::control {
namespace {

using topology::text;
using Who = Partition::Who;
using Membership = Partition::Membership;

// A piece of text between separators, and the line where it begins.
struct Piece {
    std::string text;
    size_t line = 0;
};

std::optional<Membership> membership_of(std::string_view word) {
    if (word == "full") return Membership::full;
    if (word == "limited") return Membership::limited;
    if (word == "both") return Membership::both;
    return std::nullopt;
}

class PartitionReader {
public:
    PartitionReader(std::string_view text, std::string_view file) : text_(text), file_(file) {}

    base::Result<PartitionPolicy> read() {
        while (skip_space(), at_ < text_.size()) {
            if (!read_definition()) return *error_;
        }
        if (policy_.partition_of(kDefaultPartitionKey) == nullptr) add_default();
        return std::move(policy_);
    }

private:
    bool fail(size_t line, std::string sentence) {
        error_ = base::Error{text(file_, ":", line, ": ", sentence)};
        return false;
    }

    void skip_space() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '#')
                while (at_ < text_.size() && text_[at_] != '\n') ++at_;
            else if (c == '\n' || is_space(c))
                line_ += text_[at_++] == '\n';
            else
                return;
        }
    }

    // Takes text up to one of the separators, and skips that; nothing: the text ends before.
    std::optional<char> take(std::string_view separators, Piece& piece) {
        skip_space();
        piece = {"", line_};
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (separators.find(c) != std::string_view::npos) {
                ++at_;
                piece.text = std::string(trimmed(piece.text));
                return c;
            }
            if (c == '#' || c == '\n') {
                skip_space();
                piece.text += ' ';
                continue;
            }
            piece.text += c;
            ++at_;
        }
        return std::nullopt;
    }

    bool read_definition() {
        const size_t begins = line_;
        Partition partition;
        Membership usual = Membership::limited;
        Piece piece;
        bool is_first = true;
        while (true) {
            const auto end = take(",:;", piece);
            if (!end) return fail(begins, "a partition ends with a ';', and this one does not end");
            if (*end == ';')
                return fail(piece.line,
                            "a partition names its members behind a ':'; write "
                            "'name=0x10: h0, h1;'");
            if (is_first ? !read_name(piece, partition) : !read_flag(piece, partition, usual))
                return false;
            is_first = false;
            if (*end == ':') break;
        }
        while (true) {
            const auto end = take(",;", piece);
            if (!end) return fail(begins, "a partition ends with a ';', and this one does not end");
            if (!piece.text.empty() && !read_member(piece, usual, partition)) return false;
            if (*end == ';') break;
        }
        merge(std::move(partition));
        return true;
    }

    bool read_name(const Piece& piece, Partition& partition) {
        const auto [name, value] = split(piece.text, '=');
        partition.name = std::string(name);
        if (value.empty()) {
            partition.key = free_key();
            return true;
        }
        const auto key = parse_whole(value, 0xffff);
        if (!key || (*key & kDefaultPartitionKey) == 0)
            return fail(piece.line, text("'", value,
                                         "' is no key of a partition; write a number "
                                         "from 0x0001 to 0x7fff"));
        partition.key = static_cast<uint16_t>(*key & kDefaultPartitionKey);
        return true;
    }

    bool read_flag(const Piece& piece, Partition& partition, Membership& usual) {
        const auto parts = split(piece.text, '=');
        const std::string_view name = parts.first, value = parts.second;
        if (name == "ipoib" && value.empty()) return partition.has_ipoib = true;
        if (name == "indx0" && value.empty()) return partition.is_first = true;
        if (name == "defmember") {
            const auto membership = membership_of(value);
            if (!membership)
                return fail(piece.line, text("'", value,
                                             "' is no membership; write full, limited "
                                             "or both"));
            usual = *membership;
            return true;
        }
        const auto number = [&](uint64_t from, uint64_t to, auto& field) {
            const auto whole = parse_whole(value, to);
            if (!whole || *whole < from)
                return fail(piece.line, text("'", value, "' is no ", name, "; write a number from ",
                                             from, " to ", to));
            field = static_cast<std::remove_reference_t<decltype(field)>>(*whole);
            return true;
        };
        if (name == "sl") return number(0, 15, partition.service_level);
        if (name == "mtu") return number(1, 5, partition.mtu);
        if (name == "rate") return number(2, 24, partition.rate);
        if (name == "Q_Key") return number(0, 0xffff'ffff, partition.queue_key);
        return fail(piece.line, text("'", piece.text,
                                     "' is not known; there are ipoib, indx0, defmember, sl, mtu, "
                                     "rate and Q_Key"));
    }

    bool read_member(const Piece& piece, Membership usual, Partition& partition) {
        const auto [name, value] = split(piece.text, '=');
        if (name == "mgid")
            return fail(piece.line, "groups by mgid are not read; hosts make groups by joining");
        Partition::Member member;
        member.membership = usual;
        member.line = piece.line;
        if (!value.empty()) {
            const auto membership = membership_of(value);
            if (!membership)
                return fail(piece.line, text("'", value, "' is no membership of ", name,
                                             "; write full, limited or both"));
            member.membership = *membership;
        }
        if (name == "ALL")
            member.who = Who::all;
        else if (name == "ALL_CAS")
            member.who = Who::all_adapters;
        else if (name == "ALL_SWITCHES")
            member.who = Who::all_switches;
        else if (name == "SELF")
            member.who = Who::self;
        else if (const auto guid = parse_whole(name, ~uint64_t{0}))
            member.guid = *guid;
        else
            member.who = Who::name;
        member.name = std::string(name);
        partition.members.push_back(std::move(member));
        return true;
    }

    // Merges partitions with one key; the first name stays.
    void merge(Partition partition) {
        for (Partition& known : policy_.partitions) {
            if (known.key != partition.key) continue;
            known.is_first |= partition.is_first;
            known.has_ipoib |= partition.has_ipoib;
            for (Partition::Member& member : partition.members)
                known.members.push_back(std::move(member));
            return;
        }
        policy_.partitions.push_back(std::move(partition));
    }

    uint16_t free_key() const {
        uint16_t key = 1;
        while (policy_.partition_of(key) != nullptr) ++key;
        return key;
    }

    void add_default() {
        Partition partition;
        partition.name = "Default";
        partition.key = kDefaultPartitionKey;
        partition.members.push_back({.who = Who::all, .name = "ALL"});
        partition.members.push_back(
            {.who = Who::self, .name = "SELF", .membership = Membership::full});
        policy_.partitions.insert(policy_.partitions.begin(), std::move(partition));
    }

    std::string_view text_;
    std::string_view file_;
    size_t at_ = 0;
    size_t line_ = 1;
    PartitionPolicy policy_;
    std::optional<base::Error> error_;
};

}  // namespace

bool Partition::Member::is(const PortIdentity& port) const {
    switch (who) {
        case Who::guid: return guid == port.guid;
        case Who::name: return name == port.name;
        case Who::all: return true;
        case Who::all_adapters: return !port.is_switch;
        case Who::all_switches: return port.is_switch;
        case Who::self: return port.is_manager;
    }
    return false;
}

// A partition marked as first comes first, then the default partition, then the others by key. A
// port that is both a limited and a full member by rules is a full one, unless a rule says `both`.
std::vector<uint16_t> PartitionPolicy::keys_of(const PortIdentity& port) const {
    std::vector<std::pair<int, uint16_t>> ranked;
    for (const Partition& partition : partitions) {
        bool is_full = false;
        bool is_limited = false;
        bool is_both = false;
        for (const Partition::Member& member : partition.members) {
            if (!member.is(port)) continue;
            is_full |= member.membership == Membership::full;
            is_limited |= member.membership == Membership::limited;
            is_both |= member.membership == Membership::both;
        }
        const int rank = partition.is_first ? 0 : partition.key == kDefaultPartitionKey ? 1 : 2;
        if (is_full || is_both)
            ranked.emplace_back(rank, static_cast<uint16_t>(partition.key | wire::kFullMember));
        if (is_both || (is_limited && !is_full)) ranked.emplace_back(rank, partition.key);
    }
    std::ranges::sort(ranked, [](const auto& a, const auto& b) {
        const auto order = [](const std::pair<int, uint16_t>& entry) {
            return std::tuple(entry.first, entry.second & wire::kPartitionNumber,
                              !wire::is_full_member({entry.second}));
        };
        return order(a) < order(b);
    });
    std::vector<uint16_t> keys;
    for (const auto& [rank, key] : ranked) keys.push_back(key);
    return keys;
}

const Partition* PartitionPolicy::partition_of(uint16_t key) const {
    for (const Partition& partition : partitions)
        if (partition.key == (key & wire::kPartitionNumber)) return &partition;
    return nullptr;
}

base::Result<PartitionPolicy> parse_partitions(std::string_view text, std::string_view file) {
    return PartitionReader(text, file).read();
}

bool admits(const std::vector<uint16_t>& keys, uint16_t key) {
    return std::ranges::any_of(keys,
                               [&](uint16_t own) { return wire::partitions_match({own}, {key}); });
}

uint16_t shared_key(const std::vector<uint16_t>& one, const std::vector<uint16_t>& other) {
    for (const uint16_t key : one)
        if (admits(other, key)) return key;
    return 0;
}

}  // namespace tulle::control
