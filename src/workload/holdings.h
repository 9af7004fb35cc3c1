// For each byte of a rank's buffer: the messages that must arrive before the rank can pass it on.
//
// With this a collective is written as a list of transfers, and their dependencies follow from the
// data. Stretches are a sorted list; collectives mostly fill it from one end.
#pragma once

#include <cstdint>
#include <vector>

#include "workload/range.h"

namespace tulle::workload {

class Holdings {
public:
    // Linked lists of messages, shared by all ranks of a phase. A list is named by its last link.
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

    // Appends the messages that the range waits for to `tasks`; one may appear more than once.
    void collect(Range range, const Lists& lists, std::vector<uint32_t>& tasks) const;
    // The message replaces the contents of the range: nothing else is waited for.
    void replace(Range range, uint32_t task, Lists& lists);
    // The message adds to the contents of the range.
    void extend(Range range, uint32_t task, Lists& lists);

private:
    struct Stretch {
        uint64_t begin;
        uint32_t list;
    };
    // Cuts so that a stretch begins at `range.begin`, and returns it; `range` is not empty.
    size_t cut_out(Range range);
    size_t find(uint64_t at) const;
    void cut(uint64_t at);

    std::vector<Stretch> stretches_{{0, Lists::kEmpty}};  // each ends where the next begins
};

}  // namespace tulle::workload
