// Programs that were started, and how they end: signals to this process go on to them, and they do
// not outlive it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "cli/run/environment.h"
#include "cli/run/labels.h"

namespace tulle::cli {

inline constexpr int kNotFound = 127;  // as shells say it

class Children {
public:
    // From here on signals wait until they are asked for. Of several programs each is the leader of
    // a group of its own, so that what a shell has started ends with it; they have no terminal to
    // read from. One alone stays in the terminal's foreground.
    explicit Children(bool are_several);
    ~Children();

    // Starts a program of the path, or ends this one with a sentence. Returns its process. It
    // writes where `ends` says, or where this process does.
    pid_t start(const std::vector<std::string>& command, const std::vector<Variable>& variables,
                Labels::Ends ends = {});

    struct Ended {
        pid_t process = 0;
        int exit_code = 0;  // 128 and the signal, where it was one
        int signal = 0;
        bool was_asked_to = false;  // by a signal that was passed on
    };
    // The next that ends; passes signals on meanwhile. Nothing if none did in that time; negative
    // waits for ever.
    std::optional<Ended> wait(int milliseconds);
    size_t running() const { return running_.size(); }
    // Asks all to end, and insists after a while.
    void stop_all();

private:
    std::optional<Ended> reap();
    void pass_on(int signal, bool from_terminal);
    void send(pid_t process, int signal) const;

    const bool are_several_;
    bool has_passed_on_ = false;
    std::vector<pid_t> running_;
};

}  // namespace tulle::cli
