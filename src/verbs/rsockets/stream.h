// A stream over a reliable connection. connect.cc makes it, stream.cc moves its bytes, mapping.cc
// is for buffers that the peer writes directly.
//
//   program -> send ring -> RDMA WRITE with immediate -> receive ring of the peer -> program
//
// The receive ring is shown to the peer by halves: what it has filled and the program has read is
// shown again. Whatever the peer says is checked: it cannot say that it has written more than it
// was shown.
#pragma once

#include <deque>
#include <optional>

#include "verbs/rdmacm/ids.h"
#include "verbs/rsockets/protocol.h"
#include "verbs/rsockets/socket.h"

namespace tulle::verbs::rsockets {

// Memory with its key.
class Buffer {
public:
    Buffer() = default;
    ~Buffer() { release(); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    bool allocate(ibv_pd* pd, size_t bytes, int access);
    void release();
    std::byte* data() { return memory_.get(); }
    const std::byte* data() const { return memory_.get(); }
    size_t size() const { return size_; }
    uint32_t lkey() const { return region_->lkey; }
    uint32_t rkey() const { return region_->rkey; }

private:
    std::unique_ptr<std::byte[]> memory_;
    size_t size_ = 0;
    ibv_mr* region_ = nullptr;
};

class Stream final : public Socket {
public:
    explicit Stream(int domain);
    ~Stream() override;
    // False, and errno, if there is no adapter or no descriptor.
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

    struct Request {  // of somebody who wants to connect
        rdma_cm_id* id;
        Greeting greeting;
    };
    struct Sent {
        uint32_t ring_bytes = 0;
        bool is_control = false;
    };
    struct Mapped {
        ibv_mr* region;
        uint64_t offset;
        int index;  // in the peer's table; -1 if it is for our own use
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
    void on_request(rdma_cm_id* id, const Greeting& greeting);
    void drop_request(rdma_cm_id* id);
    int adopt(const Request& request);
    int set_up();
    void ask_for_connection();
    void begin_talk(const Greeting& greeting);
    bool is_acceptable(const Greeting& greeting) const;
    Greeting own_greeting() const;
    rdma_conn_param parameters(const Greeting& greeting) const;
    void fail(int error);
    void tear_down();

    // stream.cc
    bool take_completions();
    void on_completion(const ibv_wc& completion);
    void on_message(uint32_t message);
    void on_data(uint32_t bytes);
    void on_credit(uint32_t credit);
    void on_control(uint32_t what);
    void on_parted();
    bool post_receives(uint32_t count);
    bool post_write(std::optional<uint32_t> immediate, ibv_sge* from, const Target& to, Sent sent);
    bool post_control(uint32_t immediate, const void* what, uint32_t bytes, const Target& to);
    bool flush_control();
    bool give_credit();
    bool can_write() const;
    size_t write_some(Pieces& from);
    bool has_room_to_send() const;
    size_t stage(Pieces& from, size_t most, ibv_sge& sge);
    bool is_at_end() const;
    size_t read_some(Pieces& into, bool is_peek);
    void say_goodbye(Guard& guard, Control what);

    // mapping.cc
    int publish(Guard& guard, int index, const Mapping& mapping);
    std::optional<Target> mapped_at(uint64_t offset) const;

    State state_ = State::fresh;
    int error_ = 0;           // for the program to ask for
    bool may_talk_ = false;   // the peer's queue pair is known to listen
    bool is_parted_ = false;  // the peer has closed its end, or is gone
    rdma_event_channel* events_ = nullptr;
    rdma_cm_id* id_ = nullptr;
    std::deque<Request> requests_;
    ibv_comp_channel* channel_ = nullptr;
    ibv_cq* cq_ = nullptr;
    bool is_armed_ = false;

    // What comes in.
    Buffer receive_ring_;
    size_t read_at_ = 0;
    size_t readable_ = 0;
    size_t shown_bytes_ = 0;  // to the peer, and not written yet
    size_t freed_bytes_ = 0;  // read since a half was shown last
    size_t show_at_ = 0;      // what is shown next
    uint16_t received_ = 0;   // messages of data
    uint16_t credited_ = 0;   // of these, when credit was given last
    bool peer_is_done_ = false;
    bool reads_no_more_ = false;
    // Where the peer shows its buffers: the target list, and mappings behind it.
    Buffer table_;
    uint32_t next_target_ = 1;  // that the peer will write

    // What goes out.
    Buffer send_ring_;
    size_t write_at_ = 0;
    size_t ring_used_ = 0;
    std::deque<Sent> sent_;
    uint32_t controls_out_ = 0;
    std::deque<Target> targets_;  // of the peer, to be written in this order
    Target peer_table_;
    bool swaps_table_ = false;  // the peer has the other byte order
    uint32_t peer_mappings_ = 0;
    uint32_t next_entry_ = 1;  // of the peer's target list
    uint16_t sent_messages_ = 0;
    uint16_t credit_ = 0;  // up to which message data may be sent
    bool writes_no_more_ = false;
    std::vector<Mapped> mapped_;
};

}  // namespace tulle::verbs::rsockets
