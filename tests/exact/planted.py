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
    "slow paths are taken as often as fast ones": (
        "src/transport/paths/path_chooser.cc",
        "        place_ = round_trips_[b] < round_trips_[a] ? b : a;",
        "        place_ = round_trips_[b] < 0 * round_trips_[a] ? b : a;",
        TRANSPORT,
    ),
    "data that was placed early completes before its turn": (
        "src/transport/unordered.cc",
        "    if (is_placed && qp.spread->delivery == Delivery::unordered)\n",
        "    if (is_placed)\n",
        PAIR,
    ),
    "SENDs that come early take the receives of those before them": (
        "src/transport/unordered.cc",
        "    return core.receive_queue_of(qp).waiting() > missing;",
        "    return core.receive_queue_of(qp).waiting() > 0 * missing;",
        PAIR,
    ),
    "few packets wait as long for a timeout as many": (
        "src/transport/retry.cc",
        "    return (are_few ? timeouts.low : timeouts.high) *",
        "    return (are_few ? timeouts.high : timeouts.high) *",
        PAIR,
    ),
    "a flow moves within the gap": (
        "src/fabric/flowlets.h",
        "        return flowlet.last.ps != 0 && now - flowlet.last <= gap_;",
        "        return flowlet.last.ps != 0 && now - flowlet.last <= 0 * gap_;",
        FABRIC,
    ),
    "an ordered flow on a dragonfly moves without a gap": (
        "src/fabric/port_choice.cc",
        "        if (is_close && leads_on(asked, flowlet->port, detour != kNoPort)) return",
        "        if (is_close && asked.ports.empty()) return",
        EXACT,
    ),
    "Swift cuts as often as it is told": (
        "src/transport/congestion/swift.cc",
        "    if (!may_cut(now)) return;\n",
        "",
        TRANSPORT,
    ),
    "a long round trip counts like any other": (
        "src/transport/congestion/pcc_rtt.h",
        "        const bool is_long = round_trip >= settings_->most_delay;",
        "        const bool is_long = round_trip >= 1000 * settings_->most_delay;",
        TRANSPORT,
    ),
    "FEC takes no time": (
        "src/sim/wiring.cc",
        "    return cable_delay(setup_, cable) + setup_.fabric.link.fec_delay;",
        "    return cable_delay(setup_, cable) + 0 * setup_.fabric.link.fec_delay;",
        EXACT,
    ),
    "bit errors that FEC corrects lose the packet": (
        "src/fabric/cabling.cc",
        "        case BitErrors::corrected: ++counters_[p].corrected; return end;",
        "        case BitErrors::corrected: transit.flags |= Transit::kCorrupt; return end;",
        EXACT,
    ),
    "a link that repairs does not wait for its ends": (
        "src/fabric/cabling.cc",
        "    const Duration away = 2 * ports_[p].delay + retry.response;",
        "    const Duration away = 2 * ports_[p].delay + 0 * retry.response;",
        EXACT,
    ),
    "a job that finds no tree takes that of another": (
        "src/fabric/reduction_trees.cc",
        "    if (!is_free(tree, hosts)) return std::nullopt;",
        "    if (hosts.empty()) return std::nullopt;",
        FABRIC,
    ),
    "a copy of a sum is sent to one GPU too few": (
        "src/fabric/switch.cc",
        "    for (const Group::Member& member : group.members) {\n"
        "        // The packet itself",
        "    for (const Group::Member& member : group.members) {\n"
        "        if (&member == &group.members.front()) continue;\n"
        "        // The packet itself",
        FABRIC,
    ),
}

# Each engine, and the defects that show that it is tested. A swarm
# finds more in the same engines: tests/fabric_swarm/planted.py and tests/swarm/planted.py.
ENGINES = {
    "UET RUD": ["a selective acknowledgement tells of one packet too few",
                "what was trimmed is told of for ever"],
    "UET ROD": ["acknowledgements overtake the READ before them",
                "a READ that goes back asks for all of the rest"],
    "SRD": ["slow paths are taken as often as fast ones",
            "Swift keeps the pause that a smaller window asked for"],
    "out-of-order placement": ["data that was placed early completes before its turn"],
    "Slingshot, unordered": ["SENDs that come early take the receives of those before them"],
    "IRN": ["few packets wait as long for a timeout as many"],
    "credits": ["credits are counted in InfiniBand's blocks whatever they are"],
    "CBFC": ["counters of credits are InfiniBand's whatever they are"],
    "LLR": ["a link that repairs takes no time for it"],
    "Omni-Path LTP": ["a link that repairs never gives up"],
    "UALink replay": ["a link that repairs does not wait for its ends"],
    "FEC": ["FEC takes no time"],
    "bit errors": ["bit errors that FEC corrects lose the packet"],
    "trimming": ["a packet that is cut keeps its lane", "a packet that is cut keeps its length"],
    "entropy, oblivious": ["oblivious spraying uses half of its paths"],
    "entropy, bitmap": ["a path with a penalty is not skipped"],
    "entropy, REPS": ["REPS takes up marked paths again"],
    "spraying by the switch": ["a sprayed flow takes ports in turn"],
    "flowlets": ["a flow moves within the gap"],
    "least loaded": ["adaptive routing takes the longest queue"],
    "graded loads": ["grades of loads are exact", "loads are read for each packet"],
    "warnings": ["a warning is not heeded", "a warning is given once"],
    "UGAL": ["a detour costs no more than the short way"],
    "ordered flows move after a gap": ["an ordered flow on a dragonfly moves without a gap"],
    "NSCC": ["NSCC does not shrink", "NSCC grows without end", "a trim leaves NSCC's window"],
    "RCCC": ["a receiver grants more than its line takes", "RCCC's senders begin with a packet",
             "a receiver that was served does not wait for its turn again"],
    "Swift": ["Swift cuts as often as it is told"],
    "HPCC": ["HPCC looks at the emptiest hop", "HPCC forgets queues",
             "a switch tells of one packet too many"],
    "RTT-based": ["a long round trip counts like any other"],
    "back-pressure": ["a victim is held up too", "words never stop",
                      "a source that was held up stays so"],
    "SHARP trees": ["trees are given away twice", "a sum for several goes to the first alone"],
    "NVLS": ["a copy of a sum is sent to one GPU too few"],
    "no tree available": ["a job that finds no tree takes that of another"],
}
assert all(name in DEFECTS for names in ENGINES.values() for name in names)


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
