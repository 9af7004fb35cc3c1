// The work of ranks as a graph: messages and computing, with dependencies. Small graphs are stored;
// large ones consist of phases that are generated while they run.
//
// A rank knows only what it did itself and what it received. So a task may wait for tasks of its
// own rank and for messages to its rank. Each task is listed after those that it waits for, so a
// program always terminates.
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
        send,     // a message to `peer`: seen there on arrival, here when acknowledged
        read,     // fetches from `peer`: seen here when all of it has arrived
        compute,  // only time passes
        // A sum in a switch inside a server. Each rank of the server, `peer` included, contributes
        // its part. `peer` sees one message, named by `reduction`.
        contribute,
        // One message out, and one in at each rank of the server, including the sender.
        multicast,
        // A sum in switches between servers (SHARP). Each rank of a group contributes its part and
        // sees the sum: one message, named by `reduction`. `peer` is the first rank of the group.
        sum_for_all,
    };
    Kind kind = Kind::send;
    Tier tier = Tier::scale_out;
    uint16_t channel = 0;  // messages between two ranks on one channel stay in order
    uint32_t rank = 0;     // the rank that does it
    uint32_t peer = 0;
    uint32_t phase = 0;  // of Program::phases
    uint64_t bytes = 0;  // of a message
    // The time of computing. For a message: software time before it is posted; zero:
    // hosts.reaction.
    base::Duration duration{};
    uint32_t reduction = kNoTask;  // for a contribution: the first task of the same reduction
    bool is_launch = false;        // computing of a library, not of the job
    bool is_in_turn = false;  // its software waits for that of the message before it on the same
                              // connection
    // Bits of `mark`, for tasks of a job that decides while it runs (serving/run.h).
    static constexpr uint8_t kGated = 1;  // begins when its job says so, with the amount given then
    static constexpr uint8_t kReported = 2;  // its job is told when it ends
    static constexpr uint8_t kRecycled = 4;  // begins any number of times; not counted
    uint8_t mark = 0;

    bool is_gated() const { return (mark & kGated) != 0; }
    bool is_reported() const { return (mark & kReported) != 0; }
    bool is_recycled() const { return (mark & kRecycled) != 0; }
    // True for one of several parts that together make one message.
    bool is_part_of_sum() const { return kind == Kind::contribute || kind == Kind::sum_for_all; }
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
    general,  // neither training nor serving
    compute,
    tensor,
    context,
    expert,
    pipeline,
    parameters,
    gradients,
    optimizer,
    serving,
    traced,  // from a file that records what ranks did
};
inline constexpr size_t kPurposes = 11;
std::string_view name_of(Purpose purpose);

// The time that a library expects a collective to take; without a name there is no estimate.
struct Estimate {
    std::string name{};  // algorithm and protocol
    base::Duration time{};
};

// A step of a job: what a user would measure.
struct Phase {
    std::string name;
    Collective collective = Collective::all_reduce;
    std::string algorithm{};    // as the scenario names it
    uint64_t bytes = 0;         // as nccl-tests counts them: of the larger of a rank's two buffers
    uint32_t ranks = 0;         // participating ranks
    uint32_t job = 0;           // of Program::jobs
    std::string protocol{};     // LL, LL128 or Simple; empty: bare messages
    uint32_t channels = 0;      // of the library; 0: not known
    bool is_automatic = false;  // the algorithm was chosen automatically
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
    std::shared_ptr<const TrainingJob> training{};  // null: not a training step
    std::shared_ptr<const ServingJob> serving{};    // null: not serving
    std::shared_ptr<const TraceJob> trace{};        // null: not read from a trace
};

class Placement;
class Schedule;

// A phase whose messages are computed when their turn comes (schedule.h). Before its messages, each
// member may compute.
struct GeneratedPhase {
    uint32_t phase = 0;  // of Program::phases
    std::shared_ptr<const Placement> placement;
    std::shared_ptr<const Schedule> schedule;  // null: no messages
    base::Duration computing{};
    bool is_launch = false;      // the computing is a library's
    uint16_t first_channel = 0;  // the schedule's channel 0
    // Indices into Program::generated. A rank begins after it has ended those that it takes part
    // in.
    std::vector<uint32_t> after;
    // Task numbers: computing has [first_number, + members), messages have those after it.
    uint64_t first_number = 0;
    uint64_t tasks = 0;
};

class Program {
public:
    std::vector<Phase> phases;
    std::vector<Job> jobs;
    std::vector<GeneratedPhase> generated;

    // Generated tasks are numbered from here; numbers of stored tasks are smaller.
    static constexpr uint64_t kFirstGenerated = uint64_t{1} << 32;
    // Fills in the phase's number of tasks and their numbers. Returns its index.
    uint32_t add(GeneratedPhase phase);
    // Stored and generated.
    uint64_t task_count() const;

    // Adds a task and returns its number. The tasks that it waits for must have been added before.
    uint32_t add(const Task& task, std::span<const uint32_t> needs);

    // The number of stored tasks.
    uint32_t size() const { return static_cast<uint32_t>(tasks_.size()); }
    bool empty() const { return tasks_.empty() && generated.empty(); }
    const Task& operator[](uint32_t task) const { return tasks_[task]; }
    std::span<const Task> tasks() const { return tasks_; }
    std::span<const uint32_t> needs(uint32_t task) const {
        return std::span(needs_).subspan(first_need_[task],
                                         first_need_[task + 1] - first_need_[task]);
    }
    size_t need_count() const { return needs_.size(); }

    // The first mistake, in one sentence: an unknown rank or phase, a message to oneself, or a need
    // that the rank cannot see.
    std::optional<base::Error> check(uint32_t ranks) const;

private:
    std::optional<base::Error> check_generated(uint32_t ranks) const;

    std::vector<Task> tasks_;
    std::vector<uint32_t> first_need_{0};
    std::vector<uint32_t> needs_;
};

// The traffic from one rank to another in a phase, on one channel: a stored message, or a stream of
// generated ones.
struct Traffic {
    Task::Kind kind = Task::Kind::send;  // never compute
    uint32_t rank = 0;
    uint32_t peer = 0;
    uint32_t phase = 0;
    Tier tier = Tier::scale_out;
    uint16_t channel = 0;
    uint64_t messages = 0;
    uint64_t bytes = 0;  // on the wire, without headers of packets
};
void visit_traffic(const Program& program, const std::function<void(const Traffic&)>& visit);

// Whether a rank sees the end of a task: the rank that does it, and the receivers of its messages.
bool is_seen_by(const Task& task, uint32_t rank);

}  // namespace tulle::workload
