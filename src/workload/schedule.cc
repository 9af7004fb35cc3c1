#include "workload/schedule.h"

#include <algorithm>

#include "base/check.h"

namespace tulle::workload {

namespace {

// A limit on the table of turns of all channels of a ring. Chosen: the table has a few megabytes at
// most.
constexpr uint64_t kMostTurns = 100'000;

}  // namespace

bool Schedule::has_shape(const CollectiveOptions& options, const Placement& placement) {
    switch (options.algorithm) {
        case Algorithm::ring: return Rings::turns_of(options, placement.size()) <= kMostTurns;
        case Algorithm::two_level:
            return !options.in_switch && placement.server_count() > 1 &&
                   (options.collective != Collective::all_reduce ||
                    options.between == Algorithm::ring) &&
                   TwoLevelRings::turns_of(options, placement) <= kMostTurns;
        case Algorithm::tree:
        case Algorithm::halving_doubling:
        case Algorithm::direct: return true;
        default: return false;
    }
}

Schedule::AnyShape Schedule::make_shape(const CollectiveOptions& options,
                                        const Placement& placement) {
    const bool is_broadcast = options.collective == Collective::broadcast;
    if (options.algorithm == Algorithm::ring) {
        if (is_broadcast) return ChainBroadcast(options, placement);
        return Rings(options, placement);
    }
    if (options.algorithm == Algorithm::tree) {
        if (is_broadcast) return TreeBroadcast(options, placement);
        return Trees(options, placement);
    }
    if (options.algorithm == Algorithm::halving_doubling) return Halving(options, placement);
    if (options.algorithm == Algorithm::two_level) {
        if (options.collective == Collective::all_reduce) return TwoLevelRings(options, placement);
        return TwoLevelPass(options, placement);
    }
    if (options.pxn) return ByRail(options, placement);
    return EachToEach(options, placement);
}

std::shared_ptr<const Schedule> Schedule::make(const CollectiveOptions& asked,
                                               std::shared_ptr<const Placement> placement) {
    TULLE_CHECK(!check(asked, *placement));
    CollectiveOptions options = asked;
    if (options.channels == 0) options.channels = usual_channels(options, *placement);
    if (!has_shape(options, *placement)) return nullptr;
    const std::shared_ptr<const Schedule> made(new Schedule(options, std::move(placement)));
    return made->counts_.smallest_bytes == 0 ? nullptr : made;
}

Schedule::Schedule(const CollectiveOptions& options, std::shared_ptr<const Placement> placement)
    : options_(options),
      placement_(std::move(placement)),
      shape_(make_shape(options_, *placement_)),
      counts_(ask([](const auto& shape) { return shape.counts(); })) {}

Stream Schedule::stream(uint32_t member, uint32_t index) const {
    return ask([&](const auto& shape) { return shape.stream(member, index); });
}

StreamMessage Schedule::message(uint32_t member, uint32_t index, uint64_t k) const {
    return ask([&](const auto& shape) { return shape.message(member, index, k); });
}

std::pair<uint32_t, uint32_t> Schedule::opened_by(uint32_t member, uint32_t turn) const {
    return ask([&](const auto& shape) { return shape.opened_by(member, turn); });
}

uint32_t Schedule::ends_turn(uint32_t member, uint32_t turn) const {
    return ask([&](const auto& shape) { return shape.ends_turn(member, turn); });
}

Schedule::Source Schedule::source(uint32_t member, uint32_t inlet) const {
    return ask([&](const auto& shape) { return shape.source(member, inlet); });
}

Repetition Schedule::repetition(uint32_t index, uint64_t k) const {
    return ask([&](const auto& shape) { return shape.repetition(index, k); });
}

bool Schedule::repeats_throughout() const {
    return ask([](const auto& shape) { return shape.repeats_throughout(); });
}

bool Schedule::may_feed(uint32_t inlet, uint32_t index) const {
    return ask([&](const auto& shape) { return shape.may_feed(inlet, index); });
}

uint64_t Schedule::stream_bytes(uint32_t member, uint32_t index) const {
    return ask([&](const auto& shape) { return shape.stream_bytes(member, index); });
}

uint64_t Schedule::arrivals(uint32_t member) const {
    return ask([&](const auto& shape) { return shape.arrivals(member); });
}

void Schedule::list_needs(uint32_t member, uint32_t index, uint64_t k, uint32_t first,
                          StreamMessage& message) const {
    ask([&](const auto& shape) { shape.list_needs(member, index, k, first, message); });
}

StreamMessage::Need Schedule::need(uint32_t member, uint32_t index, uint64_t k,
                                   uint32_t place) const {
    StreamMessage found = message(member, index, k);
    if (place < StreamMessage::kMostNeeds) return found.needs[place];
    list_needs(member, index, k, place, found);
    return found.needs[0];
}

uint32_t Schedule::most_needs() const {
    return ask([](const auto& shape) { return shape.most_needs(); });
}

bool Schedule::repeats_like(const Schedule& other) const {
    if (this == &other) return true;
    const Chunking& own = options_.chunking;
    const Chunking& its = other.options_.chunking;
    const bool goes_round =
        std::holds_alternative<Rings>(shape_) || std::holds_alternative<ChainBroadcast>(shape_);
    return goes_round && shape_.index() == other.shape_.index() &&
           placement_->size() == other.placement_->size() &&
           stream_count() == other.stream_count() &&
           options_.collective == other.options_.collective &&
           options_.bytes == other.options_.bytes && own.chunk == its.chunk &&
           own.at_once() == its.at_once();
}

uint64_t Schedule::most_under_way() const {
    const Chunking& chunking = options_.chunking;
    if (chunking.window != 0) return std::max(chunking.window, chunking.inside_window);
    return ask([](const auto& shape) { return shape.most_under_way(); });
}

base::Duration Schedule::least_software() const {
    const Software& software = options_.software;
    base::Duration least{};
    const auto use = [&](Tier tier) {
        for (const bool continues : {false, software.passes_on_lines}) {
            const base::Duration one = software.before(tier, counts_.smallest_bytes, continues);
            if (one.ps > 0 && (least.ps == 0 || one < least)) least = one;
        }
    };
    const bool has_inside = placement_->has_scale_up() && placement_->largest_server() > 1;
    if (placement_->size() < 2) return least;
    if (has_inside) use(Tier::scale_up);
    if (!has_inside || placement_->server_count() > 1) use(Tier::scale_out);
    return least;
}

}  // namespace tulle::workload
