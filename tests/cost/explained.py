#!/usr/bin/env python3
"""explained.py TULLE PEERS: what the verdict costs, in instructions of the run that it explains.

A run is explained by a second one, which follows the chain of waits of the first
(sim/time_account.h). That and the sentences may cost what the run itself costs, and no more: the
known permutation of 128 hosts. What programs take is in bench/results.md.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LIMIT = 1.0


def instructions(folder, *words):
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", *words],
        capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def main():
    tulle, peers = sys.argv[1], pathlib.Path(sys.argv[2])
    if shutil.which("valgrind") is None:
        print("SKIPPED: valgrind is not installed (apt install valgrind)")
        sys.exit(77)
    run = [tulle, "sim", "--cm", str(peers / "perm_128.cm"), "--topology", "fat-tree:k=8",
           "--profile", "peer-htsim-roce", "-q"]
    with tempfile.TemporaryDirectory() as folder:
        alone = instructions(folder, *run, "--no-verdict")
        explained = instructions(folder, *run)
    cost = (explained - alone) / alone
    print(f"the verdict costs {cost:.2f} of its run; at most {LIMIT:.2f}")
    sys.exit(0 if 0 < cost <= LIMIT else 1)


if __name__ == "__main__":
    main()
