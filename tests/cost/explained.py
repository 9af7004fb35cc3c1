#!/usr/bin/env python3
"""explained.py TULLE PEERS EXAMPLES: what the verdict costs, in instructions of its run.

A run is explained by a second one, which follows the chain of waits of the first
(sim/time_account.h). That and the sentences may cost what the run itself costs, and no more, with
and without congestion control, windows and losses. Where packets overtake each other all of the
chain are followed, which costs up to 6 % more (bench/results.md): such runs are not here.
"""

import pathlib
import sys
import tempfile

from callgrind import instructions, permutation

LIMIT = 1.0

# On four leaves of four hosts and two spines. By name: the profile, the work, and more.
RING = "{all_reduce: {bytes: 64MiB, algorithm: ring, protocol: none}}"
INCAST = "{incast: {senders: 12, to: h0, bytes: 12MiB}}"
PERMUTATION = "{permutation: {bytes: 16MiB}}"
ALL_TO_ALL = "{all_to_all: {bytes: 16MiB}}"
RUNS = {
    "ring, marks": ("roce-v2-400g", RING, ""),
    "ring, marks, tuned": ("roce-v2-400g-tuned", RING, ""),
    "incast, marks": ("roce-v2-400g", INCAST, ""),
    "incast, TCP": ("tcp-ethernet", INCAST, ""),
    "permutation, marks": ("roce-v2-400g", PERMUTATION, ""),
    "permutation, window": ("roce-v2-lossy", PERMUTATION, ""),
    "permutation, losses": ("roce-v2-lossy", PERMUTATION,
                            'fabric: {cables: [{match: "leaf*-spine*", loss: 1e-3}]}'),
    "all-to-all, marks": ("roce-v2-400g", ALL_TO_ALL, ""),
    "all-to-all, TCP": ("tcp-ethernet", ALL_TO_ALL, ""),
    "all-to-all, credits": ("ib-ndr", ALL_TO_ALL, ""),
}


def scenario(profile, work, more):
    return (f"topology: leaf-spine:leaves=4,spines=2,hosts=4\nprofile: {profile}\n{more}\n"
            f"work: [{work}]\n")


def cost_of(name, run):
    alone = instructions(*run, "--no-verdict")
    explained = instructions(*run)
    cost = (explained - alone) / alone
    print(f"{name}: the verdict costs {cost:.2f} of its run; at most {LIMIT:.2f}")
    return cost


def main():
    tulle, peers, examples = sys.argv[1:4]
    runs = {"permutation of 128": permutation(tulle, peers)}
    for name in ("ring-all-reduce", "two-level-all-reduce"):
        runs[name] = [tulle, "sim", f"{examples}/{name}.yaml", "-q"]
    with tempfile.TemporaryDirectory() as folder:
        for name, what in RUNS.items():
            path = pathlib.Path(folder) / f"{len(runs)}.yaml"
            path.write_text(scenario(*what))
            runs[name] = [tulle, "sim", str(path), "-q"]
        costs = [cost_of(name, run) for name, run in runs.items()]
    sys.exit(0 if all(0 < cost <= LIMIT for cost in costs) else 1)


if __name__ == "__main__":
    main()
