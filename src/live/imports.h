// Memory of other processes that this one has imported: their regions, under keys of their own.
//
// A program that was handed the file of another one's device names protection domains and regions
// there by their handles. They are looked up on the owner's board, which only processes of the same
// user see, and imported only where the kernel lets this process into the owner's memory anyway
// (peer.h). A word in the file, which lies in that memory too, shows that the owner made the file:
// somebody else cannot lead a program to memory that it was not handed. An imported region has
// addresses here and no pages behind them. Whoever copies from there or to there
// (base/guarded_copy.h) is led to the owner's memory by a call of the kernel.
//
// The owner stays the owner. Each copy says that it is at work and then looks at the owner's board,
// as those of the short way do (direct.h): a region that was deregistered or moved is refused, and
// whoever deregisters it waits for copies that are under way. What an owner that ends takes with it
// is gone; an adapter would have kept the pages.
#pragma once

#include <memory>
#include <optional>

#include "live/world.h"
#include "transport/memory.h"

namespace tulle::live {

enum class ImportRefusal : uint8_t { none, nobody, not_allowed, unknown, no_memory };

// Who opened a device, as its file says.
struct DeviceOwner {
    uint32_t slot = 0;
    uint64_t instance = 0;
    uint64_t word = 0;  // that its owner has in its memory
    bool operator==(const DeviceOwner&) const = default;
};

// A region of another process. Used with the lock of its host held.
class ImportedRegion {
public:
    struct Terms {
        uint32_t key = 0;  // and what the owner's board said of it
        uint32_t pd = 0;
        uint32_t access = 0;
        uint64_t address = 0;
        uint64_t length = 0;
        uint64_t place = 0;
        // The XRC queue whose sake it is imported for (xrc_borrower.h): it goes with that. Zero:
        // for its own.
        uint32_t queue = 0;
        bool operator==(const Terms&) const = default;
    };
    // What a board says of a region of this domain.
    static std::optional<Terms> read_terms(const Grants& grants, uint32_t pd, uint32_t key);

    // Takes addresses; nothing if there are none.
    static std::shared_ptr<ImportedRegion> make(World& world, uint32_t peer, const Terms& terms);
    ~ImportedRegion();
    ImportedRegion(const ImportedRegion&) = delete;
    ImportedRegion& operator=(const ImportedRegion&) = delete;

    // What the engine here knows of it. Atomics would not be atomic to the owner's.
    transport::RegionRequest request(transport::PdId pd) const;
    // Moves bytes between `here` and this region. False if the owner does not have it any more.
    bool move(std::byte* there, void* here, size_t bytes, bool writes);
    bool allows(const std::byte* there, size_t bytes, bool writes);
    bool contains(const std::byte* there, size_t bytes) const {
        const auto offset = static_cast<size_t>(there - begin_);
        return there >= begin_ && offset <= terms_.length && bytes <= terms_.length - offset;
    }
    const Terms& terms() const { return terms_; }
    bool is_in(const World& world) const { return world_ == &world; }
    // Its host has closed, or is that of a parent.
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

    // Whether a process has this protection domain, and would let us import it.
    ImportRefusal find_domain(const DeviceOwner& owner, uint32_t pd);
    // A region of that domain; nothing, and why.
    std::shared_ptr<ImportedRegion> import_region(const DeviceOwner& owner, uint32_t pd,
                                                  uint32_t key, ImportRefusal& refusal);
    // Whoever still has regions cannot use them any more.
    void abandon();

private:
    std::optional<uint32_t> meet(const DeviceOwner& owner, ImportRefusal& refusal);
    bool await_taken(uint32_t peer, uint64_t instance);

    World& world_;
    Lock& lock_;
};

}  // namespace tulle::live
