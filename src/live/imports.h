// Memory of other processes that this process has imported: their regions, under keys of its own.
//
// A program that was handed the file of another program's device names protection domains and
// regions there by their handles. They are looked up on the owner's board, which only processes of
// the same user see. They are imported only if the kernel lets this process into the owner's memory
// anyway (peer.h). A word in the file is also in that memory; it proves that the owner made the
// file, so nobody else can lead a program to memory that it was not handed. An imported region has
// addresses here but no pages behind them. A copy from or to such an address (base/guarded_copy.h)
// becomes a call of the kernel on the owner's memory.
//
// The owner stays the owner. Each copy announces itself and then looks at the owner's board, as in
// the short way (direct.h). A region that was deregistered or moved is refused, and its owner waits
// for copies under way when it deregisters. Memory of an owner that ends is gone; a real adapter
// would have kept the pages.
#pragma once

#include <memory>
#include <optional>

#include "live/world.h"
#include "transport/memory.h"

namespace tulle::live {

enum class ImportRefusal : uint8_t { none, nobody, not_allowed, unknown, no_memory };

// The process that opened a device, according to its file.
struct DeviceOwner {
    uint32_t slot = 0;
    uint64_t instance = 0;
    uint64_t word = 0;  // also in the owner's memory
    bool operator==(const DeviceOwner&) const = default;
};

// A region of another process. Callers hold the lock of its host.
class ImportedRegion {
public:
    struct Terms {
        uint32_t key = 0;  // this and the next: as on the owner's board
        uint32_t pd = 0;
        uint32_t access = 0;
        uint64_t address = 0;
        uint64_t length = 0;
        uint64_t place = 0;
        // The XRC queue that it was imported for (xrc_borrower.h); it is dropped with that queue.
        // Zero: none.
        uint32_t queue = 0;
        bool operator==(const Terms&) const = default;
    };
    // Reads the entry of a board for a region of this domain.
    static std::optional<Terms> read_terms(const Grants& grants, uint32_t pd, uint32_t key);

    // Reserves addresses; null if there are none.
    static std::shared_ptr<ImportedRegion> make(World& world, uint32_t peer, const Terms& terms);
    ~ImportedRegion();
    ImportedRegion(const ImportedRegion&) = delete;
    ImportedRegion& operator=(const ImportedRegion&) = delete;

    // The registration for the engine here. Without atomics: they would not be atomic towards those
    // of the owner.
    transport::RegionRequest request(transport::PdId pd) const;
    // Copies bytes between `here` and this region. False if the owner no longer has the region.
    bool move(std::byte* there, void* here, size_t bytes, bool writes);
    bool allows(const std::byte* there, size_t bytes, bool writes);
    bool contains(const std::byte* there, size_t bytes) const {
        const auto offset = static_cast<size_t>(there - begin_);
        return there >= begin_ && offset <= terms_.length && bytes <= terms_.length - offset;
    }
    const Terms& terms() const { return terms_; }
    bool is_in(const World& world) const { return world_ == &world; }
    // Its host has closed, or belongs to a parent process.
    void leave() { world_ = nullptr; }

private:
    ImportedRegion(World& world, uint32_t peer, const Terms& terms, std::byte* begin);
    Peer* owner() const;
    bool stands(const Grants& grants, bool writes) const;

    World* world_;
    const uint32_t peer_;
    const uint64_t instance_;
    const Terms terms_;
    std::byte* const begin_;
};

class Imports {
public:
    Imports(World& world, Lock& lock) : world_(world), lock_(lock) {}
    ~Imports() { abandon(); }

    // Whether a process has this protection domain and lets us import it.
    ImportRefusal find_domain(const DeviceOwner& owner, uint32_t pd);
    // Imports a region of that domain; null, and why, if it is refused.
    std::shared_ptr<ImportedRegion> import_region(const DeviceOwner& owner, uint32_t pd,
                                                  uint32_t key, ImportRefusal& refusal);
    // Makes all imported regions unusable.
    void abandon();

private:
    std::optional<uint32_t> meet(const DeviceOwner& owner, ImportRefusal& refusal);
    bool await_taken(uint32_t peer, uint64_t instance);

    World& world_;
    Lock& lock_;
};

}  // namespace tulle::live
