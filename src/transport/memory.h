// Registered memory: protection domains, regions and windows, and the one check that every access
// must pass, local or remote (IBTA vol 1, 10.6).
//
// A key has 24 bits that name a slot of the table, and 8 bits for the slot's present use. A small
// cipher with the adapter's secret scrambles the slot number. The 8 bits are random (for type-2
// windows the consumer chooses them, as verbs specifies). So one key does not reveal another. The
// slot of a key is computed, not searched.
//
// The check of a key costs more than moving a packet. A message checks once, for its whole range,
// and keeps the Grant. Each packet then only asks whether the grant still stands: deregistering,
// invalidating or rebinding a slot revokes all its grants.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "transport/types.h"

namespace tulle::transport {

struct RegionRequest {
    PdId pd{};
    uint64_t address = 0;  // where the region begins in the address space of its keys
    uint64_t length = 0;
    std::byte* host = nullptr;  // the memory itself; nullptr if data is modelled
    uint32_t access = 0;
};

enum class WindowType : uint8_t { type1, type2 };

// Permission to use the memory [host, host + length), given by a check.
struct Grant {
    std::byte* host = nullptr;  // where the requested address is; nullptr if data is modelled
    uint32_t slot = 0;
    uint32_t epoch = 0;
};

// Who requests access.
struct Asker {
    PdId pd{};
    Qpn qpn{};  // type-2 windows belong to one queue pair
};

// Why a check denied access.
enum class Denial : uint8_t {
    none,
    unknown_key,
    other_domain,
    other_queue_pair,  // a window that another one bound
    missing_right,
    out_of_bounds,
};

class Memory {
public:
    explicit Memory(base::RandomStream random);

    PdId create_pd();
    Refusal destroy_pd(PdId pd);  // busy while regions or windows are in it
    bool knows(PdId pd) const;
    // Queue pairs and other objects hold their protection domain.
    void hold(PdId pd);
    void release(PdId pd);

    std::optional<uint32_t> register_region(const RegionRequest& request);
    Refusal reregister_region(uint32_t key, const RegionRequest& request);
    // Adds a second key for the region, from another adapter. False if that key is in use here.
    bool add_name(uint32_t key, uint32_t foreign_key);
    Refusal deregister_region(uint32_t key);  // busy while a window is bound to it

    std::optional<uint32_t> create_window(PdId pd, WindowType type);
    Refusal destroy_window(uint32_t rkey);

    // Binds a window to part of a region; an empty range unbinds it. Returns the window's new key.
    std::optional<uint32_t> bind_type1(uint32_t rkey, const WindowBinding& binding, Asker asker);
    Status bind_type2(const WindowBinding& binding, Asker asker);

    // Invalidates a key: for SEND with invalidate, or locally. Ordinary regions and type-1 windows
    // cannot be invalidated (10.6.7.2.4).
    bool invalidate(uint32_t key, Asker asker);

    // The check. `access` must be granted in full.
    std::optional<Grant> check(uint32_t key, Asker asker, uint64_t address, uint64_t length,
                               uint32_t access) const;
    // Why that check fails, for error messages.
    Denial denial(uint32_t key, Asker asker, uint64_t address, uint64_t length,
                  uint32_t access) const;
    bool stands(const Grant& grant) const { return slots_[grant.slot].epoch == grant.epoch; }

    size_t live() const { return live_; }  // regions and windows

private:
    enum class Kind : uint8_t { free, region, window1, window2 };

    struct Slot {
        uint64_t address = 0;
        uint64_t length = 0;
        std::byte* host = nullptr;
        uint32_t access = 0;
        uint32_t epoch = 0;    // changes when grants of the slot are revoked
        uint32_t parent = 0;   // of a window: the slot of its region
        uint32_t windows = 0;  // of a region: the number of windows bound to it
        PdId pd;
        Qpn owner;  // of a type-2 window: the queue pair that bound it
        uint8_t variant = 0;
        Kind kind = Kind::free;
        bool bound = false;  // of a window; regions are always bound
    };
    struct Domain {
        bool live = false;
        uint32_t users = 0;
    };

    static Denial denial(const Slot& slot, Asker asker, uint64_t address, uint64_t length,
                         uint32_t access);
    uint32_t key_of(uint32_t slot) const;
    std::optional<uint32_t> slot_of(uint32_t key) const;
    std::optional<uint32_t> slot_by_name(uint32_t key) const;
    void draw_key(uint32_t slot);
    std::optional<uint32_t> find(uint32_t key, bool region) const;
    std::optional<uint32_t> take_slot();
    void free_slot(uint32_t slot);
    void unbind(Slot& window);
    const Slot* region_for(const Slot& window, const WindowBinding& binding) const;
    void bind(Slot& window, uint32_t region, const WindowBinding& binding);

    uint32_t scramble(uint32_t index) const;
    uint32_t unscramble(uint32_t name) const;

    base::RandomStream random_;
    uint64_t secret_;
    std::vector<Slot> slots_;
    std::vector<uint32_t> free_;  // a queue: the slot freed longest ago is reused first
    size_t free_head_ = 0;
    std::vector<Domain> domains_;
    std::unordered_map<uint32_t, uint32_t> names_;  // slots by keys from other adapters
    size_t live_ = 0;
};

}  // namespace tulle::transport
