// Memory that processes share: an anonymous file without a name, so that nothing is left behind if
// a process dies. Its size is sealed: a peer that could shrink it could kill us with a bus error.
#pragma once

#include <cstddef>

#include "live/descriptor.h"

namespace tulle::live {

class SharedMemory {
public:
    enum class Peers { read, write };  // what others may do with it

    SharedMemory() = default;
    ~SharedMemory();
    SharedMemory(SharedMemory&& other) noexcept;
    SharedMemory& operator=(SharedMemory&& other) noexcept;

    // Zeroed memory, mapped here for reading and writing. Empty if there is no room.
    static SharedMemory create(size_t bytes, Peers peers);
    // Maps the file that a peer has sent. Empty unless the file has this size and it is sealed.
    static SharedMemory map(Descriptor file, size_t bytes, Peers peers);

    explicit operator bool() const { return address_ != nullptr; }
    std::byte* data() const { return address_; }
    int file() const { return file_.get(); }  // only of memory that was created here
    void close_file() { file_.reset(); }      // the mapping stays

private:
    bool map_here(size_t bytes, bool writable);

    Descriptor file_;
    std::byte* address_ = nullptr;
    size_t bytes_ = 0;
};

}  // namespace tulle::live
