#!/usr/bin/env python3
"""against_full.py TULLE quick|long: jobs with --skip against the same jobs simulated in full.

The run as a whole and each collective have to be within one percent, and of rings so much has to be
skipped as is said here. Trees and chains settle late or never; then nothing is skipped.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

MOST_ERROR = 0.01


class Job:
    def __init__(self, name, servers, work, profile="ib-ndr", least=0.2, more="", is_quick=False):
        self.name = name
        self.least = least  # of the time that has to be skipped
        self.is_quick = is_quick
        self.text = "\n".join([f"name: {name}", f"topology: rail:servers={servers},rails=8,group=8",
                               f"profile: {profile}", "gpus: {scale_up: nvlink4}", more,
                               "work:", *(f"  - {line}" for line in work), ""])


def collective(kind, size, way):
    return f"{kind}: {{bytes: {size}, algorithm: {way}}}"


JOBS = [
    Job("ring of 64", 8, [collective("all_reduce", "32MiB", "ring")], is_quick=True),
    Job("tree of 64", 8, [collective("all_reduce", "64MiB", "tree")], least=0),
    Job("tree of 64, RoCE", 8, [collective("all_reduce", "64MiB", "tree")], "roce-v2-400g", 0),
    Job("ring of 128, RoCE", 16, [collective("all_reduce", "32MiB", "ring")], "roce-v2-400g"),
    Job("gathering ring of 128", 16, [collective("all_gather", "32MiB", "ring")]),
    Job("scattering ring of 256", 32, [collective("reduce_scatter", "32MiB", "ring")]),
    Job("chain of 64", 8, [collective("broadcast", "64MiB", "ring")], least=0),
    Job("tree of 128 that copies", 16, [collective("broadcast", "64MiB", "tree")], least=0),
    Job("ring of 256", 32, [collective("all_reduce", "16MiB", "ring")]),
    Job("several steps of 64", 8,
        ["job: {steps: [{compute: 50us}, {all_reduce: {bytes: 8MiB, algorithm: ring}}, "
         "{all_to_all: {bytes: 1MiB}}, {all_gather: {bytes: 16MiB, algorithm: ring}}]}"],
        least=0.1, is_quick=True),
]


def run(tulle, path, *options):
    done = subprocess.run([tulle, "sim", str(path), "-q", "--no-verdict", "--json", "-", *options],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{path.stem}: {done.stderr}")
    return json.loads(done.stdout)


def error(found, expected):
    return found / expected - 1


def complaints(job, full, skipped):
    errors = {"the run": error(skipped["time_ns"], full["time_ns"])}
    for i, phase in enumerate(full["collectives"]):
        errors[f"{phase['name']} {i}"] = error(skipped["collectives"][i]["time_us"],
                                               phase["time_us"])
    for what, by in errors.items():
        if abs(by) > MOST_ERROR:
            yield f"{what} is wrong by {by:.2%}"
    share = skipped["skipping"]["time_ratio"]
    if share < job.least:
        yield f"{share:.1%} were skipped, not {job.least:.0%}: {skipped['skipping']['why_not']}"
    worst = max(errors.values(), key=abs)
    print(f"{job.name}: {share:.1%} skipped, wrong by {worst:.3%} at most, estimated "
          f"{skipped['skipping']['error_ratio']:.3%}; {full['engine']['cpu_s']:.1f} s and "
          f"{skipped['engine']['cpu_s']:.1f} s", flush=True)


def main():
    tulle, stage = sys.argv[1:3]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for job in JOBS:
            if stage == "quick" and not job.is_quick:
                continue
            path = pathlib.Path(folder) / "job.yaml"
            path.write_text(job.text)
            for complaint in complaints(job, run(tulle, path), run(tulle, path, "--skip")):
                print(f"FAILED: {job.name}: {complaint}")
                failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
