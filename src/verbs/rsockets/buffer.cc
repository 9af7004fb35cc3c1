#include "verbs/rsockets/buffer.h"

namespace tulle::verbs::rsockets {

bool Buffer::allocate(ibv_pd* pd, size_t bytes, int access) {
    release();
    memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    region_ = ibv_reg_mr(pd, memory_.get(), bytes, access);
    size_ = bytes;
    return region_ != nullptr;
}

void Buffer::release() {
    if (region_ != nullptr) ibv_dereg_mr(region_);
    region_ = nullptr;
    memory_.reset();
    size_ = 0;
}

}  // namespace tulle::verbs::rsockets
