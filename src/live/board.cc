#include "live/board.h"

namespace tulle::live {

void put_region(Grants& grants, uint32_t rkey, uint32_t pd, uint32_t access, uint64_t address,
                uint64_t length, uint64_t host) {
    if (rkey == 0) return;
    for (uint32_t probe = 0; probe < kRegionProbes; ++probe) {
        RegionNote& note = grants.regions[region_place(rkey, probe)];
        if (note.rkey.load() != 0) continue;
        note.pd.store(pd);
        note.access.store(access);
        note.address.store(address);
        note.length.store(length);
        note.host.store(host);
        note.rkey.store(rkey);
        return;
    }
}

bool remove_region(Grants& grants, uint32_t rkey) {
    for (uint32_t probe = 0; probe < kRegionProbes; ++probe) {
        RegionNote& note = grants.regions[region_place(rkey, probe)];
        if (rkey == 0 || note.rkey.load() != rkey) continue;
        note.rkey.store(0);
        return true;
    }
    return false;
}

void put_domain(Grants& grants, uint32_t pd) {
    uint32_t nobody = 0;
    grants.domains[pd % kDomainPlaces].compare_exchange_strong(nobody, pd);
}

void remove_domain(Grants& grants, uint32_t pd) {
    uint32_t there = pd;
    grants.domains[pd % kDomainPlaces].compare_exchange_strong(there, 0);
}

bool has_domain(const Grants& grants, uint32_t pd) {
    return pd != 0 && grants.domains[pd % kDomainPlaces].load() == pd;
}

void put_xrc_domain(Grants& grants, const DomainFile& file) {
    for (XrcDomainNote& note : grants.xrc_domains) {
        if (note.inode.load() != 0) continue;
        note.device.store(file.device);
        return note.inode.store(file.inode);
    }
}

void remove_xrc_domain(Grants& grants, const DomainFile& file) {
    for (XrcDomainNote& note : grants.xrc_domains)
        if (note.inode.load() == file.inode && note.device.load() == file.device)
            return note.inode.store(0);
}

bool has_xrc_domain(const Grants& grants, const DomainFile& file) {
    for (const XrcDomainNote& note : grants.xrc_domains)
        if (file.inode != 0 && note.inode.load() == file.inode && note.device.load() == file.device)
            return true;
    return false;
}

namespace {

constexpr uint32_t xrc_place(uint32_t number) {
    return number % kXrcQueues + ((number & kXrcTarget) != 0 ? kXrcQueues : 0);
}

}  // namespace

void put_xrc_queue(Grants& grants, uint32_t number, const XrcQueue& queue) {
    XrcQueueNote& note = grants.xrc_queues[xrc_place(number)];
    if (note.number.load() != 0) return;
    note.pd.store(queue.pd);
    note.device.store(queue.file.device);
    note.inode.store(queue.file.inode);
    note.number.store(number);
}

bool remove_xrc_queue(Grants& grants, uint32_t number) {
    uint32_t there = number;
    return number != 0 &&
           grants.xrc_queues[xrc_place(number)].number.compare_exchange_strong(there, 0);
}

// Another one may take the place meanwhile: then the number is not the same any more.
std::optional<XrcQueue> find_xrc_queue(const Grants& grants, uint32_t number) {
    const XrcQueueNote& note = grants.xrc_queues[xrc_place(number)];
    if (number == 0 || note.number.load() != number) return std::nullopt;
    const XrcQueue found{note.pd.load(), {note.device.load(), note.inode.load()}};
    if (note.number.load() != number) return std::nullopt;
    return found;
}

// A reader may find a half-written note and report a wrong cause; nothing else depends on it.
void put_objection(Grants& grants, wire::Qpn peer, const transport::Objection& objection) {
    const uint32_t count = grants.objection_count.load();
    ObjectionNote& note = grants.objections[count % kObjections];
    note.peer.store(0);
    note.cause.store(static_cast<uint32_t>(objection.cause));
    note.work.store(static_cast<uint32_t>(objection.work));
    note.rkey.store(objection.rkey);
    note.address.store(objection.address);
    note.length.store(objection.length);
    note.peer.store(peer.value);
    grants.objection_count.store(count + 1);
}

std::optional<transport::Objection> find_objection(const Grants& grants, wire::Qpn peer) {
    const uint32_t count = grants.objection_count.load();
    for (uint32_t back = 1; back <= kObjections; ++back) {
        const ObjectionNote& note = grants.objections[(count - back) % kObjections];
        if (note.peer.load() != peer.value) continue;
        transport::Objection found;
        found.cause = static_cast<transport::Objection::Cause>(note.cause.load());
        found.work = static_cast<transport::Work>(note.work.load());
        found.rkey = note.rkey.load();
        found.address = note.address.load();
        found.length = note.length.load();
        return found;
    }
    return std::nullopt;
}

}  // namespace tulle::live
