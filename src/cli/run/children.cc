#include "cli/run/children.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "cli/output.h"

namespace tulle::cli {
namespace {

constexpr std::array kPassedOn = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
constexpr int kPatienceMs = 3000;

sigset_t awaited() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (const int signal : kPassedOn) sigaddset(&set, signal);
    return set;
}

[[noreturn]] void become(const std::vector<std::string>& command,
                         const std::vector<Variable>& variables, const Labels::Ends& ends,
                         pid_t parent, bool is_apart) {
    if (ends.output) dup2(ends.output.get(), STDOUT_FILENO);
    if (ends.error) dup2(ends.error.get(), STDERR_FILENO);
    if (is_apart) {
        setpgid(0, 0);
        const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    }
    const sigset_t set = awaited();
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    std::signal(SIGPIPE, SIG_DFL);
    std::signal(SIGXFSZ, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);  // the parent ended before prctl()
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    tell("tulle run: cannot start '{}': {}\n", command[0], std::strerror(errno));
    _exit(kNotFound);
}

}  // namespace

Children::Children(bool are_several) : are_several_(are_several) {
    const sigset_t set = awaited();
    sigprocmask(SIG_BLOCK, &set, nullptr);
}

Children::~Children() {
    stop_all();
}

pid_t Children::start(const std::vector<std::string>& command,
                      const std::vector<Variable>& variables, Labels::Ends ends) {
    const pid_t parent = getpid();
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) become(command, variables, ends, parent, are_several_);
    if (child > 0) running_.push_back(child);
    return child;
}

std::optional<Children::Ended> Children::reap() {
    for (const pid_t process : running_) {
        int status = 0;
        if (waitpid(process, &status, WNOHANG) != process) continue;
        std::erase(running_, process);
        const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        return Ended{process, signal == 0 ? WEXITSTATUS(status) : 128 + signal, signal,
                     has_passed_on_};
    }
    return std::nullopt;
}

void Children::send(pid_t process, int signal) const {
    if (!are_several_ || kill(-process, signal) != 0) kill(process, signal);
}

// A terminal sends its signals to the whole foreground group, which includes a single child.
void Children::pass_on(int signal, bool from_terminal) {
    has_passed_on_ = true;
    if (from_terminal && !are_several_) return;
    for (const pid_t process : running_) send(process, signal);
}

std::optional<Children::Ended> Children::wait(int milliseconds) {
    const sigset_t set = awaited();
    timespec end{};
    clock_gettime(CLOCK_MONOTONIC, &end);
    const int64_t end_ms = int64_t{end.tv_sec} * 1000 + end.tv_nsec / 1'000'000 + milliseconds;
    while (!running_.empty()) {
        if (const auto ended = reap()) return ended;
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        const int64_t left = end_ms - (int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000);
        if (milliseconds >= 0 && left <= 0) return std::nullopt;
        const timespec time{left / 1000, left % 1000 * 1'000'000};
        siginfo_t info{};
        const int signal =
            milliseconds < 0 ? sigwaitinfo(&set, &info) : sigtimedwait(&set, &info, &time);
        if (signal > 0 && signal != SIGCHLD) pass_on(signal, info.si_code == SI_KERNEL);
    }
    return std::nullopt;
}

void Children::stop_all() {
    for (const pid_t process : running_) send(process, SIGTERM);
    while (!running_.empty())
        if (!wait(kPatienceMs)) break;
    for (const pid_t process : running_) send(process, SIGKILL);
    while (!running_.empty()) (void)wait(-1);
}

}  // namespace tulle::cli
