// Processes of a test, each with a user of its own, and the pipes that lead to them.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

#include "live/descriptor.h"

namespace tulle::live {

inline constexpr uid_t kVictim = 65534;
inline constexpr uid_t kAttacker = 65533;
inline constexpr int kPatienceMs = 60'000;

// Root starts processes of other users. Without it, a test of two users is skipped, aloud; where
// nobody would hear it (CI=true), it fails.
inline bool may_change_users() {
    if (geteuid() == 0) return true;
    const char* is_ci = std::getenv("CI");
    if (is_ci != nullptr && std::string_view(is_ci) == "true")
        ADD_FAILURE() << "this test needs root";
    return false;
}
#define NEEDS_TWO_USERS() \
    if (!may_change_users()) GTEST_SKIP() << "SKIPPED: this test needs root, for two users"

// The user that a process of a test gets: with root one of the two above, else our own.
inline uid_t user(uid_t wanted) {
    return geteuid() == 0 ? wanted : geteuid();
}

// Values that are copied as they are, from one process to another.
class Channel {
public:
    Channel(int from, int to) : from_(from), to_(to) {}
    template <class T>
    void send(const T& value) const {
        (void)!write(to_, &value, sizeof value);
    }
    // False if the other side has ended, or says nothing for long.
    template <class T>
    bool receive(T& value) const {
        pollfd wait{from_, POLLIN, 0};
        while (poll(&wait, 1, kPatienceMs) < 0) continue;
        if ((wait.revents & POLLIN) == 0) return false;
        return read(from_, &value, sizeof value) == sizeof value;
    }
    template <class T>
    T take() const {
        T value{};
        if (!receive(value)) ADD_FAILURE() << "a process of the test says nothing";
        return value;
    }

private:
    int from_;
    int to_;
};

// A child that runs `work` as a user, and is killed when the test ends. Fork has no threads but
// ours: tests open no host in their own process before.
class Process {
public:
    Process(uid_t uid, const std::function<int(const Channel&)>& work) {
        int down[2];
        int up[2];
        if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0) std::abort();
        pid = fork();
        if (pid == 0) {
            close(down[1]);
            close(up[0]);
            if (geteuid() != uid &&
                (setgroups(0, nullptr) != 0 || setgid(uid) != 0 || setuid(uid) != 0))
                _exit(99);
            prctl(PR_SET_PDEATHSIG, SIGKILL);  // a change of user undoes it
            prctl(PR_SET_DUMPABLE, 1);
            signal(SIGPIPE, SIG_DFL);
            _exit(work(Channel(down[0], up[1])));
        }
        close(down[0]);
        close(up[1]);
        to_ = Descriptor(down[1]);
        from_ = Descriptor(up[0]);
    }
    ~Process() {
        if (!is_waited_for_) {
            kill(pid, SIGKILL);
            (void)exit_code();
        }
    }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    // It does nothing any more when this returns.
    void stop() const {
        kill(pid, SIGSTOP);
        siginfo_t info;
        waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOWAIT);
    }

    Channel channel() const { return {from_.get(), to_.get()}; }
    // Of one that ends by itself; 128 and the number of the signal that ended it.
    int exit_code() {
        int status = 0;
        is_waited_for_ = true;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    bool is_running() const {
        siginfo_t info{};
        return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
               info.si_pid == 0;
    }

    pid_t pid = -1;

private:
    Descriptor to_;
    Descriptor from_;
    bool is_waited_for_ = false;
};

}  // namespace tulle::live
