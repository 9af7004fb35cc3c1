#!/usr/bin/env python3
"""explained.py TULLE PEERS EXAMPLES: what the verdict costs, in instructions of its run.

A run is explained by a second one, which follows the chain of waits of the first
(sim/time_account.h). That and the sentences may cost what the run itself costs, and no more: of the
known permutation of 128 hosts, of programs on one network and on two, and where links are full.
"""

import pathlib
import sys
import tempfile

from callgrind import instructions, permutation

LIMIT = 1.0

ALL_TO_ALL = """
topology: leaf-spine:leaves=4,spines=4,hosts=4
profile: ib-ndr
work: [{all_to_all: {bytes: 16MiB}}]
"""


def cost_of(name, run):
    alone = instructions(*run, "--no-verdict")
    explained = instructions(*run)
    cost = (explained - alone) / alone
    print(f"{name}: the verdict costs {cost:.2f} of its run; at most {LIMIT:.2f}")
    return cost


def main():
    tulle, peers, examples = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        all_to_all = pathlib.Path(folder) / "all-to-all.yaml"
        all_to_all.write_text(ALL_TO_ALL)
        runs = {"permutation": permutation(tulle, peers)}
        for path in [all_to_all, *(pathlib.Path(examples) / f"{name}.yaml"
                                   for name in ("ring-all-reduce", "two-level-all-reduce"))]:
            runs[path.stem] = [tulle, "sim", str(path), "-q"]
        costs = [cost_of(name, run) for name, run in runs.items()]
    sys.exit(0 if all(0 < cost <= LIMIT for cost in costs) else 1)


if __name__ == "__main__":
    main()
