#include "cli/run/environment.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

namespace tulle::cli {
namespace {

namespace fs = std::filesystem;

// Prepends to a colon-separated variable.
std::string in_front(const std::string& first, const char* variable) {
    const char* rest = std::getenv(variable);
    return rest == nullptr || *rest == 0 ? first : first + ":" + rest;
}

}  // namespace

base::Result<std::string> library_folder() {
    if (const char* set = std::getenv("TULLE_LIBRARIES"); set != nullptr && *set != 0) return {set};
    std::error_code error;
    const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
    for (const char* place : {"lib/tulle", "../lib/tulle", "../" TULLE_LIBDIR "/tulle"}) {
        const fs::path folder = (here / place).lexically_normal();
        if (fs::exists(folder / "libibverbs.so.1", error)) return folder.string();
    }
    return base::Error{fmt::format(
        "libibverbs.so.1 is neither in {}/lib/tulle nor in {}; TULLE_LIBRARIES may name its folder",
        here.string(), (here / "../lib/tulle").lexically_normal().string())};
}

std::vector<Variable> environment_for(const std::string& folder, const RunIdentity& who) {
    std::vector<Variable> variables = {
        {"LD_LIBRARY_PATH", in_front(folder, "LD_LIBRARY_PATH")},
        {"TULLE_RANK", std::to_string(who.rank)},
        {"TULLE_SIZE", std::to_string(who.size)},
        {"TULLE_LINK_LAYER", who.link_layer},
        {"TULLE_DEVICES", std::to_string(who.devices)},
        {"TULLE_PORTS", std::to_string(who.ports)},
    };
    if (!who.listens.empty()) variables.emplace_back("TULLE_LISTEN", who.listens);
    // NCCL 2.28 crashes when it chooses this value for an adapter that it does not know. 2, the way
    // through a proxy, works with all adapters.
    if (std::getenv("NCCL_GIN_TYPE") == nullptr) variables.emplace_back("NCCL_GIN_TYPE", "2");
    if (!who.device_files.empty()) {
        variables.emplace_back("TULLE_SYSFS", who.device_files);
        variables.emplace_back("LD_PRELOAD",
                               in_front(folder + "/libtulle-preload.so", "LD_PRELOAD"));
        // AddressSanitizer insists on being the first library of a process. The shim may come
        // before it, because it defines none of the names that AddressSanitizer needs first, and
        // calls the open() and others behind it. This setting turns the check off, also in programs
        // that programs start. The program's own options come later and take precedence.
        variables.emplace_back("ASAN_OPTIONS",
                               in_front("verify_asan_link_order=0", "ASAN_OPTIONS"));
    }
    return variables;
}

}  // namespace tulle::cli
