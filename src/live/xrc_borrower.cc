#include "live/xrc_borrower.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "live/clock.h"
#include "transport/responder.h"

namespace tulle::live {
namespace {

using base::Instant;
using transport::SrqId;

constexpr uint32_t kMostProxies = 256;   // chosen: as many as there are slots
constexpr uint32_t kMostEver = 1 << 15;  // chosen: half of the numbers of queues
constexpr size_t kMostImports = 4096;    // chosen, of one proxy
constexpr uint32_t kPlaces = 2 * kLentAtOnce;
constexpr base::Duration kUnusedAfter{20'000'000'000};  // 20 ms, chosen

// Whether a packet uses a receive: the first of a SEND, or the last of a WRITE with immediate data.
// An approximation is good enough.
bool wants_receive(const wire::Packet& packet) {
    const auto operation = wire::operation_of(static_cast<uint8_t>(packet.opcode));
    return transport::is_send(operation) ||
           operation == wire::Operation::write_last_with_immediate ||
           operation == wire::Operation::write_only_with_immediate;
}

}  // namespace

// ---- domains ------------------------------------------------------------------------------------

void XrcBorrower::open(transport::XrcDomainId domain, const DomainFile& file) {
    domains_[domain.value] = file;
    put_xrc_domain(world_.own().grants(), file);
}

void XrcBorrower::close(transport::XrcDomainId domain) {
    const auto found = domains_.find(domain.value);
    if (found == domains_.end()) return;
    remove_xrc_domain(world_.own().grants(), found->second);
    domains_.erase(found);
    std::vector<uint32_t> numbers;
    for (const auto& [number, proxy] : proxies_)
        if (proxy.domain == domain) numbers.push_back(number);
    for (const uint32_t number : numbers) destroy(number);
}

bool XrcBorrower::is_open_elsewhere(const DomainFile& file) const {
    for (uint32_t index = 1; index < world_.size(); ++index) {
        const Peer& peer = world_.at(index);
        if (!peer.is_gone && peer.has_grants() &&
            is_same_adapter(peer.facts, world_.facts_of({0})) &&
            has_xrc_domain(peer.grants(), file))
            return true;
    }
    return false;
}

// ---- targets ------------------------------------------------------------------------------------

void XrcBorrower::show_target(wire::Qpn number, transport::XrcDomainId domain) {
    const auto found = domains_.find(domain.value);
    if (found == domains_.end() || found->second.inode == 0) return;
    put_xrc_queue(world_.own().grants(), kXrcTarget | number.value, {0, found->second});
}

void XrcBorrower::hide_target(wire::Qpn number) {
    (void)remove_xrc_queue(world_.own().grants(), kXrcTarget | number.value);
}

std::optional<transport::QpState> XrcBorrower::target_elsewhere(
    wire::Qpn number, transport::XrcDomainId domain) const {
    const auto file = domains_.find(domain.value);
    const auto index = world_.index_in(slot_of(number));
    if (file == domains_.end() || !index || index->value == 0) return std::nullopt;
    const Peer& peer = world_.at(index->value);
    if (peer.is_gone || !peer.has_grants() || !is_same_adapter(peer.facts, world_.facts_of({0})))
        return std::nullopt;
    const auto shown = find_xrc_queue(peer.grants(), kXrcTarget | number.value);
    if (!shown || shown->file != file->second) return std::nullopt;
    const Board& board = world_.board_of(*index);
    const uint32_t life = board.lives[place_of(board, number)].load();
    const uint32_t state = (life >> 24) - 1;
    if ((life & 0xff'ffff) != number.value ||
        state > static_cast<uint32_t>(transport::QpState::error))
        return std::nullopt;
    return static_cast<transport::QpState>(state);
}

// ---- proxies ------------------------------------------------------------------------------------

// The process that has this queue, in the domain of this file, and lets us into its memory.
const Peer* XrcBorrower::owner_of(uint32_t number, const DomainFile& file, XrcQueue& terms) const {
    const auto index = world_.index_in(number >> kSrqShift);
    if (!index || index->value == 0) return nullptr;
    const Peer& peer = world_.at(index->value);
    if (peer.is_gone || !peer.is_reachable || !peer.has_grants() ||
        !is_same_adapter(peer.facts, world_.facts_of({0})))
        return nullptr;
    const auto shown = find_xrc_queue(peer.grants(), number);
    if (!shown || shown->file != file) return nullptr;
    terms = *shown;
    return &peer;
}

bool XrcBorrower::stands(uint32_t number, const Proxy& proxy) const {
    XrcQueue terms;
    const Peer* peer = owner_of(number, proxy.terms.file, terms);
    return peer != nullptr && peer->instance == proxy.instance && terms == proxy.terms;
}

XrcBorrower::Proxy* XrcBorrower::find(uint32_t number) {
    const auto found = proxies_.find(number);
    if (found == proxies_.end()) return nullptr;
    if (stands(number, found->second)) return &found->second;
    destroy(number);
    return nullptr;
}

// The owner must have taken our ring before anything is copied, because only then it waits for
// copies (imports.h).
std::optional<XrcBorrower::Proxy> XrcBorrower::make(uint32_t number, transport::XrcDomainId domain,
                                                    Lead& lead) {
    lead = Lead::nobodys;
    const auto file = domains_.find(domain.value);
    Proxy proxy;
    if (file == domains_.end()) return std::nullopt;
    const Peer* owner = owner_of(number, file->second, proxy.terms);
    if (owner == nullptr) return std::nullopt;
    proxy.owner = world_.index_in(number >> kSrqShift)->value;
    lead = Lead::not_yet;
    Peer& peer = world_.at(proxy.owner);
    if ((!peer.can_send() && !world_.call_peer(peer)) ||
        peer.outgoing().is_taken.load(std::memory_order_acquire) == 0)
        return std::nullopt;
    lead = Lead::nobodys;
    if (proxies_.size() >= kMostProxies) sweep();
    if (proxies_.size() >= kMostProxies || made_ >= kMostEver) return std::nullopt;
    if (!completions_) completions_ = adapter_.completions().create(kMostProxies * kPlaces);
    proxy.instance = owner->instance;
    proxy.domain = domain;
    proxy.pd = adapter_.memory().create_pd();
    const auto srq = adapter_.shared_receives().create_for_xrc(domain, proxy.pd, *completions_,
                                                               kPlaces, kMostPieces);
    if (!srq) {
        (void)adapter_.memory().destroy_pd(proxy.pd);
        return std::nullopt;
    }
    ++made_;
    proxy.srq = *srq;
    lead = Lead::ready;
    return proxy;
}

void XrcBorrower::destroy(uint32_t number) {
    report();
    const auto found = proxies_.find(number);
    Proxy& proxy = found->second;
    for (size_t i = proxy.tokens.size(); i-- > 0;) give_back(proxy.owner, proxy.tokens[i]);
    (void)adapter_.shared_receives().destroy(proxy.srq);
    for (auto& [key, imported] : proxy.imports)
        (void)adapter_.memory().deregister_region(imported.key);
    (void)adapter_.memory().destroy_pd(proxy.pd);
    proxies_.erase(found);
}

// Drops proxies whose queues are gone.
void XrcBorrower::sweep() {
    std::vector<uint32_t> gone;
    for (const auto& [number, proxy] : proxies_)
        if (!stands(number, proxy)) gone.push_back(number);
    for (const uint32_t number : gone) destroy(number);
}

void XrcBorrower::on_left(uint32_t peer) {
    std::vector<uint32_t> gone;
    for (const auto& [number, proxy] : proxies_)
        if (proxy.owner == peer) gone.push_back(number);
    for (const uint32_t number : gone) destroy(number);
}

// ---- packets ------------------------------------------------------------------------------------

XrcBorrower::Lead XrcBorrower::lead(wire::Packet& packet, uint32_t number, Instant now) {
    const transport::QueuePair* target = adapter_.queue_pairs().find(packet.dest_qp());
    if (target == nullptr || target->type != transport::QpType::xrc_target) return Lead::nobodys;
    Proxy* proxy = find(number);
    if (proxy == nullptr) {
        Lead lead = Lead::nobodys;
        auto made = make(number, target->xrc_domain, lead);
        if (!made) return lead;
        proxy = &proxies_.emplace(number, std::move(*made)).first->second;
    }
    if (proxy->domain != target->xrc_domain) return Lead::nobodys;
    proxy->used_at = now;
    translate_key(number, *proxy, packet);
    if (wants_receive(packet)) ask(number, *proxy);
    packet.srq_or_ee = proxy->srq.value & 0xff'ffff;
    return Lead::ready;
}

void XrcBorrower::ask(uint32_t number, Proxy& proxy) {
    if (proxy.due != 0 || adapter_.shared_receives().waiting(proxy.srq) > proxy.plenty) return;
    AskRecord record;
    record.queue = number;
    record.count = proxy.due = kLentAtOnce;
    record.file = proxy.terms.file;
    outbox_.send_record(proxy.owner, bytes_of(record));
}

void XrcBorrower::translate_key(uint32_t number, Proxy& proxy, wire::Packet& packet) {
    const uint16_t headers = wire::opcode_info(static_cast<uint8_t>(packet.opcode)).headers;
    const bool is_atomic = (headers & wire::kAtomicEth) != 0;
    if (!is_atomic && (headers & wire::kReth) == 0) return;
    wire::RKey& key = is_atomic ? packet.extended.atomic.rkey : packet.extended.rdma.rkey;
    key = wire::RKey{import(number, proxy, key.value)};
}

// Our key for a region of the owner; 0, which no region has, if the owner does not have it.
uint32_t XrcBorrower::import(uint32_t number, Proxy& proxy, uint32_t key) {
    auto terms = ImportedRegion::read_terms(world_.at(proxy.owner).grants(), proxy.terms.pd, key);
    if (terms) terms->queue = number;
    const auto known = proxy.imports.find(key);
    const bool is_known = known != proxy.imports.end();
    if (is_known && terms && known->second.region->terms() == *terms) return known->second.key;
    if (!terms || (!is_known && proxy.imports.size() >= kMostImports)) return 0;
    auto region = ImportedRegion::make(world_, proxy.owner, *terms);
    if (!region) return 0;
    transport::Memory& memory = adapter_.memory();
    if (is_known) {
        // The region was registered anew; receives that were lent before name it, too.
        if (memory.reregister_region(known->second.key, region->request(proxy.pd)) !=
            transport::Refusal::none)
            return 0;
        known->second.region = std::move(region);
        return known->second.key;
    }
    const auto own = memory.register_region(region->request(proxy.pd));
    if (!own) return 0;
    proxy.imports[key] = {std::move(region), *own};
    return *own;
}

// ---- receives -----------------------------------------------------------------------------------

bool XrcBorrower::on_lent(uint32_t peer, std::span<const std::byte> bytes, Instant now) {
    LendRecord record;
    if (bytes.size() < sizeof record) return false;
    std::memcpy(&record, bytes.data(), sizeof record);
    bytes = bytes.subspan(sizeof record);
    if (record.pieces > kMostPieces || bytes.size() != record.pieces * sizeof(transport::Sge))
        return false;
    std::array<transport::Sge, kMostPieces> pieces;
    std::memcpy(pieces.data(), bytes.data(), bytes.size());
    const auto found = proxies_.find(record.queue);
    if (found == proxies_.end() || found->second.owner != peer) {
        // The answer to a request from before the proxy was dropped, or to none.
        if (record.queue >> kSrqShift == world_.at(peer).slot) give_back(peer, record.token);
        return true;
    }
    Proxy& proxy = found->second;
    if (proxy.due == 0 || record.more >= proxy.due) return false;
    if (proxy.due == kLentAtOnce) proxy.plenty = (record.more + 1) / 2;
    proxy.due = record.more;
    post(record.queue, proxy, record.token, std::span(pieces).first(record.pieces));
    proxy.used_at = now;
    next_look_ = std::min(next_look_, now + kUnusedAfter);
    return true;
}

void XrcBorrower::post(uint32_t number, Proxy& proxy, uint32_t token,
                       std::span<transport::Sge> pieces) {
    for (transport::Sge& piece : pieces) piece.lkey = import(number, proxy, piece.lkey);
    const uint64_t id = uint64_t{number} << 32 | token;
    if (adapter_.shared_receives().post(proxy.srq, {id, pieces}) != transport::Refusal::none)
        return give_back(proxy.owner, token);
    proxy.tokens.push_back(token);
}

void XrcBorrower::give_back(uint32_t owner, uint32_t token) {
    if (world_.at(owner).is_gone) return;
    GiveBackRecord record;
    record.token = token;
    outbox_.send_record(owner, bytes_of(record));
}

void XrcBorrower::report() {
    if (!completions_) return;
    std::array<transport::Completion, kLentAtOnce> done;
    while (const size_t count = adapter_.completions().poll(*completions_, done)) {
        for (const transport::Completion& completion : std::span(done).first(count)) {
            const auto found = proxies_.find(static_cast<uint32_t>(completion.id >> 32));
            if (found == proxies_.end()) continue;
            CompleteRecord record;
            record.token = static_cast<uint32_t>(completion.id);
            std::erase(found->second.tokens, record.token);
            record.qpn = world_.own().outside_of(completion.qpn).value;
            const Peer* sender = world_.peer(completion.source);
            record.sender_slot = completion.source.value == 0 ? world_.own().slot()
                                 : sender != nullptr          ? sender->slot
                                                              : kSlots;
            record.byte_count = completion.byte_count;
            record.immediate_or_rkey = completion.immediate_or_rkey;
            record.vendor_error = completion.vendor_error;
            record.status = static_cast<uint8_t>(completion.status);
            record.kind = static_cast<uint8_t>(completion.kind);
            record.flags = completion.flags;
            record.service_level = completion.service_level;
            if (!world_.at(found->second.owner).is_gone)
                outbox_.send_record(found->second.owner, bytes_of(record));
        }
    }
}

// The receive that was lent last goes back first, so that the owner has them in their old order.
void XrcBorrower::give_back_unused(Proxy& proxy) {
    std::vector<uint32_t> tokens;
    while (const auto taken = adapter_.shared_receives().take(proxy.srq)) {
        tokens.push_back(static_cast<uint32_t>(taken->id));
        adapter_.shared_receives().drop(proxy.srq, taken->place);
    }
    for (size_t i = tokens.size(); i-- > 0;) {
        std::erase(proxy.tokens, tokens[i]);
        give_back(proxy.owner, tokens[i]);
    }
    proxy.plenty = 0;
}

void XrcBorrower::look(Instant now) {
    report();
    bool has_more = false;
    for (auto& [number, proxy] : proxies_) {
        if (now >= proxy.used_at + kUnusedAfter) give_back_unused(proxy);
        has_more = has_more || !proxy.tokens.empty();
    }
    next_look_ = has_more ? now + kUnusedAfter : Instant::never();
}

}  // namespace tulle::live
