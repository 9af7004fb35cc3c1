// False records, packets, frames and messages of the connection manager, as many as are asked for,
// from the same user and from another one, into a ring that is changed while it is read.
//
// usage: attacks_hammer [--records=N] [--seed=N]
//
// The victim's queue pairs are connected to the attacker, who knows their numbers, keys and
// addresses: what it sends is nearly right. What is around the victim's region has to stay as it
// was, and the victim has to be there at the end. With a sanitizer it says more.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <thread>

#include "base/random.h"
#include "live/clock.h"
#include "live/grh.h"
#include "stranger.h"
#include "transport/cm/connection_manager.h"
#include "victim.h"

namespace tulle::live {
namespace {

constexpr size_t kRegion = 64 << 10;
constexpr size_t kGuard = 64 << 10;
constexpr std::byte kGuardByte{0xa5};
constexpr wire::Gid kGroup{{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0xe, 1, 2, 3}};

struct Target {
    uint32_t slot = 0;
    uint32_t rkey = 0;
    uint64_t place = 0;
    uint64_t instance = 0;
    std::array<wire::Qpn, 3> numbers;  // RC, UC, UD
};

// ---- the victim ---------------------------------------------------------------------------------

// Takes what comes for the connection manager, as the library does.
class Manager final : public Listener {
public:
    Manager() : cm_(config(), base::RandomStream({.seed = 1, .kind = 1, .index = 0})) {
        (void)cm_.listen(wire::Key64{7}, wire::Key64{0});
    }
    void on_event(const transport::AdapterEvent&) override {}
    void on_unreachable(transport::EndpointIndex, bool, std::span<const std::byte>) override {}
    void on_gone(transport::EndpointIndex) override {}
    void on_progress() override {}
    bool on_management(const ManagementMessage& message) override {
        cm_.on_mad(now(), message.peer.value, wire::Qpn{1}, message.bytes);
        while (cm_.poll_mad(now())) continue;
        while (cm_.poll_event()) continue;
        return true;
    }

private:
    static transport::CmConfig config() {
        transport::CmConfig config;
        config.max_connections = 256;
        return config;
    }
    transport::ConnectionManager cm_;
};

class Victim {
public:
    explicit Victim(const Identity& who) : memory_(kRegion + 2 * kGuard, kGuardByte) {
        host_ = SoftwareAdapter::open(who, manager_);
        const std::lock_guard guard(host_->lock());
        pd_ = host_->adapter().memory().create_pd();
        cq_ = host_->adapter().completions().create(4096);
        transport::RegionRequest request;
        request.pd = pd_;
        request.host = memory_.data() + kGuard;
        request.address = reinterpret_cast<uint64_t>(request.host);
        request.length = kRegion;
        request.access = transport::kLocalWrite | transport::kRemoteWrite | transport::kRemoteRead |
                         transport::kRemoteAtomic;
        key_ = *host_->adapter().memory().register_region(request);
        host_->memory().publish_region(key_, request);
        for (size_t i = 0; i < qpns_.size(); ++i) qpns_[i] = create(static_cast<uint32_t>(i));
        if (host_->attach_multicast(qpns_[2], kGroup) != transport::Refusal::none) std::abort();
    }

    Target target() {
        Target target;
        target.slot = host_->world().own().slot();
        target.rkey = key_;
        target.place = reinterpret_cast<uint64_t>(memory_.data() + kGuard);
        target.instance = host_->world().board_of({0}).instance;
        for (size_t i = 0; i < qpns_.size(); ++i)
            target.numbers[i] = host_->world().own().outside_of(qpns_[i]);
        return target;
    }

    // Whatever has become of the queue pairs, they are connected to whoever is in that slot.
    void connect(uint32_t slot) {
        const std::lock_guard guard(host_->lock());
        for (size_t i = 0; i < 2; ++i) {
            transport::QpAttributes a;
            a.state = QpState::reset;
            (void)host_->modify_qp(qpns_[i], a, transport::kState);
            bring_up(qpns_[i], slot, i == 0);
        }
    }
    void work() {
        std::array<Completion, 16> completions;
        const std::lock_guard guard(host_->lock());
        host_->progress().make(true);
        while (host_->adapter().completions().poll(cq_, completions) != 0) continue;
        const transport::Sge sge{reinterpret_cast<uint64_t>(memory_.data() + kGuard), 4096, key_};
        for (const wire::Qpn qpn : qpns_)
            (void)host_->adapter().post_receive(qpn, {1, std::span(&sge, 1)});
        const transport::QueuePair* qp = host_->adapter().queue_pairs().find(qpns_[0]);
        is_failed = qp->state == QpState::error;
    }
    bool is_unharmed() const {
        const auto is_guard = [](std::byte byte) { return byte == kGuardByte; };
        return std::all_of(memory_.begin(), memory_.begin() + kGuard, is_guard) &&
               std::all_of(memory_.end() - kGuard, memory_.end(), is_guard);
    }

    bool is_failed = false;

private:
    wire::Qpn create(uint32_t kind) {
        using transport::QpType;
        transport::QpSetup setup;
        setup.type = kind == 0 ? QpType::rc : kind == 1 ? QpType::uc : QpType::ud;
        setup.pd = pd_;
        setup.send_cq = setup.receive_cq = cq_;
        setup.send = {.requests = 16, .sges = 1, .inline_bytes = 64};
        setup.receive_requests = 64;
        const wire::Qpn qpn = *host_->create_qp(setup);
        transport::QpAttributes a;
        if (kind != 2) return qpn;
        a.state = QpState::init;
        (void)host_->modify_qp(
            qpn, a,
            transport::kState | transport::kPkeyIndex | transport::kPort | transport::kQkey);
        a.state = QpState::rtr;
        (void)host_->modify_qp(qpn, a, transport::kState);
        return qpn;
    }
    void bring_up(wire::Qpn qpn, uint32_t slot, bool is_reliable) {
        transport::QpAttributes a;
        a.state = QpState::init;
        a.access = transport::kRemoteWrite | transport::kRemoteRead | transport::kRemoteAtomic;
        (void)host_->modify_qp(
            qpn, a,
            transport::kState | transport::kPkeyIndex | transport::kPort | transport::kAccessFlags);
        a.state = QpState::rtr;
        a.dest_qpn = outside(wire::Qpn{2}, slot);
        a.address.endpoint = host_->world().resolve_slot(slot);
        a.max_incoming_reads = 4;
        uint32_t mask = transport::kState | transport::kAddress | transport::kPathMtu |
                        transport::kDestQpn | transport::kReceivePsn;
        if (is_reliable) mask |= transport::kMaxIncomingReads | transport::kMinRnrTimer;
        (void)host_->modify_qp(qpn, a, mask);
    }

    Manager manager_;
    std::vector<std::byte> memory_;
    std::unique_ptr<SoftwareAdapter> host_;
    transport::PdId pd_;
    transport::CqId cq_;
    uint32_t key_ = 0;
    std::array<wire::Qpn, 3> qpns_;
};

int be_hammered(const Channel& parent, const Identity& who) {
    Victim victim(who);
    parent.send(victim.target());
    const auto slot = parent.take<uint32_t>();
    std::atomic<bool> is_over{false};
    std::thread listener([&] {
        char word = 0;
        while (!parent.receive(word))
            continue;  // a long run takes longer than anybody is waited for
        is_over = true;
    });
    for (uint64_t rounds = 0; !is_over; ++rounds) {
        if (victim.is_failed || rounds % 4096 == 0) victim.connect(slot);
        victim.work();
    }
    listener.join();
    return victim.is_unharmed() ? 0 : 1;
}

// ---- the attacker -------------------------------------------------------------------------------

class Attacker {
public:
    Attacker(const Realm& world, const Target& target, uint64_t seed)
        : stranger(world), target_(target), random_({.seed = seed, .kind = 1, .index = 0}) {
        stranger.board().lives[2].store(
            life_of(outside(wire::Qpn{2}, stranger.card.slot), QpState::rts));
    }

    // Returns when so many records were read, or thrown away with the ring that they were in.
    uint64_t run(uint64_t records) {
        uint64_t done = 0;
        while (done < records) {
            if (!has_line()) {
                if (!call()) continue;
                psn_ = 0;
            }
            for (int i = 0; i < 64; ++i) put_something();
            stranger.writer.publish();
            if (random_.below(2) == 0) spoil();
            knock();
            const uint64_t before = count_;
            for (int looks = 0; looks < 20'000 && !is_read(); ++looks) {
                if (looks % 16 == 15) spoil();
                if (looks % 64 == 63) {
                    stranger.answer_callers();
                    if (!hear(socket())) break;
                    sched_yield();
                }
            }
            if (!hear(socket())) answer_.reset();
            done += before - counted_;
            counted_ = before;
        }
        return done;
    }

    Stranger stranger;

private:
    int socket() const { return answer_->socket.get(); }
    bool has_line() const { return answer_.has_value(); }
    bool is_read() { return !stranger.writer.is_behind(); }
    bool call() {
        stranger.answer_callers();
        stranger.callers.clear();
        stranger.new_ring();
        stranger.board().instance = ++stranger.card.instance;
        answer_ = stranger.call(target_.slot);
        return answer_.has_value();
    }
    void knock() {
        if (answer_->bell) eventfd_write(answer_->bell.get(), 1);
        ring_through(socket());
    }
    // Changes what was written, amid whatever the other side does with it.
    void spoil() {
        RingMemory& ring = stranger.ring();
        const auto at = static_cast<size_t>(random_.below(kRingBytes));
        ring.bytes[at] = std::byte(random_.below(256));
        switch (random_.below(400)) {
            case 0: ring.written.store(random_.next()); break;
            case 1: ring.claimed.store(random_.next()); break;
            case 2: ring.at_work.fetch_add(1); break;
            case 3: stranger.board().gid_count = static_cast<uint32_t>(random_.next()); break;
            case 4: stranger.board().gid_count = 1; break;
            case 5: stranger.board().sleep.store(Sleep(random_.below(4))); break;
            case 6: ring.proof.store(random_.next()); break;
            default: break;
        }
    }
    void put_something() {
        const uint64_t kind = random_.below(100);
        if (kind < 70) return put_packet();
        if (kind < 85) return put_frame();
        if (kind < 96) return put_message();
        if (kind < 97) return put_lending();
        if (kind < 98 && random_.below(50) == 0) return put_garbage();
        if (random_.below(200) == 0)
            stranger.put_write(random_.below(2) == 0 ? target_.place - 4096 : random_.next(),
                               bytes(64));
        ++count_;
    }

    wire::Packet packet() {
        wire::Packet packet;
        std::array<std::byte, sizeof packet> noise;
        for (std::byte& byte : noise) byte = std::byte(random_.below(256));
        std::memcpy(static_cast<void*>(&packet), noise.data(), sizeof packet);
        packet.kind = wire::PacketKind::transport;
        packet.trimmed = false;
        const uint64_t service = random_.below(3);
        packet.opcode =
            static_cast<uint32_t>((service == 2 ? 3 : service) << 5 | random_.below(0x20));
        packet.set_dest_qp(random_.below(50) == 0 ? wire::Qpn{static_cast<uint32_t>(random_.next())}
                                                  : target_.numbers[service]);
        // A packet of any service, also of one that no group is for.
        if (random_.below(20) == 0) packet.set_dest_qp(wire::Qpn{kMulticastQpn});
        if (random_.below(4) != 0) packet.set_psn(wire::Psn{psn_++ & 0xff'ffff});
        packet.pkey = wire::kDefaultPKey;
        if (random_.below(4) != 0) {
            packet.extended.rdma.rkey = {target_.rkey};
            packet.extended.rdma.virtual_address =
                target_.place + random_.below(kRegion + 4096) - 2048;
            packet.extended.rdma.dma_length = static_cast<uint32_t>(random_.below(8192));
        }
        return packet;
    }
    std::span<const std::byte> bytes(size_t most) {
        noise_.resize(random_.below(most + 1));
        for (size_t i = 0; i < noise_.size(); i += 8) noise_[i] = std::byte(random_.below(256));
        return noise_;
    }
    void put_packet() {
        wire::Packet made = packet();
        const auto payload = bytes(random_.below(8) == 0 ? 4096 : 64);
        const bool is_for_group = made.dest_qp().value == kMulticastQpn;
        const bool has_grh = is_for_group || made.opcode >> 5 == 3;
        made.payload_length = static_cast<uint32_t>(payload.size());
        const RecordHead head{RecordKind::packet, 0, has_grh ? 40u : 0u};
        const size_t size = sizeof head + sizeof made + head.grh_bytes + payload.size();
        std::byte* place = reserve(size);
        if (place == nullptr) return;
        std::memcpy(place, &head, sizeof head);
        place += sizeof head;
        std::memcpy(place, static_cast<const void*>(&made), sizeof made);
        place += sizeof made;
        if (is_for_group) {
            const auto grh = grh_of(made, {}, kGroup);
            std::memcpy(place, grh.data(), grh.size());
        }
        place += head.grh_bytes;
        if (!payload.empty()) std::memcpy(place, payload.data(), payload.size());
    }
    void put_frame() {
        const auto payload = bytes(256);
        wire::Packet made = packet();
        made.payload_length = static_cast<uint32_t>(payload.size());
        made.payload = {};
        std::array<std::byte, wire::kMaxEncodedSize> room{};
        wire::Path path;
        path.source.gid = path.destination.gid = wire::gid_of({{127, 0, 0, 1}});
        size_t size = 64 + random_.below(256);
        if (wire::opcode_info(static_cast<uint8_t>(made.opcode)).known)
            size = wire::encode(made, path, payload, room);
        if (random_.below(4) == 0) room[random_.below(size)] = std::byte(random_.below(256));
        put_bytes(RecordKind::frame, std::span(room).first(size));
    }
    // What borrowers and lenders of receives say, mostly of what they never had.
    void put_lending() {
        CompleteRecord done;
        std::array<std::byte, sizeof done> noise;
        for (std::byte& byte : noise) byte = std::byte(random_.below(256));
        if (random_.below(8) != 0) {
            done.token = static_cast<uint32_t>(random_.below(64));
            done.kind = static_cast<uint8_t>(transport::CompletionKind::receive);
            done.qpn = outside(wire::Qpn{2}, stranger.card.slot).value;
            std::memcpy(noise.data(), &done, sizeof done);
        }
        const auto kind = static_cast<RecordKind>(
            random_.below(20) != 0 ? static_cast<uint64_t>(RecordKind::complete_lent)
                                   : 6 + random_.below(4));
        put_bytes(kind, std::span(noise).subspan(sizeof(RecordHead)));
    }
    void put_message() {
        std::array<std::byte, 256> mad{};
        for (size_t i = 0; i < mad.size(); i += 1 + random_.below(9))
            mad[i] = std::byte(random_.below(256));
        // Base version 1, class 7 (CM) version 2, Send, and one of its attributes.
        const std::array<uint8_t, 4> head = {1, 7, 2, 3};
        std::memcpy(mad.data(), head.data(), head.size());
        mad[16] = std::byte{0};
        mad[17] = std::byte(0x10 + random_.below(12));
        wire::Packet packet;
        packet.opcode = wire::opcode_of(wire::Service::ud, wire::Operation::send_only);
        packet.set_dest_qp(wire::Qpn{1});
        packet.extended.send.qkey = wire::kGsiQKey;
        packet.extended.send.source_qp = wire::Qpn{1};
        packet.payload_length = random_.below(8) == 0 ? random_.below(257) & 0xffff : 256;
        std::array<std::byte, sizeof packet + sizeof mad> record;
        std::memcpy(record.data(), static_cast<const void*>(&packet), sizeof packet);
        std::memcpy(record.data() + sizeof packet, mad.data(), mad.size());
        put_bytes(RecordKind::packet,
                  std::span(record).first(sizeof packet + packet.payload_length));
    }
    void put_garbage() { put_bytes(static_cast<RecordKind>(random_.below(8)), bytes(200)); }
    void put_bytes(RecordKind kind, std::span<const std::byte> data) {
        const RecordHead head{kind, static_cast<uint16_t>(random_.below(20) == 0 ? 0x60 : 0), 0};
        std::byte* place = reserve(sizeof head + data.size());
        if (place == nullptr) return;
        std::memcpy(place, &head, sizeof head);
        if (!data.empty()) std::memcpy(place + sizeof head, data.data(), data.size());
    }
    std::byte* reserve(size_t size) {
        std::byte* place = stranger.writer.reserve(size);
        if (place != nullptr) ++count_;
        return place;
    }

    const Target target_;
    base::RandomStream random_;
    std::optional<Introduction> answer_;
    std::vector<std::byte> noise_;
    uint64_t count_ = 0;
    uint64_t counted_ = 0;
    uint32_t psn_ = 0;
};

bool hammer(bool is_other_user, uint64_t records, uint64_t seed) {
    const std::string world = new_world();
    Process victim(user(kVictim), [&](const Channel& c) {
        return be_hammered(c, identity_in(world, 0, is_other_user));
    });
    const auto target = victim.channel().take<Target>();
    const uid_t uid = user(is_other_user ? kAttacker : kVictim);
    Process attacker(uid, [&](const Channel& parent) {
        Attacker one(world_for(world, is_other_user, uid), target, seed);
        parent.send(one.stranger.card.slot);
        parent.send(one.run(records));
        return 0;
    });
    victim.channel().send(attacker.channel().take<uint32_t>());
    uint64_t done = 0;
    while (done == 0 && victim.is_running()) (void)attacker.channel().receive(done);
    victim.channel().send('!');
    const int code = victim.exit_code();
    std::printf("hammer: %" PRIu64 " records of %s user, exit code %d\n", done,
                is_other_user ? "another" : "the same", code);
    return code == 0 && done >= records;
}

uint64_t option(std::string_view argument, std::string_view name, uint64_t otherwise) {
    return argument.starts_with(name) ? std::strtoull(argument.data() + name.size(), nullptr, 10)
                                      : otherwise;
}

}  // namespace
}  // namespace tulle::live

int main(int count, char** arguments) {
    uint64_t records = 100'000;
    uint64_t seed = 1;
    for (int i = 1; i < count; ++i) {
        records = tulle::live::option(arguments[i], "--records=", records);
        seed = tulle::live::option(arguments[i], "--seed=", seed);
    }
    if (!tulle::live::hammer(false, records / 2, seed)) return 1;
    if (geteuid() != 0) {
        std::puts("SKIPPED: records of another user need root");
        return 0;
    }
    return tulle::live::hammer(true, records / 2, seed + 1) ? 0 : 1;
}
