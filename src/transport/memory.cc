#include "transport/memory.h"

#include "base/hash.h"

namespace tulle::transport {
namespace {

constexpr uint32_t kIndexBits = 24;
constexpr uint32_t kHalfBits = kIndexBits / 2;
constexpr uint32_t kHalfMask = (1u << kHalfBits) - 1;
constexpr uint32_t kMaxSlots = 1u << kIndexBits;
constexpr unsigned kRounds = 4;
constexpr size_t kFreeSlotsKept = 64;  // other slots freed before a slot is reused

constexpr uint32_t kRemoteRights = kRemoteWrite | kRemoteRead | kRemoteAtomic;

bool is_sane(const RegionRequest& request) {
    if (request.address + request.length < request.address) return false;
    // Remote write requires local write (10.6.3.1).
    const bool remote_write = (request.access & (kRemoteWrite | kRemoteAtomic)) != 0;
    return !remote_write || (request.access & kLocalWrite) != 0;
}

bool contains(uint64_t outer, uint64_t outer_length, uint64_t inner, uint64_t inner_length) {
    return inner >= outer && inner_length <= outer_length &&
           inner - outer <= outer_length - inner_length;
}

}  // namespace

Memory::Memory(base::RandomStream random) : random_(random), secret_(random_.next()) {}

// A Feistel network over two halves of 12 bits. It is its own inverse, with the rounds reversed.
uint32_t Memory::scramble(uint32_t index) const {
    uint32_t left = index >> kHalfBits;
    uint32_t right = index & kHalfMask;
    for (unsigned round = 0; round < kRounds; ++round) {
        const auto mixed = static_cast<uint32_t>(base::mix64(secret_ + 4096 * round + right));
        const uint32_t next = left ^ (mixed & kHalfMask);
        left = right;
        right = next;
    }
    return left << kHalfBits | right;
}

uint32_t Memory::unscramble(uint32_t name) const {
    uint32_t left = name >> kHalfBits;
    uint32_t right = name & kHalfMask;
    for (unsigned round = kRounds; round-- > 0;) {
        const auto mixed = static_cast<uint32_t>(base::mix64(secret_ + 4096 * round + left));
        const uint32_t previous = right ^ (mixed & kHalfMask);
        right = left;
        left = previous;
    }
    return left << kHalfBits | right;
}

uint32_t Memory::key_of(uint32_t slot) const {
    return scramble(slot) << 8 | slots_[slot].variant;
}

std::optional<uint32_t> Memory::slot_of(uint32_t key) const {
    const uint32_t slot = unscramble(key >> 8);
    if (slot >= slots_.size() || slots_[slot].kind == Kind::free ||
        slots_[slot].variant != (key & 0xff)) [[unlikely]]
        return slot_by_name(key);
    return slot;
}

std::optional<uint32_t> Memory::slot_by_name(uint32_t key) const {
    const auto found = names_.find(key);
    if (found == names_.end()) return std::nullopt;
    return found->second;
}

// The variant is random, so that one key does not reveal another.
void Memory::draw_key(uint32_t slot) {
    do {
        slots_[slot].variant = static_cast<uint8_t>(random_.next());
    } while (names_.contains(key_of(slot)));
}

bool Memory::add_name(uint32_t key, uint32_t foreign_key) {
    const auto slot = find(key, true);
    return slot && !slot_of(foreign_key) && names_.emplace(foreign_key, *slot).second;
}

std::optional<uint32_t> Memory::find(uint32_t key, bool region) const {
    const auto slot = slot_of(key);
    if (!slot || (slots_[*slot].kind == Kind::region) != region) return std::nullopt;
    return slot;
}

std::optional<uint32_t> Memory::take_slot() {
    if (free_.size() - free_head_ > kFreeSlotsKept || slots_.size() == kMaxSlots) {
        if (free_head_ == free_.size()) return std::nullopt;
        const uint32_t slot = free_[free_head_++];
        if (free_head_ * 2 > free_.size()) {
            free_.erase(free_.begin(), free_.begin() + static_cast<ptrdiff_t>(free_head_));
            free_head_ = 0;
        }
        ++live_;
        return slot;
    }
    slots_.emplace_back();
    ++live_;
    return static_cast<uint32_t>(slots_.size() - 1);
}

void Memory::free_slot(uint32_t slot) {
    release(slots_[slot].pd);
    if (!names_.empty())
        std::erase_if(names_, [&](const auto& name) { return name.second == slot; });
    const uint32_t epoch = slots_[slot].epoch + 1;
    slots_[slot] = Slot{};
    slots_[slot].epoch = epoch;
    free_.push_back(slot);
    --live_;
}

PdId Memory::create_pd() {
    domains_.push_back({true, 0});
    return PdId{static_cast<uint32_t>(domains_.size())};
}

bool Memory::knows(PdId pd) const {
    return pd.value != 0 && pd.value <= domains_.size() && domains_[pd.value - 1].live;
}

Refusal Memory::destroy_pd(PdId pd) {
    if (!knows(pd)) return Refusal::invalid_argument;
    if (domains_[pd.value - 1].users != 0) return Refusal::busy;
    domains_[pd.value - 1].live = false;
    return Refusal::none;
}

void Memory::hold(PdId pd) {
    TULLE_CHECK(knows(pd));
    ++domains_[pd.value - 1].users;
}

void Memory::release(PdId pd) {
    TULLE_CHECK(knows(pd) && domains_[pd.value - 1].users > 0);
    --domains_[pd.value - 1].users;
}

std::optional<uint32_t> Memory::register_region(const RegionRequest& request) {
    if (!knows(request.pd) || !is_sane(request)) return std::nullopt;
    const auto slot = take_slot();
    if (!slot) return std::nullopt;
    Slot& region = slots_[*slot];
    region.kind = Kind::region;
    region.bound = true;
    draw_key(*slot);
    region.pd = request.pd;
    region.address = request.address;
    region.length = request.length;
    region.host = request.host;
    region.access = request.access;
    hold(request.pd);
    return key_of(*slot);
}

Refusal Memory::reregister_region(uint32_t key, const RegionRequest& request) {
    const auto slot = find(key, true);
    if (!slot || !knows(request.pd) || !is_sane(request)) return Refusal::invalid_argument;
    Slot& region = slots_[*slot];
    if (region.windows != 0) return Refusal::busy;
    hold(request.pd);
    release(region.pd);
    region.pd = request.pd;
    region.address = request.address;
    region.length = request.length;
    region.host = request.host;
    region.access = request.access;
    ++region.epoch;
    return Refusal::none;
}

Refusal Memory::deregister_region(uint32_t key) {
    const auto slot = find(key, true);
    if (!slot) return Refusal::invalid_argument;
    if (slots_[*slot].windows != 0) return Refusal::busy;
    free_slot(*slot);
    return Refusal::none;
}

std::optional<uint32_t> Memory::create_window(PdId pd, WindowType type) {
    if (!knows(pd)) return std::nullopt;
    const auto slot = take_slot();
    if (!slot) return std::nullopt;
    Slot& window = slots_[*slot];
    window.kind = type == WindowType::type1 ? Kind::window1 : Kind::window2;
    draw_key(*slot);
    window.pd = pd;
    hold(pd);
    return key_of(*slot);
}

Refusal Memory::destroy_window(uint32_t rkey) {
    const auto slot = find(rkey, false);
    if (!slot) return Refusal::invalid_argument;
    unbind(slots_[*slot]);
    free_slot(*slot);
    return Refusal::none;
}

void Memory::unbind(Slot& window) {
    if (!window.bound) return;
    --slots_[window.parent].windows;
    window.bound = false;
    ++window.epoch;
}

// The region for a window's new range: in the same protection domain, open to windows, and with
// local write if the window allows remote writes (10.6.6.2).
const Memory::Slot* Memory::region_for(const Slot& window, const WindowBinding& binding) const {
    const auto slot = find(binding.region_lkey, true);
    if (!slot) return nullptr;
    const Slot& region = slots_[*slot];
    if (region.pd != window.pd || (region.access & kWindowBind) == 0) return nullptr;
    if (!contains(region.address, region.length, binding.address, binding.length)) return nullptr;
    const bool writes = (binding.access & (kRemoteWrite | kRemoteAtomic)) != 0;
    if (writes && (region.access & kLocalWrite) == 0) return nullptr;
    return &region;
}

void Memory::bind(Slot& window, uint32_t region, const WindowBinding& binding) {
    Slot& parent = slots_[region];
    ++parent.windows;
    window.parent = region;
    window.address = (binding.access & kZeroBased) != 0 ? 0 : binding.address;
    window.length = binding.length;
    window.host =
        parent.host == nullptr ? nullptr : parent.host + (binding.address - parent.address);
    window.access = binding.access & kRemoteRights;
    window.bound = true;
    ++window.epoch;
}

std::optional<uint32_t> Memory::bind_type1(uint32_t rkey, const WindowBinding& binding,
                                           Asker asker) {
    const auto slot = slot_of(rkey);
    if (!slot || slots_[*slot].kind != Kind::window1) return std::nullopt;
    Slot& window = slots_[*slot];
    if (window.pd != asker.pd) return std::nullopt;
    if (binding.length != 0 && region_for(window, binding) == nullptr) return std::nullopt;
    unbind(window);
    ++window.variant;  // a new key for each bind: the old one becomes invalid (10.6.7.2.2)
    if (binding.length != 0) bind(window, *find(binding.region_lkey, true), binding);
    return key_of(*slot);
}

Status Memory::bind_type2(const WindowBinding& binding, Asker asker) {
    const auto slot = slot_of(binding.window_rkey);
    if (!slot || slots_[*slot].kind != Kind::window2) return Status::window_bind_error;
    Slot& window = slots_[*slot];
    // Only an unbound window may be bound, and the index part of its key is unchanged (10.6.7.2.3).
    if (window.bound || window.pd != asker.pd) return Status::window_bind_error;
    if (binding.new_rkey >> 8 != binding.window_rkey >> 8) return Status::window_bind_error;
    if (binding.length == 0 || region_for(window, binding) == nullptr)
        return Status::window_bind_error;
    window.variant = static_cast<uint8_t>(binding.new_rkey);
    window.owner = asker.qpn;
    bind(window, *find(binding.region_lkey, true), binding);
    return Status::success;
}

bool Memory::invalidate(uint32_t key, Asker asker) {
    const auto slot = slot_of(key);
    if (!slot || slots_[*slot].kind != Kind::window2) return false;
    Slot& window = slots_[*slot];
    if (!window.bound || window.pd != asker.pd || window.owner != asker.qpn) return false;
    unbind(window);
    return true;
}

inline Denial Memory::denial(const Slot& slot, Asker asker, uint64_t address, uint64_t length,
                             uint32_t access) {
    if (!slot.bound) return Denial::unknown_key;
    if (slot.pd != asker.pd) return Denial::other_domain;
    if (slot.kind == Kind::window2 && slot.owner != asker.qpn) return Denial::other_queue_pair;
    if ((slot.access & access) != access) return Denial::missing_right;
    // A window gives only remote rights.
    if (slot.kind != Kind::region && (access & kRemoteRights) == 0) return Denial::missing_right;
    return contains(slot.address, slot.length, address, length) ? Denial::none
                                                                : Denial::out_of_bounds;
}

Denial Memory::denial(uint32_t key, Asker asker, uint64_t address, uint64_t length,
                      uint32_t access) const {
    const auto index = slot_of(key);
    return index ? denial(slots_[*index], asker, address, length, access) : Denial::unknown_key;
}

std::optional<Grant> Memory::check(uint32_t key, Asker asker, uint64_t address, uint64_t length,
                                   uint32_t access) const {
    const auto index = slot_of(key);
    if (!index) return std::nullopt;
    const Slot& slot = slots_[*index];
    if (denial(slot, asker, address, length, access) != Denial::none) return std::nullopt;
    std::byte* host = slot.host == nullptr ? nullptr : slot.host + (address - slot.address);
    return Grant{host, *index, slot.epoch};
}

}  // namespace tulle::transport
