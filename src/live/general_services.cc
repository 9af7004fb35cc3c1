#include "live/general_services.h"

#include "live/clock.h"
#include "transport/cm/connection_manager.h"

namespace tulle::live {

using transport::kGeneralServices;
using transport::QpState;

bool GeneralServices::open() {
    room_.resize(kReceives * kRoomBytes);
    transport::Memory& memory = adapter_.memory();
    transport::QpSetup setup;
    setup.pd = memory.create_pd();
    setup.send_cq = setup.receive_cq = cq_ = adapter_.completions().create(kReceives + kSends);
    setup.send = {.requests = kSends, .sges = 0, .inline_bytes = wire::kMadSize};
    setup.receive_requests = kReceives;
    const auto key = memory.register_region({setup.pd, reinterpret_cast<uint64_t>(room_.data()),
                                             room_.size(), room_.data(), transport::kLocalWrite});
    if (!key || !adapter_.queue_pairs().create_gsi(setup)) return false;
    key_ = *key;
    transport::QpAttributes attributes;
    attributes.qkey = wire::kGsiQKey;
    const auto change = [&](QpState state, uint32_t mask) {
        attributes.state = state;
        return adapter_.queue_pairs().modify(kGeneralServices, attributes,
                                             transport::kState | mask) == transport::Refusal::none;
    };
    using enum transport::Attribute;
    if (!change(QpState::init, kPkeyIndex | kPort | kQkey) || !change(QpState::rtr, 0) ||
        !change(QpState::rts, kSendPsn))
        return false;
    for (uint64_t id = 0; id < kReceives; ++id) post_receive(id);
    return true;
}

bool GeneralServices::send(transport::EndpointIndex to, std::span<const std::byte> bytes) {
    transport::SendRequest request;
    request.flags = transport::kInline;
    request.inline_data = bytes;
    request.datagram = {.endpoint = to, .qpn = kGeneralServices, .qkey = wire::kGsiQKey};
    return adapter_.post_send(kGeneralServices, request) == transport::Refusal::none;
}

// Where no program uses the connection manager, one without listeners and connections answers for
// all: on a machine with an adapter, the kernel has one.
void GeneralServices::answer_for_nobody(const ManagementMessage& message) {
    transport::ConnectionManager nobodys({}, base::RandomStream{{}});
    nobodys.on_mad(now(), message.peer.value, kGeneralServices, message.bytes);
    while (const auto answer = nobodys.poll_mad(now())) (void)send({answer->endpoint}, answer->mad);
}

void GeneralServices::post_receive(uint64_t id) {
    const transport::Sge place{reinterpret_cast<uint64_t>(room_.data() + id * kRoomBytes),
                               kRoomBytes, key_};
    (void)adapter_.post_receive(kGeneralServices, {id, std::span(&place, 1)});
}

}  // namespace tulle::live
