#!/usr/bin/env python3
"""uec_8192.py TULLE [--all]: Ultra Ethernet on 8,192 hosts, against results of uet-htsim.

They lie in its folder htsim/sim/datacenter/results: permutations on 128 leaves with 64 hosts and 64
uplinks each, links of 1 us, packets of 4,160 B, queues and thresholds as below; first and last
completion in us. Permutations are drawn, there and here, so each has to be within 10 %. Messages of
100 MB and tapered fabrics take minutes: --all.
"""

import csv
import pathlib
import subprocess
import sys
import tempfile

LIMIT = 0.10
PACKET = 4160
ACK = 64
# rate in Gb/s, MB, paths, spines: first and last of NSCC, of RCCC; None: not stated.
QUICK = {
    (200, 1, 32, 64): ((44.9, 59.9), (45.5, 60.9)),
    (200, 1, 128, 64): ((44.9, 58.8), (45.5, 59.7)),
    (400, 1, 128, 64): ((24.5, 35.4), (24.7, 36.3)),
    (400, 8, 128, 64): ((167.3, 185.9), (169.8, 190.3)),
    (800, 1, 128, 64): ((14.2, 22.1), (14.3, 22.3)),
}
SLOW = {
    (400, 8, 128, 16): ((None, 827), (None, 792)),
    (400, 8, 128, 8): ((None, 1461), (None, 1570)),
    (400, 100, 128, 64): ((2049, 2592), (2086, 2332)),
    (400, 100, 32, 64): ((2048, 3123), (2088, 2442)),
    (800, 100, 128, 64): ((1025, 1383), (1043, 1133)),
}


def settings(control, rate, paths):
    """As main_uec has them at this rate: a queue of a BDP, marks from a quarter of it to three."""
    queue = rate // 4
    byte = 8 / rate / 1000  # us
    round_trip = 8 + 4 * (PACKET + ACK) * byte
    timeout = 15 + 6 * queue * PACKET * byte
    found = {
        "fabric.link.rate": f"{rate}Gbps",
        "fabric.switch.port_buffer": f"{queue * PACKET}B",
        "fabric.ecn.kmin": f"{queue * PACKET // 4}B",
        "fabric.ecn.kmax": f"{queue * PACKET * 3 // 4}B",
        "hosts.paths.policy": "bitmap",
        "hosts.paths.count": str(paths),
        "hosts.timeout.high": f"{timeout:.3f}us",
        "hosts.timeout.low": f"{timeout:.3f}us",
        f"hosts.congestion.{control}.base_rtt": f"{round_trip:.3f}us",
    }
    if control == "nscc":
        found["hosts.congestion.nscc.target"] = f"{0.75 * round_trip:.3f}us"
    return [word for key, value in found.items() for word in ("--set", f"{key}={value}")]


def ours(tulle, control, rate, megabytes, paths, spines):
    profile = {"nscc": "peer-htsim-uec", "rccc": "peer-htsim-uec-rccc"}[control]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "s.yaml").write_text(
            f"topology: leaf-spine:leaves=128,spines={spines},hosts=64\nprofile: {profile}\n"
            f"work: [{{permutation: {{bytes: {megabytes}MB}}}}]\n")
        subprocess.run([tulle, "sim", str(folder / "s.yaml"), "--no-verdict", "-q",
                        *settings(control, rate, paths), "--csv", str(folder / "flows.csv")],
                       check=True, stdout=subprocess.DEVNULL)
        with (folder / "flows.csv").open() as flows:
            times = [float(row["fct_ns"]) / 1000 for row in csv.DictReader(flows)]
    return min(times), max(times)


def main():
    bad = 0
    for case, stated in (QUICK | (SLOW if "--all" in sys.argv[2:] else {})).items():
        for control, figures in zip(("nscc", "rccc"), stated):
            found = ours(sys.argv[1], control, *case)
            for what, mine, other in zip(("first", "last"), found, figures):
                if other is None:
                    continue
                gap = mine / other - 1
                bad += abs(gap) > LIMIT
                rate, megabytes, paths, spines = case
                print(f"{rate}G {megabytes:3} MB {paths:3} paths {spines:2} spines {control} "
                      f"{what:5} {mine:8.1f} us, htsim {other:8.1f} us, {gap:+.1%}"
                      f"{' <--' if abs(gap) > LIMIT else ''}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
