// Contributions to sums in switches leave each rank in the order of the program. A switch adds up
// packets of one PSN, so all who take part must send the same messages in the same order, whichever
// of them has its data first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tulle::sim {

// Of one connection.
class SumOrder {
public:
    // Setup: tasks are added in the order in which they shall leave.
    void add(uint32_t task) { turns_.push_back({task, false}); }

    // The task is ready: posts it, and those behind it that wait for it. If it is not its turn, it
    // waits.
    template <class Post>
    void ready(uint32_t task, Post&& post) {
        for (size_t i = next_; i < turns_.size(); ++i)
            if (turns_[i].task == task) {
                turns_[i].is_ready = true;
                break;
            }
        for (; next_ < turns_.size() && turns_[next_].is_ready; ++next_) post(turns_[next_].task);
    }

private:
    struct Turn {
        uint32_t task = 0;
        bool is_ready = false;
    };
    std::vector<Turn> turns_;
    size_t next_ = 0;
};

}  // namespace tulle::sim
