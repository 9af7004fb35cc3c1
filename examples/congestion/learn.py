"""Learns the table of table.c by trying: an entry at a time is changed, and what is better is kept.

usage: learn.py TULLE        writes table.h beside this file, in less than a minute

It learns on incasts of 3, 6 and 12 hosts with messages of 4, 2 and 1 MB. What it minimises is the
mean completion time of flows, and half of the deepest queue, both in parts of what dcqcn has,
averaged over the scenarios: without the queue it would learn to send at line rate and to rely on
PFC. incast.yaml, on which the examples are compared, is not among them; table.h says how it does
there.
"""

import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
ROUND_TRIPS = [1.1, 1.25, 1.5, 2, 3]  # bounds, in parts of the shortest
FIRST = [110, 105, 100, 95, 80, 60] + [95, 90, 85, 80, 70, 50]  # percent; a guess to begin with
STEPS = (-20, -10, -5, 5, 10, 20)
ROUNDS = 3
QUEUE_WEIGHT = 0.5  # chosen
TRAINING = [(3, "4MB"), (6, "2MB"), (12, "1MB")]


def scenario(senders, size):
    return (f"name: training\ntopology: leaf-spine:leaves=1,spines=1,hosts={senders + 3}\n"
            "profile: roce-v2-400g\nwork:\n"
            f"  - incast: {{to: 0, from: [1-{senders}], bytes: {size}}}\n"
            f"  - flows: [{{from: {senders + 1}, to: 1, bytes: {size}}}]\n")


def figures(tulle, text, congestion):
    """Mean completion time, and the deepest queue."""
    run = subprocess.run([tulle, "sim", "-", "--no-verdict", "--json", "-", "--congestion",
                          congestion], input=text.encode(), capture_output=True)
    if run.returncode != 0:
        sys.exit(run.stderr.decode())
    report = json.loads(run.stdout)
    times = [flow["fct_ns"] for flow in report["flows"]]
    return sum(times) / len(times), max(link["peak_queue_bytes"] for link in report["links"])


def in_parts(own, usual):
    """What is minimised, of two pairs of figures."""
    return own[0] / usual[0] + QUEUE_WEIGHT * own[1] / usual[1]


def written(table):
    return "+".join(map(str, table))


class Learner:
    def __init__(self, tulle):
        self.tulle = tulle
        self.texts = [scenario(*one) for one in TRAINING]
        self.usual = [figures(tulle, text, "dcqcn") for text in self.texts]
        self.tried = {}

    def score(self, table):
        """Averaged over the scenarios; less is better, and dcqcn has 1.5."""
        name = written(table)
        if name not in self.tried:
            plugin = f"{HERE}/table.so:table={name}"
            parts = [in_parts(figures(self.tulle, text, plugin), usual)
                     for text, usual in zip(self.texts, self.usual)]
            self.tried[name] = sum(parts) / len(parts)
        return self.tried[name]

    def learn(self):
        best = list(FIRST)
        for _ in range(ROUNDS):
            for place in range(len(best)):
                choices = [best] + [best[:place] + [best[place] + step] + best[place + 1:]
                                    for step in STEPS if 10 <= best[place] + step <= 200]
                best = min(choices, key=self.score)
        return best


def main(tulle):
    subprocess.run(["make", "-s", "-C", HERE, "table.so"], check=True)
    learner = Learner(tulle)
    table = learner.learn()
    other = (HERE / "incast.yaml").read_text()
    own, usual = (figures(tulle, other, one)
                  for one in (f"{HERE}/table.so:table={written(table)}", "dcqcn"))
    bounds = ", ".join(map(str, ROUND_TRIPS))
    trained_on = ", ".join(f"{senders} x {size}" for senders, size in TRAINING)
    (HERE / "table.h").write_text(
        f"/* Written by learn.py, which tried {len(learner.tried)} tables on incasts of "
        f"{trained_on}.\n"
        " * What it minimises, with 1.5 for dcqcn: "
        f"{learner.score(FIRST):.3f} to begin with, {learner.score(table):.3f} at the end.\n"
        " * On incast.yaml, from which nothing was learned, flows take "
        f"{own[0] / usual[0]:.2f} of what they take with\n"
        f" * dcqcn, and the deepest queue is {own[1] / usual[1]:.2f} of dcqcn's. */\n"
        "#pragma once\n"
        f"#define ROUND_TRIPS {len(ROUND_TRIPS) + 1}\n"
        f"static const double kRoundTrips[ROUND_TRIPS - 1] = {{{bounds}}};\n"
        f'#define LEARNED "{written(table)}"\n')


if __name__ == "__main__":
    main(sys.argv[1])
