// What ranks do, as a graph: messages and stretches of time, each of which waits for others. Small
// graphs are stored, large ones are phases that are generated while they run.
//
// A rank knows what it did itself and what it received, and nothing else. So a task may wait for
// tasks of its own rank and for messages to its rank. Tasks are listed in an order in which they
// could be done, each after those that it waits for, hence a program always comes to its end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace tulle::workload {

inline constexpr uint32_t kNoTask = 0xffff'ffff;

// Which network a message takes: the one between servers, or the one inside a server.
enum class Tier : uint8_t { scale_out, scale_up };

struct Task {
    enum class Kind : uint8_t {
        send,     // a message to `peer`: seen there when it has arrived, here when it is known to
        read,     // fetches from `peer`: seen here when all of it is here
        compute,  // a time passes
        // Through a switch that computes, inside a server. Each rank of the server, `peer` among
        // them, contributes its part; what `peer` sees is one message, named by `reduction`.
        contribute,
        // One message out, and one in at every rank of the server, the sender included.
        multicast,
    };
    Kind kind = Kind::send;
    Tier tier = Tier::scale_out;
    uint16_t channel = 0;  // messages of a channel from one rank to another stay in order
    uint32_t rank = 0;     // who does it
    uint32_t peer = 0;
    uint32_t phase = 0;  // of Program::phases
    uint64_t bytes = 0;  // of a message
    // Of computing. Of a message: what software takes before it is posted; zero: hosts.reaction.
    base::Duration duration{};
    uint32_t reduction = kNoTask;  // of a contribution: the first task of the same reduction
    bool is_launch = false;        // computing that is a library's, not the job's
    bool is_in_turn = false;       // its software waits for that of the message before it on the
                                   // same connection
    // Bits, of tasks of a job that decides while it runs (serving/run.h).
    static constexpr uint8_t kGated = 1;     // begins when its job says so, with the amount it says
    static constexpr uint8_t kReported = 2;  // its job is told when it has ended
    static constexpr uint8_t kRecycled = 4;  // begins any number of times; nobody counts it
    uint8_t mark = 0;

    bool is_gated() const { return (mark & kGated) != 0; }
    bool is_reported() const { return (mark & kReported) != 0; }
    bool is_recycled() const { return (mark & kRecycled) != 0; }
};

enum class Collective : uint8_t {
    all_reduce,
    reduce_scatter,
    all_gather,
    all_to_all,
    broadcast,
    compute,
    storage_read,
    storage_write,
};

// What a phase of a training step or of serving is for.
enum class Purpose : uint8_t {
    general,  // of neither
    compute,
    tensor,
    context,
    expert,
    pipeline,
    parameters,
    gradients,
    optimizer,
    serving,
    traced,  // of a file that says what ranks did
};
inline constexpr size_t kPurposes = 11;
std::string_view name_of(Purpose purpose);

// How long a library expects a collective to take; no name: nothing was estimated.
struct Estimate {
    std::string name{};  // algorithm and protocol
    base::Duration time{};
};

// A step of a job: what a user would measure.
struct Phase {
    std::string name;
    Collective collective = Collective::all_reduce;
    std::string algorithm{};  // as the scenario names it
    uint64_t bytes = 0;  // as nccl-tests counts them: of the larger of the two buffers of a rank
    uint32_t ranks = 0;  // that take part
    uint32_t job = 0;    // of Program::jobs
    std::string protocol{};     // LL, LL128 or Simple; empty: bare messages
    uint32_t channels = 0;      // of the library; 0: not said
    bool is_automatic = false;  // the algorithm was chosen, not asked for
    Estimate predicted{};
    Estimate next_best{};
    Purpose purpose = Purpose::general;
};

struct TrainingJob;
struct ServingJob;
struct TraceJob;

struct Job {
    std::string name;
    base::Instant start{};
    uint8_t service_level = 0;
    uint8_t traffic_class = 0;                      // DSCP << 2 | ECN-capable
    std::shared_ptr<const TrainingJob> training{};  // null: it is no step of training
    std::shared_ptr<const ServingJob> serving{};    // null: it serves no requests
    std::shared_ptr<const TraceJob> trace{};        // null: it was not read from a trace
};

class Placement;
class Schedule;

// A phase whose tasks are computed when their turn comes (schedule.h), and those of its tasks that
// are no messages: each member may compute before it sends anything.
struct GeneratedPhase {
    uint32_t phase = 0;  // of Program::phases
    std::shared_ptr<const Placement> placement;
    std::shared_ptr<const Schedule> schedule;  // null: no messages
    base::Duration computing{};
    bool is_launch = false;      // the computing is a library's
    uint16_t first_channel = 0;  // what the schedule calls 0
    // Others of Program::generated. A rank begins when it has ended those that it takes part in.
    std::vector<uint32_t> after;
    // Computing has the numbers [first_number, + members), messages those behind.
    uint64_t first_number = 0;
    uint64_t tasks = 0;
};

class Program {
public:
    std::vector<Phase> phases;
    std::vector<Job> jobs;
    std::vector<GeneratedPhase> generated;

    // Numbers of generated tasks are not below; those of stored ones are.
    static constexpr uint64_t kFirstGenerated = uint64_t{1} << 32;
    // Fills in its number of tasks and their numbers; returns its index.
    uint32_t add(GeneratedPhase phase);
    // Stored and generated.
    uint64_t task_count() const;

    // What it waits for must have been added before; returns its number.
    uint32_t add(const Task& task, std::span<const uint32_t> needs);

    // Those that are stored.
    uint32_t size() const { return static_cast<uint32_t>(tasks_.size()); }
    bool empty() const { return tasks_.empty() && generated.empty(); }
    const Task& operator[](uint32_t task) const { return tasks_[task]; }
    std::span<const Task> tasks() const { return tasks_; }
    std::span<const uint32_t> needs(uint32_t task) const {
        return std::span(needs_).subspan(first_need_[task],
                                         first_need_[task + 1] - first_need_[task]);
    }
    size_t need_count() const { return needs_.size(); }

    // What is wrong with it, in one sentence: a rank or phase that is not there, a message to
    // oneself, a need that a rank cannot know of.
    std::optional<base::Error> check(uint32_t ranks) const;

private:
    std::optional<base::Error> check_generated(uint32_t ranks) const;

    std::vector<Task> tasks_;
    std::vector<uint32_t> first_need_{0};
    std::vector<uint32_t> needs_;
};

// What one rank says to another in a phase, on one channel: a stored message, or a stream of
// generated ones.
struct Traffic {
    Task::Kind kind = Task::Kind::send;  // not computing
    uint32_t rank = 0;
    uint32_t peer = 0;
    uint32_t phase = 0;
    Tier tier = Tier::scale_out;
    uint16_t channel = 0;
    uint64_t messages = 0;
    uint64_t bytes = 0;  // on the wire, without headers of packets
};
void visit_traffic(const Program& program, const std::function<void(const Traffic&)>& visit);

// Whether a rank sees it when a task ends: whoever does it, and whoever a message arrives at.
bool is_seen_by(const Task& task, uint32_t rank);

}  // namespace tulle::workload
