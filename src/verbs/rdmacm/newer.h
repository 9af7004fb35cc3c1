// Names that librdmacm has gained since release 44, whose headers this is compiled with.
#pragma once

#include <rdma/rdma_cma.h>

extern "C" {
int rdma_resolve_addrinfo(rdma_cm_id* id, const char* node, const char* service,
                          const rdma_addrinfo* hints);
int rdma_query_addrinfo(rdma_cm_id* id, rdma_addrinfo** information);
int rdma_write_cm_event(rdma_cm_id* id, rdma_cm_event_type event, int status, uint64_t argument);
}
