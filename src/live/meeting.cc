#include "live/meeting.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "live/board.h"

namespace tulle::live {
namespace {

constexpr uint64_t kCardMagic = 0x7475'6c6c'6563'3031;
constexpr int kPatienceMs = 2000;
constexpr size_t kMostFiles = 3;

struct CardMessage {
    uint64_t magic = kCardMagic;
    uint64_t instance = 0;
    uint32_t slot = 0;
    uint32_t files = 0;
};

struct Name {
    sockaddr_un address{};
    socklen_t length = 0;
};

Name name_of(const std::string& world, const std::string& what) {
    Name name;
    name.address.sun_family = AF_UNIX;
    const std::string text = "tulle/" + world + "/" + what;
    const size_t length = std::min(text.size(), sizeof name.address.sun_path - 1);
    std::memcpy(name.address.sun_path + 1, text.data(), length);
    name.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
    return name;
}

Descriptor new_socket(int flags = 0) {
    return Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
}

const sockaddr* generic(const Name& name) {
    return reinterpret_cast<const sockaddr*>(&name.address);
}

bool send_card(int socket, const Card& card) {
    std::array<int, kMostFiles> files = {card.board, card.bell, card.ring};
    CardMessage message;
    message.instance = card.instance;
    message.slot = card.slot;
    message.files = card.ring >= 0 ? 3 : 2;
    iovec part{&message, sizeof message};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof files)> control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(sizeof(int) * message.files);
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * message.files);
    std::memcpy(CMSG_DATA(rights), files.data(), sizeof(int) * message.files);
    return sendmsg(socket, &header, MSG_NOSIGNAL) == sizeof message;
}

// The descriptors that came with a message; each is owned at once, so that none is lost.
std::array<Descriptor, kMostFiles> files_of(msghdr& header) {
    std::array<Descriptor, kMostFiles> files;
    for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part))
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS) {
            const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (size_t i = 0; i < count; ++i) {
                int number = -1;
                std::memcpy(&number, CMSG_DATA(part) + i * sizeof(int), sizeof number);
                Descriptor file(number);
                if (i < kMostFiles) files[i] = std::move(file);
            }
        }
    return files;
}

}  // namespace

std::optional<Door> Door::open(const std::string& world) {
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
        Door door;
        door.slot_ = slot;
        door.socket_ = take_name(world, std::to_string(slot));
        if (!door.socket_) continue;
        if (listen(door.socket_.get(), kSlots) != 0) return std::nullopt;
        return door;
    }
    return std::nullopt;
}

Descriptor Door::accept(const Card& mine) {
    Descriptor caller(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (caller && !send_card(caller.get(), mine)) return Descriptor();
    return caller;
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
    const ssize_t got = recvmsg(socket.get(), &header, MSG_CMSG_CLOEXEC);
    if (got <= 0) return std::nullopt;
    std::array<Descriptor, kMostFiles> files = files_of(header);
    ucred who{};
    socklen_t size = sizeof who;
    const bool is_good = got == sizeof message && message.magic == kCardMagic &&
                         message.slot < kSlots && files[0] && files[1] &&
                         getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0;
    if (!is_good) return std::nullopt;
    return Introduction{message.instance,
                        message.slot,
                        who.pid,
                        who.uid,
                        std::move(socket),
                        std::move(files[0]),
                        std::move(files[1]),
                        std::move(files[2])};
}

std::optional<Introduction> call(const std::string& world, uint32_t slot, const Card& mine) {
    Descriptor socket = new_socket();
    const Name name = name_of(world, std::to_string(slot));
    if (!socket || connect(socket.get(), generic(name), name.length) != 0) return std::nullopt;
    if (!send_card(socket.get(), mine)) return std::nullopt;
    pollfd wait{socket.get(), POLLIN, 0};
    if (poll(&wait, 1, kPatienceMs) != 1) return std::nullopt;
    return read_card(std::move(socket));
}

Descriptor take_name(const std::string& world, const std::string& what) {
    Descriptor socket = new_socket(SOCK_NONBLOCK);
    const Name name = name_of(world, what);
    if (!socket || bind(socket.get(), generic(name), name.length) != 0) return Descriptor();
    return socket;
}

}  // namespace tulle::live
