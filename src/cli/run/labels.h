// Labels the output of several programs: reads what they write, and prints each complete line with
// the name of its program.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "live/descriptor.h"

namespace tulle::cli {

class Labels {
public:
    Labels();
    // Prints what was written so far; later output is lost.
    ~Labels();
    Labels(const Labels&) = delete;
    Labels& operator=(const Labels&) = delete;

    // Descriptors for the standard output and error of a program; empty if they cannot be made.
    struct Ends {
        live::Descriptor output;
        live::Descriptor error;
    };
    Ends add(const std::string& label);

private:
    struct Stream {
        live::Descriptor from;
        int to = 1;
        std::string label;
        std::string unfinished;
    };
    live::Descriptor add_stream(const std::string& label, int to);
    void run();
    void read_from(Stream& stream);
    static void show(Stream& stream, bool is_end);

    live::Descriptor epoll_;
    live::Descriptor wake_;
    std::vector<std::unique_ptr<Stream>> streams_;  // one per program and output
    std::thread thread_;
};

}  // namespace tulle::cli
