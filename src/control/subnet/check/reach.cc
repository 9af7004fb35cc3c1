#include "control/subnet/check/reach.h"

#include <algorithm>

namespace tulle::control {
namespace {

enum class End : uint8_t { unknown, on_the_way, arrives, is_lost, loops };

std::vector<uint32_t> pieces_of(const Subnet& subnet) {
    std::vector<uint32_t> piece(subnet.switch_count(), kNone);
    std::vector<uint32_t> queue;
    for (uint32_t s = 0; s < subnet.switch_count(); ++s) {
        if (piece[s] != kNone) continue;
        piece[s] = s;
        queue.assign(1, s);
        for (size_t i = 0; i < queue.size(); ++i)
            for (const Subnet::Link& link : subnet.links_of(queue[i]))
                if (piece[link.to] == kNone) {
                    piece[link.to] = s;
                    queue.push_back(link.to);
                }
    }
    return piece;
}

class Follower {
public:
    Follower(const Subnet& subnet, const ForwardingTables& tables)
        : subnet_(subnet),
          tables_(tables),
          piece_(pieces_of(subnet)),
          stops_at_(subnet.switch_count()) {}

    Reach follow_all() {
        uint64_t hosts = 0;
        std::vector<uint64_t> hosts_of(subnet_.switch_count());  // by piece
        for (uint32_t s = 0; s < subnet_.switch_count(); ++s) {
            hosts += subnet_.hosts_at(s);
            hosts_of[piece_[s]] += subnet_.hosts_at(s);
        }
        for (const uint64_t here : hosts_of) {
            reach_.pieces += here > 0;
            reach_.apart_host_pairs += here * (hosts - here);
        }
        for (uint32_t lid = 0; lid < subnet_.lid_end(); ++lid)
            if (subnet_.place(lid).home != kNone) follow(lid);
        return std::move(reach_);
    }

private:
    void follow(uint32_t lid) {
        end_.assign(subnet_.switch_count(), End::unknown);
        const uint32_t home = subnet_.place(lid).home;
        for (uint32_t s = 0; s < subnet_.switch_count(); ++s)
            if (piece_[s] == piece_[home]) count(s, lid, end_of(s, lid));
    }

    End end_of(uint32_t source, uint32_t lid) {
        path_.clear();
        uint32_t s = source;
        End end = End::unknown;
        while (end == End::unknown) {
            if (end_[s] != End::unknown) {
                end = end_[s] == End::on_the_way ? End::loops : end_[s];
                break;
            }
            end_[s] = End::on_the_way;
            path_.push_back(s);
            const uint32_t link = subnet_.link_at(s, tables_.port(s, lid));
            if (link == kNone)
                end = arrives(s, lid) ? End::arrives : End::is_lost;
            else
                s = subnet_.link(link).to;
        }
        const bool is_known_end = path_.empty() || path_.back() != s;
        const uint32_t stop = is_known_end && end != End::loops ? stops_at_[s] : s;
        for (const uint32_t passed : path_) {
            end_[passed] = end;
            stops_at_[passed] = stop;
        }
        return end;
    }

    bool arrives(uint32_t s, uint32_t lid) const {
        const Subnet::Place& place = subnet_.place(lid);
        return s == place.home && tables_.port(s, lid) == place.port;
    }

    void count(uint32_t s, uint32_t lid, End end) {
        const bool is_host = subnet_.is_host(lid);
        const uint64_t hosts = subnet_.hosts_at(s);
        // Further LIDs of a host do not add pairs.
        const bool is_first = subnet_.place(lid).path == 0;
        const uint64_t pairs = is_host && is_first ? hosts - (subnet_.place(lid).home == s) : 0;
        reach_.host_pairs += pairs;
        if (end == End::arrives) return;
        const bool loops = end == End::loops;
        const uint64_t other = (is_host ? 1 : hosts) + (is_first ? 0 : hosts);
        (loops ? reach_.looping_host_pairs : reach_.lost_host_pairs) += pairs;
        (loops ? reach_.looping_other : reach_.lost_other) += other;
        if (!is_host && hosts == 0)
            ++(loops ? reach_.looping_between_switches : reach_.lost_between_switches);
        std::vector<LostPath>& examples = loops ? reach_.looping : reach_.lost;
        if (pairs + other > 0 && examples.size() < kMostExamples)
            examples.push_back({s, lid, stops_at_[s]});
    }

    const Subnet& subnet_;
    const ForwardingTables& tables_;
    std::vector<uint32_t> piece_;     // by switch
    std::vector<End> end_;            // by switch, of one LID
    std::vector<uint32_t> stops_at_;  // by switch, of one LID
    std::vector<uint32_t> path_;
    Reach reach_;
};

}  // namespace

Reach check_reach(const Subnet& subnet, const ForwardingTables& tables) {
    return Follower(subnet, tables).follow_all();
}

uint32_t count_pieces(const Subnet& subnet) {
    const std::vector<uint32_t> piece = pieces_of(subnet);
    std::vector<bool> has_hosts(piece.size());
    for (uint32_t s = 0; s < piece.size(); ++s)
        if (subnet.hosts_at(s) > 0) has_hosts[piece[s]] = true;
    return static_cast<uint32_t>(std::count(has_hosts.begin(), has_hosts.end(), true));
}

std::vector<uint32_t> path_of(const Subnet& subnet, const ForwardingTables& tables, uint32_t source,
                              uint32_t lid) {
    std::vector<uint32_t> links;
    std::vector<bool> passed(subnet.switch_count());
    uint32_t s = source;
    while (!passed[s]) {
        passed[s] = true;
        const uint32_t link = subnet.link_at(s, tables.port(s, lid));
        if (link == kNone) break;
        links.push_back(link);
        s = subnet.link(link).to;
    }
    return links;
}

}  // namespace tulle::control
