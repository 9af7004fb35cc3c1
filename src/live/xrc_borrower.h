// XRC across processes, the side of the process with the target: it borrows receives
// (xrc_lender.h).
//
// A packet for a queue of another process goes to a proxy: a queue of our own adapter, in the
// domain of the target, with receives that the owner lends. The proxy has its own protection
// domain, with imported regions of the owner (imports.h). So the engine makes its usual checks and
// puts data into the owner's memory. Completions go to a completion queue that no program sees, and
// from there to the owner.
//
// Nobody waits: as long as nothing is lent, the proxy is empty and the engine answers with an RNR
// NAK. The owner's board shows its queue, the domain and protection domain of the queue, and its
// regions. Atomics are refused, as on all imported memory; so are keys of memory windows, which
// boards do not show.
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

    // Domains of the program that are named by a file.
    void open(transport::XrcDomainId domain, const DomainFile& file);
    // Closes a domain, and gives back all that was borrowed for its targets.
    void close(transport::XrcDomainId domain);
    // Whether another process of this adapter has it open.
    bool is_open_elsewhere(const DomainFile& file) const;

    // Targets of such domains, by their numbers in the world. Ours, which others may open ...
    void show_target(wire::Qpn number, transport::XrcDomainId domain);
    void hide_target(wire::Qpn number);
    // ... and another process's: its state, or nothing if that domain has no such target.
    std::optional<transport::QpState> target_elsewhere(wire::Qpn number,
                                                       transport::XrcDomainId domain) const;

    // Leads a request for a queue of another process, by its number, to a proxy.
    enum class Lead : uint8_t { ready, not_yet, nobodys };
    Lead lead(wire::Packet& packet, uint32_t number, base::Instant now);
    bool has_proxies() const { return !proxies_.empty(); }
    // Reports completions to owners.
    void report();

    // Handles a record of a peer; false if no honest process would write it.
    bool on_lent(uint32_t peer, std::span<const std::byte> record, base::Instant now);
    void on_left(uint32_t peer);
    // Gives back receives that were not used for a while.
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
        std::vector<uint32_t> tokens;        // of receives that are borrowed and not done
        uint32_t due = 0;                    // receives that were requested and have not come
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
    std::map<uint32_t, Proxy> proxies_;                 // by the queue's number in the world
    std::optional<transport::CqId> completions_;
    uint32_t made_ = 0;  // proxies so far: each takes a number that a queue of ours could have
    base::Instant next_look_ = base::Instant::never();
};

}  // namespace tulle::live
