// The descriptors, mappings and memory of a process, as the kernel counts them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

struct Belongings {
    ptrdiff_t descriptors = 0;
    ptrdiff_t mappings = 0;
    ptrdiff_t kilobytes = 0;
};

inline Belongings belongings() {
    Belongings now;
    const std::filesystem::directory_iterator folder("/proc/self/fd");
    now.descriptors = std::distance(begin(folder), end(folder));
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) ++now.mappings;
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (word == "VmRSS:") status >> now.kilobytes;
    return now;
}
