#include "cli/run/ready.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace tulle::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kListening = "0A";  // the state of a TCP socket in /proc/net/tcp

// Listening sockets, by inode.
std::set<std::string> listening_sockets() {
    std::set<std::string> found;
    for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
        std::ifstream file(table);
        std::string line;
        while (std::getline(file, line)) {
            std::istringstream words(line);
            std::string number, local, remote, state, queues, timer, retry, user, timeout, inode;
            words >> number >> local >> remote >> state >> queues >> timer >> retry >> user >>
                timeout >> inode;
            if (state == kListening) found.insert(inode);
        }
    }
    std::ifstream file("/proc/net/unix");
    std::string line;
    while (std::getline(file, line)) {
        std::istringstream words(line);
        std::string number, count, protocol, flags, type, state, inode, name;
        words >> number >> count >> protocol >> flags >> type >> state >> inode >> name;
        if (name.starts_with("@tulle/") && name.find("/port/") != std::string::npos)
            found.insert(inode);
    }
    return found;
}

bool holds_one_of(pid_t process, const std::set<std::string>& sockets) {
    std::error_code error;
    const fs::path files = fs::path("/proc") / std::to_string(process) / "fd";
    for (fs::directory_iterator it(files, error), end; !error && it != end; it.increment(error)) {
        std::error_code ignored;
        const std::string target = fs::read_symlink(it->path(), ignored).string();
        // socket:[12345]
        if (target.starts_with("socket:[") && sockets.contains(target.substr(8, target.size() - 9)))
            return true;
    }
    return false;
}

std::set<pid_t> with_descendants(pid_t process) {
    std::set<pid_t> family = {process};
    std::error_code error;
    const fs::path tasks = fs::path("/proc") / std::to_string(process) / "task";
    for (fs::directory_iterator it(tasks, error), end; !error && it != end; it.increment(error)) {
        std::ifstream children(it->path() / "children");
        pid_t child = 0;
        while (children >> child)
            for (const pid_t one : with_descendants(child)) family.insert(one);
    }
    return family;
}

}  // namespace

bool waits_for_connections(pid_t process) {
    const std::set<std::string> sockets = listening_sockets();
    for (const pid_t one : with_descendants(process))
        if (holds_one_of(one, sockets)) return true;
    return false;
}

}  // namespace tulle::cli
