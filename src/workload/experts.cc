#include "workload/experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/random.h"
#include "workload/serving/requests.h"

namespace tulle::workload {
namespace {

constexpr uint32_t kGateStream = 0x67617465;
constexpr uint32_t kHotStream = 0x686f7478;

// The relative probabilities of experts.
std::vector<uint32_t> weights_of(const ExpertOptions& options) {
    std::vector<uint32_t> weights(options.experts, 1);
    if (options.hot_times <= 1) return weights;
    std::vector<uint32_t> order(options.experts);
    std::iota(order.begin(), order.end(), 0);
    base::RandomStream random({options.seed, kHotStream, 0});
    random.shuffle(std::span(order));
    for (uint32_t i = 0; i < std::max(1u, options.experts / 8); ++i)
        weights[order[i]] = options.hot_times;
    return weights;
}

// Draws the experts of tokens, one token after the other.
class Gate {
public:
    Gate(const ExpertOptions& options, const Placement& placement, uint32_t member)
        : options_(options),
          weights_(weights_of(options)),
          random_({options.seed, kGateStream, member}),
          times_(options.experts) {
        const uint32_t of_member = options.experts / placement.size();
        for (uint32_t expert = 0; expert < options.experts; ++expert)
            server_.push_back(placement.server_of(expert / of_member));
        best_.resize(placement.server_count());
    }

    const std::vector<uint32_t>& next() {
        for (uint32_t expert = 0; expert < options_.experts; ++expert)
            times_[expert] = {time_of(expert), expert};
        keep_servers();
        const auto end = times_.begin() + options_.of_token;
        std::partial_sort(times_.begin(), end, times_.end());
        chosen_.clear();
        for (auto it = times_.begin(); it != end; ++it) chosen_.push_back(it->second);
        times_.resize(options_.experts);
        return chosen_;
    }

private:
    // If all experts are equally likely, the draw itself serves as the time.
    uint64_t time_of(uint32_t expert) {
        const uint64_t draw = random_.next();
        if (options_.hot_times <= 1) return draw;
        return negative_logarithm(std::max<uint64_t>(1, draw)) * 1024 / weights_[expert];
    }

    void keep_servers() {
        if (options_.most_servers >= best_.size()) return;
        std::ranges::fill(best_, ~uint64_t{0});
        for (const auto& [time, expert] : times_)
            best_[server_[expert]] = std::min(best_[server_[expert]], time);
        std::vector<uint64_t> sorted = best_;
        std::ranges::nth_element(sorted, sorted.begin() + (options_.most_servers - 1));
        const uint64_t last = sorted[options_.most_servers - 1];
        std::erase_if(times_, [&](const auto& one) { return best_[server_[one.second]] > last; });
    }

    const ExpertOptions& options_;
    std::vector<uint32_t> weights_;
    base::RandomStream random_;
    std::vector<std::pair<uint64_t, uint32_t>> times_;
    std::vector<uint32_t> server_;  // by expert
    std::vector<uint64_t> best_;    // by server
    std::vector<uint32_t> chosen_;
};

Task message(const Placement& placement, uint32_t from, uint32_t to, uint64_t bytes,
             uint16_t channel = 0) {
    Task task;
    task.tier = placement.tier(from, to);
    task.bytes = bytes;
    task.channel = channel;
    return task;
}

// Some tokens from one member to one server.
struct Chunk {
    uint32_t from = 0;
    uint32_t server = 0;
    uint32_t handler = 0;  // the member there with the sender's place
    uint64_t tokens = 0;
    std::vector<uint64_t> to;  // tokens by place in the server
};

Chunk chunk_of(const Placement& placement, uint32_t member, uint32_t server,
               std::span<const ExpertRoutes::Copy> copies) {
    const uint32_t place = member - placement.first_of(placement.server_of(member));
    Chunk chunk{member, server, placement.first_of(server) + place, copies.size(),
                std::vector<uint64_t>(placement.count_of(server))};
    for (const ExpertRoutes::Copy& copy : copies)
        for (uint32_t i = 0; i < chunk.to.size(); ++i) chunk.to[i] += copy.places >> i & 1;
    return chunk;
}

// Visits the chunks of all members round by round. In each round a member has one chunk for each
// server, starting with the server after its own.
template <class Visit>
void visit_chunks(const ExpertOptions& options, const ExpertRoutes& routes,
                  const Placement& placement, Visit visit) {
    const uint32_t servers = placement.server_count();
    bool goes_on = true;
    for (size_t first = 0; goes_on; first += options.chunk) {
        goes_on = false;
        for (uint32_t member = 0; member < placement.size(); ++member)
            for (uint32_t i = 1; i <= servers; ++i) {
                const uint32_t server = (placement.server_of(member) + i) % servers;
                const std::span<const ExpertRoutes::Copy> all = routes.copies(member, server);
                if (first >= all.size()) continue;
                goes_on = true;
                const size_t count = std::min<size_t>(options.chunk, all.size() - first);
                visit(chunk_of(placement, member, server, all.subspan(first, count)));
            }
    }
}

// The last messages of a member to a server, as many as may be in flight.
class Window {
public:
    explicit Window(uint32_t size) : last_(size, kNoTask) {}
    std::vector<uint32_t> needs() const {
        const uint32_t oldest = last_[next_];
        return oldest == kNoTask ? std::vector<uint32_t>{} : std::vector<uint32_t>{oldest};
    }
    void add(uint32_t task) {
        last_[next_] = task;
        next_ = (next_ + 1) % last_.size();
    }

private:
    std::vector<uint32_t> last_;
    size_t next_ = 0;
};

class Windows {
public:
    explicit Windows(uint32_t size) : size_(size) {}
    Window& of(const Chunk& chunk) {
        return windows_.try_emplace({chunk.from, chunk.server}, size_).first->second;
    }

private:
    uint32_t size_;
    std::map<std::pair<uint32_t, uint32_t>, Window> windows_;
};

void begin(JobBuilder& job, const std::string& name, const ExpertOptions& options,
           const ExpertRoutes& routes, uint64_t bytes) {
    Phase phase;
    phase.name = name;
    phase.collective = Collective::all_to_all;
    phase.algorithm = options.is_low_latency ? "deepep low latency" : "deepep";
    phase.bytes = routes.all_copies() * bytes / job.placement().size();
    job.begin(std::move(phase));
}

void dispatch_chunks(JobBuilder& job, const ExpertOptions& options, const ExpertRoutes& routes) {
    const Placement& placement = job.placement();
    const uint64_t bytes = dispatch_bytes(options.hidden);
    Windows windows(options.window());
    visit_chunks(options, routes, placement, [&](const Chunk& chunk) {
        std::vector<uint32_t> here;
        if (chunk.handler != chunk.from) {
            Window& window = windows.of(chunk);
            const Task task = message(placement, chunk.from, chunk.handler, chunk.tokens * bytes);
            here = {job.add(task, chunk.from, chunk.handler, window.needs())};
            window.add(here.front());
        }
        const uint32_t first = placement.first_of(chunk.server);
        for (uint32_t place = 0; place < chunk.to.size(); ++place) {
            const uint32_t to = first + place;
            if (to == chunk.handler || chunk.to[place] == 0) continue;
            job.add(message(placement, chunk.handler, to, chunk.to[place] * bytes), chunk.handler,
                    to, here);
        }
    });
}

void combine_chunks(JobBuilder& job, const ExpertOptions& options, const ExpertRoutes& routes) {
    const Placement& placement = job.placement();
    const uint64_t bytes = combine_bytes(options.hidden);
    Windows windows(options.window());
    visit_chunks(options, routes, placement, [&](const Chunk& chunk) {
        const uint32_t first = placement.first_of(chunk.server);
        std::vector<uint32_t> parts;
        for (uint32_t place = 0; place < chunk.to.size(); ++place) {
            const uint32_t from = first + place;
            if (from == chunk.handler || chunk.to[place] == 0) continue;
            parts.push_back(
                job.add(message(placement, from, chunk.handler, chunk.to[place] * bytes), from,
                        chunk.handler, {}));
        }
        if (chunk.handler == chunk.from) return;
        Window& window = windows.of(chunk);
        for (const uint32_t need : window.needs()) parts.push_back(need);
        window.add(job.add(message(placement, chunk.handler, chunk.from, chunk.tokens * bytes),
                           chunk.handler, chunk.from, parts));
    });
}

// One message for each token and expert, and a flag after the messages of an expert. `is_back`:
// from the experts to the senders.
void exchange_singly(JobBuilder& job, const ExpertOptions& options, const ExpertRoutes& routes,
                     bool is_back) {
    const Placement& placement = job.placement();
    const uint64_t bytes =
        is_back ? combine_bytes(options.hidden) : low_latency_dispatch_bytes(options.hidden);
    const uint32_t of_member = options.experts / placement.size();
    const auto add = [&](uint32_t member, uint32_t expert, uint64_t size) {
        const uint32_t owner = routes.owner(expert);
        if (owner == member) return;
        const uint32_t from = is_back ? owner : member;
        const uint32_t to = is_back ? member : owner;
        job.add(message(placement, from, to, size, static_cast<uint16_t>(expert % of_member)), from,
                to, {});
    };
    for (uint32_t member = 0; member < placement.size(); ++member) {
        for (const ExpertRoutes::Visit& visit : routes.visits(member))
            add(member, visit.expert, bytes);
        for (uint32_t expert = 0; expert < options.experts; ++expert)
            add(member, expert, kExpertFlagBytes);
    }
}

}  // namespace

std::optional<base::Error> check(const ExpertOptions& options, const Placement& placement) {
    const auto fail = [](std::string sentence) { return base::Error{std::move(sentence)}; };
    if (placement.size() < 2) return fail("experts are on two GPUs at least");
    if (options.experts % placement.size() != 0)
        return fail(fmt::format("{} experts are not shared out evenly among {} GPUs",
                                options.experts, placement.size()));
    if (options.of_token > options.experts)
        return fail("a token goes to more experts than there are");
    const uint64_t reached =
        uint64_t{options.most_servers} * (options.experts / placement.server_count());
    if (options.most_servers < placement.server_count() && reached < options.of_token)
        return fail(fmt::format("{} servers have {} experts, fewer than the {} of a token",
                                options.most_servers, reached, options.of_token));
    if (options.is_low_latency) return std::nullopt;
    if (!placement.has_scale_up())
        return fail(
            "tokens are handed on inside servers, which have no network; write gpus: {scale_up: "
            "nvlink4}, or mode: low_latency");
    if (!placement.is_regular() || placement.largest_server() > 64)
        return fail("each server takes part with the same GPUs, 64 at most");
    return std::nullopt;
}

ExpertRoutes::ExpertRoutes(const ExpertOptions& options, const Placement& placement)
    : servers_(placement.server_count()),
      experts_of_member_(options.experts / placement.size()),
      copies_(size_t{placement.size()} * placement.server_count()),
      visits_(placement.size()),
      load_(placement.size()) {
    for (uint32_t member = 0; member < placement.size(); ++member) {
        Gate gate(options, placement, member);
        for (uint32_t token = 0; token < options.tokens; ++token)
            for (const uint32_t expert : gate.next()) {
                const uint32_t to = owner(expert);
                const uint32_t server = placement.server_of(to);
                std::vector<Copy>& copies = copies_[member * servers_ + server];
                if (copies.empty() || copies.back().token != token) copies.push_back({token, 0});
                // A forwarding GPU has at most 64 neighbours.
                const uint32_t place = to - placement.first_of(server);
                if (place < 64) copies.back().places |= uint64_t{1} << place;
                visits_[member].push_back({token, expert});
                ++load_[to];
            }
    }
}

uint64_t ExpertRoutes::all_copies() const {
    uint64_t sum = 0;
    for (const std::vector<Copy>& some : copies_) sum += some.size();
    return sum;
}

uint64_t ExpertRoutes::imbalance_permille() const {
    uint64_t sum = 0;
    for (const uint64_t one : load_) sum += one;
    return sum == 0 ? 1000 : *std::ranges::max_element(load_) * 1000 * load_.size() / sum;
}

void append_dispatch(JobBuilder& job, const std::string& name, const ExpertOptions& options,
                     const ExpertRoutes& routes) {
    begin(job, name, options, routes, dispatch_bytes(options.hidden));
    options.is_low_latency ? exchange_singly(job, options, routes, false)
                           : dispatch_chunks(job, options, routes);
}

void append_combine(JobBuilder& job, const std::string& name, const ExpertOptions& options,
                    const ExpertRoutes& routes) {
    begin(job, name, options, routes, combine_bytes(options.hidden));
    options.is_low_latency ? exchange_singly(job, options, routes, true)
                           : combine_chunks(job, options, routes);
}

uint64_t most_tasks(const ExpertOptions& options, const Placement& placement) {
    const uint64_t ranks = placement.size();
    if (options.is_low_latency)
        return ranks * (uint64_t{options.tokens} * options.of_token + options.experts + 1);
    const uint64_t servers = std::min(options.most_servers, placement.server_count());
    const uint64_t chunks =
        uint64_t{options.tokens} * servers / options.chunk + placement.server_count();
    return ranks * (chunks * (placement.largest_server() + 1) + 1);
}

}  // namespace tulle::workload
