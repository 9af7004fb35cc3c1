// The roles of a connection manager, on their shared state (desk.h). Each role has its own file.
#pragma once

#include "transport/cm/desk.h"

namespace tulle::transport::cm {

// active.cc
void on_rep(Desk& desk, const Arrival& from, const wire::CmRep& rep);

// passive.cc
void on_req(Desk& desk, const Arrival& from, const wire::CmReq& req);
void refuse(Desk& desk, const Arrival& from, const wire::CmReq& req, uint16_t reason);
void supersede(Desk& desk, Connection& c);
void on_rtu(Desk& desk, const Arrival& from, const wire::CmRtu& rtu);

// peer.cc
Connection* crossed_by(Desk& desk, const Arrival& from, const wire::CmReq& req);
bool stays_active(Desk& desk, const Connection& c, const wire::CmReq& req);
bool is_early(const Connection& c, const wire::CmRej& rej);

// redirect.cc
bool is_redirected(Desk& desk, Connection& c, const wire::CmRej& rej);
void on_get(Desk& desk, const Arrival& from, uint16_t attribute);

// reject.cc
void on_mra(Desk& desk, const Arrival& from, const wire::CmMra& mra);
void on_rej(Desk& desk, const Arrival& from, const wire::CmRej& rej);

// disconnect.cc
void send_dreq(Desk& desk, base::Instant now, Connection& c, wire::Bytes private_data);
void on_dreq(Desk& desk, const Arrival& from, const wire::CmDreq& dreq);
void on_drep(Desk& desk, const Arrival& from, const wire::CmDrep& drep);
void end(Desk& desk, base::Instant now, Connection& c, const CmDisconnected& what);
void end_stale(Desk& desk, base::Instant now, Connection& c);
void enter_time_wait(Desk& desk, base::Instant now, Connection& c);

// alternate_path.cc
void on_lap(Desk& desk, const Arrival& from, const wire::CmLap& lap);

// alive.cc
void begin_watch(Desk& desk, base::Instant now, Connection& c);
void ask_whether_known(Desk& desk, base::Instant now, Connection& c);
void on_apr(Desk& desk, const Arrival& from, const wire::CmApr& apr);
bool quotes_question(const Connection& c, wire::Bytes quoted);

// service_resolution.cc
void on_sidr_req(Desk& desk, const Arrival& from, const wire::CmSidrReq& req);
void refuse_service(Desk& desk, const Arrival& from, const wire::CmSidrReq& req,
                    wire::CmSidrStatus why);
void on_sidr_rep(Desk& desk, const Arrival& from, const wire::CmSidrRep& rep);

// timers.cc
void on_deadline(Desk& desk, base::Instant now, Connection& c);

}  // namespace tulle::transport::cm
