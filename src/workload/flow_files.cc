#include "workload/flow_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "base/units.h"
#include "workload/lines.h"

namespace tulle::workload {
namespace {

constexpr uint64_t kMost32 = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kMost64 = std::numeric_limits<uint64_t>::max();

// Reads numbers from a line; `error` describes the first wrong one.
class Numbers {
public:
    Numbers(std::string_view file, const Line& line) : file_(file), line_(line) {}

    uint64_t number(std::string_view word, std::string_view what, uint64_t most) {
        const auto value = parse_number(word, what, most);
        if (value) return *value;
        fail(value.error().message);
        return 0;
    }
    uint32_t number32(std::string_view word, std::string_view what, uint64_t most = kMost32) {
        return static_cast<uint32_t>(number(word, what, most));
    }
    // A decimal number in `unit`, such as s or ps.
    base::Instant instant(std::string_view word, std::string_view unit) {
        const auto time = base::parse_duration(std::string(word).append(unit));
        if (time && *time <= kLatestStart) return base::Instant{} + *time;
        if (time) {
            fail("the start is more than a day away");
            return {};
        }
        fail("the start is wrong: " + time.error().message);
        return {};
    }
    void fail(std::string_view sentence) {
        if (!error) error = located(file_, line_.number, sentence);
    }

    std::optional<base::Error> error;

private:
    std::string_view file_;
    const Line& line_;
};

std::string quoted(std::string_view word) {
    return fmt::format("'{}'", word.substr(0, 40));
}

// Words of htsim that a message has no field for.
std::string_view unsupported_word(std::string_view word) {
    if (word == "trigger" || word == "send_done_trigger" || word == "recv_done_trigger" ||
        word == "addon" || word == "Triggers")
        return "flows that wait for others are not read; give each connection a start";
    if (word == "prio")
        return "it ranks what a receiver pulls, which no queue pair does; remove it";
    if (word == "failure" || word == "Failures")
        return "failures belong to the faults of a scenario; remove the line";
    return "";
}

class MatrixReader {
public:
    explicit MatrixReader(std::string_view file) : file_(file) {}

    base::Result<ConnectionMatrix> read(std::string_view text) {
        Lines lines(text);
        Line line;
        while (lines.next(line))
            if (auto error = read_line(line)) return *error;
        if (!nodes_line_)
            return located(file_, std::max(line.number, 1u), "there is no line `Nodes N`");
        if (announced_ && *announced_ != matrix_.messages.size())
            return located(file_, connections_line_,
                           fmt::format("Connections says {}, but the file has {}", *announced_,
                                       matrix_.messages.size()));
        return std::move(matrix_);
    }

private:
    std::optional<base::Error> read_line(const Line& line) {
        Numbers take(file_, line);
        const std::string_view first = line.words[0];
        const size_t arrow = first.find("->");
        if (arrow != std::string_view::npos) {
            read_connection(line, arrow, take);
        } else if (const auto why = unsupported_word(first); !why.empty()) {
            take.fail(fmt::format("{}: {}", quoted(first), why));
        } else if ((first != "Nodes" && first != "Connections") || line.words.size() != 2) {
            take.fail(quoted(first) +
                      " is unknown here; write `Nodes N`, `Connections N`, or connections such as "
                      "`0->1 id 1 start 0 size 2000000`");
        } else if (first == "Nodes") {
            matrix_.nodes = take.number32(line.words[1], "the number of nodes", 1 << 24);
            nodes_line_ = line.number;
        } else {
            announced_ = take.number(line.words[1], "the number of connections", kMostMessages);
            connections_line_ = line.number;
        }
        return take.error;
    }

    void read_connection(const Line& line, size_t arrow, Numbers& take) {
        if (!nodes_line_) return take.fail("a connection comes before the line `Nodes N`");
        if (matrix_.messages.size() == kMostMessages) return take.fail("too many connections");
        Message message;
        message.source = host(line.words[0].substr(0, arrow), "the source", take);
        message.destination = host(line.words[0].substr(arrow + 2), "the destination", take);
        if (!take.error && message.source == message.destination)
            take.fail(fmt::format("host {} sends to itself", message.source));
        message.id = static_cast<uint32_t>(matrix_.messages.size() + 1);
        bool has_start = false;
        for (size_t i = 1; i < line.words.size() && !take.error; i += 2)
            has_start |= read_pair(line, i, message, take);
        if (!has_start) take.fail("the connection has no start; write `start 0`");
        if (message.bytes == 0) take.fail("the connection has no size; write `size 2000000`");
        matrix_.messages.push_back(message);
    }

    // True if the pair was the start.
    bool read_pair(const Line& line, size_t i, Message& message, Numbers& take) {
        const std::string_view word = line.words[i];
        if (const auto why = unsupported_word(word); !why.empty()) {
            take.fail(fmt::format("{}: {}", quoted(word), why));
        } else if (word != "id" && word != "start" && word != "size") {
            take.fail(quoted(word) + " is unknown in a connection; it has id, start and size");
        } else if (i + 1 == line.words.size()) {
            take.fail(quoted(word) + " has no number after it");
        } else if (word == "id") {
            message.id = take.number32(line.words[i + 1], "the id");
        } else if (word == "size") {
            message.bytes = take.number(line.words[i + 1], "the size", kMost64);
        } else {
            message.start = take.instant(line.words[i + 1], "ps");
            return true;
        }
        return false;
    }

    uint32_t host(std::string_view word, std::string_view what, Numbers& take) const {
        const uint32_t number = take.number32(word, what);
        if (!take.error && number >= matrix_.nodes)
            take.fail(
                fmt::format("{} {} is not below Nodes, which is {}", what, number, matrix_.nodes));
        return number;
    }

    std::string_view file_;
    ConnectionMatrix matrix_;
    uint32_t nodes_line_ = 0;
    uint32_t connections_line_ = 0;
    std::optional<uint64_t> announced_;
};

Message hpcc_message(const Line& line, Numbers& take) {
    Message message;
    if (line.words.size() != 6) {
        take.fail(
            "a flow has six words: source, destination, priority group, destination port, bytes "
            "and start in seconds");
        return message;
    }
    message.source = take.number32(line.words[0], "the source");
    message.destination = take.number32(line.words[1], "the destination");
    message.priority_group =
        static_cast<uint8_t>(take.number(line.words[2], "the priority group", 7));
    message.destination_port =
        static_cast<uint16_t>(take.number(line.words[3], "the destination port", 0xffff));
    message.bytes = take.number(line.words[4], "the size", kMost64);
    message.start = take.instant(line.words[5], "s");
    if (take.error) return message;
    if (message.destination_port == 0) take.fail("the destination port is 0; write 100");
    if (message.source == message.destination)
        take.fail(fmt::format("node {} sends to itself", message.source));
    if (message.bytes == 0) take.fail("the flow has no bytes; give it at least 1");
    return message;
}

void read_path(std::span<const std::string_view> words, uint32_t from, uint32_t to,
               std::vector<uint32_t>& path, Numbers& take) {
    for (const std::string_view word : words) path.push_back(take.number32(word, "a node"));
    if (take.error) return;
    if (path.size() < 2 || path.front() != from || path.back() != to)
        take.fail(fmt::format("a path begins at node {} and ends at node {}", from, to));
}

RecordedPath recorded_path(const Line& line, Numbers& take) {
    RecordedPath path;
    path.line = line.number;
    const auto& words = line.words;
    const auto first = std::find(words.begin(), words.end(), "|");
    const auto second = first == words.end() ? first : std::find(first + 1, words.end(), "|");
    if (first - words.begin() != 2 || second == words.end()) {
        take.fail(
            "a line has the form `0 1 | 0 8 1 | 1 8 0`: source and destination, the path of "
            "the data, the path of the acknowledgements");
        return path;
    }
    path.source = take.number32(words[0], "the source");
    path.destination = take.number32(words[1], "the destination");
    read_path({first + 1, second}, path.source, path.destination, path.data, take);
    read_path({second + 1, words.end()}, path.destination, path.source, path.acknowledgements,
              take);
    return path;
}

}  // namespace

base::Result<ConnectionMatrix> read_connection_matrix(std::string_view text,
                                                      std::string_view file) {
    return MatrixReader(file).read(text);
}

base::Result<std::vector<Message>> read_hpcc_flows(std::string_view text, std::string_view file) {
    Lines lines(text);
    Line line;
    if (!lines.next(line) || line.words.size() != 1)
        return located(file, std::max(line.number, 1u),
                       "a flow file begins with a line that says "
                       "how many flows follow");
    Numbers head(file, line);
    const uint64_t announced = head.number(line.words[0], "the number of flows", kMostMessages);
    if (head.error) return *head.error;
    const uint32_t head_line = line.number;

    std::vector<Message> messages;
    while (lines.next(line)) {
        Numbers take(file, line);
        messages.push_back(hpcc_message(line, take));
        messages.back().id = static_cast<uint32_t>(messages.size());
        if (messages.size() > announced)
            take.fail(
                fmt::format("the first line announced {} flows, but there are more", announced));
        if (take.error) return *take.error;
    }
    if (messages.size() < announced)
        return located(
            file, head_line,
            fmt::format("announces {} flows, but there are {}", announced, messages.size()));
    return messages;
}

base::Result<std::vector<RecordedPath>> read_paths(std::string_view text, std::string_view file) {
    std::vector<RecordedPath> paths;
    Lines lines(text);
    Line line;
    while (lines.next(line)) {
        Numbers take(file, line);
        paths.push_back(recorded_path(line, take));
        if (take.error) return *take.error;
    }
    if (paths.empty())
        return located(file, 1,
                       "there is no path in it; write `source destination | nodes of the data | "
                       "nodes of the ACKs`");
    return paths;
}

}  // namespace tulle::workload
