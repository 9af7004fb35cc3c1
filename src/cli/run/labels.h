// Whose line is whose: what programs write is read here, and each line of it is written again with
// a label before it, whole.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cli/descriptor.h"

namespace tulle::cli {

class Labels {
public:
    Labels();
    // What was written so far is shown; who writes on after that writes to nobody.
    ~Labels();
    Labels(const Labels&) = delete;
    Labels& operator=(const Labels&) = delete;

    // Where a program is to write: descriptors of its standard output and error. Empty ones if
    // there is no room for them.
    struct Ends {
        Descriptor output;
        Descriptor error;
    };
    Ends add(const std::string& label);

private:
    struct Stream {
        Descriptor from;
        int to = 1;
        std::string label;
        std::string unfinished;
    };
    Descriptor add_stream(const std::string& label, int to);
    void run();
    void read_from(Stream& stream);
    static void show(Stream& stream, bool is_end);

    Descriptor epoll_;
    Descriptor wake_;
    std::vector<std::unique_ptr<Stream>> streams_;  // those of programs that were started
    std::thread thread_;
};

}  // namespace tulle::cli
