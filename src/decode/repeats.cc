#include "decode/repeats.h"

#include <utility>

#include "base/hash.h"
#include "decode/endpoint.h"
#include "decode/facts.h"

namespace tulle::decode {
namespace {

uint64_t name_of(const wire::Frame& frame) {
    const FlowKey flow = flow_of(frame);
    base::Hash hash;
    for (const PacketAddress* end : {&flow.source, &flow.destination})
        for (const uint8_t byte : end->bytes) hash.add(byte);
    hash.add(frame.transport.bth.dest_qp.value).add(frame.transport.opcode());
    hash.add(frame.transport.bth.psn.value);
    return hash.value();
}

}  // namespace

Sighting Repeats::see(const wire::Frame& frame, uint32_t interface) {
    Seen& seen = seen_[name_of(frame)];
    if (seen.times.size() <= interface) seen.times.resize(interface + 1);
    const bool is_marked = is_congestion_experienced(frame) || frame.transport.bth.fecn;
    if (seen.times[interface] < UINT8_MAX) ++seen.times[interface];
    if (seen.times[interface] > seen.most) {
        seen.most = seen.times[interface];
        seen.is_marked = is_marked;
        return Sighting::fresh;
    }
    const bool is_news = is_marked && !std::exchange(seen.is_marked, is_marked);
    return is_news ? Sighting::again_marked : Sighting::again;
}

}  // namespace tulle::decode
