#include "cli/run/labels.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>

namespace tulle::cli {
namespace {

void write_all(int file, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write(file, text.data(), text.size());
        if (written <= 0) return;
        text.remove_prefix(static_cast<size_t>(written));
    }
}

struct Ends {
    live::Descriptor here;
    live::Descriptor there;
};

Ends make_pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return {};
    return {live::Descriptor(ends[0]), live::Descriptor(ends[1])};
}

// Programs write line by line to a terminal, and block by block to a pipe. A program that would
// write to a terminal therefore gets a pseudo-terminal.
Ends make_terminal() {
    live::Descriptor here(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    std::array<char, 64> name{};
    if (!here || grantpt(here.get()) != 0 || unlockpt(here.get()) != 0 ||
        ptsname_r(here.get(), name.data(), name.size()) != 0)
        return make_pipe();
    live::Descriptor there(open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
    termios settings{};
    if (!there || tcgetattr(there.get(), &settings) != 0) return make_pipe();
    settings.c_oflag &= ~static_cast<tcflag_t>(OPOST);  // lines end as the program wrote them
    tcsetattr(there.get(), TCSANOW, &settings);
    return {std::move(here), std::move(there)};
}

}  // namespace

Labels::Labels() : epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_CLOEXEC)) {
    epoll_event event{};
    event.events = EPOLLIN;
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event);
    thread_ = std::thread([this] { run(); });
}

Labels::~Labels() {
    eventfd_write(wake_.get(), 1);
    thread_.join();
    for (const auto& stream : streams_) {
        read_from(*stream);
        show(*stream, true);
    }
}

Labels::Ends Labels::add(const std::string& label) {
    return {add_stream(label, STDOUT_FILENO), add_stream(label, STDERR_FILENO)};
}

live::Descriptor Labels::add_stream(const std::string& label, int to) {
    auto [here, there] = isatty(to) != 0 ? make_terminal() : make_pipe();
    if (!here || fcntl(here.get(), F_SETFL, O_NONBLOCK) != 0) return {};
    auto stream = std::make_unique<Stream>();
    stream->from = std::move(here);
    stream->to = to;
    stream->label = label + "| ";
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = stream.get();
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, stream->from.get(), &event) != 0) return {};
    streams_.push_back(std::move(stream));
    return std::move(there);
}

void Labels::run() {
    for (;;) {
        std::array<epoll_event, 16> events;
        const int count =
            epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
        for (int i = 0; i < count; ++i) {
            const epoll_event& event = events[static_cast<size_t>(i)];
            if (event.data.ptr == nullptr) return;
            auto& stream = *static_cast<Stream*>(event.data.ptr);
            read_from(stream);
            // The other end is closed.
            if ((event.events & EPOLLIN) == 0)
                epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, stream.from.get(), nullptr);
        }
    }
}

// Reads all that is there.
void Labels::read_from(Stream& stream) {
    std::array<char, 4096> some;
    for (ssize_t got = 0; (got = read(stream.from.get(), some.data(), some.size())) > 0;) {
        stream.unfinished.append(some.data(), static_cast<size_t>(got));
        show(stream, false);
    }
}

// Writes complete lines, each with one call, so that lines of several programs do not mix. At the
// end it writes the rest.
void Labels::show(Stream& stream, bool is_end) {
    std::string& text = stream.unfinished;
    size_t begin = 0;
    for (size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
        write_all(stream.to, stream.label + text.substr(begin, end + 1 - begin));
    text.erase(0, begin);
    if (!is_end || text.empty()) return;
    write_all(stream.to, stream.label + text + '\n');
    text.clear();
}

}  // namespace tulle::cli
