#include "verbs/preload/counters.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "live/counter_names.h"

namespace {

using tulle::live::CounterName;

// ".../ports/1/counters/port_xmit_data"
const CounterName* find(const char* path) {
    const char* name = strrchr(path, '/');
    if (name == nullptr) return nullptr;
    for (const CounterName& counter : tulle::live::kCounterNames) {
        const size_t folder = strlen(counter.folder);
        const bool is_long = static_cast<size_t>(name - path) > folder;
        if (is_long && strcmp(name + 1, counter.name) == 0 && name[-1 - ptrdiff_t(folder)] == '/' &&
            strncmp(name - folder, counter.folder, folder) == 0)
            return &counter;
    }
    return nullptr;
}

// The file name ends with the adapter's number, except for the first adapter, and with "p" and the
// port's number, except for the first port.
int open_file(const char* tree, const char* counter_path) {
    const char* end = strstr(counter_path, "/ports/");
    const char* digits = end;
    while (digits > counter_path && digits[-1] >= '0' && digits[-1] <= '9') --digits;
    const char* port = end + strlen("/ports/");
    const bool is_first = port[0] == '1' && port[1] == '/';
    char suffix[8] = "";
    if (!is_first)
        snprintf(suffix, sizeof suffix, "p%.*s", static_cast<int>(strcspn(port, "/")), port);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s%.*s%s", tree, tulle::live::kCountersFile,
             static_cast<int>(end - digits), digits, suffix);
    const auto file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
    if (file >= 0) return file;
    snprintf(path, sizeof path, "%s/%s%s", tree, tulle::live::kCountersFile, suffix);
    return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
}

uint64_t value_of(const char* tree, const char* path, const CounterName& counter) {
    using tulle::live::kCountersBytes;
    const int file = open_file(tree, path);
    struct stat status;
    if (file < 0) return 0;
    const bool is_whole = fstat(file, &status) == 0 && status.st_size == kCountersBytes;
    void* place =
        is_whole ? mmap(nullptr, kCountersBytes, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
    close(file);
    if (place == MAP_FAILED) return 0;
    const uint64_t value = tulle::live::value_of(static_cast<const uint64_t*>(place), counter);
    munmap(place, kCountersBytes);
    return value;
}

}  // namespace

bool open_counter(const char* tree, const char* path, int flags, int& descriptor) {
    if (tree == nullptr || path == nullptr || strncmp(path, tree, strlen(tree)) != 0) return false;
    if ((flags & O_ACCMODE) != O_RDONLY || strstr(path, "/ports/") == nullptr) return false;
    const CounterName* counter = find(path);
    if (counter == nullptr) return false;
    descriptor = memfd_create(counter->name, (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0u);
    if (descriptor < 0) return false;
    dprintf(descriptor, "%llu\n", static_cast<unsigned long long>(value_of(tree, path, *counter)));
    lseek(descriptor, 0, SEEK_SET);
    return true;
}
