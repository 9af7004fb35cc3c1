// A stream over a reliable connection. connect.cc sets it up, stream.cc moves its bytes, mapping.cc
// handles buffers that the peer writes directly.
//
//   program -> Outgoing -> RDMA WRITE with immediate -> Incoming of the peer -> program
//
// Everything the peer says is checked.
#pragma once

#include <deque>

#include "verbs/rdmacm/ids.h"
#include "verbs/rsockets/incoming.h"
#include "verbs/rsockets/outgoing.h"
#include "verbs/rsockets/socket.h"

namespace tulle::verbs::rsockets {

class Stream final : public Socket {
public:
    explicit Stream(int domain);
    ~Stream() override;
    // False and errno if there is no adapter or no descriptor.
    bool open();

    int bind(const Name& name) override;
    int listen(int backlog) override;
    int accept(std::shared_ptr<Socket>& result) override;
    int connect(const Name& name) override;
    int shutdown(int how) override;
    void close() override;
    ssize_t receive(Pieces into, int flags, Name* from) override;
    ssize_t send(Pieces from, int flags, const Name* to) override;
    Name own_name() override;
    int peer_name(Name& name) override;
    int take_error() override { return std::exchange(error_, 0); }
    off_t map(void* memory, size_t length, int protection, off_t offset) override;
    int unmap(void* memory, size_t length) override;
    ssize_t write_mapped(Pieces from, off_t offset, int flags) override;

private:
    enum class State : uint8_t { fresh, listening, connecting, connected, over };

    struct Request {  // a pending connection request
        rdma_cm_id* id;
        Greeting greeting;
    };
    struct Mapped {
        ibv_mr* region;
        uint64_t offset;
        int index;  // in the peer's table; -1 for our own use
    };

    bool take_news(bool thoroughly) override;
    short ready(short wanted) const override;
    void arm() override;
    bool is_armed() const override {
        return cq_ == nullptr || state_ != State::connected || is_armed_;
    }
    void add_files(std::vector<pollfd>& files) const override;

    // connect.cc
    bool take_events();
    void on_event(const rdma_cm_event& event, const Greeting& greeting);
    void on_caller(const rdma_cm_event& event, const Greeting& greeting);
    int adopt(const Request& request);
    int set_up();
    void ask_for_connection();
    void begin_talk(const Greeting& greeting);
    Greeting own_greeting();
    void fail(int error);
    void tear_down();

    // stream.cc
    bool take_completions();
    void on_completion(const ibv_wc& completion);
    void on_message(uint32_t message);
    void on_parted();
    bool flush_control();
    bool can_write() const;
    void say_goodbye(Guard& guard, Control what);

    // mapping.cc
    int publish(Guard& guard, int index, const Mapping& mapping);

    State state_ = State::fresh;
    int error_ = 0;           // for SO_ERROR
    bool may_talk_ = false;   // the peer's queue pair is known to be ready
    bool is_parted_ = false;  // the peer has closed its end, or is gone
    rdma_event_channel* events_ = nullptr;
    rdma_cm_id* id_ = nullptr;
    std::deque<Request> requests_;
    ibv_comp_channel* channel_ = nullptr;
    ibv_cq* cq_ = nullptr;
    bool is_armed_ = false;

    Incoming incoming_;
    Outgoing outgoing_;
    bool writes_no_more_ = false;
    std::vector<Mapped> mapped_;
};

}  // namespace tulle::verbs::rsockets
