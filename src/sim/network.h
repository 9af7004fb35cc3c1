// One network of a simulation. It is cut into partitions that advance window by window and exchange
// the packets that cross between them. Flows are known from the beginning. Other messages are
// posted during the run, on connections that are made at the beginning or opened on first use.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "base/result.h"
#include "cluster/partition.h"
#include "control/history.h"
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
    uint32_t group = topology::kNone;  // of Share::groups, if it sends to a group
    uint64_t number = 0;               // seeds its random draws
    transport::Qpn qpn{};              // at the source; this and the next: filled in by Connector
    uint32_t lkey = 0;
    uint32_t rkey = 0;
};

// Hosts for which switches add up contributions, or to which they copy packets.
struct SwitchGroup {
    std::vector<uint32_t> members;       // endpoints that packets go on to
    std::vector<uint32_t> contributors;  // of a sum; empty: packets are copied
    // The switches of a group between servers. Null: all hosts of the group are on one switch.
    const fabric::ReductionTree* tree = nullptr;
    uint32_t address = 0;                       // this and the next: filled in by Connector
    std::map<uint32_t, uint32_t> address_at{};  // of a tree: at each of its switches
    transport::Qpn qpn{};                       // of the first member
    uint32_t rkey = 0;
};

// What a network shares with the others of its simulation.
struct Share {
    Duration window{};                            // no longer than any cable takes
    std::pmr::memory_resource* memory = nullptr;  // for ports and packets
    std::vector<uint32_t> home;  // partition of each endpoint; empty: equal ranges of endpoints
    std::vector<Connection>* connections = nullptr;
    const std::vector<Connection>* opened_later = nullptr;  // on use; only their levels count
    std::vector<SwitchGroup>* groups = nullptr;
    bool is_explained = false;                   // record where time goes, see Network::watch()
    bool notes_crossings = false;                // and whose packets cross which port
    const FirstRun::OfNetwork* first = nullptr;  // of a network that is explained
};

// The delay of the shortest cable. The graph has been checked.
Duration shortest_cable(const Setup& setup);

class Network {
public:
    static constexpr uint64_t kNoWindow = cluster::WindowWheel::kNone;

    // Returns an error if the setup is wrong. Its graph has been checked.
    static base::Result<std::unique_ptr<Network>> build(const Setup& setup, size_t partitions,
                                                        const Share& share);

    size_t partitions() const { return partitions_.size(); }
    cluster::Partition& partition(size_t p) { return *partitions_[p]; }
    const cluster::Partition& partition(size_t p) const { return *partitions_[p]; }
    uint32_t partition_of(uint32_t endpoint) const { return hosts_[endpoint].partition; }
    uint64_t next_window() const;
    void exchange(size_t partition);
    // Posts to a host. Its partition does not advance right now.
    void post(uint32_t endpoint, const cluster::Posting& posting) {
        partitions_[hosts_[endpoint].partition]->post(hosts_[endpoint].place, posting);
    }

    // Connects two hosts, or removes both ends of a connection that has nothing in flight. No
    // partition advances meanwhile.
    void open(Connection& connection);
    void close(const Connection& connection);

    // In a network that is explained: follows the packets of a queue pair and of its peer.
    void watch(uint32_t endpoint, transport::Qpn qpn, const cluster::Span& span);
    void watch_flow(uint32_t flow);
    // Asks the host to note what happens to this message.
    void want(uint32_t endpoint, uint32_t id, bool is_task);
    std::vector<cluster::MessageNote> notes() const;
    // Of packets to watched queue pairs.
    std::map<fabric::LossRecord, uint64_t> losses() const;
    std::set<fabric::CrossingRecord> crossings() const;

    // The first failure of a plug-in, with the name of its file.
    struct PluginFailure {
        Instant at{};
        std::string sentence;
    };
    std::optional<PluginFailure> failed_plugin();

    size_t flows_done() const;
    uint64_t hops() const;
    // The time of the last write to a forwarding table; zero: none is written.
    Instant last_table_write() const;

    // The number of records in all partitions. None of them advances right now.
    size_t records_kept() const;
    // Takes all records from before that instant. Once all partitions have advanced to it, no
    // earlier record is added.
    Records take_records(Instant before);

    // `program_is_done`: whether the ranks have finished their program, if there is one.
    Result finish(Result::End end, bool program_is_done);
    // A control plane may still send when all work has ended. No link has been busy with that.
    void leave_out_management_after(Instant end, Result& result);
    // The same, but only how the run ended. For a run that is explained; an earlier run of the same
    // setup found the rest.
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
    const fabric::Tenancy* tenancy() const { return tenancy_ ? &*tenancy_ : nullptr; }
    // Null: no subnet manager decides service levels.
    const control::HistoryOfLanes* lanes() const {
        return history_ && history_->lanes.are_used() ? &history_->lanes : nullptr;
    }
    cluster::HostNode& host(uint32_t endpoint) {
        return partitions_[hosts_[endpoint].partition]->hosts()[hosts_[endpoint].place];
    }

    const Setup& setup_;
    std::vector<std::unique_ptr<cluster::Partition>> partitions_;
    std::vector<Location> locations_;        // by node of the graph
    std::vector<Location> hosts_;            // by endpoint
    std::vector<transport::Qpn> flow_qpns_;  // at their sources
    std::deque<fabric::Routes> routes_;
    std::shared_ptr<const control::History> history_;            // null: tables are given
    std::deque<std::vector<fabric::RouteEntry>> route_entries_;  // written during the run
    std::deque<fabric::Settings> switch_settings_;               // of switches with their own
    fabric::FixedPaths paths_;
    std::vector<fabric::Groups> groups_;       // by node of the graph
    std::vector<uint32_t> group_of_endpoint_;  // of a dragonfly, where routes need it
    std::vector<Disagreement> disagreements_;
    std::optional<fabric::Tenancy> tenancy_;  // none: all hosts may talk to each other
    std::vector<std::vector<fabric::TraceSample>> traces_;     // by partition
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> rates_;  // the last of each queue pair
};

}  // namespace tulle::sim
