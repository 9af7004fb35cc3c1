#include "cli/decode/layers.h"

#include "cli/decode/facts.h"
#include "cli/decode/fields.h"
#include "wire/mad/visit.h"

namespace tulle::cli {

ShownLayers layers_of(const wire::Frame& frame, ShowAs as) {
    ShownLayers shown;
    const auto show = [&](const char* name, const auto& header) {
        ShownLayer& layer = shown.layers.emplace_back(ShownLayer{name, {}});
        wire::for_each_field(header, [&](const char* field, const auto& value) {
            if (as == ShowAs::text)
                layer.fields.push_back({field, field_text(value), {}});
            else
                layer.fields.push_back({field, {}, field_json(value)});
        });
    };
    wire::for_each_header(frame, show);
    if (is_mad(frame) && !frame.cut && frame.payload.size() >= wire::kMadSize) {
        wire::visit_mad(frame.payload, show);
        shown.explained_bytes = wire::kMadSize;
    }
    return shown;
}

}  // namespace tulle::cli
