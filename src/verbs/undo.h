// Reverts a step if the call ends before done(): by an exception, when memory is missing.
#pragma once

#include <utility>

namespace tulle::verbs {

template <class Work>
class Undo {
public:
    explicit Undo(Work work) : work_(std::move(work)) {}
    ~Undo() {
        if (is_due_) work_();
    }
    Undo(const Undo&) = delete;
    Undo& operator=(const Undo&) = delete;

    void done() { is_due_ = false; }

private:
    Work work_;
    bool is_due_ = true;
};

}  // namespace tulle::verbs
