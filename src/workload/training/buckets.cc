#include "workload/training/buckets.h"

namespace tulle::workload {

std::vector<Bucket> buckets_of(const std::vector<LayerCost>& layers, uint64_t least) {
    std::vector<Bucket> buckets;
    for (uint32_t i = 0; i < layers.size(); ++i) {
        const bool is_full =
            !buckets.empty() &&
            buckets.back().common_parameters + buckets.back().expert_parameters >= least;
        if (buckets.empty() || is_full) buckets.push_back({i, i, 0, 0});
        Bucket& bucket = buckets.back();
        bucket.end = i + 1;
        bucket.common_parameters += layers[i].common_parameters;
        bucket.expert_parameters += layers[i].expert_parameters;
    }
    return buckets;
}

}  // namespace tulle::workload
