#include "sim/network.h"

#include <algorithm>

#include "sim/connector.h"

namespace tulle::sim {

uint64_t Network::next_window() const {
    uint64_t first = kNoWindow;
    for (const auto& partition : partitions_) first = std::min(first, partition->first_window());
    return first;
}

void Network::exchange(size_t partition) {
    for (size_t other = 0; other < partitions_.size(); ++other)
        if (other != partition)
            partitions_[partition]->take_over(partitions_[other]->cabling().crossings[partition]);
}

void Network::open(Connection& connection) {
    const Connector connector(
        setup_, tenancy(), lanes(),
        [this](uint32_t endpoint) -> cluster::HostNode& { return host(endpoint); });
    connector.connect(connection);
    for (const uint32_t endpoint : {connection.source, connection.destination})
        host(endpoint).user().make_room_for(connection.messages);
}

void Network::close(const Connection& connection) {
    const auto close_end = [&](cluster::HostNode& end, transport::Qpn qpn) {
        if (end.find_account() != nullptr) end.account().forget(qpn);
        TULLE_CHECK(end.adapter().queue_pairs().destroy(qpn) == transport::Refusal::none);
        if (end.user().has_datagrams()) end.user().datagrams().forget(qpn);
    };
    cluster::HostNode& from = host(connection.source);
    const transport::Qpn peer = from.user().has_datagrams()
                                    ? from.user().datagrams().route(connection.qpn).qpn
                                    : from.adapter().queue_pairs().find(connection.qpn)->dest_qpn;
    close_end(from, connection.qpn);
    close_end(host(connection.destination), peer);
}

std::optional<Network::PluginFailure> Network::failed_plugin() {
    std::optional<PluginFailure> first;
    const std::vector<uint32_t> nodes = setup_.graph.endpoints();
    for (uint32_t endpoint = 0; endpoint < hosts_.size(); ++endpoint) {
        const transport::PluginFlow* flow = host(endpoint).adapter().queue_pairs().failed_plugin();
        if (flow == nullptr || (first && first->at <= flow->fault()->at)) continue;
        const transport::PluginFault& fault = *flow->fault();
        first = {fault.at, flow->plugin().file() + " (" + std::string(flow->plugin().name()) +
                               ") failed a flow of " + setup_.graph.nodes[nodes[endpoint]].name +
                               ", so the run is void: " + fault.what};
    }
    return first;
}

void Network::watch(uint32_t endpoint, transport::Qpn qpn, const cluster::Span& span) {
    const auto watch_end = [&](uint32_t at, transport::Qpn number) {
        cluster::HostNode& end = host(at);
        const transport::QueuePair& qp = *end.adapter().queue_pairs().find(number);
        const uint8_t lane = end.plan().lane_of(setup_.fabric.qos, qp.address.traffic_class,
                                                qp.address.service_level);
        end.account().watch({number, lane}, span);
    };
    watch_end(endpoint, qpn);
    const transport::QueuePair& qp = *host(endpoint).adapter().queue_pairs().find(qpn);
    // A group of a switch has no single queue pair as its peer.
    if (qp.address.endpoint.value < hosts_.size())
        watch_end(qp.address.endpoint.value, qp.dest_qpn);
}

void Network::watch_flow(uint32_t flow) {
    watch(setup_.flows[flow].source, flow_qpns_[flow], {});
    want(setup_.flows[flow].source, flow, false);
}

void Network::want(uint32_t endpoint, uint32_t id, bool is_task) {
    host(endpoint).account().want(id, is_task);
}

std::vector<cluster::MessageNote> Network::notes() const {
    std::vector<cluster::MessageNote> all;
    for (const auto& partition : partitions_)
        for (const cluster::HostNode& host : partition->hosts())
            if (const cluster::HostAccount* account = host.find_account())
                for (cluster::MessageNote note : account->notes) {
                    note.endpoint = host.endpoint();
                    all.push_back(std::move(note));
                }
    return all;
}

std::map<fabric::LossRecord, uint64_t> Network::losses() const {
    const auto is_watched = [&](const fabric::LossRecord& loss) {
        if (loss.endpoint >= hosts_.size()) return false;
        const Location& host = hosts_[loss.endpoint];
        const auto* account = partitions_[host.partition]->hosts()[host.place].find_account();
        return account != nullptr && account->has_watched({loss.qpn});
    };
    std::map<fabric::LossRecord, uint64_t> all;
    for (const auto& partition : partitions_)
        for (const auto& [loss, packets] : partition->journal()->losses())
            if (is_watched(loss)) all[loss] += packets;
    return all;
}

std::set<fabric::CrossingRecord> Network::crossings() const {
    std::set<fabric::CrossingRecord> all;
    for (const auto& partition : partitions_)
        all.insert(partition->journal()->crossings().begin(),
                   partition->journal()->crossings().end());
    return all;
}

size_t Network::flows_done() const {
    size_t done = 0;
    for (const auto& partition : partitions_) done += partition->ends.flows.size();
    return done;
}

Instant Network::last_table_write() const {
    if (!history_ || history_->writes.empty()) return {};
    Instant last = history_->writes.back().at;
    for (const control::CableReady& ready : history_->ready) last = std::max(last, ready.at);
    return last;
}

uint64_t Network::hops() const {
    uint64_t hops = 0;
    for (const auto& partition : partitions_) {
        fabric::Cabling& cabling = partition->cabling();
        for (uint32_t p = 0; p < cabling.ports(); ++p)
            hops += cabling.port(p).data_packets() + cabling.port(p).control_packets();
    }
    return hops;
}

}  // namespace tulle::sim
