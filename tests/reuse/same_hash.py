#!/usr/bin/env python3
"""same_hash.py TULLE COUNT: random steps of training find the same with and without reuse.

With reuse one server stands for all, and a ring that gathers for one that scatters as much. Without
it (--no-reuse) each is simulated. Reports are compared up to what the engine took.
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile

SEED = 15


def layout(chance):
    """Degrees of parallelism that fit, as keys of the entry and the servers that they need."""
    per_server = chance.choice([2, 4, 8])
    servers = chance.choice([2, 3, 4])
    gpus = per_server * servers
    tensor = chance.choice([t for t in (1, 2, 4, 8) if t <= per_server and gpus % t == 0])
    pipeline = chance.choice([p for p in (1, 2, 4) if (gpus // tensor) % p == 0])
    context = chance.choice([c for c in (1, 2) if (gpus // tensor // pipeline) % c == 0])
    keys = {"tp": tensor, "pp": pipeline, "cp": context}
    if chance.random() < 0.3 and gpus // tensor // pipeline % 2 == 0:
        keys["ep"] = 2
    return keys, servers, per_server


def scenario(chance):
    keys, servers, per_server = layout(chance)
    model = {"layers": 8, "hidden": chance.choice([264, 376, 512]), "heads": 8, "vocabulary": 1024,
             "sequence": chance.choice([260, 512, 604])}
    if "ep" in keys:
        model |= {"experts": 8, "experts_of_token": 2, "expert_feed_forward": 256}
    keys |= {"micro_batches": chance.choice([4, 8]), "zero": chance.randrange(4),
             "sequence_parallel": chance.choice(["yes", "no"]),
             "context": chance.choice(["ring", "all_gather"]),
             "replicas": chance.choice(["once", "each"]),
             "recompute": chance.choice(["none", "selective", "full"]),
             "protocol": chance.choice(["auto", "simple", "none"])}
    if chance.random() < 0.3:
        keys["order"] = "[dp, tp, cp, pp]"

    def text(entries):
        return "{" + ", ".join(f"{key}: {value}" for key, value in entries.items()) + "}"

    profile = chance.choice(["ib-ndr", "roce-v2-400g", "ib-ndr-adaptive", "uec-400g"])
    return "\n".join(["name: random", f"topology: rail:servers={servers},rails={per_server}",
                      f"profile: {profile}", f"seed: {chance.randrange(1000)}",
                      "gpus: {scale_up: nvlink4}", "work:",
                      f"  - training: {text({'model': text(model), **keys})}", ""])


def run(tulle, path, *options):
    done = subprocess.run([tulle, "sim", str(path), "-q", "--no-verdict", "--json", "-", *options],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{path.read_text()}\n{done.stderr}")
    report = json.loads(done.stdout)
    del report["engine"]
    return report


def main():
    tulle, count = sys.argv[1], int(sys.argv[2])
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "random.yaml"
        for i in range(count):
            chance = random.Random(SEED * 1000 + i)
            path.write_text(scenario(chance))
            options = ["--skip"] if chance.random() < 0.5 else []
            with_reuse = run(tulle, path, *options)
            if with_reuse != run(tulle, path, "--no-reuse", *options):
                print(f"FAILED: job {i} finds something else without reuse:\n{path.read_text()}")
                failed += 1
    print(f"{count - failed} of {count} random jobs find the same with and without reuse")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
