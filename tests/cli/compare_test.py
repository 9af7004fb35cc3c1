"""`tulle compare` from the outside: fabrics, files, sweeps, prices, and Ctrl-C."""

import csv
import io
import json
import pathlib
import os
import re
import select
import signal
import subprocess
import tempfile
import time
import unittest

from program import CAPTURES, TULLE, main, open_terminal, tulle

ROOT = CAPTURES.resolve().parents[1]

SMALL = """
name: small
topology: star:4
work: [{incast: {to: 0, bytes: 200KB}}]
"""


class Folder(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.path = pathlib.Path(self._folder.name)
        self.write("small.yaml", SMALL)

    def write(self, name, text):
        (self.path / name).write_text(text)

    def compare(self, *arguments):
        return tulle("compare", *arguments, cwd=self.path)

    def json(self, *arguments):
        result = self.compare("--json", "-", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)


class Compare(Folder):
    def test_fabrics_stand_side_by_side_in_the_order_of_the_command_line(self):
        result = self.compare("small.yaml", "--fabrics", "roce-v2-100g,ib-ndr")
        self.assertEqual(result.returncode, 0, result.stderr)
        text = result.stdout.decode()
        self.assertLess(text.index("roce-v2-100g"), text.index("ib-ndr"))
        self.assertIn("ib-ndr is fastest", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_a_run_is_the_same_as_by_itself_and_with_any_number_of_threads(self):
        one = self.json("small.yaml", "--fabrics", "ib-ndr,roce-v2-400g", "--threads", "1")
        two = self.json("small.yaml", "--fabrics", "ib-ndr,roce-v2-400g", "--threads", "2")
        alone = json.loads(tulle("sim", "small.yaml", "--profile", "ib-ndr", "--json", "-",
                                 cwd=self.path).stdout)
        for run in one["runs"] + two["runs"] + [alone]:
            del run["engine"]
        self.assertEqual(one, two)
        self.assertEqual({k: one["runs"][0][k] for k in alone}, alone)

    def test_names_and_values_that_are_empty_or_there_twice_are_refused(self):
        for arguments in (["--fabrics", ""], ["--fabrics", "ib-ndr,ib-ndr"],
                          ["--sweep", "bytes=1KiB,2KiB,1KiB"], ["--sweep", "bytes="]):
            result = self.compare("small.yaml", *arguments)
            self.assertEqual((result.returncode, result.stdout), (2, b""), arguments)
            self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)

    def test_one_fabric_that_does_not_complete_the_work_is_a_failure_and_all_are_shown(self):
        self.write("hurried.yaml", SMALL + "stop: 40us\n")
        result = self.compare("hurried.yaml", "--fabrics", "roce-v1,ib-ndr")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(b"ib-ndr is fastest", result.stdout)
        self.assertIn(b"roce-v1 did not complete the work", result.stdout)

    def test_reads_on_a_network_that_cannot_read_are_refused_in_a_sentence(self):
        self.write("reads.yaml", SMALL.replace("}}]", "}, operation: read}]"))
        result = self.compare("reads.yaml", "--fabrics", "ib-ndr,nvlink4")
        self.assertEqual((result.returncode, result.stdout), (2, b""), result.stderr)
        self.assertIn(b"nvlink4: there are reads", result.stderr)

    def test_every_claim_rests_on_a_field(self):
        found = self.json("small.yaml", "--fabrics", "ib-ndr,roce-v2-100g")
        self.assertEqual([run["name"] for run in found["runs"]], ["ib-ndr", "roce-v2-100g"])
        for claim in found["verdict"]["claims"]:
            self.assertTrue(claim["evidence"])
            for one in claim["evidence"]:
                value = found
                for step in one["field"].split("/")[1:]:
                    value = value[int(step)] if isinstance(value, list) else value[step]
                self.assertEqual(value, one["value"])

    def test_the_scenario_names_the_fabrics_and_their_settings(self):
        self.write("listed.yaml", SMALL + """
fabrics:
  - roce-v2-400g
  - {profile: roce-v2-400g, name: no-pfc, fabric: {flow_control: none, switch: {buffer: 64KiB}}}
""")
        found = self.json("listed.yaml")
        self.assertEqual([run["name"] for run in found["runs"]], ["roce-v2-400g", "no-pfc"])
        self.assertEqual(found["runs"][0]["totals"]["dropped"]["buffer_full"], 0)
        self.assertGreater(found["runs"][1]["totals"]["dropped"]["buffer_full"], 0)
        chosen = self.json("listed.yaml", "--fabrics", "no-pfc,ib-ndr")
        self.assertEqual(chosen["runs"][0]["hash"], found["runs"][1]["hash"])

    def test_a_fabric_may_be_a_file(self):
        self.write("mine.yaml", "name: mine\nlike: roce-v2-400g\nfabric: {link: {delay: 1us}}\n")
        found = self.json("small.yaml", "--fabrics", "roce-v2-400g,./mine.yaml")
        self.assertEqual(found["runs"][1]["fabric"], "mine")
        self.assertGreater(found["runs"][1]["time_ns"], found["runs"][0]["time_ns"])

    def test_a_setting_that_is_of_use_on_one_fabric_is_noted_on_the_other(self):
        arguments = ("small.yaml", "--fabrics", "ib-ndr,roce-v2-400g", "--set",
                     "fabric.ecn.kmin=9KB")
        result = self.compare(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"note: on ib-ndr: ", result.stderr)
        useless = self.compare("small.yaml", "--fabrics", "ib-ndr", "--set", "fabric.ecn.kmin=9KB")
        self.assertEqual(useless.returncode, 2)
        self.assertIn(b"has no effect", useless.stderr)

    def test_what_is_wrong_is_said_before_anything_runs(self):
        for arguments, words in [
            (("missing.yaml",), b"cannot open missing.yaml"),
            (("small.yaml", "--fabrics", "ib-ndx"), b"did you mean 'ib-ndr'"),
            (("small.yaml", "--fabrics", "ib-ndr,ib-ndr"), b"compared with itself"),
            (("small.yaml", "--sweep", "bytes"), b"write KEY=A,B,C"),
            (("small.yaml", "--set", "profile=ib-hdr"), b"the fabric is chosen already"),
            (("small.yaml", "--sweep", "profile=ib-ndr,ib-hdr"), b"the fabric is chosen already"),
            (("small.yaml", "--set", "fabrics=[ib-ndr]"), b"no effect on a command line"),
            (("small.yaml", "--sweep", "fabric.link.speed=1,2"), b"unknown key 'speed'"),
            (("small.yaml", "--cost", "small.yaml"), b"unknown key 'name'"),
        ]:
            with self.subTest(arguments=arguments):
                result = self.compare(*arguments, "--json", "out.json")
                self.assertEqual(result.returncode, 2)
                self.assertIn(words, result.stderr)
                self.assertFalse((self.path / "out.json").exists())

    def test_prices_are_the_users(self):
        self.write("prices.yaml", """
currency: EUR
switches: [{name: box, ports: 8, rate: 400Gbps, price: 1000, watts: 100}]
adapters: [{name: card, rate: 400Gbps, price: 10, watts: 1}]
copper: [{name: wire, rate: 400Gbps, reach: 100m, price: 0.5, watts: 0}]
""")
        found = self.json("small.yaml", "--fabrics", "ib-ndr", "--cost", "prices.yaml")
        cost = found["cost"][0]
        self.assertEqual((cost["price"], cost["watts"], cost["currency"]), (1042.0, 104.0, "EUR"))
        self.assertEqual(cost["copper_cables"], 4)


    def test_a_switch_with_too_few_ports_is_an_error_in_ones_own_prices(self):
        self.write("prices.yaml", """
currency: USD
switches:
  - {name: small, ports: 3, rate: 400Gbps, price: 1000, watts: 100}
  - {name: faster and dearer, ports: 8, rate: 800Gbps, price: 9000, watts: 100}
""")
        result = self.compare("small.yaml", "--fabrics", "ib-ndr", "--cost", "prices.yaml")
        self.assertEqual((result.returncode, result.stdout), (2, b""), result.stderr)
        self.assertIn(b"switch in prices.yaml has 4 ports", result.stderr)
        self.assertIn(b"the largest has 3", result.stderr)

    def test_sample_prices_and_guesses_are_called_so(self):
        text = self.compare("small.yaml", "--fabrics", "ib-ndr").stdout.decode()
        for words in ("sample price, USD", "sample prices of cost/sample.yaml; * is a guess",
                      "400G adapter", "1,800*"):
            self.assertIn(words, text)

    def test_an_empty_file_is_named(self):
        self.write("empty.yaml", "")
        for words in (("empty.yaml",), ("empty.yaml", "--fabrics", "ib-ndr"),
                      ("empty.yaml", "--set", "fabric.ecn.kmin=9KB")):
            result = self.compare(*words)
            self.assertEqual(result.returncode, 2)
            self.assertIn(b"empty.yaml:1: the topology is missing", result.stderr)

    def test_several_seeds_have_a_spread_and_the_median_counts(self):
        self.write("random.yaml", "topology: leaf-spine:leaves=4,spines=2,hosts=4\n"
                                  "work: [{permutation: {bytes: 500KB}}]\n")
        found = self.json("random.yaml", "--fabrics", "ib-ndr,roce-v2-400g", "--seeds", "5",
                          "--seed", "7")
        self.assertEqual(len(found["runs"]), 2)
        for run in found["runs"]:
            self.assertEqual([one["seed"] for one in run["seeds"]], [7, 8, 9, 10, 11])
            times = sorted(one["span_ns"] for one in run["seeds"])
            self.assertGreater(times[4], times[0])
            self.assertEqual(run["verdict"]["span_ns"], times[2])
        text = self.compare("random.yaml", "--fabrics", "ib-ndr,roce-v2-400g", "--seeds", "5")
        self.assertIn(b"most of 5 seeds", text.stdout)
        self.assertLessEqual(max(map(len, text.stdout.decode().splitlines())), 100)


# Uses every part of the document: two networks, flows, pauses, a cable whose ends differ.
EVERYTHING = """
topology: rail:servers=2,rails=2,storage=1
gpus: {scale_up: nvlink4}
work:
  - all_reduce: {bytes: 64KiB}
  - storage: {bytes: 64KiB}
  - incast: {to: 0, bytes: 1MB}
fabric: {pfc: {threshold: static, xoff: 20KB}}
qos: [{node: storage0, pfc_priorities: [4], willing: no}]
"""


def keys_of(value):
    """Names of all fields, except those of findings, which depend on the kind."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    if not isinstance(value, dict):
        return set()
    below = [keys_of(one) for key, one in value.items() if key != "fields"]
    return set(value).union(*below)


class Manual(Folder):
    def test_every_key_of_the_json_is_explained(self):
        self.write("everything.yaml", EVERYTHING)
        found = self.json("everything.yaml", "--fabrics", "roce-v2-100g,roce-v1", "--sweep",
                          "work.0.all_reduce.bytes=1KiB,64KiB", "--seeds", "2")
        for part in ("collectives", "scale_up", "flows", "links", "pauses", "disagreements"):
            self.assertTrue(any(run[part] for run in found["runs"]), part)
        pages = [(ROOT / "docs" / "man" / f"tulle-{name}.1").read_text()
                 for name in ("compare", "sim")]
        words = set(re.findall(r"\w+", " ".join(page.partition(".Ss JSON")[2] for page in pages)))
        self.assertEqual(keys_of(found) - words, set())


class Sweep(Folder):
    def test_a_row_for_each_value_and_fabric(self):
        result = self.compare("small.yaml", "--fabrics", "ib-ndr,roce-v2-400g", "--sweep",
                              "bytes=10KB,20KB,40KB", "--csv", "out.csv")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = list(csv.DictReader(io.StringIO((self.path / "out.csv").read_text())))
        self.assertEqual([(row["sweep_value"], row["fabric"]) for row in rows],
                         [(v, f) for v in ("10KB", "20KB", "40KB")
                          for f in ("ib-ndr", "roce-v2-400g")])
        times = [float(row["time_ns"]) for row in rows if row["fabric"] == "ib-ndr"]
        self.assertEqual(times, sorted(times))
        self.assertIn("time against bytes", result.stdout.decode())
        self.assertIn("█", result.stdout.decode())

    def test_hosts_and_settings_can_be_swept(self):
        found = self.json("small.yaml", "--fabrics", "ib-ndr", "--sweep", "hosts=3,6")
        self.assertEqual([run["hosts"] for run in found["runs"]], [3, 6])
        self.assertEqual(found["sweep_key"], "hosts")
        self.assertEqual(found["runs"][1]["sweep"], {"key": "hosts", "value": "6", "values": ["6"]})
        found = self.json("small.yaml", "--fabrics", "roce-v2-400g", "--sweep",
                          "fabric.ecn.kmin=1KB,500KB", "--set", "fabric.ecn.kmax=500KB")
        marks = [run["totals"]["ecn_marked"] for run in found["runs"]]
        self.assertGreater(marks[0], marks[1])


    def test_two_settings_are_a_grid(self):
        words = ("small.yaml", "--fabrics", "roce-v2-400g", "--sweep", "fabric.ecn.kmin=1KB,100KB",
                 "--sweep", "fabric.ecn.kmax=200KB,400KB,800KB")
        found = self.json(*words)
        self.assertEqual(found["sweep_key"], "fabric.ecn.kmin, fabric.ecn.kmax")
        self.assertEqual([run["sweep"]["values"] for run in found["runs"]],
                         [[a, b] for a in ("1KB", "100KB") for b in ("200KB", "400KB", "800KB")])
        text = self.compare(*words).stdout.decode()
        self.assertIn("time, roce-v2-400g: fabric.ecn.kmin down, fabric.ecn.kmax across", text)
        self.assertIn("Best value", text)
        for words in (("a=1", "a=2"), ("a=1", "b=2", "c=3")):
            result = self.compare("small.yaml", *[w for s in words for w in ("--sweep", s)])
            self.assertEqual(result.returncode, 2, result.stderr)

    def test_the_best_value_is_named_with_pauses_marks_queue_and_price(self):
        text = self.compare("small.yaml", "--fabrics", "ib-ndr,roce-v2-400g", "--sweep",
                            "fabric.link.rate=100Gbps,200Gbps,400Gbps").stdout.decode()
        self.assertIn("ib-ndr: best at fabric.link.rate = 400Gbps", text)
        for words in ("links held up", "marks", "deepest queue", "sample price, USD"):
            self.assertIn(words, text)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)


class Interrupt(Folder):
    def test_finished_fabrics_are_told_and_what_is_missing_too(self):
        # The first fabric fails at once; the second would take hours.
        self.write("slow.yaml", """
topology: pair
work: [{flows: [{from: 0, to: 1, bytes: 900GB}]}]
fabrics:
  - profile: ib-ndr
    name: brief
    fabric: {link: {error_rate: 0.001}}
    hosts: {retry_count: 0, ack_timeout: 1}
  - {profile: ib-ndr, name: endless}
""")
        command = [TULLE, "compare", "slow.yaml", "--threads", "1", "--json", "out.json"]
        leader, follower = open_terminal(self)  # progress is for terminals, and says how far it is
        process = subprocess.Popen(command, cwd=self.path, stdout=subprocess.PIPE, stderr=follower)
        os.close(follower)
        shown = b""
        deadline = time.monotonic() + 50
        while b"1 of 2 runs done" not in shown and time.monotonic() < deadline:
            if select.select([leader], [], [], 1)[0]:
                shown += os.read(leader, 4096)
        process.send_signal(signal.SIGINT)
        text = process.communicate(timeout=60)[0].decode()
        os.close(leader)
        self.assertEqual(process.returncode, 1)
        self.assertIn("brief did not complete the work", text)
        self.assertIn("Missing: endless did not come to an end.", text)
        found = json.loads((self.path / "out.json").read_text())
        self.assertEqual(found["missing"], ["endless"])
        self.assertEqual(len(found["runs"]), 1)


if __name__ == "__main__":
    main()
