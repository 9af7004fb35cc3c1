#!/usr/bin/env python3
"""hop.py TULLE PEERS: how many instructions a packet-hop takes, set-up left out.

The known permutation of 128 hosts, counted within the function that advances a partition. The limit
is what it may take (bench/results.md has what it does) and a tenth: whoever makes it dearer should
know.
"""

import json
import pathlib
import sys
import tempfile

from callgrind import instructions, permutation

# By profile. Ultra Ethernet's senders spread packets, and its receivers take them in any order.
LIMITS = {"peer-htsim-roce": 450 * 1.1, "uec-400g": 800 * 1.1}
COUNTED = "tulle::cluster::Partition::advance(unsigned long)"


def cost_of(profile):
    run = permutation(*sys.argv[1:3], profile)
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        counted = instructions(*run, "--no-verdict", "--json", str(report),
                               options=[f"--toggle-collect={COUNTED}"])
        return counted / json.loads(report.read_text())["engine"]["hops"]


def main():
    is_fine = True
    for profile, limit in LIMITS.items():
        cost = cost_of(profile)
        is_fine = is_fine and 0 < cost <= limit
        print(f"{profile}: {cost:.0f} instructions a hop; at most {limit:.0f}")
    sys.exit(0 if is_fine else 1)


if __name__ == "__main__":
    main()
