// What a rank's buffer is waiting for: for each byte, the messages that have to arrive before it is
// what the rank passes on.
//
// With it a collective is written as a list of transfers, and what each of them waits for follows
// from the data. Stretches are a sorted list; collectives fill it mostly from one end.
#pragma once

#include <cstdint>
#include <vector>

#include "workload/range.h"

namespace tulle::workload {

class Holdings {
public:
    // Lists of messages, shared by all ranks of a phase: a list is its last link.
    class Lists {
    public:
        static constexpr uint32_t kEmpty = 0xffff'ffff;
        uint32_t with(uint32_t list, uint32_t task) {
            links_.push_back({task, list});
            return static_cast<uint32_t>(links_.size() - 1);
        }
        void append_to(std::vector<uint32_t>& tasks, uint32_t list) const {
            for (; list != kEmpty; list = links_[list].before) tasks.push_back(links_[list].task);
        }

    private:
        struct Link {
            uint32_t task;
            uint32_t before;
        };
        std::vector<Link> links_;
    };

    // Adds what the bytes of the range wait for; a message may be named more than once.
    void collect(Range range, const Lists& lists, std::vector<uint32_t>& tasks) const;
    // The message brings all that they are: nothing else is waited for.
    void replace(Range range, uint32_t task, Lists& lists);
    // The message adds to what they are.
    void extend(Range range, uint32_t task, Lists& lists);

private:
    struct Stretch {
        uint64_t begin;
        uint32_t list;
    };
    // The first stretch of the range, which begins there; `range` is not empty.
    size_t cut_out(Range range);
    size_t find(uint64_t at) const;
    void cut(uint64_t at);

    std::vector<Stretch> stretches_{{0, Lists::kEmpty}};  // each up to the next
};

}  // namespace tulle::workload
