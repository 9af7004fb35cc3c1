// Child programs. Signals to this process are passed on to them, and they do not outlive it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "cli/run/environment.h"
#include "cli/run/labels.h"

namespace tulle::cli {

inline constexpr int kNotFound = 127;  // as in shells

class Children {
public:
    // Signals stay blocked from here on until wait() takes them. Of several programs, each leads a
    // process group of its own, so that all that a shell has started ends with it; they cannot read
    // from the terminal. A single program stays in the foreground of the terminal.
    explicit Children(bool are_several);
    ~Children();

    // Starts a program found in PATH; if that fails, the child ends with a message. Returns its
    // process id. The program writes to `ends`, or to the outputs of this process.
    pid_t start(const std::vector<std::string>& command, const std::vector<Variable>& variables,
                Labels::Ends ends = {});

    struct Ended {
        pid_t process = 0;
        int exit_code = 0;  // 128 + the signal if it was killed by one
        int signal = 0;
        bool was_asked_to = false;  // by a signal that was passed on
    };
    // Waits for the next child to end, and passes signals on meanwhile. Returns nothing after the
    // timeout; a negative timeout waits for ever.
    std::optional<Ended> wait(int milliseconds);
    size_t running() const { return running_.size(); }
    // Asks all children to end, and kills them after a while.
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
