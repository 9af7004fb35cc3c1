#include "live/shared_memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace tulle::live {
namespace {

constexpr int kFixedSize = F_SEAL_SHRINK | F_SEAL_GROW;

// The limit of file sizes (RLIMIT_FSIZE) holds for memory without a name, too. The kernel would end
// the program by a signal; here it is an errno, as for a program that has refused that signal.
bool set_size(int file, size_t bytes) {
    const timespec at_once{};
    sigset_t too_large;
    sigset_t before;
    sigemptyset(&too_large);
    sigaddset(&too_large, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &too_large, &before);
    const bool is_done = ftruncate(file, static_cast<off_t>(bytes)) == 0;
    const int error = errno;
    if (!is_done && error == EFBIG) sigtimedwait(&too_large, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    return is_done;
}

}  // namespace

SharedMemory::~SharedMemory() {
    if (address_ != nullptr) munmap(address_, bytes_);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : file_(std::move(other.file_)),
      address_(std::exchange(other.address_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

bool SharedMemory::map_here(size_t bytes, bool writable) {
    const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void* address = mmap(nullptr, bytes, protection, MAP_SHARED, file_.get(), 0);
    if (address == MAP_FAILED) return false;
    address_ = static_cast<std::byte*>(address);
    bytes_ = bytes;
    return true;
}

SharedMemory SharedMemory::create(size_t bytes, Peers peers) {
    SharedMemory memory;
    memory.file_ = Descriptor(memfd_create("tulle", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    const bool made =
        memory.file_ && set_size(memory.file_.get(), bytes) && memory.map_here(bytes, true);
    if (!made) return {};
    fcntl(memory.file_.get(), F_ADD_SEALS, kFixedSize);
    // Our own mapping stays writable; later mappings are not.
    if (peers == Peers::read) fcntl(memory.file_.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
    return memory;
}

SharedMemory SharedMemory::map(Descriptor file, size_t bytes, Peers peers) {
    SharedMemory memory;
    memory.file_ = std::move(file);
    struct stat status {};
    const int seals = fcntl(memory.file_.get(), F_GET_SEALS);
    const bool is_safe = seals >= 0 && (seals & kFixedSize) == kFixedSize &&
                         fstat(memory.file_.get(), &status) == 0 &&
                         status.st_size == static_cast<off_t>(bytes);
    if (!is_safe || !memory.map_here(bytes, peers == Peers::write)) return {};
    memory.file_.reset();  // the mapping stays without it
    return memory;
}

}  // namespace tulle::live
