// XRC across processes, the side of whoever has the target: it borrows receives (xrc_lender.h).
//
// A packet for a queue of another process finds a proxy: a queue of our own adapter, in the domain
// of the target, whose receives are those that the owner lends. It has a protection domain of its
// own, with regions of the owner in it (imports.h), so that the engine makes its usual checks and
// puts what comes into the owner's memory. What completes there goes to a completion queue that no
// program sees, and from there to the owner.
//
// Nobody waits: as long as nothing is lent the proxy is empty, and the engine answers that the
// receiver is not ready. What the owner has is on its board: its queue, that queue's domain and
// protection domain, its regions. Atomics are refused, as on all imported memory; so are keys of
// memory windows, which boards do not show.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "live/imports.h"
#include "live/xrc_lender.h"

namespace tulle::live {

class XrcBorrower {
public:
    XrcBorrower(World& world, transport::Adapter& adapter, Outbox& outbox)
        : world_(world), adapter_(adapter), outbox_(outbox) {}

    // Domains of the program that a file stands for.
    void open(transport::XrcDomainId domain, const DomainFile& file);
    // All that was borrowed for its targets goes back.
    void close(transport::XrcDomainId domain);
    // Whether another process of this adapter has it open.
    bool is_open_elsewhere(const DomainFile& file) const;

    // A request for the queue of this number, which is none of ours: it becomes one for a proxy.
    enum class Lead : uint8_t { ready, not_yet, nobodys };
    Lead lead(wire::Packet& packet, uint32_t number, base::Instant now);
    bool has_proxies() const { return !proxies_.empty(); }
    // Tells owners what was completed.
    void report();

    // A record of a peer; false if no process that means well writes it.
    bool on_lent(uint32_t peer, std::span<const std::byte> record, base::Instant now);
    void on_left(uint32_t peer);
    // Looks for what was not used for a while.
    base::Instant next_look() const { return next_look_; }
    void look(base::Instant now);

private:
    struct Import {
        std::shared_ptr<ImportedRegion> region;
        uint32_t key = 0;  // of ours
    };
    struct Proxy {
        uint32_t owner = 0;
        uint64_t instance = 0;
        XrcQueue terms;
        transport::XrcDomainId domain;
        transport::SrqId srq;
        transport::PdId pd;
        std::map<uint32_t, Import> imports;  // by the owner's keys
        std::vector<uint32_t> tokens;        // of what is borrowed and not done
        uint32_t due = 0;                    // of what was asked for
        uint32_t plenty = 0;                 // half of what was lent last
        base::Instant used_at{};
    };

    const Peer* owner_of(uint32_t number, const DomainFile& file, XrcQueue& terms) const;
    bool stands(uint32_t number, const Proxy& proxy) const;
    Proxy* find(uint32_t number);
    std::optional<Proxy> make(uint32_t number, transport::XrcDomainId domain, Lead& lead);
    void destroy(uint32_t number);
    void sweep();
    void ask(uint32_t number, Proxy& proxy);
    void give_back(uint32_t owner, uint32_t token);
    void give_back_unused(Proxy& proxy);
    uint32_t import(uint32_t number, Proxy& proxy, uint32_t key);
    void translate_key(uint32_t number, Proxy& proxy, wire::Packet& packet);
    void post(uint32_t number, Proxy& proxy, uint32_t token, std::span<transport::Sge> pieces);

    World& world_;
    transport::Adapter& adapter_;
    Outbox& outbox_;
    std::unordered_map<uint32_t, DomainFile> domains_;  // by XrcDomainId
    std::map<uint32_t, Proxy> proxies_;                 // by the number that the world knows
    std::optional<transport::CqId> completions_;
    uint32_t made_ = 0;  // proxies, ever: each takes a number that queues of ours could have
    base::Instant next_look_ = base::Instant::never();
};

}  // namespace tulle::live
