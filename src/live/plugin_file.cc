#include "live/plugin_file.h"

#include <dlfcn.h>

#include <cstdio>

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

base::Result<uint64_t> hash_of_file(const std::string& file) {
    std::FILE* opened = std::fopen(file.c_str(), "re");
    if (opened == nullptr)
        return Error{file + " cannot be opened; name a shared object, such as ./mine.so"};
    base::Hash hash;
    uint64_t word = 0;
    size_t length = 0;
    while ((length = std::fread(&word, 1, sizeof word, opened)) != 0) {
        hash.add(word).add(length);
        word = 0;
    }
    std::fclose(opened);
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
