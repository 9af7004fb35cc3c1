"""Plants defects into engines whose work no swarm can judge: how fast a window grows, how evenly
packets are spread, what a warning changes. Tests of rules and closed forms have to find each.

usage: planted.py SOURCE_FOLDER [--look | DEFECT...]
"""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "swarm"))
from plant import build_in, plant_in  # noqa: E402

TRANSPORT, FABRIC, PAIR, EXACT = "transport_test", "fabric_test", "pair_test", "exact_test"

# name: file, the text to change, what it becomes, and the tests that find it.
DEFECTS = {
    "a receiver grants more than its line takes": (
        "src/transport/credit/credit_pacer.cc",
        "    const uint64_t share = uint64_t{settings_->pace} * marks_.part() / kRcccOne;",
        "    const uint64_t share = uint64_t{2 * settings_->pace} * marks_.part() / kRcccOne;",
        TRANSPORT,
    ),
    "a receiver that was served does not wait for its turn again": (
        "src/transport/credit/credit_pacer.cc",
        "    if (client.has_turn) {\n        push(waiting_, place);",
        "    if (client.has_turn) {\n        client.has_turn = false;",
        TRANSPORT,
    ),
    "RCCC's senders begin with a packet": (
        "src/transport/congestion/rccc.h",
        "round_trip_ns / 1'000'000 * 3 / 2);",
        "round_trip_ns / 1'000'000'000 * 3 / 2);",
        TRANSPORT,
    ),
    "a READ that goes back asks for all of the rest": (
        "src/transport/requester.cc",
        "std::min<uint64_t>(plan.asked, most * qp.mtu)",
        "std::min<uint64_t>(plan.asked, 99 * most * qp.mtu)",
        PAIR,
    ),
    "acknowledgements overtake the READ before them": (
        "src/transport/responses.cc",
        "(qp.spread || qp.responder.answers.empty());",
        "(qp.spread || qp.responder.answers.size() < 99);",
        PAIR,
    ),
    "Swift keeps the pause that a smaller window asked for": (
        "src/transport/retry.h",
        "    qp.requester.next_allowed = now;\n",
        "    if (qp.mtu == 0) qp.requester.next_allowed = now;\n",
        PAIR,
    ),
    "NSCC does not shrink": (
        "src/transport/congestion/nscc.cc",
        "    window_ -= static_cast<uint32_t>(std::min<uint64_t>(cut, window_ / 2));",
        "    window_ -= static_cast<uint32_t>(std::min<uint64_t>(cut, 0));",
        TRANSPORT,
    ),
    "NSCC grows without end": (
        "src/transport/congestion/nscc.cc",
        "    window_ = std::clamp(window_, kNsccOne, settings_->most_window(smallest_ns_));",
        "    window_ = std::max(window_, kNsccOne);",
        TRANSPORT,
    ),
    "a trim leaves NSCC's window": (
        "src/transport/congestion/nscc.cc",
        "window_ -= std::min(window_, kNsccOne);\n    }",
        "window_ -= 0;\n    }",
        TRANSPORT,
    ),
    "HPCC looks at the emptiest hop": (
        "src/transport/congestion/hpcc.cc",
        "        if (use.part > fullest.part) fullest = use;",
        "        if (i == 0 || use.part < fullest.part) fullest = use;",
        TRANSPORT,
    ),
    "HPCC forgets queues": (
        "src/transport/congestion/hpcc.cc",
        "    return {part_of(now.rate.time_for(queue), round_trip) +",
        "    return {part_of(now.rate.time_for(0 * queue), round_trip) +",
        TRANSPORT,
    ),
    "a switch tells of one packet too many": (
        "src/fabric/cabling.cc",
        "        telemetry->of(index).add({now, from.wire_bytes, from.queued_bytes,",
        "        telemetry->of(index).add({now, from.wire_bytes + transit.wire_bytes,"
        " from.queued_bytes,",
        EXACT,
    ),
    "a packet that is cut keeps its lane": (
        "src/fabric/trimming.h",
        "    transit.lane = lane;\n",
        "    if (lane == 99) transit.lane = lane;\n",
        FABRIC,
    ),
    "a packet that is cut keeps its length": (
        "src/fabric/trimming.h",
        "    transit.wire_bytes = bytes;\n",
        "    if (bytes == 1) transit.wire_bytes = bytes;\n",
        FABRIC,
    ),
    "a selective acknowledgement tells of one packet too few": (
        "src/transport/loss/receive_bitmap.cc",
        "    const uint32_t psns = psn_distance(first, furthest_) + 1;",
        "    const uint32_t psns = psn_distance(first, furthest_);",
        TRANSPORT,
    ),
    "what was trimmed is told of for ever": (
        "src/transport/loss/receive_bitmap.cc",
        "        bits |= uint64_t{!is_here} << at;\n        return true;",
        "        bits |= uint64_t{!is_here} << at;\n        return is_here;",
        TRANSPORT,
    ),
    "a link that repairs takes no time for it": (
        "src/fabric/cabling.cc",
        "    const Duration away = 2 * ports_[p].delay + retry.response;",
        "    const Duration away = 0 * ports_[p].delay + retry.response;",
        EXACT,
    ),
    "a link that repairs never gives up": (
        "src/fabric/cabling.cc",
        "    for (uint32_t i = 0; i < retry.replays; ++i) {",
        "    for (uint32_t i = 0; i < 1'000u + retry.replays; ++i) {",
        EXACT,
    ),
    "credits are counted in InfiniBand's blocks whatever they are": (
        "src/fabric/credits.h",
        "        return (packet_bytes + bytes() - 1) >> shift_;",
        "        return (packet_bytes + kBlockBytes - 1) / kBlockBytes;",
        FABRIC,
    ),
    "counters of credits are InfiniBand's whatever they are": (
        "src/fabric/credits.h",
        "          mask_(static_cast<uint16_t>((1u << counter_bits) - 1)) {}",
        "          mask_(static_cast<uint16_t>((counter_bits * 0 + 1u << kCreditBits) - 1)) {}",
        FABRIC,
    ),
    "limited members talk to each other": (
        "src/fabric/tenancy.h",
        "                   return wire::partitions_match(own, packet.pkey);",
        "                   return (own.value & 0x7fff) == (packet.pkey.value & 0x7fff);",
        EXACT + " sim_test",
    ),
    "a sprayed flow takes ports in turn": (
        "src/fabric/spray.h",
        "    return scale(start + psn * kSpraySteps[(hops - 1) % kSpraySteps.size()], count);",
        "    return (start + psn + hops) % count;",
        FABRIC,
    ),
    "REPS takes up marked paths again": (
        "src/transport/paths/path_chooser.cc",
        "policy_ == PathPolicy::reps && !is_marked)",
        "policy_ == PathPolicy::reps)",
        TRANSPORT,
    ),
    "a path with a penalty is not skipped": (
        "src/transport/paths/path_chooser.cc",
        "    for (uint32_t tries = 1; tries < count_ && penalties_[place] != 0; ++tries) {",
        "    for (uint32_t tries = 1; tries < 1 && penalties_[place] != 0; ++tries) {",
        TRANSPORT,
    ),
    "oblivious spraying uses half of its paths": (
        "src/transport/paths/path_chooser.cc",
        "    turn_ = static_cast<uint16_t>((turn_ + 1) & (count_ - 1));",
        "    turn_ = static_cast<uint16_t>((turn_ + 2) & (count_ - 1));",
        TRANSPORT,
    ),
    "a detour costs no more than the short way": (
        "src/fabric/port_choice.cc",
        "wait_of(asked.now, chosen) > 2 * wait_of(asked.now, detour) + bias))",
        "wait_of(asked.now, chosen) >= wait_of(asked.now, detour)))",
        FABRIC + " " + EXACT,
    ),
    "adaptive routing takes the longest queue": (
        "src/fabric/port_choice.cc",
        "        if (load >= lowest) continue;",
        "        if (lowest != UINT64_MAX && load <= lowest) continue;",
        FABRIC,
    ),
    "a spanning tree keeps all cables": (
        "src/fabric/routes.cc",
        "                    switches_.keep_only(tree_cables(switches_, graph_.cables.size()));",
        "                    {};",
        FABRIC,
    ),
    "grades of loads are exact": (
        "src/fabric/port_choice.cc",
        "        return step_ps == 0 ? wait : wait / step_ps;",
        "        return step_ps == 0 ? wait : wait + 0 * step_ps;",
        FABRIC,
    ),
    "loads are read for each packet": (
        "src/fabric/port_choice.cc",
        "    if (grade.period != period) grade = {period, read()};",
        "    grade = {period, read()};",
        FABRIC,
    ),
    "a warning is not heeded": (
        "src/fabric/port_choice.cc",
        "    return graded(asked.now, port) + (is_warned ? kWarned : 0);",
        "    return graded(asked.now, port) + (is_warned ? kWarned * 0 : 0);",
        FABRIC,
    ),
    "a warning is given once": (
        "src/fabric/warnings.h",
        "        is_full_[port] = is_full;\n",
        "        if (is_full) is_full_[port] = is_full;\n",
        FABRIC,
    ),
    "a victim is held up too": (
        "src/transport/notify.cc",
        "            qp.address.endpoint.value == host.value)",
        "            qp.address.endpoint.value + 1 > host.value * 0)",
        PAIR,
    ),
    "words never stop": (
        "src/fabric/back_pressure.h",
        "        if (queued_bytes <= settings_.above_bytes || was_told) return std::nullopt;",
        "        if (queued_bytes <= settings_.above_bytes) return std::nullopt;",
        FABRIC,
    ),
    "a source that was held up stays so": (
        "src/transport/congestion/back_pressure.h",
        "        if (since >= settings_->recovery) return line;",
        "        if (since >= 1000 * settings_->recovery) return line;",
        TRANSPORT,
    ),
    "trees are given away twice": (
        "src/fabric/reduction_trees.cc",
        "    for (const ReductionTree::Link& link : tree.links) ++used_[link.child];",
        "    for (const ReductionTree::Link& link : tree.links) used_[link.child] += 0;",
        FABRIC,
    ),
    "a sum for several goes to the first alone": (
        "src/fabric/switch.cc",
        "        if (group->members.size() == 1) {",
        "        if (!group->members.empty()) {",
        FABRIC,
    ),
}


def find(copy, tests=" ".join((TRANSPORT, FABRIC, PAIR, EXACT))):
    """The first test that fails, if one does."""
    build_in(copy, *tests.split())
    for test in tests.split():
        run = subprocess.run([copy / "build" / test], text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, check=False)
        if run.returncode != 0:
            found = re.search(r"\[  FAILED  \] (\S+)", run.stdout)
            return found[1] if found else f"{test} ends with {run.returncode}"
    return None


if __name__ == "__main__":
    plant_in(DEFECTS, find)
