// Any bytes, as messages of the connection manager that come to a process with listeners, and a
// program that answers or leaves what they ask for. The process is its own peer.
//
// The input is a list of steps. One begins with a byte that says what it is; a message follows with
// its kind and as many bytes of it as it wants.
#include <poll.h>
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <vector>

#include "transport/cm/types.h"
#include "verbs/process.h"
#include "wire/mad/cm.h"
#include "wire/mad/ip_cm.h"

namespace tulle::verbs {
namespace {

class Program {
public:
    Program() : channel_(rdma_create_event_channel()) {
        ports_ = {listen(RDMA_PS_TCP), listen(RDMA_PS_UDP)};
    }

    void run(wire::Bytes input) {
        while (!input.empty()) {
            const auto what = std::to_integer<uint8_t>(input[0]);
            input = input.subspan(1);
            if (what % 4 == 0)
                answer(what / 4);
            else
                input = input.subspan(deliver(what, input));
        }
        while (answer(2)) continue;
        for (rdma_cm_id* id : ids_) rdma_destroy_id(id);
        ids_.clear();
    }

private:
    uint16_t listen(rdma_port_space space) {
        sockaddr_in any{};
        any.sin_family = AF_INET;
        rdma_cm_id* id = nullptr;
        if (rdma_create_id(channel_, &id, nullptr, space) != 0 ||
            rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&any)) != 0 || rdma_listen(id, 8) != 0)
            std::abort();
        return ntohs(rdma_get_src_port(id));
    }

    // A message of this kind whose bytes are the input's; what the header needs is put right.
    size_t deliver(uint8_t what, wire::Bytes input) {
        transport::CmDatagram mad{};
        const size_t length = std::min<size_t>(input.size(), mad.size() - wire::kCmDataOffset);
        std::memcpy(mad.data() + wire::kCmDataOffset, input.data(), length);
        wire::MadHeader header;
        header.base_version = wire::kMadBaseVersion;
        header.management_class = {wire::kClassCommunication};
        header.class_version = wire::kCmClassVersion;
        header.method = {wire::kMethodSend};
        header.transaction_id = wire::Key64{what};
        header.attribute_id = {static_cast<uint16_t>(wire::kCmReq + what / 4 % 12)};
        wire::write(header, std::span(mad).first<wire::MadHeader::kSize>());
        if (what / 64 % 2 == 0) aim(mad, what / 4 % 12 + wire::kCmReq);
        Process& process = Process::of_device(0);
        const std::lock_guard guard(process.host()->lock());
        process.on_management({{0}, mad});
        return length;
    }

    // Requests go to one of the listeners.
    void aim(transport::CmDatagram& mad, uint16_t kind) const {
        const auto body = std::span(mad).subspan(wire::kCmDataOffset);
        if (kind == wire::kCmReq) {
            auto req = *wire::parse<wire::CmReq>(body);
            req.service_id = wire::service_id_of({0x06, ports_[0]});
            wire::write(req, body.first<wire::CmReq::kSize>());
        } else if (kind == wire::kCmSidrReq) {
            auto req = *wire::parse<wire::CmSidrReq>(body);
            req.service_id = wire::service_id_of({0x11, ports_[1]});
            wire::write(req, body.first<wire::CmSidrReq::kSize>());
        }
    }

    // Takes an event, if there is one, and does something about it.
    bool answer(uint8_t how) {
        pollfd look{channel_->fd, POLLIN, 0};
        rdma_cm_event* event = nullptr;
        if (poll(&look, 1, 0) != 1 || rdma_get_cm_event(channel_, &event) != 0) return false;
        rdma_cm_id* id = event->id;
        const bool is_request = event->event == RDMA_CM_EVENT_CONNECT_REQUEST;
        rdma_ack_cm_event(event);
        if (!is_request) return true;
        rdma_conn_param param{};
        param.qp_num = 77;
        if (how % 4 == 0) rdma_accept(id, &param);
        if (how % 4 == 1) rdma_reject(id, &param, 16);
        if (how % 4 == 2) return rdma_destroy_id(id) == 0;
        ids_.push_back(id);
        return true;
    }

    rdma_event_channel* channel_;
    std::array<uint16_t, 2> ports_{};
    std::vector<rdma_cm_id*> ids_;
};

}  // namespace
}  // namespace tulle::verbs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace tulle::verbs;
    static auto* program = new Program;
    program->run(std::as_bytes(std::span(data, size)));
    return 0;
}
