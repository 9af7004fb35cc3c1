// One network of a simulation: a setup cut into partitions that advance window by window and
// exchange what crosses. What is sent is known from the beginning (flows), or posted as it goes on
// connections that were made at the beginning or are opened on use.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "base/result.h"
#include "cluster/partition.h"
#include "sim/result.h"
#include "sim/setup.h"

namespace tulle::sim {

// Two queue pairs that messages from one host to another share.
struct Connection {
    uint32_t source = 0;  // endpoints
    uint32_t destination = 0;
    uint32_t messages = 0;  // that will be posted
    uint8_t service_level = 0;
    uint8_t traffic_class = 0;
    uint32_t group = topology::kNone;  // of Share::groups: what it sends to instead
    uint64_t number = 0;               // tells apart what is drawn for it
    transport::Qpn qpn{};              // at the source; from here on: filled in by whoever connects
    uint32_t lkey = 0;
    uint32_t rkey = 0;
};

// Hosts of one switch that it adds up for, or copies to.
struct SwitchGroup {
    std::vector<uint32_t> members;       // endpoints that packets go on to
    std::vector<uint32_t> contributors;  // of a sum; empty: packets are copied
    uint32_t address = 0;                // filled in by whoever connects
    transport::Qpn qpn{};                // of the first member
    uint32_t rkey = 0;
};

// What a network shares with the others of its simulation.
struct Share {
    Duration window{};                            // no longer than any cable takes
    std::pmr::memory_resource* memory = nullptr;  // for ports and packets
    std::vector<uint32_t> home;  // partition of each endpoint; empty: equal runs of them
    std::vector<Connection>* connections = nullptr;
    const std::vector<Connection>* opened_later = nullptr;  // on use; only their levels count
    std::vector<SwitchGroup>* groups = nullptr;
    bool is_explained = false;     // where time goes is written down, see Network::watch()
    bool notes_crossings = false;  // and who goes through which port
};

// The shortest cable of a network whose graph is in order.
Duration shortest_cable(const Setup& setup);

class Network {
public:
    static constexpr uint64_t kNoWindow = cluster::WindowWheel::kNone;

    // What is wrong with a setup whose graph is in order, before anything happens.
    static base::Result<std::unique_ptr<Network>> build(const Setup& setup, size_t partitions,
                                                        const Share& share);

    size_t partitions() const { return partitions_.size(); }
    cluster::Partition& partition(size_t p) { return *partitions_[p]; }
    const cluster::Partition& partition(size_t p) const { return *partitions_[p]; }
    uint32_t partition_of(uint32_t endpoint) const { return hosts_[endpoint].partition; }
    uint64_t next_window() const;
    void exchange(size_t partition);
    // To a host of a partition that does not advance right now.
    void post(uint32_t endpoint, const cluster::Posting& posting) {
        partitions_[hosts_[endpoint].partition]->post(hosts_[endpoint].place, posting);
    }

    // Connects two hosts while nothing advances. And forgets both ends, which have nothing under
    // way.
    void open(Connection& connection);
    void close(const Connection& connection);

    // Of a network that is explained: follows the packets of the queue pair and of its peer.
    void watch(uint32_t endpoint, transport::Qpn qpn, uint32_t connection,
               const cluster::Span& span);
    void watch_flow(uint32_t flow);
    // What happens to this message at the host is noted.
    void want(uint32_t endpoint, uint32_t id, bool is_task);
    std::vector<cluster::MessageNote> notes() const;
    std::map<fabric::LossRecord, uint64_t> losses() const;
    std::set<fabric::CrossingRecord> crossings() const;

    // What the first failure of a plug-in was, with the file's name; nothing if there was none.
    struct PluginFailure {
        Instant at{};
        std::string sentence;
    };
    std::optional<PluginFailure> failed_plugin();

    size_t flows_done() const;
    uint64_t hops() const;
    // When a table is written for the last time; zero: never.
    Instant last_table_write() const;

    // Of all partitions, none of which advances right now.
    size_t records_kept() const;
    // Takes what was written down of the time before that instant. Nothing of it is added later if
    // all partitions have advanced to there.
    Records take_records(Instant before);

    // Where ranks post, whether they have all done what they wanted to.
    Result finish(Result::End end, bool program_is_done);
    // The same, but only how it ended: of a run that is explained all else is known.
    Result finish_briefly(Result::End end, bool program_is_done);

private:
    friend class Builder;
    friend class Collector;

    struct Location {
        uint32_t partition = 0;
        uint32_t place = 0;       // of its kind, hosts or switches, in the partition
        uint32_t first_port = 0;  // of the partition's cabling
    };

    explicit Network(const Setup& setup) : setup_(setup) {}
    cluster::Host& host(uint32_t endpoint) {
        return partitions_[hosts_[endpoint].partition]->hosts()[hosts_[endpoint].place];
    }

    const Setup& setup_;
    std::vector<std::unique_ptr<cluster::Partition>> partitions_;
    std::vector<Location> locations_;        // by node of the graph
    std::vector<Location> hosts_;            // by endpoint
    std::vector<transport::Qpn> flow_qpns_;  // at their sources
    std::deque<fabric::Routes> routes_;
    std::shared_ptr<const control::History> history_;            // null: tables are given
    std::deque<std::vector<fabric::RouteEntry>> route_entries_;  // that switches write on the way
    std::deque<fabric::Settings> switch_settings_;               // of those that have their own
    fabric::FixedPaths paths_;
    std::vector<fabric::Groups> groups_;  // by node of the graph
    std::vector<Disagreement> disagreements_;
    std::vector<std::vector<fabric::TraceSample>> traces_;     // by partition
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> rates_;  // the last of each queue pair
};

}  // namespace tulle::sim
