#include "decode/layers.h"

#include "decode/facts.h"
#include "decode/fields.h"
#include "decode/uet_text.h"
#include "wire/mad/visit.h"

namespace tulle::decode {
namespace {

// Not inlined: one function per type of field, not per field, of which there are two thousand.
template <class T>
[[gnu::noinline]] void add_field(ShownLayer& layer, const char* name, const T& value, ShowAs as) {
    if (as == ShowAs::text)
        layer.fields.push_back({name, field_text(value), {}});
    else
        layer.fields.push_back({name, {}, field_json(value)});
}

}  // namespace

ShownLayers layers_of(const wire::Frame& frame, ShowAs as) {
    ShownLayers shown;
    const auto show = [&](const char* name, const auto& header) {
        ShownLayer& layer = shown.layers.emplace_back(ShownLayer{name, {}});
        wire::for_each_field(header, [&](const char* field, const auto& value) {
            add_field(layer, field, value, as);
        });
    };
    wire::for_each_header(frame, show);
    if (const auto uet = uet_packet(frame)) wire::for_each_uet_header(*uet, show);
    if (is_mad(frame) && !frame.cut && frame.payload.size() >= wire::kMadSize) {
        wire::visit_mad(frame.payload, show);
        shown.explained_bytes = wire::kMadSize;
    }
    return shown;
}

}  // namespace tulle::decode
