"""Plants defects into a copy of the fabric, one at a time, and sees whether the swarm finds them.

usage: planted.py SOURCE_FOLDER [--look | DEFECT...]
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "swarm"))
from plant import plant  # noqa: E402

# name: file, the text to change, and what it becomes.
DEFECTS = {
    "one block more than the credits allow": (
        "src/fabric/credits.h",
        "return packet_blocks <= blocks(scale);",
        "return packet_blocks <= blocks(scale) + 1;",
    ),
    "headroom is counted short": (
        "src/sim/wiring.cc",
        "    uint64_t packets = 3;",
        "    uint64_t packets = 1;",
    ),
    "a packet that is dropped keeps its room": (
        "src/fabric/lines.cc",
        "    ports_.cabling.drop(now, ports_.global(port), index, cause);\n    release(",
        "    ports_.cabling.drop(now, ports_.global(port), index, cause);\n"
        "    if (cause != Drop::watchdog) release(",
    ),
    "a pause is never taken back": (
        "src/fabric/intake.cc",
        "    port.owed.resume |= bit_of(lane);",
        "    port.owed.resume |= 0;",
    ),
    "what crosses changes its order": (
        "src/cluster/partition.cc",
        "    for (fabric::Crossing& crossing : crossings) cabling_.take_over(std::move(crossing));",
        "    for (size_t i = crossings.size(); i != 0; --i)\n"
        "        cabling_.take_over(std::move(crossings[i - 1]));",
    ),
    "a mark gets lost": (
        "src/fabric/marking.h",
        "            packet.traffic_class |= 3;",
        "            packet.traffic_class |= (packet.psn().value % 16 == 5 ? 0 : 3);",
    ),
    "cut-through does not wait for the tail": (
        "src/fabric/lines.cc",
        "    if (tail <= now + takes) return false;",
        "    if (tail <= now + 2 * takes) return false;",
    ),
    "the shared buffer takes one packet too many": (
        "src/fabric/buffer.h",
        "        if (shared_used_ + bytes > shared_bytes_) return false;",
        "        if (shared_used_ > shared_bytes_) return false;",
    ),
    "a packet takes detours wherever it is": (
        "src/fabric/ways.cc",
        "from.offers_detours && transit.hops <= kHopsInGroup)",
        "from.offers_detours && transit.hops <= 16 * kHopsInGroup)",
    ),
    "a fast path tells congestion control of fewer answers": (
        "src/transport/delivery.cc",
        "is_usual(qp, ShortWay::acknowledge_middle, packet) && !qp.spread &&",
        "is_usual(qp, ShortWay::acknowledge_middle, packet) &&",
    ),
    "telemetry does not cross from partition to partition": (
        "src/fabric/cabling.cc",
        "    if (crossing.telemetry != nullptr) telemetry->of(index) = *crossing.telemetry;\n",
        "",
    ),
    "a packet begins with the telemetry of one before it": (
        "src/cluster/host_recorder.cc",
        "    telemetry.clear();\n",
        "",
    ),
    "a damaged packet is not sent again": (
        "src/fabric/cabling.cc",
        "        case BitErrors::retransmitted: return replay(p, transit, end);",
        "        case BitErrors::retransmitted:\n"
        "            transit.flags |= Transit::kCorrupt;\n            return end;",
    ),
    "strangers talk to each other": (
        "src/fabric/tenancy.h",
        "packet.destination >= keys_.size() || may_talk(host, packet.destination);",
        "packet.destination >= keys_.size() || host != UINT32_MAX;",
    ),
    "what is trimmed keeps its length": (
        "src/fabric/trimming.h",
        "    transit.wire_bytes = bytes;\n",
        "",
    ),
    "a word to a source comes from nowhere": (
        "src/fabric/switch.cc",
        "    ++ports().counters(port).words;\n",
        "",
    ),
    "a warning is never taken back": (
        "src/fabric/warnings.h",
        "        if (!warning.begins && found != heard_.end()) heard_.erase(found);\n",
        "",
    ),
    "one of those who give a part does not get the sum": (
        "src/sim/connector.cc",
        "        copies(node).members.push_back(member);",
        "        if (endpoint != group.members.back()) copies(node).members.push_back(member);",
    ),
    "the short way onto a line forgets to count": (
        "src/fabric/cabling.h",
        "    from.wire_bytes += transit.wire_bytes;\n",
        "",
    ),
    "a rank does not wait for the last of its needs": (
        "src/sim/ranks.cc",
        "        if (--waiting_[next] == 0) start(",
        "        if (--waiting_[next] == (program_.needs(next).size() > 2 ? 1 : 0)) start(",
    ),
    "a sum lets the first contribution through": (
        "src/fabric/groups.cc",
        "[&](uint64_t other) { return other > psn; }",
        "[&](uint64_t other) { return other + 1 > psn; }",
    ),
    "a toll on what comes is forgotten": (
        "src/cluster/host.cc",
        "    if (is_slow_receiver_) return receiver_->pay(now, wire_bytes);",
        "    if (!is_slow_receiver_) return now;",
    ),
    "copies free their room with the first of them": (
        "src/fabric/groups.cc",
        "    if (--rooms_[room].copies != 0) return std::nullopt;",
        "    if (--rooms_[room].copies != 1) return std::nullopt;",
    ),
}

if __name__ == "__main__":
    plant(DEFECTS, "fabric_swarm_test")
