// Names and types that rdma-core has added since release 44, whose headers this is compiled with.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace tulle::verbs {

// As programs fill it in.
struct RegionAttributes {
    size_t length;
    int access;
    uint64_t mask;
    uint64_t iova;
    void* address;
    int file;
    uint64_t file_offset;
    void* hints;
    void* buffer;
};

// Device memory for a program: ordinary pages.
struct Buffer {
    ibv_pd* pd;
    void* address;
    size_t length;
};

}  // namespace tulle::verbs

extern "C" {
ibv_mr* ibv_reg_mr_ex(ibv_pd* pd, const tulle::verbs::RegionAttributes* attributes);
void* ibv_alloc_buf(ibv_pd* pd, size_t size, tulle::verbs::Buffer** made);
ibv_mr* ibv_reg_buf_mr(ibv_pd* pd, tulle::verbs::Buffer* buffer, void* address, size_t length,
                       int access);

// Older names that programs use and no header declares.
const char* ibv_get_sysfs_path();
int ibv_read_sysfs_file(const char* folder, const char* file, char* text, size_t room);
}
