#!/usr/bin/env python3
"""compare.py TULLE: flow completion times of the HPCC simulator's runs, from its own files.

The median must lie within 3 %, the 99th percentile within 5 %; nothing is corrected afterwards.
"""

import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
MEDIAN_LIMIT = 0.03
TAIL_LIMIT = 0.05

RUNS = [
    ("single_100g", []),
    ("incast16_100g_dcqcn_paper", []),
    ("ft8perm_100g_dcqcn_paper", ["--paths", str(HERE / "paths_ft8perm.txt")]),
]


def completion_times(text):
    """By source and destination: the seventh column, in nanoseconds."""
    rows = (line.split() for line in text.splitlines() if line.strip())
    return {(row[0], row[1]): int(row[6]) for row in rows}


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def run(tulle, name, arguments):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "fct.txt"
        config = HERE / f"config_{name}.txt"
        command = [tulle, "sim", "--hpcc", str(config), "--fct", str(out), "-q"]
        subprocess.run(command + arguments, check=True, stdout=subprocess.DEVNULL)
        return completion_times(out.read_text())


def main():
    tulle = sys.argv[1]
    failures = 0
    for name, arguments in RUNS:
        ours = run(tulle, name, arguments)
        theirs = completion_times((HERE / f"fct_{name}.txt").read_text())
        if ours.keys() != theirs.keys():
            print(f"{name}: other flows than the peer's")
            failures += 1
            continue
        median = statistics.median(ours.values()) / statistics.median(theirs.values()) - 1
        tail = percentile(ours.values(), 0.99) / percentile(theirs.values(), 0.99) - 1
        good = abs(median) <= MEDIAN_LIMIT and abs(tail) <= TAIL_LIMIT
        failures += not good
        print(f"{name}: {len(ours)} flows, median {median:+.2%}, 99th percentile {tail:+.2%}"
              f"{'' if good else '  TOO FAR'}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
