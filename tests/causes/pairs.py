#!/usr/bin/env python3
"""pairs.py TULLE: pairs of fabrics whose gap has a known reason.

`tulle compare` has to name that reason first, and the parts of its explanation have to add up to
the gap within one percent.
"""

import json
import subprocess
import sys

# Name, scenario with two fabrics, and the kind of time that the slower one needs more of.
PAIRS = [
    ("slow link rate", "serialization", """
topology: star:4
work: [{flows: [{from: 0, to: 1, bytes: 8MB}]}]
fabrics: [ib-ndr, ib-hdr]
"""),
    ("congestion control", "congestion_control", """
topology: star:4
work: [{incast: {to: 0, from: [1,2], bytes: 4MB}}]
fabrics:
 - roce-v2-400g-pfc-only
 - {profile: roce-v2-400g, name: early,
    fabric: {ecn: {kmin: 5KB, kmax: 20KB, pmax: 1}}}
"""),
    ("window", "window", """
topology: star:4
work: [{flows: [{from: 0, to: 1, bytes: 8MB}]}]
fabrics:
 - ib-ndr
 - {profile: ib-ndr, name: w4, hosts: {window: 4}}
"""),
    ("loss", "loss", """
topology: star:4
work: [{flows: [{from: 0, to: 1, bytes: 8MB}]}]
fabrics:
 - {profile: ib-ndr, name: clean, hosts: {ack_timeout: 6}}
 - {profile: ib-ndr, name: lossy,
    fabric: {link: {bit_errors: dropped, error_rate: 1e-7}}, hosts: {ack_timeout: 6}}
"""),
    ("host bus", "host_bus", """
topology: star:4
work: [{flows: [{from: 0, to: 1, bytes: 8MB}]}]
fabrics:
 - ib-ndr
 - {profile: ib-ndr, name: pcie3, hosts: {send_toll: {rate: 100Gbps}}}
"""),
    ("cables", "propagation", """
topology: star:4
work: [{flows: [{from: 0, to: 1, bytes: 8KB}]}]
fabrics:
 - ib-ndr
 - {profile: ib-ndr, name: far, fabric: {link: {delay: 20us}}}
"""),
    ("switch latency", "switching", """
topology: star:4
work: [{flows: [{from: 0, to: 1, bytes: 8KB}]}]
fabrics:
 - ib-ndr
 - {profile: ib-ndr, name: slow, fabric: {switch: {latency: 20us}}}
"""),
    ("reaction", "software", """
topology: star:8
work: [{all_reduce: {bytes: 1MiB, algorithm: ring, protocol: none}}]
fabrics:
 - ib-ndr
 - {profile: ib-ndr, name: slow, hosts: {reaction: 20us}}
"""),
    ("hash", "queue", """
topology: leaf-spine:leaves=2,spines=4,hosts=4
work: [{shift: {by: 4, bytes: 8MB}}]
fabrics:
 - ib-ndr
 - {profile: roce-v2-400g-pfc-only, name: ecmp}
"""),
    ("no pfc", "loss", """
topology: star:8
work: [{incast: {to: 0, bytes: 4MB}}]
fabrics:
 - roce-v2-400g-pfc-only
 - {profile: roce-v2-400g-no-pfc, name: drops,
    fabric: {switch: {buffer: 1MB}}, hosts: {ack_timeout: 6}}
"""),
    ("rate limit", "rate_limit", """
topology: star:4
work: [{flows: [{from: 0, to: 1, bytes: 8MB}]}]
fabrics:
 - roce-v2-400g
 - {profile: roce-v2-400g, name: limited,
     hosts: {congestion: {algorithm: fixed_rate, fixed_rate: {rate: 100Gbps}}}}
"""),
    ("credits", "held", """
topology: star:8
work: [{flows: [{from: 0, to: 1, bytes: 8MB}]}]
fabrics:
 - ib-ndr
 - {profile: ib-ndr, name: few,
    fabric: {link: {delay: 500ns}, credits: {lane_buffer: 16KiB}}}
"""),
    ("hash with credits", "queue", """
topology: leaf-spine:leaves=2,spines=4,hosts=4
work: [{shift: {by: 4, bytes: 8MB}}]
fabrics:
 - ib-ndr
 - {profile: ib-ndr, name: ecmp, fabric: {route: {kind: shortest, choice: ecmp}}}
"""),
    ("host bus under DCQCN", "host_bus", """
topology: star:8
work: [{all_to_all: {bytes: 8MiB}}]
fabrics:
 - roce-v2-400g
 - {profile: roce-v2-400g, name: pcie3, hosts: {receive_toll: {rate: 100Gbps}}}
"""),
    ("link retries", "loss", """
topology: leaf-spine:leaves=2,spines=1,hosts=4
work: [{flows: [{from: 0, to: 4, bytes: 8MB}]}]
fabrics:
 - {profile: ib-ndr, name: clean, fabric: {link: {bit_errors: retransmitted}}}
 - {profile: ib-ndr, name: errors,
    fabric: {link: {bit_errors: retransmitted, error_rate: 3e-6}}}
"""),
]


def check(tulle, pair):
    """What is wrong with the explanation of a pair; nothing if it is right."""
    name, kind, scenario = pair
    done = subprocess.run([tulle, "compare", "-", "--json", "-"], input=scenario,
                          capture_output=True, text=True)
    if not done.stdout:
        return f"{name}: {done.stderr.strip()}"
    answer = json.loads(done.stdout)
    behind = [c for c in answer["verdict"]["claims"] if c["parts"]]
    if len(behind) != 1:
        return f"{name}: {[c['sentence'] for c in answer['verdict']['claims']]}"
    parts = behind[0]["parts"]
    if parts[0]["kind"] != kind:
        return f"{name}: expected {kind}: {behind[0]['sentence']}"
    times = [run["verdict"]["span_ns"] * 1000 for run in answer["runs"]]
    gap = max(times) - min(times)
    explained = sum(p["ps"] for p in parts if p["kind"] != "unexplained")
    if abs(explained - gap) > gap / 100:
        return f"{name}: {explained} of {gap} ps are explained"
    return None


def main():
    tulle = sys.argv[1]
    wrong = [fault for fault in (check(tulle, pair) for pair in PAIRS) if fault]
    for fault in wrong:
        print(fault)
    print(f"{len(PAIRS) - len(wrong)} of {len(PAIRS)} pairs")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
