#include "transport/cm/connection.h"

namespace tulle::transport::cm {

Connection* ConnectionTable::open() {
    if (pool_.live() >= most_) return nullptr;
    const Pool::Handle handle = pool_.acquire();
    Connection& connection = pool_[handle];
    connection.self = CmHandle{handle.bits};
    try {
        reserve_entries(connection);
    } catch (...) {
        close(connection);
        throw;
    }
    return &connection;
}

// Allocates map entries; they get their real keys later.
void ConnectionTable::reserve_entries(Connection& c) {
    deadlines_.emplace(c.deadline, c.self.bits);
    for (Index* index : {&remote_ids_, &remote_qpns_, &request_ids_})
        index->emplace(reserved_key(c.self), c.self);
    do c.local_id = (static_cast<uint32_t>(random_.next()) & ~id_mask_) | (id_value_ & id_mask_);
    while (c.local_id == 0 || !local_ids_.emplace(c.local_id, c.self).second);
}

// A key that no peer uses.
ConnectionTable::Key ConnectionTable::reserved_key(CmHandle handle) {
    return {UINT32_MAX, {}, handle.bits};
}

void ConnectionTable::close(Connection& connection) {
    deadlines_.erase({connection.deadline, connection.self.bits});
    const auto own = local_ids_.find(connection.local_id);
    if (own != local_ids_.end() && own->second == connection.self) local_ids_.erase(own);
    for (Index* index : {&remote_ids_, &remote_qpns_, &request_ids_})
        index->erase(reserved_key(connection.self));
    forget(remote_ids_, {connection.endpoint, connection.remote_guid, connection.remote_id},
           connection.self);
    forget(request_ids_, {connection.endpoint, {}, connection.remote_id}, connection.self);
    forget_remote_qpn(connection);
    pool_.release(Pool::Handle{connection.self.bits});
}

Connection* ConnectionTable::find(CmHandle handle) {
    const Pool::Handle place{handle.bits};
    return pool_.holds(place) ? &pool_[place] : nullptr;
}

Connection* ConnectionTable::by_local_id(uint32_t id) {
    const auto found = local_ids_.find(id);
    return found == local_ids_.end() ? nullptr : find(found->second);
}

Connection* ConnectionTable::look_up(const Index& index, Key key) {
    const auto found = index.find(key);
    return found == index.end() ? nullptr : find(found->second);
}

Connection* ConnectionTable::by_remote_id(uint32_t endpoint, wire::Guid guid, uint32_t id) {
    return look_up(remote_ids_, {endpoint, guid, id});
}

Connection* ConnectionTable::by_remote_qpn(uint32_t endpoint, wire::Guid guid, wire::Qpn qpn) {
    return look_up(remote_qpns_, {endpoint, guid, qpn.value});
}

Connection* ConnectionTable::by_request_id(uint32_t endpoint, uint32_t request_id) {
    return look_up(request_ids_, {endpoint, {}, request_id});
}

Connection* ConnectionTable::first_established(uint32_t endpoint, wire::Guid guid) {
    for (auto it = remote_qpns_.lower_bound({endpoint, guid, 0});
         it != remote_qpns_.end() && it->first.endpoint == endpoint && it->first.guid == guid; ++it)
        if (Connection* c = find(it->second); c != nullptr && c->state == State::established)
            return c;
    return nullptr;
}

std::vector<CmHandle> ConnectionTable::at_endpoint(uint32_t endpoint) const {
    std::vector<CmHandle> found;
    for (const auto& [id, handle] : local_ids_)
        if (pool_[Pool::Handle{handle.bits}].endpoint == endpoint) found.push_back(handle);
    return found;
}

// The first entry stays. A peer that gives two connections the same ID is answered before this is
// called.
void ConnectionTable::index_remote_id(const Connection& c) {
    enter(remote_ids_, {c.endpoint, c.remote_guid, c.remote_id}, c.self);
}

void ConnectionTable::index_remote_qpn(const Connection& c) {
    enter(remote_qpns_, {c.endpoint, c.remote_guid, c.remote_qpn.value}, c.self);
}

void ConnectionTable::index_request_id(const Connection& c) {
    enter(request_ids_, {c.endpoint, {}, c.remote_id}, c.self);
}

void ConnectionTable::enter(Index& index, Key key, CmHandle handle) {
    auto entry = index.extract(reserved_key(handle));
    if (entry.empty()) return void(index.emplace(key, handle));  // it already has another key
    entry.key() = key;
    index.insert(std::move(entry));
}

void ConnectionTable::forget_remote_qpn(const Connection& c) {
    forget(remote_qpns_, {c.endpoint, c.remote_guid, c.remote_qpn.value}, c.self);
}

void ConnectionTable::forget(Index& index, Key key, CmHandle handle) {
    const auto found = index.find(key);
    if (found != index.end() && found->second == handle) index.erase(found);
}

void ConnectionTable::set_deadline(Connection& c, base::Instant at) {
    auto entry = deadlines_.extract({c.deadline, c.self.bits});
    c.deadline = at;
    entry.value() = {at, c.self.bits};
    deadlines_.insert(std::move(entry));
}

base::Instant ConnectionTable::next_deadline() const {
    return deadlines_.empty() ? base::Instant::never() : deadlines_.begin()->first;
}

Connection* ConnectionTable::due(base::Instant now) {
    if (next_deadline() > now) return nullptr;
    return find(CmHandle{deadlines_.begin()->second});
}

}  // namespace tulle::transport::cm
