#include "transport/cm/events.h"

#include "transport/cm/times.h"

namespace tulle::transport {

CmPath path_from_here(const wire::CmReqPath& path) {
    return {.local_gid = path.remote_gid,
            .remote_gid = path.local_gid,
            .local_lid = path.remote_lid,
            .remote_lid = path.local_lid,
            .flow_label = path.flow_label.value,
            .packet_rate = path.packet_rate,
            .traffic_class = path.traffic_class,
            .hop_limit = path.hop_limit,
            .service_level = path.service_level,
            .subnet_local = path.subnet_local,
            .packet_lifetime = packet_lifetime_of(path.local_ack_timeout)};
}

}  // namespace tulle::transport
