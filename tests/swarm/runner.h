// One run: the adapters of a world, time, and the model that watches. Setting up and taking down is
// in lives.cc, what the user does in posts.cc, and the course of time in run.cc.
#pragma once

#include <memory>

#include "base/hash.h"
#include "event_queue.h"
#include "network.h"
#include "run.h"

namespace tulle::swarm {

using base::Duration;
using base::Instant;

inline constexpr uint32_t kCqEntries = 1 << 12;

inline Duration nanoseconds(uint64_t count) {
    return Duration{static_cast<int64_t>(count) * 1000};
}

class Run {
public:
    Run(uint64_t seed, std::FILE* trace)
        : world_(make_world(seed)), model_(world_), network_(world_, model_.tally), trace_(trace) {}

    void set_up();
    void go();
    void tear_down();
    void tell_sides();

    uint64_t hash() const { return hash_.value(); }
    const Tally& tally() const { return model_.tally; }

private:
    enum class Kind : uint16_t { arrive, transmit, post, repost, act, resume, deregister };

    struct Host {
        std::unique_ptr<transport::Adapter> adapter;
        transport::PdId pd{};
        std::vector<transport::CqId> cqs;
        std::vector<transport::XrcDomainId> xrc_domains;
        std::vector<transport::RdDomainId> rd_domains;
        Instant link_free{};
        bool transmit_planned = false;
        Draw draw;
    };

    transport::Adapter& adapter_of(const Side& side) { return *hosts_[side.adapter].adapter; }
    void plan(Instant at, Kind kind, uint32_t who, uint16_t arg = 0);

    // Lives.
    void create_host(uint32_t index);
    void create_srq(Pool& pool);
    void create_ee(EeEnd& end);
    void connect_ee(uint32_t index);
    void create_qp(Side& side);
    void create_window(Side& side);
    void connect(Side& side);
    void connect_rd(Side& side);
    void join_groups(uint32_t index);
    void fill_pool(uint32_t index);
    bool was_given(const Side& side, transport::Qpn qpn) const;
    void destroy_side(uint32_t index);
    void destroy_srq(const Pool& pool);
    void create_again(uint32_t index);
    transport::QpSetup setup_of(const Side& side) const;
    void change_state(Side& side, transport::QpState state, uint32_t mask = 0);
    void end_side(uint32_t index);
    void destroy_all(const std::vector<uint32_t>& order);
    void destroy_host(uint32_t index);

    // Posts.
    void post_burst(uint32_t index);
    bool may_post(Side& side);
    bool post(uint32_t index);
    void name_target(const Side& side, const Operation& operation,
                     transport::SendRequest& request) const;
    void name_window(Side& side, const Operation& operation, transport::SendRequest& request);
    void bind_type1(Side& owner, const Operation& operation);
    void post_receive(uint32_t pool, uint32_t buffer);

    // Acts.
    void act(Act act);
    void stop_far_end(uint32_t ee);
    void again(Act act, uint32_t after_ns);
    bool waits_for_message(const Act& act);
    bool waits_for_end(uint32_t side) const;
    void drain_queue(Side& side);
    void arm_path(Side& side, uint32_t random);
    bool is_armed(const Side& side);
    void migrate(Side& side);
    void cut_path(const Act& act);
    void join_or_leave(uint32_t side, uint32_t group);
    void resume(uint32_t side);
    void deregister(uint32_t station);

    // The course of time.
    void step(const Event& event);
    void arrive(uint32_t flight);
    void drain(uint32_t host);
    void transmit(uint32_t host);
    transport::Lanes draw_lanes(Host& host, uint32_t station);
    void poll_completions(uint32_t host);
    void take_completion(uint32_t host, const transport::Completion& completion);
    void poll_events(uint32_t host);
    void take_event(uint32_t host, const transport::AdapterEvent& event);
    uint32_t side_of(uint32_t host, transport::Qpn qpn) const;
    bool advance();
    void check_done();

    void tell(const char* what, const wire::Packet& packet);
    void tell(uint32_t side, const transport::Completion& completion);

    World world_;
    Model model_;
    Network network_;
    std::vector<Host> hosts_;
    std::vector<Draw> posters_;
    EventQueue queue_;
    base::Hash hash_;
    Instant now_{};
    uint64_t order_ = 0;
    uint64_t steps_ = 0;
    std::FILE* trace_;
};

}  // namespace tulle::swarm
