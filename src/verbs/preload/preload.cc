// A shim in front of the C library: what a program asks of /sys/class/infiniband,
// /sys/class/infiniband_verbs and /dev/infiniband is answered from the tree that TULLE_SYSFS names,
// so that it finds our adapter and none of the machine's. Everything else passes through.
//
// Paths are rewritten before the call and, where a call answers with a path, written back. It
// allocates nothing but what a caller asks for, and what it needs of the C library it looks up
// once.
//
// What it cannot see: programs that make system calls themselves (Go, static ones, io_uring), calls
// that the C library makes inside (nftw, fts), and patterns whose wildcard stands before the names
// below.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "verbs/preload/counters.h"

#define TULLE_SHIM extern "C" __attribute__((visibility("default")))

namespace {

struct Place {
    const char* shown;
    const char* within;  // the tree
};

constexpr char kDevices[] = "/sys/devices";
constexpr Place kPlaces[] = {
    {"/sys/class/infiniband", "/class/infiniband"},
    {"/sys/class/infiniband_verbs", "/class/infiniband_verbs"},
    {"/dev/infiniband", "/dev/infiniband"},
    {kDevices, "/devices"},  // only the folders of our adapters
};
constexpr char kAdapter[] = "/sys/devices/pci0000:00/0000:00:05.0";
constexpr size_t kSlotAt = sizeof kAdapter - sizeof "05.0";

const char* tree() {
    static const char* root = getenv("TULLE_SYSFS");
    return root;
}

// Whether the tree has the folder of a device. The machine's devices are in the same one.
bool is_of_adapter(const char* path) {
    if (strncmp(path, kAdapter, kSlotAt) != 0 || strlen(path) < sizeof kAdapter - 1) return false;
    char folder[PATH_MAX];
    const int written =
        snprintf(folder, sizeof folder, "%s%.*s", tree(),
                 static_cast<int>(sizeof kAdapter - sizeof "/sys"), path + strlen("/sys"));
    if (written < 0 || static_cast<size_t>(written) >= sizeof folder) return false;
    const int before = errno;
    const bool is_there = syscall(SYS_faccessat, AT_FDCWD, folder, F_OK) == 0;
    errno = before;
    return is_there;
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
            if (place.shown == kDevices && !is_of_adapter(path)) return;
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

TULLE_SHIM char* canonicalize_file_name(const char* path) {
    return realpath(path, nullptr);
}

// ---- where a program is -------------------------------------------------------------------------

TULLE_SHIM int chdir(const char* path) {
    static auto* real = next<int (*)(const char*)>("chdir");
    return real(Path(path));
}

TULLE_SHIM char* getcwd(char* text, size_t room) {
    static auto* real = next<char* (*)(char*, size_t)>("getcwd");
    char found[PATH_MAX];
    if (tree() == nullptr || real(found, sizeof found) == nullptr) return real(text, room);
    show(found);
    const size_t length = strlen(found) + 1;
    if ((text != nullptr || room != 0) && room < length) {
        errno = text != nullptr && room == 0 ? EINVAL : ERANGE;
        return nullptr;
    }
    if (text == nullptr) text = static_cast<char*>(malloc(room != 0 ? room : length));
    return text == nullptr ? nullptr : static_cast<char*>(memcpy(text, found, length));
}

TULLE_SHIM char* __getcwd_chk(char* text, size_t room, size_t) {
    return getcwd(text, room);
}

// The logical name where PWD has it, which need not be rewritten.
TULLE_SHIM char* get_current_dir_name() {
    static auto* real = next<char* (*)()>("get_current_dir_name");
    char* found = real();
    show(found);
    return found;
}

// ---- what is in a folder ------------------------------------------------------------------------

#define TULLE_SCANDIR(name, entry)                                                     \
    TULLE_SHIM int name(const char* path, struct entry*** list,                        \
                        int (*is_wanted)(const struct entry*),                         \
                        int (*compare)(const struct entry**, const struct entry**)) {  \
        static auto* real =                                                            \
            next<int (*)(const char*, struct entry***, int (*)(const struct entry*),   \
                         int (*)(const struct entry**, const struct entry**))>(#name); \
        return real(Path(path), list, is_wanted, compare);                             \
    }
TULLE_SCANDIR(scandir, dirent)
TULLE_SCANDIR(scandir64, dirent64)

// Names that were found are shown as they were asked for; those of calls before are so already.
#define TULLE_GLOB(name, structure)                                                        \
    TULLE_SHIM int name(const char* pattern, int flags, int (*on_error)(const char*, int), \
                        structure* found) {                                                \
        static auto* real =                                                                \
            next<int (*)(const char*, int, int (*)(const char*, int), structure*)>(#name); \
        const int result = real(Path(pattern), flags, on_error, found);                    \
        for (size_t i = 0; result == 0 && i < found->gl_pathc; ++i)                        \
            show(found->gl_pathv[((flags & GLOB_DOOFFS) != 0 ? found->gl_offs : 0) + i]);  \
        return result;                                                                     \
    }
TULLE_GLOB(glob, glob_t)
TULLE_GLOB(glob64, glob64_t)

// ---- other calls that take a path ---------------------------------------------------------------

#define TULLE_PATH_CALL(answer, name, parameters, types, arguments) \
    TULLE_SHIM answer name parameters {                             \
        static auto* real = next<answer(*) types>(#name);           \
        return real arguments;                                      \
    }

TULLE_PATH_CALL(ssize_t, getxattr, (const char* path, const char* key, void* value, size_t room),
                (const char*, const char*, void*, size_t), (Path(path), key, value, room))
TULLE_PATH_CALL(ssize_t, lgetxattr, (const char* path, const char* key, void* value, size_t room),
                (const char*, const char*, void*, size_t), (Path(path), key, value, room))
TULLE_PATH_CALL(ssize_t, listxattr, (const char* path, char* list, size_t room),
                (const char*, char*, size_t), (Path(path), list, room))
TULLE_PATH_CALL(ssize_t, llistxattr, (const char* path, char* list, size_t room),
                (const char*, char*, size_t), (Path(path), list, room))
TULLE_PATH_CALL(int, euidaccess, (const char* path, int mode), (const char*, int),
                (Path(path), mode))
TULLE_PATH_CALL(int, eaccess, (const char* path, int mode), (const char*, int), (Path(path), mode))
TULLE_PATH_CALL(int, statfs, (const char* path, struct statfs* status),
                (const char*, struct statfs*), (Path(path), status))
TULLE_PATH_CALL(int, statfs64, (const char* path, struct statfs64* status),
                (const char*, struct statfs64*), (Path(path), status))
TULLE_PATH_CALL(int, statvfs, (const char* path, struct statvfs* status),
                (const char*, struct statvfs*), (Path(path), status))
TULLE_PATH_CALL(int, statvfs64, (const char* path, struct statvfs64* status),
                (const char*, struct statvfs64*), (Path(path), status))
TULLE_PATH_CALL(int, inotify_add_watch, (int file, const char* path, unsigned mask),
                (int, const char*, unsigned), (file, Path(path), mask))
TULLE_PATH_CALL(int, fstatat64, (int folder, const char* path, struct stat64* status, int flags),
                (int, const char*, struct stat64*, int), (folder, Path(path), status, flags))
TULLE_PATH_CALL(FILE*, freopen, (const char* path, const char* mode, FILE* file),
                (const char*, const char*, FILE*), (Path(path), mode, file))
TULLE_PATH_CALL(FILE*, freopen64, (const char* path, const char* mode, FILE* file),
                (const char*, const char*, FILE*), (Path(path), mode, file))

// Checked forms, which the C library's headers call by themselves.
TULLE_SHIM int __openat_2(int folder, const char* path, int flags) {
    return openat(folder, path, flags);
}
TULLE_SHIM int __openat64_2(int folder, const char* path, int flags) {
    return openat64(folder, path, flags);
}
TULLE_SHIM ssize_t __readlink_chk(const char* path, char* text, size_t room, size_t) {
    return readlink(path, text, room);
}
TULLE_SHIM ssize_t __readlinkat_chk(int folder, const char* path, char* text, size_t room, size_t) {
    return readlinkat(folder, path, text, room);
}
