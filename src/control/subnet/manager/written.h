// What nodes are known to hold, because they acknowledged the write. A manager writes only what
// differs. Entries are by port GUID, so they outlive a sweep.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "wire/layout.h"

namespace tulle::control {

inline uint64_t hash_of(wire::Bytes bytes) {
    base::Hash hash;
    for (size_t i = 0; i + 8 <= bytes.size(); i += 8) {
        uint64_t word = 0;
        for (size_t j = 0; j < 8; ++j) word = word << 8 | std::to_integer<uint64_t>(bytes[i + j]);
        hash.add(word);
    }
    return hash.value();
}

class WrittenTables {
public:
    bool has(uint64_t guid, uint16_t attribute, uint32_t modifier, uint64_t hash) const {
        const auto node = nodes_.find(guid);
        if (node == nodes_.end()) return false;
        const auto block = node->second.blocks.find(key(attribute, modifier));
        return block != node->second.blocks.end() && block->second == hash;
    }
    void note(uint64_t guid, uint16_t attribute, uint32_t modifier, uint64_t hash) {
        nodes_[guid].blocks[key(attribute, modifier)] = hash;
    }
    void keep_only(const std::set<uint64_t>& guids) {
        std::erase_if(nodes_, [&](const auto& node) { return !guids.contains(node.first); });
    }
    // The modifiers of the written blocks of this attribute.
    std::vector<uint32_t> modifiers(uint64_t guid, uint16_t attribute) const {
        std::vector<uint32_t> found;
        const auto node = nodes_.find(guid);
        if (node == nodes_.end()) return found;
        auto block = node->second.blocks.lower_bound(key(attribute, 0));
        for (; block != node->second.blocks.end() && block->first >> 32 == attribute; ++block)
            found.push_back(static_cast<uint32_t>(block->first));
        return found;
    }
    // The SL to VL maps by input and output port, four bits for each level; empty: not known.
    std::vector<uint64_t>& lanes(uint64_t guid) { return nodes_[guid].lanes; }

private:
    static uint64_t key(uint16_t attribute, uint32_t modifier) {
        return uint64_t{attribute} << 32 | modifier;
    }
    struct Node {
        std::map<uint64_t, uint64_t> blocks;  // hashes
        std::vector<uint64_t> lanes;
    };
    std::unordered_map<uint64_t, Node> nodes_;
};

}  // namespace tulle::control
