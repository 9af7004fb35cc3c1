#include "live/imports.h"

#include <sys/mman.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>

#include "base/guarded_copy.h"
#include "live/clock.h"

namespace tulle::live {
namespace {

constexpr base::Duration kPatience{2'000'000'000'000};  // 2 s, chosen: an owner without CPU

// All imported regions of the process, by start address. The lock is held only for a lookup. A
// region is removed with its host's lock held, and so are copies made.
std::mutex registry_lock;
std::map<const std::byte*, ImportedRegion*>& registry() {
    static auto* regions = new std::map<const std::byte*, ImportedRegion*>;
    return *regions;
}

ImportedRegion* find(const void* address) {
    const auto* place = static_cast<const std::byte*>(address);
    const std::lock_guard guard(registry_lock);
    const auto next = registry().upper_bound(place);
    if (next == registry().begin()) return nullptr;
    ImportedRegion* region = std::prev(next)->second;
    return region->contains(place, 1) ? region : nullptr;
}

bool has(const void* address) noexcept {
    return find(address) != nullptr;
}

// Copies from one imported region to another, through our own memory.
bool copy_between(ImportedRegion& to, std::byte* target, ImportedRegion& from, std::byte* source,
                  size_t bytes) {
    std::array<std::byte, 4096> piece;
    for (size_t done = 0; done < bytes; done += piece.size()) {
        const size_t length = std::min(piece.size(), bytes - done);
        if (!from.move(source + done, piece.data(), length, false) ||
            !to.move(target + done, piece.data(), length, true))
            return false;
    }
    return true;
}

bool copy(void* to, const void* from, size_t bytes) noexcept {
    auto* target = static_cast<std::byte*>(to);
    auto* source = static_cast<std::byte*>(const_cast<void*>(from));
    ImportedRegion* const target_region = find(to);
    ImportedRegion* const source_region = find(from);
    if (target_region != nullptr && source_region != nullptr)
        return copy_between(*target_region, target, *source_region, source, bytes);
    if (target_region != nullptr) return target_region->move(target, source, bytes, true);
    return source_region != nullptr && source_region->move(source, target, bytes, false);
}

bool allows(const void* address, size_t bytes, bool writes) noexcept {
    ImportedRegion* region = find(address);
    return region != nullptr &&
           region->allows(static_cast<const std::byte*>(address), bytes, writes);
}

constexpr base::ForeignMemory kForeign{has, copy, allows};

// While it exists, it tells the owner that its regions must stay.
class AtWork {
public:
    explicit AtWork(Peer& peer) : word_(peer.outgoing().at_work) { word_.fetch_add(1); }
    ~AtWork() { word_.fetch_add(1); }
    AtWork(const AtWork&) = delete;
    AtWork& operator=(const AtWork&) = delete;

private:
    std::atomic<uint32_t>& word_;
};

}  // namespace

// ---- one region ---------------------------------------------------------------------------------

ImportedRegion::ImportedRegion(World& world, uint32_t peer, const Terms& terms, std::byte* begin)
    : world_(&world),
      peer_(peer),
      instance_(world.at(peer).instance),
      terms_(terms),
      begin_(begin) {}

std::optional<ImportedRegion::Terms> ImportedRegion::read_terms(const Grants& grants, uint32_t pd,
                                                                uint32_t key) {
    const RegionNote* note = find_region(grants, key);
    if (note == nullptr || note->pd.load() != pd) return std::nullopt;
    const Terms terms{.key = key,
                      .pd = pd,
                      .access = note->access.load(),
                      .address = note->address.load(),
                      .length = note->length.load(),
                      .place = note->host.load()};
    if (terms.length == 0 || terms.address + terms.length < terms.length) return std::nullopt;
    return terms;
}

// Reserves addresses that nothing else gets and that have no memory behind them.
std::shared_ptr<ImportedRegion> ImportedRegion::make(World& world, uint32_t peer,
                                                     const Terms& terms) {
    void* begin =
        mmap(nullptr, terms.length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (begin == MAP_FAILED) return nullptr;
    std::shared_ptr<ImportedRegion> made(
        new ImportedRegion(world, peer, terms, static_cast<std::byte*>(begin)));
    const std::lock_guard guard(registry_lock);
    registry()[made->begin_] = made.get();
    base::foreign_memory.store(&kForeign, std::memory_order_release);
    return made;
}

ImportedRegion::~ImportedRegion() {
    {
        const std::lock_guard guard(registry_lock);
        registry().erase(begin_);
    }
    munmap(begin_, terms_.length);
}

transport::RegionRequest ImportedRegion::request(transport::PdId pd) const {
    return {.pd = pd,
            .address = terms_.address,
            .length = terms_.length,
            .host = begin_,
            .access = terms_.access & ~uint32_t{transport::kRemoteAtomic}};
}

Peer* ImportedRegion::owner() const {
    if (world_ == nullptr || peer_ >= world_->size()) return nullptr;
    Peer& peer = world_->at(peer_);
    const bool is_here = !peer.is_gone && peer.instance == instance_ && peer.can_send();
    return is_here && peer.has_grants() && !peer.is_dead() ? &peer : nullptr;
}

bool ImportedRegion::stands(const Grants& grants, bool writes) const {
    if (terms_.queue != 0 && !find_xrc_queue(grants, terms_.queue)) return false;
    const RegionNote* note = find_region(grants, terms_.key);
    return note != nullptr && note->pd.load() == terms_.pd &&
           note->address.load() == terms_.address && note->length.load() == terms_.length &&
           note->host.load() == terms_.place &&
           (!writes || (note->access.load() & transport::kLocalWrite) != 0);
}

bool ImportedRegion::allows(const std::byte* there, size_t bytes, bool writes) {
    const Peer* peer = owner();
    return peer != nullptr && contains(there, bytes) && stands(peer->grants(), writes);
}

bool ImportedRegion::move(std::byte* there, void* here, size_t bytes, bool writes) {
    Peer* peer = owner();
    if (peer == nullptr || !contains(there, bytes)) return false;
    const AtWork at_work(*peer);
    if (!stands(peer->grants(), writes)) return false;
    const auto offset = static_cast<uint64_t>(there - begin_);
    const iovec near{here, bytes};
    const iovec far{reinterpret_cast<void*>(terms_.place + offset), bytes};
    const auto call = writes ? process_vm_writev : process_vm_readv;
    return call(peer->who.pid, &near, 1, &far, 1, 0) == static_cast<ssize_t>(bytes);
}

// ---- all of a host ------------------------------------------------------------------------------

void Imports::abandon() {
    if (base::foreign_memory.load() == nullptr) return;  // nothing was ever imported
    const std::lock_guard guard(registry_lock);
    for (auto& [begin, region] : registry())
        if (region->is_in(world_)) region->leave();
}

// The owner must have taken our ring, because only then it waits for our copies.
bool Imports::await_taken(uint32_t peer, uint64_t instance) {
    for (const base::Instant end = now() + kPatience; now() < end;) {
        Peer& there = world_.at(peer);
        if (there.is_gone || there.instance != instance || !there.can_send()) return false;
        if (there.outgoing().is_taken.load(std::memory_order_acquire) != 0) return true;
        lock_.without([] {
            const timespec moment{0, 20'000};
            nanosleep(&moment, nullptr);
        });
    }
    return false;
}

std::optional<uint32_t> Imports::meet(const DeviceOwner& owner, ImportRefusal& refusal) {
    refusal = ImportRefusal::nobody;
    const auto index = world_.resolve_slot(owner.slot).value;
    if (index == 0 || index >= world_.size()) return std::nullopt;
    const Peer& peer = world_.at(index);
    if (peer.instance != owner.instance || peer.is_dead()) return std::nullopt;
    refusal = ImportRefusal::not_allowed;
    if (!peer.has_grants() || !peer.has_made(owner.word)) return std::nullopt;
    refusal = ImportRefusal::nobody;
    if (!await_taken(index, owner.instance)) return std::nullopt;
    refusal = ImportRefusal::none;
    return index;
}

ImportRefusal Imports::find_domain(const DeviceOwner& owner, uint32_t pd) {
    ImportRefusal refusal = ImportRefusal::none;
    const auto peer = meet(owner, refusal);
    if (!peer) return refusal;
    return has_domain(world_.at(*peer).grants(), pd) ? ImportRefusal::none : ImportRefusal::unknown;
}

std::shared_ptr<ImportedRegion> Imports::import_region(const DeviceOwner& owner, uint32_t pd,
                                                       uint32_t key, ImportRefusal& refusal) {
    const auto peer = meet(owner, refusal);
    if (!peer) return nullptr;
    refusal = ImportRefusal::unknown;
    const auto terms = ImportedRegion::read_terms(world_.at(*peer).grants(), pd, key);
    if (!terms) return nullptr;
    refusal = ImportRefusal::no_memory;
    auto made = ImportedRegion::make(world_, *peer, *terms);
    if (made) refusal = ImportRefusal::none;
    return made;
}

}  // namespace tulle::live
