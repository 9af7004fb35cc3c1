#include "live/plugin_file.h"

#include <dlfcn.h>
#include <elf.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "base/hash.h"

namespace tulle::live {
namespace {

using base::Error;

constexpr const char* kSymbol = "tulle_congestion";

// The loader's message usually begins with the name of the file.
Error refused(const std::string& file, const char* why) {
    std::string_view rest = why == nullptr ? "it cannot be loaded" : why;
    for (const std::string& name : {file, "./" + file})
        if (rest.starts_with(name + ": ")) rest.remove_prefix(name.size() + 2);
    return {file + " is no congestion control: " + std::string(rest)};
}

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using OpenFile = std::unique_ptr<std::FILE, CloseFile>;

bool read_at(std::FILE* file, uint64_t offset, void* to, size_t size) {
    return offset <= INT64_MAX && std::fseek(file, static_cast<long>(offset), SEEK_SET) == 0 &&
           std::fread(to, size, 1, file) == 1;
}

// The loader maps what the headers of a shared object promise. Where the file ends before that, it
// dies of SIGBUS instead of refusing the file. All else that is wrong it says itself.
bool is_cut_short(std::FILE* file) {
    Elf64_Ehdr header{};
    if (!read_at(file, 0, &header, sizeof header)) return false;
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
    for (uint64_t i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment{};
        if (!read_at(file, header.e_phoff + i * sizeof segment, &segment, sizeof segment))
            return true;
        char last = 0;
        if (segment.p_type == PT_LOAD && segment.p_filesz != 0 &&
            !read_at(file, segment.p_offset + segment.p_filesz - 1, &last, 1))
            return true;
    }
    return false;
}

base::Result<uint64_t> hash_of_file(const std::string& file) {
    const OpenFile opened(std::fopen(file.c_str(), "re"));
    if (!opened) return Error{file + " cannot be opened; name a shared object, such as ./mine.so"};
    if (is_cut_short(opened.get()))
        return refused(file, "a part of the file is missing; compile it again");
    std::rewind(opened.get());
    base::Hash hash;
    uint64_t word = 0;
    size_t length = 0;
    while ((length = std::fread(&word, 1, sizeof word, opened.get())) != 0) {
        hash.add(word).add(length);
        word = 0;
    }
    return hash.value();
}

}  // namespace

std::string plugin_file_of(const std::string& source) {
    const size_t end = source.find(".so:");
    return end == std::string::npos ? source : source.substr(0, end + 3);
}

base::Result<std::shared_ptr<const transport::LoadedPlugin>> load_plugin(const std::string& source,
                                                                         uint64_t line_rate_bps) {
    const std::string file = plugin_file_of(source);
    const auto hash = hash_of_file(file);
    if (!hash) return hash.error();
    // The loader would search elsewhere for a name without a slash.
    const std::string path = file.find('/') == std::string::npos ? "./" + file : file;
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return refused(file, dlerror());
    const void* found = dlsym(handle, kSymbol);
    if (found == nullptr)
        return Error{file + " is no congestion control: it does not export " + kSymbol +
                     " (include/tulle/congestion.h)"};
    transport::PluginCode code{*static_cast<const tulle_cc_algorithm*>(found), file, *hash};
    std::string parameters = source.size() > file.size() ? source.substr(file.size() + 1) : "";
    return transport::LoadedPlugin::configure(std::move(code), std::move(parameters),
                                              line_rate_bps);
}

}  // namespace tulle::live
