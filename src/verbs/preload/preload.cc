// A shim in front of the C library: what a program asks of /sys/class/infiniband,
// /sys/class/infiniband_verbs and /dev/infiniband is answered from the tree that TULLE_SYSFS names,
// so that it finds our adapter and none of the machine's. Everything else passes through.
//
// Paths are rewritten before the call and, where a call answers with a path, written back. It
// allocates nothing, and what it needs of the C library it looks up once.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "verbs/preload/counters.h"

#define TULLE_SHIM extern "C" __attribute__((visibility("default")))

namespace {

struct Place {
    const char* shown;
    const char* within;  // the tree
};

constexpr Place kPlaces[] = {
    {"/sys/class/infiniband", "/class/infiniband"},
    {"/sys/class/infiniband_verbs", "/class/infiniband_verbs"},
    {"/sys/devices/pci0000:00/0000:00:05.0", "/devices/pci0000:00/0000:00:05.0"},
    {"/dev/infiniband", "/dev/infiniband"},
};

const char* tree() {
    static const char* root = getenv("TULLE_SYSFS");
    return root;
}

// A path as the C library shall see it: rewritten into `room`, or as it is.
class Path {
public:
    explicit Path(const char* path) : path_(path) {
        if (path == nullptr || path[0] != '/' || tree() == nullptr) return;
        for (const Place& place : kPlaces) {
            const size_t length = strlen(place.shown);
            if (strncmp(path, place.shown, length) != 0) continue;
            if (path[length] != 0 && path[length] != '/') continue;
            const int written =
                snprintf(room_, sizeof room_, "%s%s%s", tree(), place.within, path + length);
            if (written > 0 && static_cast<size_t>(written) < sizeof room_) path_ = room_;
            return;
        }
    }
    Path(const Path&) = delete;
    Path& operator=(const Path&) = delete;
    operator const char*() const { return path_; }

private:
    const char* path_;
    char room_[PATH_MAX];
};

// Names that the C library keeps for old programs alone, such as __xstat, have no default version.
template <class Function>
Function next(const char* name) {
    void* found = dlsym(RTLD_NEXT, name);
    if (found == nullptr) found = dlvsym(RTLD_NEXT, name, "GLIBC_2.2.5");
    return reinterpret_cast<Function>(found);
}

bool makes_file(int flags) {
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

// A path of the tree as the program knows it.
void show(char* path) {
    if (path == nullptr || tree() == nullptr) return;
    const size_t length = strlen(tree());
    if (strncmp(path, tree(), length) != 0) return;
    for (const Place& place : kPlaces) {
        const size_t within = strlen(place.within);
        if (strncmp(path + length, place.within, within) != 0) continue;
        const size_t shown = strlen(place.shown);
        if (shown > length + within) continue;  // never: the tree's name is longer than /sys
        memmove(path + shown, path + length + within, strlen(path + length + within) + 1);
        memcpy(path, place.shown, shown);
        return;
    }
}

}  // namespace

#define TULLE_OPEN(name)                                                  \
    TULLE_SHIM int name(const char* path, int flags, ...) {               \
        static auto* real = next<int (*)(const char*, int, ...)>(#name);  \
        va_list rest;                                                     \
        va_start(rest, flags);                                            \
        const mode_t mode = makes_file(flags) ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                     \
        const Path where(path);                                           \
        int counter = -1;                                                 \
        if (open_counter(tree(), where, flags, counter)) return counter;  \
        return real(where, flags, mode);                                  \
    }
#define TULLE_OPENAT(name)                                                    \
    TULLE_SHIM int name(int folder, const char* path, int flags, ...) {       \
        static auto* real = next<int (*)(int, const char*, int, ...)>(#name); \
        va_list rest;                                                         \
        va_start(rest, flags);                                                \
        const mode_t mode = makes_file(flags) ? va_arg(rest, mode_t) : 0;     \
        va_end(rest);                                                         \
        const Path where(path);                                               \
        int counter = -1;                                                     \
        if (open_counter(tree(), where, flags, counter)) return counter;      \
        return real(folder, where, flags, mode);                              \
    }
#define TULLE_FOPEN(name)                                                              \
    TULLE_SHIM FILE* name(const char* path, const char* mode) {                        \
        static auto* real = next<FILE* (*)(const char*, const char*)>(#name);          \
        const Path where(path);                                                        \
        int counter = -1;                                                              \
        const int flags = strchr(mode, 'r') == nullptr ? O_WRONLY : O_RDONLY;          \
        if (open_counter(tree(), where, flags, counter)) return fdopen(counter, mode); \
        return real(where, mode);                                                      \
    }
#define TULLE_STAT(name, structure)                                               \
    TULLE_SHIM int name(const char* path, struct structure* status) {             \
        static auto* real = next<int (*)(const char*, struct structure*)>(#name); \
        return real(Path(path), status);                                          \
    }
#define TULLE_OLD_STAT(name, structure)                                                \
    TULLE_SHIM int name(int version, const char* path, struct structure* status) {     \
        static auto* real = next<int (*)(int, const char*, struct structure*)>(#name); \
        return real(version, Path(path), status);                                      \
    }

TULLE_OPEN(open)
TULLE_OPEN(open64)
TULLE_OPENAT(openat)
TULLE_OPENAT(openat64)
TULLE_FOPEN(fopen)
TULLE_FOPEN(fopen64)
TULLE_STAT(stat, stat)
TULLE_STAT(stat64, stat64)
TULLE_STAT(lstat, stat)
TULLE_STAT(lstat64, stat64)
TULLE_OLD_STAT(__xstat, stat)
TULLE_OLD_STAT(__xstat64, stat64)
TULLE_OLD_STAT(__lxstat, stat)
TULLE_OLD_STAT(__lxstat64, stat64)

// Checked forms of open(), which the C library's headers call by themselves.
TULLE_SHIM int __open_2(const char* path, int flags) {
    return open(path, flags);
}
TULLE_SHIM int __open64_2(const char* path, int flags) {
    return open64(path, flags);
}

TULLE_SHIM int fstatat(int folder, const char* path, struct stat* status, int flags) {
    static auto* real = next<int (*)(int, const char*, struct stat*, int)>("fstatat");
    return real(folder, Path(path), status, flags);
}

TULLE_SHIM int statx(int folder, const char* path, int flags, unsigned mask, struct statx* status) {
    static auto* real = next<int (*)(int, const char*, int, unsigned, struct statx*)>("statx");
    return real(folder, Path(path), flags, mask, status);
}

TULLE_SHIM int access(const char* path, int mode) {
    static auto* real = next<int (*)(const char*, int)>("access");
    return real(Path(path), mode);
}

TULLE_SHIM int faccessat(int folder, const char* path, int mode, int flags) {
    static auto* real = next<int (*)(int, const char*, int, int)>("faccessat");
    return real(folder, Path(path), mode, flags);
}

TULLE_SHIM DIR* opendir(const char* path) {
    static auto* real = next<DIR* (*)(const char*)>("opendir");
    return real(Path(path));
}

TULLE_SHIM ssize_t readlink(const char* path, char* text, size_t room) {
    static auto* real = next<ssize_t (*)(const char*, char*, size_t)>("readlink");
    return real(Path(path), text, room);
}

TULLE_SHIM ssize_t readlinkat(int folder, const char* path, char* text, size_t room) {
    static auto* real = next<ssize_t (*)(int, const char*, char*, size_t)>("readlinkat");
    return real(folder, Path(path), text, room);
}

TULLE_SHIM char* realpath(const char* path, char* text) {
    static auto* real = next<char* (*)(const char*, char*)>("realpath");
    char* found = real(Path(path), text);
    show(found);
    return found;
}

TULLE_SHIM char* __realpath_chk(const char* path, char* text, size_t) {
    return realpath(path, text);
}
