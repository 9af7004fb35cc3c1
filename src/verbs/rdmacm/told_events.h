// Events for the program that it does not see yet: they become visible when the lock is released.
#pragma once

#include "verbs/rdmacm/ids.h"

namespace tulle::verbs {

class ToldEvents {
public:
    // Allocates the next event in advance, so that what follows cannot fail half way.
    void prepare() {
        if (!spare_) spare_ = std::make_unique<CmEventBox>();
    }
    // An event on the channel of its id.
    CmEventBox& tell(Id& id, rdma_cm_event_type type, int status = 0) {
        CmEventBox* box = spare_ ? spare_.release() : new CmEventBox;
        box->shown.id = &id.shown;
        box->shown.event = type;
        box->shown.status = status;
        unshown_.push_back(box);
        return *box;
    }
    void push_back(CmEventBox* box) { unshown_.push_back(box); }
    template <class Predicate>
    void take(Predicate&& is_wanted, CmEventList& into) {
        CmEventList all;
        while (!unshown_.empty()) all.push_back(unshown_.pop_front());
        while (!all.empty()) {
            CmEventBox* box = all.pop_front();
            (is_wanted(*box) ? into : unshown_).push_back(box);
        }
    }
    // Another thread may take and free an event as soon as it is in its channel.
    void show() {
        while (!unshown_.empty()) {
            auto& events = channel_of(unshown_.front()->shown.id->channel).events;
            events.add_place();
            events.push_into_place(unshown_.pop_front());
        }
    }
    // In the child of a fork.
    void abandon() { unshown_.clear(); }

private:
    std::unique_ptr<CmEventBox> spare_;
    CmEventList unshown_;
};

}  // namespace tulle::verbs
