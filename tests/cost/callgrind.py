"""Counts instructions by valgrind; without it the test is skipped aloud."""

import re
import shutil
import subprocess
import sys
import tempfile


def instructions(*command, options=()):
    """Of a program that succeeds."""
    if shutil.which("valgrind") is None:
        print("SKIPPED: valgrind is not installed (apt install valgrind)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", *options,
             *command], capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def permutation(tulle, peers, profile="peer-htsim-roce"):
    """The known permutation of 128 hosts."""
    return [tulle, "sim", "--cm", f"{peers}/perm_128.cm", "--topology", "fat-tree:k=8",
            "--profile", profile, "-q"]
