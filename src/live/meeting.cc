#include "live/meeting.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>

#include "live/board.h"
#include "live/clock.h"

namespace tulle::live {
namespace {

constexpr uint64_t kCardMagic = 0x7475'6c6c'6563'3032;
constexpr size_t kMostFiles = 4;
constexpr uint32_t kVariants = 16;     // chosen: to take all names a squatter needs 4,096 sockets
constexpr int kLooksAtSquatters = 40;  // chosen: an honest process listens right after it binds
constexpr long kLookEveryNs = 500'000;
constexpr int kMostHeard = 64;

enum FileKind : uint32_t { kBoard = 1, kRing = 2, kBell = 4, kGrants = 8 };

struct CardMessage {
    uint64_t magic = kCardMagic;
    uint64_t instance = 0;
    uint32_t slot = 0;
    uint32_t files = 0;  // the kinds of files that come with it, in this order
};

struct Name {
    sockaddr_un address{};
    socklen_t length = 0;
};

// Repeats a call of the kernel that a signal interrupts.
template <class Call>
auto again(Call&& call) {
    for (;;) {
        const auto result = call();
        if (result != -1 || errno != EINTR) return result;
    }
}

Name name_of(const Realm& world, const std::string& what) {
    Name name;
    name.address.sun_family = AF_UNIX;
    std::string text = "tulle/" + world.name;
    text += world.is_shared ? "/all" : "/u";
    if (!world.is_shared) text += std::to_string(world.uid);
    text += "/";
    text += what;
    const size_t length = std::min(text.size(), sizeof name.address.sun_path - 1);
    std::memcpy(name.address.sun_path + 1, text.data(), length);
    name.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
    return name;
}

std::string slot_name(uint32_t slot, uint32_t variant) {
    return variant == 0 ? std::to_string(slot)
                        : std::to_string(slot) + "." + std::to_string(variant);
}

Descriptor new_socket(int type = SOCK_SEQPACKET) {
    return Descriptor(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

const sockaddr* generic(const Name& name) {
    return reinterpret_cast<const sockaddr*>(&name.address);
}

std::optional<Credentials> credentials_of(int socket) {
    ucred who{};
    socklen_t size = sizeof who;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return std::nullopt;
    return Credentials{who.pid, who.uid};
}

struct FileList {
    std::array<int, kMostFiles> numbers{};
    size_t count = 0;
    uint32_t kinds = 0;

    void add(int number, FileKind kind) {
        if (number < 0) return;
        numbers[count++] = number;
        kinds |= kind;
    }
};

// The descriptors that came with a message. Each is owned at once, so that none leaks.
std::vector<Descriptor> files_of(msghdr& header) {
    std::vector<Descriptor> files;
    for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part))
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS) {
            const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (size_t i = 0; i < count; ++i) {
                int number = -1;
                std::memcpy(&number, CMSG_DATA(part) + i * sizeof(int), sizeof number);
                files.emplace_back(number);
            }
        }
    return files;
}

// Gives each kind that the message names the next file. False if the numbers differ.
bool hand_out(std::vector<Descriptor> files, uint32_t kinds, Introduction& to) {
    size_t next = 0;
    const auto take = [&](FileKind kind, Descriptor& place) {
        if ((kinds & kind) != 0 && next < files.size()) place = std::move(files[next++]);
        return ((kinds & kind) != 0) == static_cast<bool>(place);
    };
    const bool has_all = take(kBoard, to.board) && take(kRing, to.ring) && take(kBell, to.bell) &&
                         take(kGrants, to.grants);
    return has_all && next == files.size() && to.board;
}

std::optional<Introduction> read_card(Descriptor socket) {
    CardMessage message;
    iovec part{&message, sizeof message};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * kMostFiles)> control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    const auto take = [&] {
        return again(
            [&] { return recvmsg(socket.get(), &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT); });
    };
    ssize_t got = take();
    // The caller left without reading our card: the kernel reports that first, then its message.
    if (got < 0 && errno == ECONNRESET) got = take();
    if (got <= 0) return std::nullopt;
    Introduction found;
    std::vector<Descriptor> files = files_of(header);
    const auto who = credentials_of(socket.get());
    const bool is_good = got == sizeof message && message.magic == kCardMagic &&
                         message.slot < kSlots && message.instance != 0 && who &&
                         (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 &&
                         hand_out(std::move(files), message.files, found);
    if (!is_good) return std::nullopt;
    found.instance = message.instance;
    found.slot = message.slot;
    found.who = *who;
    found.socket = std::move(socket);
    return found;
}

// A process binds a name and then listens. If it does not listen yet, this retries for a moment.
bool is_held_by_one_of_us(const Realm& world, uint32_t slot, uint32_t variant, int& looks) {
    for (;;) {
        if (reach(world, slot, variant)) return true;
        if ((errno != ECONNREFUSED && errno != EAGAIN) || looks <= 0) return false;
        --looks;
        const timespec moment{0, kLookEveryNs};
        nanosleep(&moment, nullptr);
    }
}

std::string mark_of(uint32_t slot) {
    return "mark/" + std::to_string(slot);
}

Descriptor bind_name(const Realm& world, const std::string& what, int type = SOCK_SEQPACKET) {
    Descriptor socket = new_socket(type);
    const Name name = name_of(world, what);
    if (!socket || bind(socket.get(), generic(name), name.length) != 0) return Descriptor();
    return socket;
}

// Whether a process of this world has the slot, under one of the names before this variant.
bool is_taken_before(const Realm& world, uint32_t slot, uint32_t variant) {
    for (uint32_t earlier = 0; earlier < variant; ++earlier)
        if (reach(world, slot, earlier)) return true;
    return false;
}

// Whether a process is ending: the kernel closes its files one after another, and its door before
// the socket through which it spoke. False if /proc does not tell.
bool is_ending(pid_t process) {
    constexpr unsigned kExiting = 0x4;  // PF_EXITING in the flags that the kernel shows
    char path[32];
    std::snprintf(path, sizeof path, "/proc/%d/stat", process);
    const Descriptor file(open(path, O_RDONLY | O_CLOEXEC));
    std::array<char, 512> text{};
    if (!file || again([&] { return read(file.get(), text.data(), text.size() - 1); }) <= 0)
        return false;
    const char* behind_name = std::strrchr(text.data(), ')');
    unsigned flags = 0;
    return behind_name != nullptr &&
           std::sscanf(behind_name, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
           (flags & kExiting) != 0;
}

}  // namespace

bool has_left(int socket) {
    pollfd look{socket, 0, 0};
    return poll(&look, 1, 0) == 1 && (look.revents & (POLLHUP | POLLERR)) != 0;
}

Realm realm_of(const Identity& who) {
    return {who.world, geteuid(), who.is_shared};
}

std::optional<Door> Door::open(const Realm& world) {
    int looks = kLooksAtSquatters;
    for (uint32_t variant = 0; variant < kVariants; ++variant) {
        bool is_squatted = false;
        for (uint32_t slot = 0; slot < kSlots; ++slot) {
            if (variant != 0 && is_taken_before(world, slot, variant)) continue;
            Door door;
            door.world_ = world;
            door.slot_ = slot;
            door.variant_ = variant;
            door.socket_ = bind_name(world, slot_name(slot, variant));
            if (!door.socket_) {
                is_squatted = is_squatted || !is_held_by_one_of_us(world, slot, variant, looks);
                continue;
            }
            if (listen(door.socket_.get(), kSlots) != 0) return std::nullopt;
            door.mark_ = bind_name(world, mark_of(slot), SOCK_DGRAM);
            door.spare_ = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
            return door;
        }
        if (!is_squatted) break;
    }
    return std::nullopt;
}

Descriptor Door::accept(const Card& mine) {
    const auto take = [&] {
        return again(
            [&] { return accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); });
    };
    Descriptor caller(take());
    if (!caller && (errno == EMFILE || errno == ENFILE) && spare_) {
        // A caller for whom no descriptor is left would wake us forever, so it is turned away.
        spare_.reset();
        Descriptor(take()).reset();
        spare_ = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    }
    if (!caller) return Descriptor();
    const auto who = credentials_of(caller.get());
    if (!who || !world_.admits(*who)) return Descriptor();
    // A caller that has sent its card and left needs none, and its card is still read.
    if (!send_card(caller.get(), mine, world_.is_own(*who)) && !has_left(caller.get()))
        return Descriptor();
    return caller;
}

std::optional<Introduction> Door::read_caller(Descriptor socket) const {
    auto caller = read_card(std::move(socket));
    if (!caller || !caller->ring || !world_.admits(caller->who)) return std::nullopt;
    const auto owner = reach(world_, caller->slot);
    if (owner && owner->who == caller->who) return caller;
    // Another process can have its slot only once its end has begun.
    caller->is_leaving = is_ending(caller->who.pid) || has_left(caller->socket.get());
    return caller->is_leaving ? std::move(caller) : std::nullopt;
}

namespace {

// Connecting a datagram socket costs a fifth of a connection: nothing is allocated.
bool reaches_mark(const Descriptor& socket, const Realm& world, uint32_t slot) {
    const Name name = name_of(world, mark_of(slot));
    return socket && again([&] { return connect(socket.get(), generic(name), name.length); }) == 0;
}

}  // namespace

std::vector<uint32_t> marked_slots(const Realm& world) {
    std::vector<uint32_t> found;
    const Descriptor socket = new_socket(SOCK_DGRAM);
    for (uint32_t slot = 0; slot < kSlots; ++slot)
        if (reaches_mark(socket, world, slot)) found.push_back(slot);
    return found;
}

bool is_marked(const Realm& world, uint32_t slot) {
    return reaches_mark(new_socket(SOCK_DGRAM), world, slot);
}

namespace {

std::optional<Line> reach_name(const Realm& world, const std::string& what) {
    Descriptor socket = new_socket();
    const Name name = name_of(world, what);
    if (!socket || again([&] { return connect(socket.get(), generic(name), name.length); }) != 0)
        return std::nullopt;
    errno = 0;
    const auto who = credentials_of(socket.get());
    if (!who || !world.admits(*who)) return std::nullopt;
    return Line{std::move(socket), *who};
}

}  // namespace

std::optional<Line> reach(const Realm& world, uint32_t slot, uint32_t variant) {
    return reach_name(world, slot_name(slot, variant));
}

std::optional<Line> reach(const Realm& world, uint32_t slot) {
    for (uint32_t variant = 0; variant < kVariants; ++variant)
        if (auto line = reach(world, slot, variant)) return line;
    return std::nullopt;
}

bool send_card(int socket, const Card& card, bool is_same_user) {
    FileList files;
    files.add(card.board, kBoard);
    files.add(card.ring, kRing);
    if (is_same_user) {
        files.add(card.bell, kBell);
        files.add(card.grants, kGrants);
    }
    CardMessage message;
    message.instance = card.instance;
    message.slot = card.slot;
    message.files = files.kinds;
    iovec part{&message, sizeof message};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * kMostFiles)> control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(sizeof(int) * files.count);
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * files.count);
    std::memcpy(CMSG_DATA(rights), files.numbers.data(), sizeof(int) * files.count);
    return again([&] { return sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT); }) ==
           sizeof message;
}

std::optional<Introduction> read_answer(Descriptor socket) {
    return read_card(std::move(socket));
}

void await_answers(std::span<const int> sockets, base::Duration patience) {
    std::vector<pollfd> waits;
    for (const int socket : sockets) waits.push_back({socket, POLLIN, 0});
    const base::Instant end = now() + patience;
    while (!waits.empty()) {
        const int64_t left = (end - now()).ps;
        if (left <= 0) return;
        const timespec time{left / 1'000'000'000'000, left / 1000 % 1'000'000'000};
        if (ppoll(waits.data(), waits.size(), &time, nullptr) < 0 && errno != EINTR) return;
        std::erase_if(waits, [](const pollfd& wait) { return wait.revents != 0; });
    }
}

bool has_spoken(int socket) {
    pollfd look{socket, POLLIN, 0};
    return again([&] { return poll(&look, 1, 0); }) != 0;
}

void ring_through(int socket) {
    const char ring = 1;
    (void)again([&] { return send(socket, &ring, sizeof ring, MSG_NOSIGNAL | MSG_DONTWAIT); });
}

bool hear(int socket) {
    std::array<std::byte, sizeof(CardMessage)> room;
    for (int messages = 0; messages < kMostHeard; ++messages) {
        const ssize_t got =
            again([&] { return recv(socket, room.data(), room.size(), MSG_DONTWAIT); });
        if (got == 0) return false;
        if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    }
    return true;
}

Descriptor take_name(const Realm& world, const std::string& what) {
    return bind_name(world, what);
}

bool show_holder(int name) {
    return listen(name, SOMAXCONN) == 0;
}

void dismiss_askers(int name) {
    const auto take = [&] {
        return again([&] { return accept4(name, nullptr, nullptr, SOCK_CLOEXEC); });
    };
    for (int dismissed = 0; dismissed < SOMAXCONN && Descriptor(take()); ++dismissed) continue;
}

std::optional<Credentials> holder_of(const Realm& world, const std::string& what) {
    const auto line = reach_name(world, what);
    return line ? std::optional(line->who) : std::nullopt;
}

}  // namespace tulle::live
