#include "transport/ee_contexts.h"

#include "transport/attributes.h"
#include "transport/rd.h"

namespace tulle::transport {
namespace {

constexpr uint32_t kMaxEeContext = 0xff'ffff;  // 24 bits in the RDETH

}  // namespace

std::optional<wire::EeContext> EeContexts::create(RdDomainId domain) {
    if (!core_.rd_domains.knows(domain) || core_.ee_contexts.size() >= kMaxEeContext)
        return std::nullopt;
    const EndToEnd* ee = create_end_to_end(core_, domain);
    if (ee == nullptr) return std::nullopt;
    return ee->number;
}

Refusal EeContexts::modify(wire::EeContext number, const QpAttributes& attributes, uint32_t mask) {
    EndToEnd* ee = core_.end_to_end(number);
    if (ee == nullptr || !is_legal(core_, *ee->requester, attributes, mask))
        return Refusal::invalid_argument;
    apply(core_, *ee->requester, attributes, mask);
    apply(core_, *ee->responder, attributes, mask);
    if ((mask & kState) != 0) change_end_to_end(core_, *ee, attributes.state);
    return Refusal::none;
}

Refusal EeContexts::destroy(wire::EeContext number) {
    EndToEnd* ee = core_.end_to_end(number);
    if (ee == nullptr) return Refusal::invalid_argument;
    destroy_end_to_end(core_, *ee);
    return Refusal::none;
}

}  // namespace tulle::transport
