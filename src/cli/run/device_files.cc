#include "cli/run/device_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "live/counter_names.h"
#include "live/descriptor.h"

namespace tulle::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "tulle-run-";
constexpr const char* kMark = ".tulle-run";  // a program may have a folder of such a name
constexpr const char* kWhole = "wire-is-whole";
// Each adapter has a PCI slot of its own.
std::string pci_path(uint32_t device) {
    return fmt::format("devices/pci0000:00/0000:00:{:02x}.0", 5 + device);
}

// Whether nobody but root and this user can rename what this user makes there, and put a link in
// its place: that would have us write wherever the link leads.
bool is_safe(fs::path folder) {
    for (;; folder = folder.parent_path()) {
        struct stat status {};
        if (lstat(folder.c_str(), &status) != 0) return false;
        if (status.st_uid != 0 && status.st_uid != geteuid()) return false;
        const bool others_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
        if (others_write && (status.st_mode & S_ISVTX) == 0) return false;
        if (folder == folder.root_path()) return true;
    }
}

fs::path temporary_folder() {
    std::error_code error;
    // Without symbolic links, as the kernel reports the path of a program.
    const fs::path folder = fs::canonical(fs::temp_directory_path(error), error);
    return error || !is_safe(folder) ? fs::path("/tmp") : folder;
}

// Locked as long as the run lives; the kernel releases the lock however the run ends. Nothing if
// the folder is another user's.
live::Descriptor lock(const fs::path& folder) {
    live::Descriptor made(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    struct stat status {};
    if (made && (fstat(made.get(), &status) != 0 || status.st_uid != geteuid() ||
                 flock(made.get(), LOCK_EX | LOCK_NB) != 0))
        made.reset();
    return made;
}

// Removes the folders of ended runs of this user. A folder gets its final name only once it is
// locked (make_folder).
void sweep(const fs::path& folder) {
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        if (!it->path().filename().string().starts_with(kPrefix)) continue;
        std::error_code ignored;
        if (!fs::exists(it->path() / kMark, ignored)) continue;
        if (const live::Descriptor held = lock(it->path())) fs::remove_all(it->path(), ignored);
    }
}

void put(const fs::path& file, const std::string& text) {
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    std::ofstream(file) << text << '\n';
}

// The folder has another name until it is locked, so that no other run sweeps it away. As in /sys,
// programs of every user find files in it by their names, but only its owner can list or lock it.
std::string make_folder(const fs::path& where, live::Descriptor& held) {
    std::string name = (where / ".tulle-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) return {};
    held = lock(name);
    put(fs::path(name) / kMark, "");
    const std::string final_name =
        (where / fmt::format("{}{}-{}", kPrefix, getpid(), name.substr(name.size() - 6))).string();
    if (held && chmod(name.c_str(), 0711) == 0 && rename(name.c_str(), final_name.c_str()) == 0)
        return final_name;
    std::error_code error;
    fs::remove_all(name, error);
    return {};
}

std::string guid_text(wire::Guid guid) {
    return fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", guid.value >> 48 & 0xffff,
                       guid.value >> 32 & 0xffff, guid.value >> 16 & 0xffff, guid.value & 0xffff);
}

std::string gid_text(const wire::Gid& gid) {
    std::string text;
    for (size_t i = 0; i < gid.bytes.size(); i += 2)
        text += fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", gid.bytes[i], gid.bytes[i + 1]);
    return text;
}

// The network interface that has the address of the GID.
std::string interface_of(const live::Identity& who, const wire::Gid& gid) {
    for (const live::UdpAddress& address : who.listens)
        if (address.gid == gid) return address.interface;
    return "lo";
}

void write_port(const fs::path& port, const live::Identity& who, uint32_t number) {
    const auto& gids = who.gids_of(number);
    put(port / "state", "4: ACTIVE");
    put(port / "phys_state", "5: LinkUp");
    put(port / "rate", "100 Gb/sec (4X EDR)");
    put(port / "lid", fmt::format("0x{:x}", who.lid_of(number).value));
    put(port / "sm_lid", who.is_ethernet ? "0x0" : "0x1");
    put(port / "lid_mask_count", "0");
    put(port / "sm_sl", "0");
    put(port / "cap_mask", "0x04010000");
    put(port / "link_layer", who.is_ethernet ? "Ethernet" : "InfiniBand");
    put(port / "pkeys/0", "0xffff");
    for (size_t i = 0; i < gids.size(); ++i) {
        const std::string index = std::to_string(i);
        put(port / "gids" / index, gid_text(gids[i]));
        const bool is_v2 = who.is_ethernet && i % 2 != 0;
        put(port / "gid_attrs/types" / index, is_v2 ? "RoCE v2" : "IB/RoCE v1");
        if (who.is_ethernet) put(port / "gid_attrs/ndevs" / index, interface_of(who, gids[i]));
    }
    for (const live::CounterName& counter : live::kCounterNames)
        put(port / counter.folder / counter.name, "0");
    put(port / "hw_counters/lifespan", "10");
}

// The counters of the host's processes. They live in a mapped file; if there is no room for all of
// it, it is removed, because a write to a hole would raise SIGBUS.
void make_counters(const fs::path& file) {
    const live::Descriptor made(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    std::error_code error;
    if (made && posix_fallocate(made.get(), 0, live::kCountersBytes) != 0) fs::remove(file, error);
}

std::string uverbs_of(uint32_t device) {
    return fmt::format("uverbs{}", device);
}

void write_pci(const fs::path& pci, const std::string& device, const live::Identity& who) {
    put(pci / "vendor", "0x544c");
    put(pci / "device", "0x0001");
    put(pci / "class", "0x020700");
    put(pci / "numa_node", "-1");
    const long cpus = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
    put(pci / "local_cpulist", fmt::format("0-{}", cpus - 1));
    put(pci / "local_cpus", fmt::format("{:x}", (uint64_t{1} << std::min(cpus, 63L)) - 1));
    put(pci / "max_link_speed", "16.0 GT/s PCIe");
    put(pci / "max_link_width", "16");
    put(pci / "current_link_speed", "16.0 GT/s PCIe");
    put(pci / "current_link_width", "16");
    std::error_code error;
    fs::create_directories(pci / "infiniband" / device, error);
    fs::create_directories(pci / "infiniband_verbs" / uverbs_of(who.device), error);
    if (!who.is_ethernet) return;
    // The network interface that has the addresses of the adapter's GIDs.
    fs::create_directories(pci / "net", error);
    const std::string name = interface_of(who, who.gids.back());
    fs::create_directory_symlink("/sys/class/net/" + name, pci / "net" / name, error);
}

void write_adapter(const fs::path& tree, const live::Identity& who) {
    const std::string device = live::device_name_from_environment(who.device);
    const fs::path adapter = tree / "class/infiniband" / device;
    const std::string counters = live::counters_file_in(tree.string(), who.device);
    put(adapter / "node_guid", guid_text(who.guid));
    put(adapter / "sys_image_guid", guid_text(who.guid));
    put(adapter / "node_type", "1: CA");
    put(adapter / "node_desc", fmt::format("tulle host {}", who.rank));
    put(adapter / "fw_ver", "0.1.0");
    put(adapter / "hca_type", "Tulle");
    put(adapter / "hw_rev", "1");
    put(adapter / "board_id", "TULLE0000000001");
    for (uint32_t port = 1; port <= who.port_count(); ++port) {
        make_counters(live::counters_file_of_port(counters, port));
        write_port(adapter / "ports" / std::to_string(port), who, port);
    }
    const std::string pci = pci_path(who.device);
    write_pci(tree / pci, device, who);
    const fs::path uverbs = tree / "class/infiniband_verbs" / uverbs_of(who.device);
    put(uverbs / "ibdev", device);
    put(uverbs / "abi_version", "1");
    put(uverbs / "dev", fmt::format("231:{}", 192 + who.device));
    std::error_code error;
    for (const fs::path& folder : {adapter, uverbs})
        fs::create_directory_symlink(fs::path("../../..") / pci, folder / "device", error);
    fs::create_symlink("/dev/null", tree / "dev/infiniband" / uverbs_of(who.device), error);
}

}  // namespace

DeviceFiles::DeviceFiles() {
    const fs::path folder = temporary_folder();
    sweep(folder);
    root_ = make_folder(folder, held_);
    if (!root_.empty()) put(fs::path(root_) / kWhole, "");
}

std::string DeviceFiles::wire_setting() const {
    const fs::path mark = fs::path(root_) / kWhole;
    return root_.empty() || mark.string().find(' ') != std::string::npos
               ? std::string()
               : " whole=" + mark.string();
}

bool DeviceFiles::is_wire_whole() const {
    std::error_code error;
    return root_.empty() || fs::exists(fs::path(root_) / kWhole, error);
}

DeviceFiles::~DeviceFiles() {
    std::error_code error;
    if (!root_.empty()) fs::remove_all(root_, error);
}

std::string DeviceFiles::add(uint32_t rank, const Adapters& adapters,
                             const std::vector<live::UdpAddress>& addresses) {
    if (root_.empty()) return {};
    const fs::path tree = fs::path(root_) / std::to_string(rank);
    std::error_code error;
    fs::create_directories(tree / "dev/infiniband", error);
    fs::create_symlink("/dev/null", tree / "dev/infiniband/rdma_cm", error);
    put(tree / "class/infiniband_verbs/abi_version", "6");
    for (uint32_t device = 0; device < adapters.devices; ++device) {
        live::Identity who = live::identity_of(rank, adapters.is_ethernet, device, adapters.ports);
        live::listen_on(who, addresses);
        write_adapter(tree, who);
    }
    return tree.string();
}

}  // namespace tulle::cli
