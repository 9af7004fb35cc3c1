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

LIMIT = 450 * 1.1
COUNTED = "tulle::cluster::Partition::advance(unsigned long)"


def main():
    run = permutation(*sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        counted = instructions(*run, "--no-verdict", "--json", str(report),
                               options=[f"--toggle-collect={COUNTED}"])
        hops = json.loads(report.read_text())["engine"]["hops"]
    cost = counted / hops
    print(f"{cost:.0f} instructions a hop, {hops} hops; at most {LIMIT:.0f}")
    sys.exit(0 if 0 < cost <= LIMIT else 1)


if __name__ == "__main__":
    main()
