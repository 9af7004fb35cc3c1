// Memory with its key.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tulle::verbs::rsockets {

class Buffer {
public:
    Buffer() = default;
    ~Buffer() { release(); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    bool allocate(ibv_pd* pd, size_t bytes, int access);
    void release();
    std::byte* data() { return memory_.get(); }
    const std::byte* data() const { return memory_.get(); }
    size_t size() const { return size_; }
    uint32_t lkey() const { return region_->lkey; }
    uint32_t rkey() const { return region_->rkey; }

private:
    std::unique_ptr<std::byte[]> memory_;
    size_t size_ = 0;
    ibv_mr* region_ = nullptr;
};

}  // namespace tulle::verbs::rsockets
