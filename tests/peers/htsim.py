#!/usr/bin/env python3
"""htsim.py TULLE: the mean completion time of htsim's RoCE permutation, over many seeds.

Seeds choose the paths by ECMP, here as there, so no two runs are alike. What can be compared is the
mean over seeds, which must lie within 3 %. The runs of htsim had 64 seeds; the profile names the
settings that they had.
"""

import csv
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
LIMIT = 0.03
SEEDS = 16


def theirs():
    rows = (line.split() for line in (HERE / "htsim_perm_128.txt").read_text().splitlines())
    return statistics.mean(float(row[1]) for row in rows if row[0] != "#")


def ours(tulle, seed):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "flows.csv"
        subprocess.run([tulle, "sim", "--no-verdict", "--cm", str(HERE / "perm_128.cm"),
                        "--topology", "fat-tree:k=8", "--profile", "peer-htsim-roce",
                        "--seed", str(seed),
                        "--csv", str(out), "-q"], check=True, stdout=subprocess.DEVNULL)
        with out.open() as flows:
            return statistics.mean(float(row["fct_ns"]) / 1000 for row in csv.DictReader(flows))


def main():
    mean = statistics.mean(ours(sys.argv[1], seed) for seed in range(1, SEEDS + 1))
    gap = mean / theirs() - 1
    print(f"permutation of 128: {mean:.1f} us, htsim {theirs():.1f} us, {gap:+.2%}")
    return 0 if abs(gap) <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
