#include "wire/syndrome.h"

namespace tulle::wire {

std::string_view nak_reason(uint8_t code) {
    switch (static_cast<NakCode>(code)) {
        case NakCode::psn_sequence_error: return "PSN sequence error";
        case NakCode::invalid_request: return "invalid request";
        case NakCode::remote_access_error: return "remote access error";
        case NakCode::remote_operational_error: return "remote operational error";
        case NakCode::invalid_rd_request: return "invalid RD request";
    }
    return "reserved NAK code";
}

}  // namespace tulle::wire
