#!/usr/bin/env python3
"""explained.py TULLE PEERS: what the verdict costs, in instructions of the run that it explains.

A run is explained by a second one, which follows the chain of waits of the first
(sim/time_account.h). That and the sentences may cost what the run itself costs, and no more: the
known permutation of 128 hosts. What programs take is in bench/results.md.
"""

import sys

from callgrind import instructions, permutation

LIMIT = 1.0


def main():
    run = permutation(*sys.argv[1:3])
    alone = instructions(*run, "--no-verdict")
    explained = instructions(*run)
    cost = (explained - alone) / alone
    print(f"the verdict costs {cost:.2f} of its run; at most {LIMIT:.2f}")
    sys.exit(0 if 0 < cost <= LIMIT else 1)


if __name__ == "__main__":
    main()
