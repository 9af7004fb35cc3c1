#!/usr/bin/env python3
"""against_full.py TULLE quick|long: jobs with --skip against the same jobs simulated in full.

The run as a whole and each collective have to be within one percent, and so much has to be skipped
as is said here. Where another seed changes more than that, they have to be within the estimated
error. Steps of training are within one percent too. Trees and chains of many servers have
few pieces more than it takes to fill them; then nothing is skipped.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

MOST_ERROR = 0.01


class Job:
    def __init__(self, name, servers, work, profile="ib-ndr", least=0.2, more="", is_quick=False,
                 rails=8, join=None, has_chance=False):
        self.name = name
        self.options = [] if join is None else ["--join", str(join)]
        self.least = least  # of the time that has to be skipped; None: a step is repeated instead
        self.is_quick = is_quick
        self.has_chance = has_chance
        topology = f"rail:servers={servers},rails={rails},group={min(8, servers)}"
        self.text = "\n".join([f"name: {name}", f"topology: {topology}", f"profile: {profile}",
                               "gpus: {scale_up: nvlink4}", more,
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
    Job("tree of 8", 4, [collective("all_reduce", "256MiB", "tree")], rails=2, is_quick=True),
    Job("chain of 8", 4, [collective("broadcast", "256MiB", "ring")], rails=2, is_quick=True),
    Job("tree of 8 that copies", 4, [collective("broadcast", "256MiB", "tree")], rails=2,
        is_quick=True),
    Job("tree of 8, RoCE", 4, [collective("all_reduce", "256MiB", "tree")], "roce-v2-400g", 0,
        rails=2),
    Job("tree of 8 in bursts", 4, [collective("all_reduce", "64MiB", "tree")], rails=2, least=0,
        is_quick=True, join=1000),
    Job("tree of 64 in bursts", 8, [collective("all_reduce", "128MiB", "tree")], least=0,
        join=1000),
    Job("tree of 128 on one rail", 16, [collective("all_reduce", "64MiB", "tree")], least=0,
        join=4_000_000),
    Job("chain of 64 in bursts", 8, [collective("broadcast", "64MiB", "ring")], least=0,
        join=1000),
    Job("tree of 64 in bursts, RoCE", 8, [collective("all_reduce", "128MiB", "tree")],
        "roce-v2-400g", least=0, join=1000, has_chance=True),
    Job("large tree of 64", 8, [collective("all_reduce", "1GiB", "tree")], least=0.1),
    Job("several steps of 64", 8,
        ["job: {steps: [{compute: 50us}, {all_reduce: {bytes: 8MiB, algorithm: ring}}, "
         "{all_to_all: {bytes: 1MiB}}, {all_gather: {bytes: 16MiB, algorithm: ring}}]}"],
        least=0.1, is_quick=True),
]


MODEL = "model: {layers: 8, hidden: 2048, heads: 16, vocabulary: 8192, sequence: 4096}"
SMALL = "model: {layers: 8, hidden: 1024, heads: 16, vocabulary: 8192, sequence: 4096}"
EXPERTS = ("model: {layers: 4, hidden: 1024, heads: 16, vocabulary: 8192, sequence: 2048, "
           "experts: 32, experts_of_token: 4, expert_feed_forward: 1024}")


def step(name, servers, text, profile="ib-ndr", meets=False, **options):
    """`meets`: exchanges of replicas meet messages between stages, or wait for a rank that is late,
    so that they take longer than by themselves. Then only the step is compared."""
    job = Job(name, servers, [f"training: {{{text}}}"], profile, least=None, **options)
    job.meets = meets
    return job


# Steps of training: what is repeated against what is simulated wherever it happens.
JOBS += [
    step("replicas of 64", 8, f"{SMALL}, tp: 8, zero: 1, micro_batches: 4", is_quick=True),
    step("experts on 64", 8, f"{EXPERTS}, ep: 16, zero: 1, micro_batches: 4"),
    step("ZeRO 3 on 64", 8, f"{SMALL}, tp: 4, zero: 3, micro_batches: 2"),
    step("a pipeline on 64", 8, f"{MODEL}, tp: 4, pp: 4, zero: 1, micro_batches: 8"),
    step("an interleaved pipeline on 64, RoCE", 8,
         f"{MODEL}, tp: 4, pp: 4, virtual: 2, zero: 1, micro_batches: 8", "roce-v2-400g",
         meets=True),
    step("context and pipeline on 128", 16,
         f"{SMALL}, tp: 4, cp: 4, pp: 2, zero: 2, micro_batches: 4"),
    step("replicas of 128, RoCE", 16, f"{SMALL}, tp: 8, zero: 1, micro_batches: 4",
         "roce-v2-400g"),
    step("DualPipe on 128", 16,
         f"{SMALL}, tp: 4, pp: 4, zero: 1, schedule: dualpipe, micro_batches: 8", meets=True),
    step("a pipeline on 256", 32, f"{SMALL}, tp: 8, pp: 4, zero: 1, micro_batches: 8"),
    step("ZeRO 3 on 256", 32, f"{SMALL}, tp: 8, zero: 3, micro_batches: 2", meets=True),
]


def errors_of_step(full, skipped, meets):
    """Of the step, and of each exchange of replicas against the median of those of its size."""
    was, now = full["training"][0], skipped["training"][0]
    errors = {"the step": error(now["step_us"], was["step_us"])}
    for one in () if meets else now["slowest"]:
        times = [phase["time_us"] for phase in full["collectives"]
                 if (phase["kind"], phase["bytes"]) == (one["collective"], one["bytes"])]
        if times:
            errors[f"{one['collective']} of {one['bytes']}"] = error(one["time_us"],
                                                                     statistics.median(times))
    return errors


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
    if job.least is None:
        errors |= errors_of_step(full, skipped, job.meets)
    else:
        for i, phase in enumerate(full["collectives"]):
            errors[f"{phase['name']} {i}"] = error(skipped["collectives"][i]["time_us"],
                                                   phase["time_us"])
    estimated = skipped["skipping"]["error_ratio"]
    for what, by in errors.items():
        if abs(by) > (estimated if job.has_chance else MOST_ERROR):
            yield f"{what} is wrong by {by:.2%}"
    share = skipped["skipping"]["time_ratio"]
    if job.least is not None and share < job.least:
        yield f"{share:.1%} were skipped, not {job.least:.0%}: {skipped['skipping']['why_not']}"
    if job.options and not {"packets_joined", "rails_joined"} & skipped["skipping"].keys():
        yield "no packets and no rails were joined"
    worst = max(errors.values(), key=abs)
    print(f"{job.name}: {share:.1%} skipped, wrong by {worst:.3%} at most, estimated "
          f"{estimated:.3%}; {full['engine']['cpu_s']:.1f} s and "
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
            skipped = run(tulle, path, "--skip", *job.options)
            for complaint in complaints(job, run(tulle, path), skipped):
                print(f"FAILED: {job.name}: {complaint}")
                failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
