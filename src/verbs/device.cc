#include "verbs/device.h"

#include <endian.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "verbs/objects.h"
#include "verbs/process.h"
#include "verbs/undo.h"

namespace tulle::verbs {
namespace {

// Provider libraries take an ibv_device for the beginning of a larger structure of their own and
// read beyond it; they find zeros there.
struct Device {
    ibv_device shown{};
    std::array<std::byte, 4096> behind{};
    __be64 guid = 0;
};

void copy_name(char* into, size_t room, const std::string& name) {
    std::snprintf(into, room, "%s", name.c_str());
}

// The object that must not be destroyed before the event is acknowledged; nullptr for events of the
// adapter.
Owed* debt_for(const ibv_async_event& event) {
    switch (event.event_type) {
        case IBV_EVENT_DEVICE_FATAL: return nullptr;
        case IBV_EVENT_CQ_ERR: return &cq_of(event.element.cq).asynchronous;
        case IBV_EVENT_SRQ_ERR:
        case IBV_EVENT_SRQ_LIMIT_REACHED: return &object_of<Srq>(event.element.srq).asynchronous;
        default: return &qp_of(event.element.qp).asynchronous;
    }
}

}  // namespace

namespace {

// One per CPU, as adapters have; no completion depends on them here.
int completion_vectors() {
    return static_cast<int>(std::clamp(sysconf(_SC_NPROCESSORS_ONLN), 2L, 64L));
}

}  // namespace

std::string sysfs_root() {
    const char* root = std::getenv("TULLE_SYSFS");
    return root != nullptr && *root != 0 ? std::string(root) : std::string("/sys");
}

namespace {

void describe(Device& device, uint32_t number) {
    ibv_device& shown = device.shown;
    shown.node_type = IBV_NODE_CA;
    shown.transport_type = IBV_TRANSPORT_IB;
    device.guid = htobe64(live::identity_from_environment(number).guid.value);
    const std::string name = live::device_name_from_environment(number);
    const std::string file = "uverbs" + std::to_string(number);
    copy_name(shown.name, sizeof shown.name, name);
    copy_name(shown.dev_name, sizeof shown.dev_name, file);
    copy_name(shown.dev_path, sizeof shown.dev_path, "/sys/class/infiniband_verbs/" + file);
    copy_name(shown.ibdev_path, sizeof shown.ibdev_path, "/sys/class/infiniband/" + name);
}

// All devices of the host, never destroyed.
std::vector<Device>& devices() {
    static auto* made = [] {
        auto* list = new std::vector<Device>(live::device_count_from_environment());
        for (uint32_t i = 0; i < list->size(); ++i) describe((*list)[i], i);
        return list;
    }();
    return *made;
}

// The index of the device; nothing if it is not ours.
std::optional<uint32_t> number_of(const ibv_device* device) {
    for (uint32_t i = 0; i < devices().size(); ++i)
        if (device == &devices()[i].shown) return i;
    return std::nullopt;
}

}  // namespace

// The file of a context says which process opened it. It is sealed, so that another process reads
// the same content.
struct CommandFile {
    static constexpr uint64_t kMagic = 0x7475'6c6c'652d'6664;
    uint64_t magic = kMagic;
    live::DeviceOwner owner;
    uint32_t device = 0;
};

namespace {

live::DeviceOwner owner_of(live::SoftwareAdapter& host) {
    const std::lock_guard guard(host.lock());
    const live::World& world = host.world();
    return {world.own().slot(), world.own().secret().instance, world.own().secret().device_word};
}

live::Descriptor make_command_file(live::SoftwareAdapter& host) {
    live::Descriptor file(memfd_create("tulle-device", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    CommandFile told;
    std::memset(static_cast<void*>(&told), 0, sizeof told);  // padding bytes are written, too
    told.magic = CommandFile::kMagic;
    told.owner = owner_of(host);
    told.device = host.identity().device;
    constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    if (!file || pwrite(file.get(), &told, sizeof told, 0) != sizeof told ||
        fcntl(file.get(), F_ADD_SEALS, kSeals) != 0)
        return {};
    return file;
}

}  // namespace

// Without a file it gets a new one.
ibv_context* open_context(uint32_t device, live::Descriptor command,
                          const live::DeviceOwner* owner) {
    auto context = std::make_unique<Context>();
    if (!context->events.is_open()) return refuse_to_open(EMFILE);
    Process& process = Process::of_device(device);
    context->host = process.acquire();
    if (context->host == nullptr) return nullptr;
    context->identity = &context->host->identity();
    Undo undo([&] { process.release(); });
    context->command = command ? std::move(command) : make_command_file(*context->host);
    if (!context->command) return refuse_to_open(EMFILE);
    if (owner != nullptr && *owner != owner_of(*context->host)) context->foreign = *owner;
    process.add(*context);
    undo.done();
    ibv_context& shown = *context->shown();
    fill_operations(context->verbs);
    shown.device = &devices()[device].shown;
    shown.cmd_fd = context->command.get();
    shown.async_fd = context->events.file();
    shown.num_comp_vectors = completion_vectors();
    pthread_mutex_init(&shown.mutex, nullptr);
    shown.abi_compat = __VERBS_ABI_IS_EXTENDED;
    return context.release()->shown();
}

}  // namespace tulle::verbs

using namespace tulle;
using namespace tulle::verbs;

TULLE_EXPORT ibv_device** ibv_get_device_list(int* count) {
    const size_t all = devices().size();
    auto** list = static_cast<ibv_device**>(std::calloc(all + 1, sizeof(ibv_device*)));
    if (count != nullptr) *count = list != nullptr ? static_cast<int>(all) : 0;
    if (list == nullptr) return fail(ENOMEM);
    for (size_t i = 0; i < all; ++i) list[i] = &devices()[i].shown;
    return list;
}

TULLE_EXPORT void ibv_free_device_list(ibv_device** list) {
    std::free(list);
}

TULLE_EXPORT const char* ibv_get_device_name(ibv_device* device) {
    return device->name;
}

TULLE_EXPORT int ibv_get_device_index(ibv_device* device) {
    return static_cast<int>(number_of(device).value_or(0));
}

TULLE_EXPORT __be64 ibv_get_device_guid(ibv_device* device) {
    return devices()[number_of(device).value_or(0)].guid;
}

TULLE_EXPORT ibv_context* ibv_open_device(ibv_device* device) {
    const auto number = number_of(device);
    if (!number) return fail(ENODEV);
    return open_context(*number, {}, nullptr);
}

// The device of this file, which the context owns from here on.
TULLE_EXPORT ibv_context* ibv_import_device(int file) {
    CommandFile told;
    if (pread(file, &told, sizeof told, 0) != sizeof told || told.magic != CommandFile::kMagic ||
        told.device >= devices().size())
        return fail(EINVAL);
    live::Descriptor own(fcntl(file, F_DUPFD_CLOEXEC, 0));
    ibv_context* context =
        own ? open_context(told.device, std::move(own), &told.owner) : fail(EMFILE);
    if (context != nullptr) close(file);
    return context;
}

// Opens the device for a provider library, which has its own way to do so.
TULLE_EXPORT ibv_context* tulle_verbs_open_device(ibv_device* device, void*) {
    return ibv_open_device(device);
}
TULLE_PRIVATE(verbs_open_device);

TULLE_EXPORT int ibv_close_device(ibv_context* context) {
    Context& own = context_of(context);
    const bool is_of_parent = own.host == nullptr;
    Process& process = Process::of_device(own.identity->device);
    if (!is_of_parent) process.remove(own);
    delete &own;
    if (!is_of_parent) process.release();
    return 0;
}

TULLE_EXPORT int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
    (void)host_of(context);  // a child must not read its parent's descriptor
    const auto next = context_of(context).events.pop();
    if (!next) return -1;
    *event = *next;
    if (auto* debt = debt_for(*event)) debt->add();
    return 0;
}

TULLE_EXPORT void ibv_ack_async_event(ibv_async_event* event) {
    if (auto* debt = debt_for(*event)) debt->pay(1);
}

TULLE_EXPORT int ibv_fork_init() {
    return 0;
}

// A fork needs no preparation: no hardware writes to the parent's pages.
TULLE_EXPORT ibv_fork_status ibv_is_fork_initialized() {
    return IBV_FORK_UNNEEDED;
}

TULLE_EXPORT int ibv_dontfork_range(void*, size_t) {
    return 0;
}

TULLE_EXPORT int ibv_dofork_range(void*, size_t) {
    return 0;
}

TULLE_EXPORT const char* ibv_get_sysfs_path() {
    static const std::string path = sysfs_root();
    return path.c_str();
}

TULLE_EXPORT int ibv_read_sysfs_file(const char* folder, const char* file, char* text,
                                     size_t room) {
    std::string path = std::string(folder) + "/" + file;
    const std::string root = sysfs_root();
    if (root != "/sys" && path.starts_with("/sys/")) path = root + path.substr(4);
    std::FILE* stream = std::fopen(path.c_str(), "re");
    if (stream == nullptr) return -1;
    size_t length = std::fread(text, 1, room, stream);
    std::fclose(stream);
    if (length > 0 && text[length - 1] == '\n') text[--length] = 0;
    if (length < room) text[length] = 0;
    return static_cast<int>(length);
}
