#include "cli/machine.h"

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

namespace tulle::cli {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File open(const char* path) {
    return {std::fopen(path, "r"), [](std::FILE* file) { return file ? std::fclose(file) : 0; }};
}

// Bytes that the control group still allows; 0 if it sets no limit.
uint64_t left_in_group() {
    const auto number = [](const char* path) {
        unsigned long long value = 0;
        const File file = open(path);
        if (!file || std::fscanf(file.get(), "%llu", &value) != 1) return uint64_t{0};
        return uint64_t{value};
    };
    const uint64_t most = number("/sys/fs/cgroup/memory.max");
    const uint64_t now = number("/sys/fs/cgroup/memory.current");
    return most > now ? most - now : 0;
}

}  // namespace

uint64_t memory_in_use() {
    unsigned long long whole = 0;
    unsigned long long resident = 0;
    const File file = open("/proc/self/statm");
    if (!file || std::fscanf(file.get(), "%llu %llu", &whole, &resident) != 2) return 0;
    return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

uint64_t memory_available() {
    const File file = open("/proc/meminfo");
    if (!file) return 0;
    char name[64] = {};
    unsigned long long kilobytes = 0;
    uint64_t available = 0;
    while (std::fscanf(file.get(), "%63s %llu%*[^\n]", name, &kilobytes) == 2)
        if (std::string(name) == "MemAvailable:") available = kilobytes * 1024;
    const uint64_t in_group = left_in_group();
    return in_group != 0 && in_group < available ? in_group : available;
}

}  // namespace tulle::cli
