// A program from before glibc 2.33, which queried files through __xstat and similar: no header
// declares them any more, and the C library keeps them only for such programs.
//
// usage: old_stat FOLDER...      each must exist
#include <sys/stat.h>

#include <cstdio>

extern "C" {
int old_xstat(int version, const char* path, struct stat* status);
int old_lxstat(int version, const char* path, struct stat* status);
int old_xstat64(int version, const char* path, struct stat64* status);
int old_lxstat64(int version, const char* path, struct stat64* status);
}
__asm__(".symver old_xstat,__xstat@GLIBC_2.2.5");
__asm__(".symver old_lxstat,__lxstat@GLIBC_2.2.5");
__asm__(".symver old_xstat64,__xstat64@GLIBC_2.2.5");
__asm__(".symver old_lxstat64,__lxstat64@GLIBC_2.2.5");

int main(int count, char** arguments) {
    constexpr int kVersion = 1;
    int missing = 0;
    for (int i = 1; i < count; ++i) {
        struct stat status {};
        struct stat64 status64 {};
        const char* path = arguments[i];
        const bool is_there = old_xstat(kVersion, path, &status) == 0 && S_ISDIR(status.st_mode) &&
                              old_xstat64(kVersion, path, &status64) == 0 &&
                              S_ISDIR(status64.st_mode) &&
                              old_lxstat(kVersion, path, &status) == 0 &&
                              old_lxstat64(kVersion, path, &status64) == 0;
        std::printf("%s is %s\n", path, is_there ? "there" : "missing");
        missing += is_there ? 0 : 1;
    }
    return missing;
}
