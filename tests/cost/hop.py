#!/usr/bin/env python3
"""hop.py TULLE PEERS: how many instructions a packet-hop takes, set-up left out.

The known permutation of 128 hosts, counted within the function that advances a partition. The limit
is what it may take (bench/results.md has what it does) and a tenth: whoever makes it dearer should
know.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LIMIT = 450 * 1.1
COUNTED = "tulle::cluster::Partition::advance(unsigned long)"


def main():
    tulle, peers = sys.argv[1], pathlib.Path(sys.argv[2])
    if shutil.which("valgrind") is None:
        print("SKIPPED: valgrind is not installed (apt install valgrind)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out",
             f"--toggle-collect={COUNTED}", tulle, "sim", "--cm", str(peers / "perm_128.cm"),
             "--topology", "fat-tree:k=8", "--profile", "peer-htsim-roce", "-q", "--no-verdict",
             "--json", str(report)], capture_output=True, text=True, check=True)
        hops = json.loads(report.read_text())["engine"]["hops"]
    instructions = int(re.search(r"Collected : (\d+)", done.stderr).group(1))
    cost = instructions / hops
    print(f"{cost:.0f} instructions a hop, {hops} hops; at most {LIMIT:.0f}")
    sys.exit(0 if 0 < cost <= LIMIT else 1)


if __name__ == "__main__":
    main()
