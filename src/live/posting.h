// What the program posts, and by which way it goes: copies by the initiator itself (direct.h), or
// packets of the engine.
//
// Work of a queue pair completes in the order in which it was posted, so a copy has to wait until
// packets before it are answered. A program that keeps its queue filled would then never come back
// to the short way. So copies that follow packets of copies are held until these are answered.
// Anything else that is posted, or happens to the queue pair, sends them as packets.
#pragma once

#include <array>
#include <deque>
#include <map>

#include "live/direct.h"
#include "live/outstanding.h"
#include "live/progress.h"

namespace tulle::live {

class Carrier;
class Connections;

class Posting {
public:
    Posting(transport::Adapter& adapter, World& world, Connections& connections, Carrier& carrier,
            DirectPath& direct, Progress& progress, Progress::Worker& worker)
        : adapter_(adapter),
          world_(world),
          connections_(connections),
          carrier_(carrier),
          direct_(direct),
          progress_(progress),
          worker_(worker),
          outstanding_(adapter) {}

    // Posts work. Call finish() after the last request of a list.
    transport::Refusal post(wire::Qpn qpn, const transport::SendRequest& request);
    void finish();
    // Receives were posted to a queue for which another process waits.
    void lend_posted(transport::SrqId queue);
    // The program asks for an event at the queue's next completion, and will sleep until it comes.
    transport::Refusal arm_cq(transport::CqId cq, transport::CompletionQueue::Wish wish);
    // Completes work that was done without packets. Call it before looking for completions.
    void settle();

    // For progress: goes on with what waited.
    void advance();
    bool needs_answers();
    void on_event(const transport::AdapterEvent& event) { outstanding_.on_event(event); }
    // The program looks, or changes a queue pair: there may be packets to send.
    void end_of_list() { posts_in_a_row_ = 0; }
    void expect_packets() { posts_packets_ = true; }
    // Something happens to the queue pair: what is held goes to the engine.
    void release(wire::Qpn qpn);

private:
    // A copy of a request, with its pieces.
    struct Held {
        explicit Held(const transport::SendRequest& wanted);
        Held(const Held&) = delete;
        Held& operator=(const Held&) = delete;

        transport::SendRequest request;
        std::array<transport::Sge, DirectPath::kMostSges> sges;
        std::array<std::byte, DirectPath::kMostInline> inline_data;
    };
    using Queue = std::deque<Held>;

    // The peer whose memory this queue pair copies to; nullptr if it may not.
    Peer* peer_of(const transport::QueuePair& qp);
    bool keep(const transport::QueuePair& qp, Peer& peer, const transport::SendRequest& request);
    void hold(const transport::QueuePair& qp, const transport::SendRequest& request);
    bool is_full(const transport::QueuePair& qp) const;
    bool advance(wire::Qpn qpn, Queue& queue);

    transport::Adapter& adapter_;
    World& world_;
    Connections& connections_;
    Carrier& carrier_;
    DirectPath& direct_;
    Progress& progress_;
    Progress::Worker& worker_;
    Outstanding outstanding_;
    std::map<uint32_t, Queue> held_;  // by the number of the queue pair
    uint32_t posts_in_a_row_ = 0;
    bool posts_packets_ = false;  // some of the posted work goes by packets
};

}  // namespace tulle::live
