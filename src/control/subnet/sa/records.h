// Records of the fabric that a manager found and routed, as bytes. A query is compared with them,
// and an answer consists of them.
#pragma once

#include <cstdint>
#include <vector>

#include "control/subnet/manager/manager.h"
#include "control/subnet/sa/components.h"
#include "wire/mad/sa_records.h"

namespace tulle::control {

// Consecutive records of one kind; each begins at a multiple of eight bytes.
struct RecordList {
    size_t stride = 0;
    size_t count = 0;
    std::vector<std::byte> bytes;

    explicit RecordList(size_t record_size) : stride((record_size + 7) / 8 * 8) {}
    template <wire::Header H>
    void add(const H& record) {
        bytes.resize(bytes.size() + stride);
        wire::write(record, wire::MutableBytes(bytes).last(stride));
        ++count;
    }
    // Adds the record if it matches the query.
    template <wire::Header H>
    void add_if(const std::vector<Component>& components, uint64_t mask, wire::Bytes query,
                const H& record) {
        add(record);
        if (matches(components, mask, query, wire::Bytes(bytes).last(stride))) return;
        bytes.resize(bytes.size() - stride);
        --count;
    }
};

RecordList node_records(const Manager& manager, uint64_t mask, wire::Bytes query);
RecordList port_records(const Manager& manager, uint64_t mask, wire::Bytes query);
RecordList link_records(const Manager& manager, uint64_t mask, wire::Bytes query);
RecordList path_records(const Manager& manager, uint64_t mask, wire::Bytes query);
// For every pair of a source and a destination (15.2.5.20); `gids` follow the record.
RecordList multi_path_records(const Manager& manager, uint64_t mask, wire::Bytes query);

}  // namespace tulle::control
