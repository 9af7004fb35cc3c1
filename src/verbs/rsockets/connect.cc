// Set-up and end of a stream.
#include <fcntl.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "verbs/rsockets/stream.h"

namespace tulle::verbs::rsockets {
namespace {

constexpr int kResolveMilliseconds = 2'000;
constexpr uint8_t kRetries = 7;

Greeting greeting_in(const rdma_conn_param& param) {
    Greeting greeting;
    greeting.version = 0;
    if (param.private_data != nullptr && param.private_data_len >= sizeof greeting)
        std::memcpy(&greeting, param.private_data, sizeof greeting);
    return greeting;
}

int error_of(const rdma_cm_event& event) {
    switch (event.event) {
        case RDMA_CM_EVENT_REJECTED: return ECONNREFUSED;
        case RDMA_CM_EVENT_UNREACHABLE: return ETIMEDOUT;
        case RDMA_CM_EVENT_ADDR_ERROR:
        case RDMA_CM_EVENT_ROUTE_ERROR: return ENETUNREACH;
        default: return ECONNABORTED;
    }
}

bool is_acceptable(const Greeting& greeting) {
    return greeting.version == kProtocolVersion && greeting.targets.length != 0 &&
           greeting.data.length != 0 && greeting.credits != 0;
}

rdma_conn_param parameters(const Greeting& greeting) {
    rdma_conn_param param{};
    param.private_data = &greeting;
    param.private_data_len = sizeof greeting;
    param.flow_control = 1;
    param.retry_count = param.rnr_retry_count = kRetries;
    return param;
}

socklen_t length_of(const sockaddr_storage& address) {
    return address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

}  // namespace

Stream::Stream(int domain) : Socket(domain, SOCK_STREAM) {}

Stream::~Stream() {
    tear_down();
    if (events_ != nullptr) rdma_destroy_event_channel(events_);
}

bool Stream::open() {
    if (!is_open()) return false;
    events_ = rdma_create_event_channel();
    if (events_ == nullptr) return false;
    fcntl(events_->fd, F_SETFL, O_NONBLOCK);
    return rdma_create_id(events_, &id_, this, RDMA_PS_TCP) == 0;
}

int Stream::bind(const Name& name) {
    const std::lock_guard guard(lock_);
    if (state_ != State::fresh || id_ == nullptr) return -EINVAL;
    Name copy = name;
    return rdma_bind_addr(id_, reinterpret_cast<sockaddr*>(&copy.address)) == 0 ? 0 : -errno;
}

int Stream::listen(int backlog) {
    const std::lock_guard guard(lock_);
    if (state_ == State::listening) return 0;
    if (state_ != State::fresh || id_ == nullptr) return -EINVAL;
    if (rdma_listen(id_, std::max(1, backlog)) != 0) return -errno;
    state_ = State::listening;
    return 0;
}

// Skips a request whose sender is gone.
int Stream::accept(std::shared_ptr<Socket>& result) {
    Guard guard(lock_);
    if (state_ != State::listening) return -EINVAL;
    for (;;) {
        if (const int error = wait(guard, is_blocking(), [&] {
                return !requests_.empty() || state_ != State::listening;
            }))
            return -error;
        if (state_ != State::listening) return -EINVAL;
        auto stream = std::make_shared<Stream>(domain_);
        const Request request = requests_.front();
        requests_.pop_front();
        stream->options_ = options_;
        if (const int error = stream->adopt(request); error == ENFILE || error == EMFILE)
            return -error;
        else if (error == 0) {
            result = std::move(stream);
            return 0;
        }
    }
}

int Stream::adopt(const Request& request) {
    id_ = request.id;
    id_->context = this;
    events_ = is_open() ? rdma_create_event_channel() : nullptr;
    if (events_ == nullptr) return EMFILE;
    fcntl(events_->fd, F_SETFL, O_NONBLOCK);
    if (rdma_migrate_id(id_, events_) != 0) return errno;
    if (!is_acceptable(request.greeting)) return EPROTO;
    if (const int error = set_up()) return error;
    begin_talk(request.greeting);
    const Greeting greeting = own_greeting();
    rdma_conn_param param = parameters(greeting);
    return rdma_accept(id_, &param) == 0 ? 0 : errno;
}

int Stream::connect(const Name& name) {
    Guard guard(lock_);
    progress(true);
    switch (state_) {
        case State::connecting: return -EALREADY;
        case State::connected: return -EISCONN;
        case State::listening: return -EINVAL;
        case State::over: {
            // A failed connect may be repeated, with a new id.
            tear_down();
            if (rdma_create_id(events_, &id_, this, RDMA_PS_TCP) != 0) return -errno;
            state_ = State::fresh;
            break;
        }
        case State::fresh: break;
    }
    Name copy = name;
    auto* there = reinterpret_cast<sockaddr*>(&copy.address);
    if (rdma_resolve_addr(id_, nullptr, there, kResolveMilliseconds) != 0) return -errno;
    state_ = State::connecting;
    const int error = wait(guard, is_blocking(), [&] { return state_ != State::connecting; });
    if (error == EAGAIN) return -EINPROGRESS;
    if (error != 0) return -error;
    return state_ == State::connected ? 0 : -take_error();
}

// ---- events of the connection manager -----------------------------------------------------------

// The content of an event is copied, so that the event can be acknowledged first: an id cannot be
// destroyed while the program holds an event of it.
bool Stream::take_events() {
    bool any = false;
    rdma_cm_event* event = nullptr;
    while (events_ != nullptr && rdma_get_cm_event(events_, &event) == 0) {
        any = true;
        const rdma_cm_event copy = *event;
        const Greeting greeting = greeting_in(event->param.conn);
        rdma_ack_cm_event(event);
        try {
            on_event(copy, greeting);
        } catch (const std::bad_alloc&) {
            fail(ENOMEM);
        }
    }
    return any;
}

void Stream::on_event(const rdma_cm_event& event, const Greeting& greeting) {
    if (state_ == State::listening) return on_caller(event, greeting);
    switch (event.event) {
        case RDMA_CM_EVENT_ADDR_RESOLVED:
            if (rdma_resolve_route(id_, kResolveMilliseconds) != 0) fail(errno);
            return;
        case RDMA_CM_EVENT_ROUTE_RESOLVED: return ask_for_connection();
        case RDMA_CM_EVENT_ESTABLISHED:
            may_talk_ = true;
            if (state_ != State::connecting) return;  // on the accepting side
            if (!is_acceptable(greeting)) return fail(EPROTO);
            return begin_talk(greeting);
        case RDMA_CM_EVENT_DISCONNECTED:
            if (state_ != State::connected) return fail(ECONNREFUSED);
            (void)take_completions();  // takes all that the peer sent before
            return on_parted();
        case RDMA_CM_EVENT_TIMEWAIT_EXIT: return;
        default: return fail(state_ == State::connecting ? error_of(event) : ECONNRESET);
    }
}

// A listener's event: somebody wants a connection, or no longer does.
void Stream::on_caller(const rdma_cm_event& event, const Greeting& greeting) {
    rdma_cm_id* caller = event.id;
    try {
        if (event.event == RDMA_CM_EVENT_CONNECT_REQUEST)
            return requests_.push_back({caller, greeting});
    } catch (const std::bad_alloc&) {
        rdma_destroy_id(caller);
        return;
    }
    if (caller != id_ && std::erase_if(requests_, [&](auto& r) { return r.id == caller; }) > 0)
        rdma_destroy_id(caller);
}

void Stream::ask_for_connection() {
    if (const int error = set_up()) return fail(error);
    const Greeting greeting = own_greeting();
    rdma_conn_param param = parameters(greeting);
    if (rdma_connect(id_, &param) != 0) fail(errno);
}

// ---- both sides ---------------------------------------------------------------------------------

// Buffers, queues, and receives: the peer may write as soon as it knows them.
int Stream::set_up() {
    channel_ = ibv_create_comp_channel(id_->verbs);
    if (channel_ == nullptr) return EMFILE;
    const int entries = options_.send_queue + options_.receive_queue + 2 * int{kControls};
    cq_ = ibv_create_cq(id_->verbs, entries, nullptr, channel_, 0);
    if (cq_ == nullptr) return ENOMEM;
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = cq_;
    attributes.qp_type = IBV_QPT_RC;
    attributes.sq_sig_all = 1;
    attributes.cap.max_send_wr = options_.send_queue + kControls;
    attributes.cap.max_recv_wr = options_.receive_queue + kControls;
    attributes.cap.max_send_sge = attributes.cap.max_recv_sge = 1;
    attributes.cap.max_inline_data = options_.inline_bytes;
    if (rdma_create_qp(id_, nullptr, &attributes) != 0) return errno;
    if (!incoming_.allocate(id_->pd, options_) || !outgoing_.allocate(id_->pd, options_))
        return ENOMEM;
    return Incoming::post_receives(id_->qp, options_.receive_queue + kControls) ? 0 : ENOMEM;
}

Greeting Stream::own_greeting() {
    Greeting greeting;
    greeting.flags = is_big_endian() ? kBigEndian : 0;
    if (options_.io_mappings > 0) greeting.flags |= kTakesMappings;
    greeting.mappings = static_cast<uint8_t>(options_.io_mappings);
    greeting.credits = htobe16(options_.receive_queue);
    greeting.targets = to_network(outgoing_.table());
    greeting.data = to_network(incoming_.announce_half());
    return greeting;
}

void Stream::begin_talk(const Greeting& greeting) {
    outgoing_.begin(id_->qp, greeting);
    state_ = State::connected;
}

void Stream::fail(int error) {
    if (state_ == State::over) return;
    error_ = error;
    state_ = State::over;
    writes_no_more_ = true;
    incoming_.end();
}

void Stream::tear_down() {
    for (const Request& request : requests_) rdma_destroy_id(request.id);
    requests_.clear();
    if (id_ != nullptr && id_->qp != nullptr) rdma_destroy_qp(id_);
    for (const Mapped& one : mapped_) ibv_dereg_mr(one.region);
    mapped_.clear();
    if (cq_ != nullptr) ibv_destroy_cq(cq_);
    if (channel_ != nullptr) ibv_destroy_comp_channel(channel_);
    cq_ = nullptr;
    channel_ = nullptr;
    incoming_.release();
    outgoing_.release();
    if (id_ != nullptr) rdma_destroy_id(id_);
    id_ = nullptr;
    writes_no_more_ = is_armed_ = may_talk_ = is_parted_ = false;
}

void Stream::close() {
    (void)shutdown(SHUT_RDWR);
    const std::lock_guard guard(lock_);
    tear_down();
    state_ = State::over;
    writes_no_more_ = true;
    incoming_.end();
}

Name Stream::own_name() {
    const std::lock_guard guard(lock_);
    if (id_ == nullptr || id_->route.addr.src_storage.ss_family == 0) return any_name(domain_);
    const sockaddr_storage& address = id_->route.addr.src_storage;
    return {address, length_of(address)};
}

int Stream::peer_name(Name& name) {
    const std::lock_guard guard(lock_);
    if (id_ == nullptr || (state_ != State::connected && state_ != State::over)) return -ENOTCONN;
    const sockaddr_storage& address = id_->route.addr.dst_storage;
    if (address.ss_family == 0) return -ENOTCONN;
    name = {address, length_of(address)};
    return 0;
}

}  // namespace tulle::verbs::rsockets
