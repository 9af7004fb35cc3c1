#include "live/counter_slot.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <utility>

#include "live/board.h"
#include "live/descriptor.h"

namespace tulle::live {
namespace {

using transport::Counters;

// They are nothing but words.
template <class Counted>
auto* words_of(Counted& counted) {
    if constexpr (std::is_same_v<std::remove_const_t<Counted>, Counters>)
        return &counted.port_xmit_packets;
    else
        return &counted.rx_unknown_source;
}

// One writes, others read.
void put(uint64_t& word, uint64_t value) {
    std::atomic_ref(word).store(value, std::memory_order_relaxed);
}

void add(uint64_t& word, uint64_t number) {
    put(word, word + number);
}

}  // namespace

static_assert(kCounterBlocks == 2 * kSlots);
static_assert(sizeof(Counters) % sizeof(uint64_t) == 0);

CounterSlot::CounterSlot(const std::string& file, uint32_t slot) {
    if (file.empty() || slot >= kSlots) return;
    const Descriptor opened(open(file.c_str(), O_RDWR | O_CLOEXEC));
    struct stat status {};
    if (!opened || fstat(opened.get(), &status) != 0 ||
        static_cast<uint64_t>(status.st_size) != kCountersBytes)
        return;
    void* place =
        mmap(nullptr, kCountersBytes, PROT_READ | PROT_WRITE, MAP_SHARED, opened.get(), 0);
    if (place == MAP_FAILED) return;
    memory_ = static_cast<std::byte*>(place);
    auto* block = reinterpret_cast<uint64_t*>(memory_) + size_t{2} * slot * kCounterBlockWords;
    counted_ = reinterpret_cast<Counters*>(block);
    direct_ = reinterpret_cast<Counters*>(block + kCounterBlockWords);
    wire_ = reinterpret_cast<WireCounters*>(block + kCounterWords);
    before_ = *counted_;
    wire_before_ = *wire_;
}

CounterSlot::~CounterSlot() {
    if (memory_ != nullptr) munmap(memory_, kCountersBytes);
}

CounterSlot& CounterSlot::operator=(CounterSlot&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(counted_, other.counted_);
    std::swap(direct_, other.direct_);
    std::swap(wire_, other.wire_);
    std::swap(before_, other.before_);
    std::swap(wire_before_, other.wire_before_);
    return *this;
}

void CounterSlot::publish(const Counters& counters, const WireCounters& wire) {
    if (memory_ == nullptr) return;
    for (size_t i = 0; i < kCounterWords; ++i)
        put(words_of(*counted_)[i], words_of(counters)[i] + words_of(before_)[i]);
    for (size_t i = 0; i < kWireWords; ++i)
        put(words_of(*wire_)[i], words_of(wire)[i] + words_of(wire_before_)[i]);
}

void CounterSlot::count_at_initiator(const Transfer& transfer) {
    if (memory_ == nullptr) return;
    add(direct_->port_xmit_packets, transfer.is_read ? 1 : transfer.packets);
    if (transfer.is_read) add(direct_->port_rcv_packets, transfer.packets);
    add(transfer.is_read ? direct_->port_rcv_data_bytes : direct_->port_xmit_data_bytes,
        transfer.bytes);
}

void CounterSlot::count_at_target(const Transfer& transfer) {
    if (memory_ == nullptr) return;
    add(direct_->port_rcv_packets, transfer.is_read ? 1 : transfer.packets);
    if (transfer.is_read) add(direct_->port_xmit_packets, transfer.packets);
    add(transfer.is_read ? direct_->port_xmit_data_bytes : direct_->port_rcv_data_bytes,
        transfer.bytes);
    add(transfer.is_read ? direct_->rx_read_requests : direct_->rx_write_requests, 1);
}

}  // namespace tulle::live
