#!/usr/bin/env python3
"""behaviour.py TULLE EXAMPLES: each example shows its behaviour, and its control does not.

A finding is looked for by its kind and by the name of the culprit that the example planted; a
control run must be free of warnings and failures.
"""

import json
import pathlib
import statistics
import subprocess
import sys


class Run:
    def __init__(self, tulle, path):
        done = subprocess.run([tulle, "sim", str(path), "-q", "--json", "-"], capture_output=True,
                              text=True)
        self.name = path.stem
        self.status = done.returncode
        self.json = json.loads(done.stdout)
        self.totals = self.json["totals"]
        self.findings = self.json["verdict"]["findings"]

    def blames(self, kind, *names):
        """A finding of the kind, and what it says names all of these."""
        return any(f["kind"] == kind and all(n in f["sentence"] for n in names)
                   for f in self.findings)

    def is_healthy(self):
        return self.status == 0 and all(f["severity"] == "note" for f in self.findings)

    def median_us(self):
        return statistics.median(f["fct_ns"] for f in self.json["flows"]) / 1000

    def slowest_us(self):
        return max(f["fct_ns"] for f in self.json["flows"]) / 1000

    def flow(self, source, destination):
        return [f for f in self.json["flows"]
                if f["src"] == source and f["dst"] == destination][0]

    def times(self, group):
        """Of the flows of a piece of work, in nanoseconds."""
        return [f["fct_ns"] for f in self.json["flows"] if f["group"] == group]

    def unfinished(self, group):
        return self.times(group).count(None)

    def small_us(self):
        """The slowest of the flows of a packet."""
        return max(f["fct_ns"] for f in self.json["flows"] if f["bytes"] <= 1000) / 1000

    def busbw(self, name):
        """Bus bandwidth in GB/s of the last phase of the name."""
        return [c["busbw_GBps"] for c in self.json["collectives"] if c["name"] == name][-1]

    def time_us(self):
        """When the last phase ended."""
        return max(c["start_us"] + c["time_us"] for c in self.json["collectives"])

    def phases_us(self, name):
        """Of the phases of the name, in their order."""
        return [c["time_us"] for c in self.json["collectives"] if c["name"] == name]

    def phase_us(self, name):
        return [c["time_us"] for c in self.json["collectives"] if c["name"] == name][0]

    def step(self, name):
        """What a training step of the name did with its time."""
        return [step for step in self.json["training"] if step["name"] == name][0]

    def exposed_us(self, name, kind):
        return sum(e["time_us"] for e in self.step(name)["exposed"] if e["kind"] == kind)

    def steps_add_up(self):
        """Each step ended, and computing, bubble and what is exposed are all of it."""
        return all(step["complete"] and
                   abs(step["computing_us"] + step["bubble_us"] - step["step_us"] +
                       sum(e["time_us"] for e in step["exposed"])) < 0.01
                   for step in self.json["training"])

    def dispatch(self):
        """The first time that tokens go to their experts."""
        return [one for one in self.json["collectives"] if one["name"] == "experts dispatch"][0]

    def only_step(self):
        return self.json["training"][0]

    def has_cause(self, words):
        return words in json.dumps(self.json["verdict"])

    def served(self, figure, of="found"):
        """A figure of the first piece of work that serves."""
        return self.json["serving"][0][of][figure]

    def trace(self):
        """What a job from a file of another program did with its time."""
        return self.json["traces"][0]

    def computes_us(self, time):
        """A rank computes for so long, and what it waits for is all the rest."""
        trace = self.trace()
        return (trace["complete"] and abs(trace["computing_us"] - time) < 0.01
                and trace["exposed_us"] > 0
                and abs(trace["computing_us"] + trace["exposed_us"] - trace["time_us"]) < 0.01)

    def fault(self):
        """What followed the first fault, of a run whose control plane is simulated."""
        return self.json["control"]["faults"][0]

    def survives_a_dead_link(self, control):
        """It was repaired, and the report says how long hosts had no route and what was lost."""
        fault = self.fault()
        return (self.status == 0 and fault["repaired"] and fault["pairs"] > 0
                and fault["lost"] > 0 and fault["lost"] == self.lost("link_down")
                + self.lost("no_route") + self.lost("hop_limit")
                and self.blames("no_route", "leaf1", "spine", "went down at 2 ms", "route")
                and self.json["collectives"][0]["time_us"]
                > control.json["collectives"][0]["time_us"]
                and control.lost() == 0 and control.json["control"]["bring_up_messages"] > 0)

    def lost(self, cause=None):
        dropped = self.totals["dropped"]
        return sum(dropped.values()) if cause is None else dropped[cause]


def expectations(run):
    """Names of examples, and what must hold of them."""
    ib = run["ib-incast-lossless"]
    collapse = run["roce-no-pfc-collapse"]
    storm = run["pause-storm"]
    freed = run["pause-storm-watchdog"]
    collisions = run["ecmp-collisions"]
    adaptive = run["ecmp-collisions-adaptive"]
    hoq = run["ring-deadlock-hoq"]
    levels = run["two-level-all-reduce"]
    nvlink = run["nvlink-in-switch"]
    astray = run["tenants-astray"]
    tenants = {kind: run[f"tenants-{kind}"] for kind in
               ("storm-shared", "storm-separate", "storm-control", "incast-shared",
                "incast-separate", "incast-control")}
    pipelines = run["training-schedules"]
    layouts = run["training-layouts"]
    experts = run["training-experts"]
    memory = run["memory"]
    ualink = run["memory-ualink"]
    direct = run["experts-low-latency"]
    saved = run["training-checkpoint"].only_step()["checkpoint"]
    beside = run["training-checkpoint-asynchronous"].only_step()["checkpoint"]
    bubble = {step["name"]: step["bubble_us"] for step in pipelines.json["training"]}
    victim = {how: run["slingshot-victim" + name].times("victim")[0] for how, name in
              (("shielded", ""), ("paused", "-pauses"), ("alone", "-control"))}
    sharp = list(zip(run["sharp"].phases_us("ring"), run["sharp"].phases_us("tree")))
    with_tree, without = ({c["name"]: (c["time_us"], c["algorithm"])
                           for c in run[name].json["collectives"]}
                          for name in ("sharp-two-trees", "sharp-no-tree"))
    return {
        "InfiniBand drops nothing for lack of buffer": ib.lost() == 0 and ib.status == 0,
        "RoCE without PFC loses": collapse.blames("losses") and collapse.lost("buffer_full") > 0,
        "and go-back-N collapses under incast":
            collapse.totals["retransmitted"] > collapse.lost()
            and collapse.slowest_us() > 1.5 * run["roce-no-pfc-collapse-control"].slowest_us(),
        "PFC blocks a victim flow": run["pfc-victim"].blames("victims", "h3 -> h5"),
        "DCQCN frees it": not run["pfc-victim-dcqcn"].blames("victims"),
        "a NIC that pauses for ever stops the fabric":
            storm.status == 1 and storm.blames("slow_receiver", "h7"),
        "the watchdog frees it":
            freed.lost("watchdog") > 0
            and sum(f["status"] == "success" for f in freed.json["flows"])
            > sum(f["status"] == "success" for f in storm.json["flows"]),
        "where switches drop what waits for a broken adapter, or trim it, bystanders get through":
            storm.unfinished("bystanders") == 2
            and run["pause-storm-credits"].unfinished("bystanders") == 0
            and run["pause-storm-credits"].lost("head_of_queue") > 0
            and run["pause-storm-trimming"].unfinished("bystanders") == 0
            and run["pause-storm-trimming"].unfinished("to the broken one") == 2,
        "and trimming costs two that share a cable of 400 Gb/s little":
            max(run["pause-storm-trimming"].times("bystanders")) < 1.3 * 2 * 8e6 * 8 / 400,
        "a victim on Slingshot does not suffer from an incast":
            victim["shielded"] < 1.1 * victim["alone"],
        "and does without back-pressure":
            victim["paused"] > 1.5 * victim["alone"],
        "while the incast itself takes little longer":
            max(run["slingshot-victim"].times("incast"))
            < 1.15 * max(run["slingshot-victim-pauses"].times("incast")),
        "switches between servers beat a ring on few bytes by far and on many by nearly two":
            all(r > 4 * t for r, t in sharp[:2]) and 1.5 < sharp[-1][0] / sharp[-1][1] < 2,
        "a job that finds no tree free adds up in a ring, and says so":
            without["second"][0] > 1.3 * with_tree["second"][0]
            and "no tree" in without["second"][1] and "in_network" in with_tree["second"][1]
            and without["first"][1] == with_tree["first"][1],
        "a ring with one VL deadlocks, and the report names the cycle":
            run["ring-deadlock"].status == 1
            and run["ring-deadlock"].blames("deadlock", *(f"switch{i}" for i in range(5))),
        "it stutters through drops with a head-of-queue lifetime":
            hoq.lost("head_of_queue") > 0 and hoq.status == 0,
        "two VLs clear it": run["ring-two-vls"].status == 0 and run["ring-two-vls"].lost() == 0,
        "a slow receiver spreads pause":
            run["slow-receiver"].blames("slow_receiver", "h0")
            and run["slow-receiver"].blames("victims"),
        "ECMP collisions halve a permutation": collisions.blames("uneven_paths")
            and collisions.slowest_us() > 2 * 87,
        "adaptive routing restores it":
            adaptive.median_us() < collisions.median_us()
            and adaptive.slowest_us() < 0.6 * collisions.slowest_us(),
        "Kmax above XOFF makes PFC the only brake": run["kmax-above-xoff"].blames("pfc_only_brake"),
        "a noisy tenant on the same VL moves its neighbour's p99":
            run["noisy-neighbour-same-vl"].blames("noisy_neighbour"),
        "on its own VL hardly": not run["noisy-neighbour-own-vl"].blames("noisy_neighbour"),
        "a host that sends to another tenant's is refused, named and gives up":
            astray.status == 1 and astray.flow("h1", "h7")["status"] == "retry_exceeded"
            and astray.flow("h0", "h4")["status"] == "success"
            and astray.blames("other_tenant", "h1 of tenant red", "h7 of tenant blue",
                              "PortXmitConstraintErrors")
            and astray.lost("other_tenant") > 0
            and astray.json["violations"][0]["packets"] == astray.lost("other_tenant"),
        "PFC on different priorities loses what should be lossless, and the cable is named":
            run["dcbx-mismatch"].blames("dcbx_disagreement", "leaf1", "priority 4", "lost")
            and run["dcbx-mismatch"].lost("buffer_full") > 0,
        "a willing switch takes over its neighbours' priorities":
            run["dcbx-mismatch-control"].lost() == 0
            and not run["dcbx-mismatch-control"].json["disagreements"],
        "a pause storm of a tenant stops the other on the same priority":
            tenants["storm-shared"].unfinished("blue") == 2,
        "and leaves it alone on its own":
            tenants["storm-separate"].times("blue") == tenants["storm-control"].times("blue")
            and tenants["storm-separate"].unfinished("red") == 2,
        "an incast of a tenant holds up the other on the same lane":
            max(tenants["incast-shared"].times("blue"))
            > 2 * max(tenants["incast-control"].times("blue")),
        "and costs it less than a packet a hop on its own":
            max(b - a for a, b in zip(tenants["incast-control"].times("blue"),
                                      tenants["incast-separate"].times("blue")))
            < 3 * 84,  # packets of 4 KiB at 400 Gb/s
        "go-back-N under spraying retransmits without loss":
            run["spraying-go-back-n"].blames("needless_resending")
            and run["spraying-go-back-n"].lost() == 0,
        "packets sprayed by the sender beat one hashed path a flow":
            run["sender-spraying"].slowest_us() < 0.7 * run["sender-one-path"].slowest_us(),
        "headers of trimmed packets replace timeouts under incast":
            run["trimming-incast"].lost() == 0 and run["dropping-incast"].lost() > 0
            and run["trimming-incast"].slowest_us() < run["dropping-incast"].slowest_us(),
        "SRD on a lossy fabric sends again what was lost and little else":
            run["srd-lossy"].lost() > 0
            and run["srd-lossy"].totals["retransmitted"] < 2 * run["srd-lossy"].lost()
            and run["go-back-n-lossy"].totals["retransmitted"]
            > 4 * run["go-back-n-lossy"].lost(),
        "a link that repairs what a bad cable damages loses nothing, and nobody sends again":
            run["bad-cable-llr"].lost() == 0
            and run["bad-cable-llr"].totals["retransmitted"] == 0
            and run["bad-cable-end-to-end"].lost() > 0
            and run["bad-cable-control"].slowest_us() < run["bad-cable-llr"].slowest_us()
            < run["bad-cable-end-to-end"].slowest_us(),
        "a ring on one leaf comes within two percent of the rate of its links":
            49 < run["ring-all-reduce"].busbw("all_reduce") < 50,
        "two levels beat rings through all servers":
            levels.busbw("two levels") > 1.2 * levels.busbw("rings"),
        "a switch that adds up beats a ring inside a server":
            nvlink.busbw("in the switch") > 1.2 * nvlink.busbw("ring"),
        "where the time of training went adds up to the step": all(
            run[name].steps_add_up()
            for name in ("training", "training-schedules", "training-layouts")),
        "chunks, later gradients of weights and both ends make a bubble shorter":
            bubble["1f1b"] > 2 * bubble["zero bubble"] > 3 * bubble["dualpipe"]
            and bubble["1f1b"] > 3.9 * bubble["interleaved"],
        "copies that share out parameters gather them in each micro-batch":
            layouts.exposed_us("zero 3", "parameters") >
            2 * layouts.exposed_us("zero 1", "parameters"),
        "each kind of sharing is exposed as itself":
            layouts.exposed_us("gathered context", "context") > 0
            and layouts.exposed_us("experts", "expert") > 0
            and layouts.exposed_us("tensors", "tensor") > 0,
        "tokens that cross to a server once come sooner than by an all-to-all":
            experts.exposed_us("deepep", "expert") < experts.exposed_us("all-to-all", "expert"),
        "and are hidden behind another micro-batch":
            experts.exposed_us("two batches", "expert") < experts.exposed_us("deepep", "expert"),
        "all wait for GPUs with hot experts":
            experts.step("hot")["step_us"] > experts.step("deepep")["step_us"]
            and run["experts-hot"].time_us() > 1.1 * run["experts"].time_us(),
        "two micro-batches end sooner than one of twice the size":
            run["experts-two-batches"].time_us() < 0.8 * run["experts"].time_us(),
        "drives that are slower than their links set the pace of a checkpoint":
            8 * 2**20 / 7e3 <= run["storage-drives"].json["collectives"][0]["time_us"]
            < 1.1 * 8 * 2**20 / 7e3
            and run["storage-drives"].has_cause("the drives of storage"),
        "a checkpoint that blocks takes what drives take; one beside the next step only a copy":
            saved["complete"] and beside["complete"]
            and saved["blocks_us"] > 0.9 * saved["stored_us"]
            and saved["stored_us"] >= saved["bytes"] / 8 / 7e3
            and beside["blocks_us"] < 0.1 * saved["blocks_us"],
        "data are read beside the step":
            run["training-checkpoint"].only_step()["data"]["complete"]
            and run["training-checkpoint"].only_step()["data"]["bytes"] == 16 * 2 * 2**20,
        "a month is what the closed form says; who blocks for less may save more often":
            run["training-checkpoint"].only_step()["month"]["training_ratio"] == 0.63
            and run["training-checkpoint"].only_step()["month"]["best_interval_us"]
            > 3 * run["training-checkpoint-asynchronous"].only_step()["month"]["best_interval_us"],
        "loads of shared memory one at a time take a round trip each":
            abs(2 * memory.phase_us("one at a time") - memory.phase_us("twice as many")) < 1e-4
            and memory.phase_us("64 under way") < memory.phase_us("twice as many") / 20,
        "a load behind CXL and its switch takes 220 to 400 ns":
            0.22 < run["memory-cxl"].phase_us("one at a time") / 64 < 0.4,
        "a load behind UALink takes two passes of its switch longer; copies wait for the memory":
            0.19 < (ualink.phase_us("one at a time") - memory.phase_us("one at a time")) / 64 < 0.2
            and abs(ualink.phase_us("copies") / memory.phase_us("copies") - 1) < 0.01,
        "states of the optimizer in shared memory cost a step time":
            run["training-memory"].only_step()["states"]["complete"]
            and run["training-memory"].only_step()["states"]["blocks_us"] > 0,
        "a KV cache in shared memory is read more slowly":
            run["serving-memory"].served("between_tokens_p50_us")
            > run["serving-together"].served("between_tokens_p50_us"),
        "all ranks of a step wait for a slow GPU":
            run["training-slow-gpu"].only_step()["step_us"]
            > run["training"].only_step()["step_us"]
            and run["training-slow-gpu"].has_cause("rank 5 takes longer"),
        "a link that flaps costs a step time and packets, and not its end":
            run["training-flapping-link"].only_step()["complete"]
            and run["training-flapping-link"].lost("link_down") > 0
            and run["training-flapping-link"].only_step()["step_us"]
            > run["training"].only_step()["step_us"],
        "a dead adapter ends a step, and the report names its cable":
            run["training-dead-adapter"].status == 1
            and not run["training-dead-adapter"].only_step()["complete"]
            and any("s0r0" in f["sentence"] for f in run["training-dead-adapter"].findings),
        "a subnet manager repairs a link that dies under an all-reduce":
            run["link-fails-infiniband"].survives_a_dead_link(run["link-fails-infiniband-control"]),
        "so does BGP":
            run["link-fails-ethernet"].survives_a_dead_link(run["link-fails-ethernet-control"]),
        "and a spanning tree does, on a link that was blocked":
            run["link-fails-spanning-tree"].survives_a_dead_link(
                run["link-fails-spanning-tree-control"])
            and "9 of 16 cables" in run["link-fails-spanning-tree"].json["control"]["way"],
        "all requests are answered, however they are served": all(
            run[name].status == 0 and run[name].json["serving"][0]["complete"]
            for name in ("serving", "serving-whole-cache", "serving-together", "serving-experts")),
        "layers of a KV cache that are sent one by one come earlier than the whole":
            run["serving"].served("between_tokens_p99_us")
            < run["serving-whole-cache"].served("between_tokens_p99_us"),
        "on an infinitely fast network it makes no difference":
            run["serving"].served("between_tokens_p99_us", "ideal")
            == run["serving-whole-cache"].served("between_tokens_p99_us", "ideal"),
        "prompts beside answers make users wait between tokens":
            run["serving-together"].served("between_tokens_p99_us")
            > 2 * run["serving"].served("between_tokens_p99_us"),
        "files of other programs compute what they say, and wait for the fabric":
            run["chakra"].computes_us(1000) and run["simai"].computes_us(2750)
            and run["astra"].computes_us(1263) and run["kineto"].computes_us(1070),
        "experts of low latency send more messages and end sooner":
            direct.dispatch()["messages"] > run["experts"].dispatch()["messages"]
            and direct.dispatch()["time_us"] < run["experts"].dispatch()["time_us"],
        "the smallest size of the sweep over sizes ends":
            run["training-scaling"].only_step()["complete"],
        "a server of NCCL's has the NVLinks that its file says":
            run["nccl-topology"].json["scale_up"]["fabric"] == "NVLink 4"
            and run["nccl-topology"].busbw("all_reduce") > 150,
        "the report says in which unit a file was read":
            "us (duration_micros)" in run["chakra"].trace()["units"]
            and "times in ns" in run["simai"].trace()["units"],
        "telemetry keeps a queue empty where marks do not":
            run["hpcc-incast"].small_us() < 0.5 * run["hpcc-incast-dcqcn"].small_us()
            and run["hpcc-incast"].slowest_us() < 1.15 * run["hpcc-incast-dcqcn"].slowest_us(),
        "detours carry what one cable of a dragonfly cannot":
            2 * run["dragonfly-adversarial"].slowest_us()
            < run["dragonfly-adversarial-minimal"].slowest_us(),
        "and cost little where they are not needed":
            run["dragonfly-uniform"].slowest_us()
            < 1.1 * run["dragonfly-uniform-minimal"].slowest_us(),
        "an all-to-all and storage end side by side":
            run["all-to-all-beside-storage"].status == 0
            and run["all-to-all-beside-storage"].lost() == 0,
    }


def main():
    tulle, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    run = {path.stem: Run(tulle, path) for path in sorted(folder.glob("*.yaml"))}
    failures = 0
    for what, holds in expectations(run).items():
        print(f"{'holds' if holds else 'FAILS'}: {what}")
        failures += not holds
    for name in run:
        if name.endswith("-control") and not run[name].is_healthy():
            print(f"FAILS: {name} should have nothing wrong: {run[name].findings}")
            failures += 1
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
