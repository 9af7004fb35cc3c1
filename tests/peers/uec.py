#!/usr/bin/env python3
"""uec.py TULLE [--all]: Ultra Ethernet as htsim's main_uec runs it, over several seeds.

Seeds choose paths and marks, here as there, so no two runs are alike. What can be compared is the
mean over seeds of the median and of the last completion; each has to be within 5 %. --all takes
those that last longer, too; words after that choose cases and controls.
"""

import collections
import csv
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
LIMIT = 0.05
FILES = {
    "single": ("single_128.cm", 8),
    "incast16": ("incast_128_16.cm", 8),
    "incast128": ("incast_1024_128.cm", 16),
    "perm128": ("perm_128.cm", 8),
    "perm1024": ("perm_1024.cm", 16),
}
PROFILES = {
    "nscc": ["--profile", "peer-htsim-uec"],
    "rccc": ["--profile", "peer-htsim-uec-rccc"],
    "both": ["--profile", "peer-htsim-uec-both"],
}
QUICK = {("single", "oblivious"): 1, ("incast16", "oblivious"): 4, ("perm128", "oblivious"): 2,
         ("perm128", "one"): 6}
SLOW = {("incast16", "one"): 64, ("incast16", "reps"): 8,
        ("incast16", "bitmap"): 8, ("perm128", "one"): 16, ("perm128", "reps"): 8,
        ("perm128", "bitmap"): 8, ("perm128", "oblivious"): 8, ("incast128", "oblivious"): 2,
        ("incast128", "one"): 2, ("perm1024", "oblivious"): 2, ("perm1024", "one"): 6}


def theirs():
    runs = collections.defaultdict(list)
    for line in (HERE / "htsim_uec.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        case, control, paths, _, median, last = line.split()
        runs[case, control, paths].append((float(median), float(last)))
    return runs


def ours(tulle, case, control, paths, seed):
    file, k = FILES[case]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "flows.csv"
        subprocess.run([tulle, "sim", "--no-verdict", "--cm", str(HERE / file),
                        "--topology", f"fat-tree:k={k}", *PROFILES[control],
                        "--set", f"hosts.paths.policy={paths}", "--seed", str(seed),
                        "--csv", str(out), "-q"], check=True, stdout=subprocess.DEVNULL)
        with out.open() as flows:
            times = [float(row["fct_ns"]) / 1000 for row in csv.DictReader(flows)]
    return statistics.median(times), max(times)


def main():
    cases = QUICK | (SLOW if "--all" in sys.argv[2:] else {})
    only = [word for word in sys.argv[2:] if not word.startswith("--")]
    bad = 0
    for (case, control, paths), answers in sorted(theirs().items()):
        if (case, paths) not in cases or (only and case not in only and control not in only):
            continue
        runs = [ours(sys.argv[1], case, control, paths, seed)
                for seed in range(1, cases[case, paths] + 1)]
        for i, what in enumerate(("median", "last")):
            mine = statistics.mean(run[i] for run in runs)
            other = statistics.mean(answer[i] for answer in answers)
            gap = mine / other - 1
            bad += abs(gap) > LIMIT
            note = " <--" if abs(gap) > LIMIT else ""
            print(f"{case:9} {control:4} {paths:9} {what:6} {mine:8.1f} us, htsim {other:8.1f} us, "
                  f"{gap:+.1%}{note}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
