"""Plants defects into a copy of the fabric, one at a time, and sees whether the swarm finds them.

usage: planted.py SOURCE_FOLDER COMPILER [DEFECT...]
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "swarm"))
from plant import plant  # noqa: E402

# name: file, the text to change, and what it becomes.
DEFECTS = {
    "one block more than the credits allow": (
        "src/fabric/credits.h",
        "return packet_blocks <= blocks(); }",
        "return packet_blocks <= blocks() + 1; }",
    ),
    "headroom is counted short": (
        "src/sim/builder.cc",
        "    uint64_t packets = 3;",
        "    uint64_t packets = 1;",
    ),
    "a packet that is dropped keeps its room": (
        "src/fabric/switch.cc",
        "    cabling_.drop(now, global(port), index, cause);\n    release(",
        "    cabling_.drop(now, global(port), index, cause);\n"
        "    if (cause != Drop::watchdog) release(",
    ),
    "a pause is never taken back": (
        "src/fabric/intake.cc",
        "    port.owed.resume |= bit_of(lane);",
        "    port.owed.resume |= 0;",
    ),
    "what crosses changes its order": (
        "src/cluster/partition.cc",
        "    for (fabric::Crossing& crossing : crossings) cabling_.accept(std::move(crossing));",
        "    for (size_t i = crossings.size(); i != 0; --i)\n"
        "        cabling_.accept(std::move(crossings[i - 1]));",
    ),
    "a mark gets lost": (
        "src/fabric/marking.h",
        "            packet.traffic_class |= 3;",
        "            packet.traffic_class |= (packet.psn().value % 16 == 5 ? 0 : 3);",
    ),
    "cut-through does not wait for the tail": (
        "src/fabric/switch.cc",
        "    if (tail <= now + takes) return false;",
        "    if (tail <= now + 2 * takes) return false;",
    ),
    "the shared buffer takes one packet too many": (
        "src/fabric/buffer.h",
        "        if (shared_used_ + bytes > shared_bytes_) return false;",
        "        if (shared_used_ > shared_bytes_) return false;",
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
    plant(DEFECTS,
          ("base", "wire", "topology", "transport", "fabric", "workload", "cluster", "sim",
           "drive", "report"),
          "fabric_swarm",
          # Readers and writers of files need libraries that a simulation does not. Of reports the
          # swarm asks for ideal times, and for the routes that they need.
          left_out="(workload/flow_files|topology/(yaml|format|hpcc|ibnet|slurm|dot|summary)|"
                   "src/report/[^ir])")
