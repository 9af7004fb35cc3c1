"""`tulle sim` from the outside: what it prints, what it refuses, what it leaves behind."""

import csv
import io
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from program import CAPTURES, TULLE, main, open_terminal, tulle

INCAST = """\
name: small incast
topology: star:5
work:
  - incast: {to: 0, bytes: 64KiB}
"""
# Longer than anybody waits: hours of simulated traffic.
ENDLESS = """\
topology: star:3
work:
  - incast: {to: 0, bytes: 100TB}
"""
CM = "Nodes 16\nConnections 2\n0->15 id 1 start 0 size 100000\n3->9 id 2 start 0 size 100000\n"
MOST_POLLS = 10_000_000
PEERS = CAPTURES.parent / "peers"
TRACES = CAPTURES.parent.parent / "examples" / "traces"


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.incast = self.file("incast.yaml", INCAST)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def names(self):
        return sorted(os.listdir(self.folder))

    def report(self, *arguments):
        result = tulle("sim", *arguments, "--json", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)


class Run(InAFolder):
    def test_the_report_ends_with_the_verdict(self):
        result = tulle("sim", self.incast)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        text = result.stdout.decode()
        for part in ("small incast", "5 hosts, 1 switch", "Flows: 4, 256 KiB", "hash "):
            self.assertIn(part, text)
        self.assertIn("Verdict: ", text.splitlines()[-1 - text.split("Verdict: ")[1].count("\n  ")])

    def test_quiet_prints_the_verdict_alone(self):
        result = tulle("sim", "-q", self.incast)
        self.assertEqual(result.returncode, 0)
        self.assertTrue(result.stdout.startswith(b"Verdict: "))

    def test_quiet_without_a_verdict_runs_once_and_says_nothing(self):
        result = tulle("sim", "-q", "--no-verdict", self.incast)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))
        self.assertIsNone(self.report("--no-verdict", self.incast)["time"])
        self.assertIsNotNone(self.report(self.incast)["time"])

    def test_a_scenario_may_come_from_standard_input(self):
        result = tulle("sim", "-q", "-", input=INCAST.encode())
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_the_same_input_gives_the_same_run_with_any_number_of_threads(self):
        one, two = (self.report(self.incast, "--threads", n) for n in (1, 2))
        self.assertEqual(one["hash"], two["hash"])
        for report in (one, two):
            del report["engine"]
        self.assertEqual(one, two)

    def test_every_flow_ends_and_nothing_is_faster_than_alone(self):
        report = self.report(self.incast)
        self.assertEqual(len(report["flows"]), 4)
        for flow in report["flows"]:
            self.assertEqual((flow["status"], flow["dst"]), ("success", "h0"))
            self.assertGreaterEqual(flow["fct_ns"], flow["ideal_ns"] * 0.999)
        self.assertLessEqual(report["verdict"]["limit_ratio"], 1)

    def test_a_single_flow_takes_the_closed_form(self):
        single = self.file("single.yaml", "topology: star:2\nwork:\n"
                                          "  - flows: [{from: 0, to: 1, bytes: 1MiB}]\n")
        report = self.report(single)
        flow = report["flows"][0]
        self.assertAlmostEqual(flow["fct_ns"] / flow["ideal_ns"], 1, delta=0.001)
        self.assertEqual(report["verdict"]["findings"], [])

    def test_the_command_line_overrides_seed_topology_and_settings(self):
        report = self.report(self.incast, "--seed", 42, "--topology", "star:9")
        self.assertEqual((report["seed"], len(report["flows"])), (42, 8))

    def test_a_connection_matrix_runs_on_a_topology_and_a_profile(self):
        cm = self.file("two.cm", CM)
        report = self.report("--cm", cm, "--topology", "fat-tree:k=4", "--profile", "roce-v2-400g")
        self.assertEqual([flow["id"] for flow in report["flows"]], [1, 2])

    def test_a_setting_may_be_put_on_top_of_the_files_of_hpcc_s_simulator(self):
        config = PEERS / "config_single_100g.txt"
        as_it_is = tulle("sim", "--hpcc", config, "--fct", "-")
        slower = tulle("sim", "--hpcc", config, "--fct", "-", "--set", "fabric.link.fec_delay=1us")
        self.assertEqual(slower.returncode, 0, slower.stderr)
        taken = [int(run.stdout.split()[6]) for run in (as_it_is, slower)]
        self.assertGreater(taken[1], taken[0])
        refused = tulle("sim", "--hpcc", config, "--set", "fabric.credits.update=9KB")
        self.assertEqual(refused.returncode, 2)
        self.assertIn(b"has no effect, because flow_control is not credits", refused.stderr)

    def test_the_files_of_hpcc_s_simulator_run_and_their_answer_has_the_same_form(self):
        result = tulle("sim", "--hpcc", PEERS / "config_single_100g.txt", "--fct", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"tulle sim: note: ", result.stderr)
        found, peer = result.stdout.split(), (PEERS / "fct_single_100g.txt").read_bytes().split()
        self.assertEqual(found[:6] + found[7:], peer[:6] + peer[7:])  # all but the time it took
        self.assertAlmostEqual(int(found[6]) / int(peer[6]), 1, delta=0.001)

    def test_traces_of_other_programs_run_on_any_topology(self):
        place = ("--topology", "rail:servers=4,rails=4", "--profile", "ib-ndr", "--no-verdict")
        for words in (("--chakra", TRACES / "layers"), ("--simai", TRACES / "mlp.simai.txt")):
            result = tulle("sim", *words, *place)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(b"read as: times in ", result.stdout)
            result = tulle("sim", *words)
            self.assertEqual(result.returncode, 2)
            self.assertIn(b"add --topology", result.stderr)

    def test_a_broken_trace_is_refused_with_its_place(self):
        place = ("--topology", "rail:servers=4,rails=4", "--profile", "ib-ndr")
        whole = (TRACES / "layers.0.et").read_bytes()
        (self.folder / "half.0.et").write_bytes(whole[:len(whole) // 2])
        result = tulle("sim", "--chakra", self.folder / "half", *place)
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, rb"half\.0\.et: byte \d+: ")
        rows = (TRACES / "mlp.simai.txt").read_text().replace("ALLGATHER", "GOSSIP")
        result = tulle("sim", "--simai", self.file("rows.txt", rows), *place)
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, rb"rows\.txt:3: column 10: 'GOSSIP'")

    def test_what_nccl_tests_measured_stands_beside_the_run(self):
        scenario = TRACES.parent / "nccl-topology.yaml"
        measured = pathlib.Path(__file__).parent / "measured.txt"
        result = tulle("sim", scenario, "--measured", measured, "--no-verdict")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"1 of its 3 sizes of all_reduce were not simulated", result.stdout)
        result = tulle("sim", scenario, "--measured", measured, "--no-verdict", "--json", "-")
        rows = json.loads(result.stdout)["measured"]["rows"]
        self.assertEqual([row["measured_us"] for row in rows], [80, 160, 400])
        self.assertEqual([row["simulated_us"] is None for row in rows], [False, False, True])
        result = tulle("sim", scenario, "--measured", self.file("empty.txt", "# nothing"))
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, rb"empty\.txt:1: there is no row of nccl-tests")

    def test_flows_that_cannot_end_are_a_run_that_failed(self):
        stopped = self.file("stopped.yaml", INCAST + "stop: 1us\n")
        result = tulle("sim", stopped, "--json", "-")
        self.assertEqual(result.returncode, 1)
        report = json.loads(result.stdout)
        self.assertEqual(report["end"], "stop_time")
        self.assertFalse(report["verdict"]["complete"])
        self.assertIsNone(report["flows"][0]["fct_ns"])


class Files(InAFolder):
    def test_all_files_are_written_and_nothing_else_is_left(self):
        place = {name: self.folder / name for name in
                 ("run.json", "flows.csv", "links.csv", "fct.txt", "tap.pcap", "trace.json")}
        result = tulle("sim", self.incast, "--json", place["run.json"], "--csv", place["flows.csv"],
                       "--links-csv", place["links.csv"], "--fct", place["fct.txt"], "--pcap",
                       place["tap.pcap"], "--tap", "h0-switch0", "--trace", place["trace.json"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.names(), sorted([*place, "incast.yaml"]))

        report = json.loads(place["run.json"].read_text())
        flows = list(csv.DictReader(io.StringIO(place["flows.csv"].read_text())))
        self.assertEqual([float(flow["fct_ns"]) for flow in flows],
                         [flow["fct_ns"] for flow in report["flows"]])
        links = list(csv.DictReader(io.StringIO(place["links.csv"].read_text())))
        self.assertEqual(len(links), len(report["links"]))
        lines = [line.split() for line in place["fct.txt"].read_text().splitlines()]
        self.assertEqual(sorted(int(line[6]) for line in lines),
                         sorted(int(flow["fct_ns"]) for flow in report["flows"]))
        events = json.loads(place["trace.json"].read_text())["traceEvents"]
        self.assertEqual(sum(event["ph"] == "X" and event["pid"] == 1 for event in events), 4)

    def test_a_timeline_has_marks_and_the_rates_of_senders(self):
        place = self.folder / "trace.json"
        report = self.report(self.incast, "--trace", place, "--set", "fabric.ecn.kmin=1KB", "--set",
                             "fabric.ecn.kmax=50KB")
        self.assertGreater(report["totals"]["ecn_marked"], 0)
        events = json.loads(place.read_text())["traceEvents"]
        marks = [event for event in events if event["ph"] == "i" and event["name"] == "mark"]
        self.assertEqual(len(marks), report["totals"]["ecn_marked"])
        rates = {}
        for event in events:
            if event["ph"] == "C" and event["name"].endswith(" rate"):
                rates.setdefault(event["name"], []).append(event["args"]["bps"])
        self.assertEqual({name.split()[0] for name in rates}, {"h1", "h2", "h3", "h4"})
        self.assertTrue(any(min(values) < 400e9 for values in rates.values()), rates)

    def test_a_capture_holds_what_the_cable_carried_with_right_checksums(self):
        capture = self.folder / "tap.pcap"
        report = self.report(self.incast, "--pcap", capture, "--tap", "h0-switch0")
        decoded = json.loads(tulle("decode", "--json", "-", capture).stdout)
        summary = decoded["summary"]
        carried = sum(link["data_packets"] + link["control_packets"] for link in report["links"]
                      if "h0" in (link["from"], link["to"]))
        self.assertEqual(summary["roce_packets"], carried)
        self.assertEqual(summary["bad_icrc"], 0)

    def test_taps_are_interfaces_of_one_capture_and_no_packet_counts_twice(self):
        wide = self.file("wide.yaml", "topology: leaf-spine:leaves=2,spines=1,hosts=2\n"
                                      "work: [{flows: [{from: 0, to: 3, bytes: 64KiB}]}]\n")
        found = {}
        for profile in ("roce-v2-400g", "ib-ndr"):
            summaries = []
            for taps in (["h0-leaf0"], ["h0-leaf0", "leaf0-spine0", "leaf1-h3"]):
                capture = self.folder / "tap.pcapng"
                self.report(wide, "--profile", profile, "--pcap", capture,
                            *[word for tap in taps for word in ("--tap", tap)])
                summaries.append(json.loads(tulle("decode", "--json", "-", capture).stdout))
            one, three = summaries
            again = three["summary"].pop("repeated")
            self.assertEqual(again, 2 * one["summary"]["roce_packets"])
            self.assertEqual({packet["interface"] for packet in three["packets"]},
                             {"h0 - leaf0[0]", "leaf0[2] - spine0[0]", "h3 - leaf1[1]"})
            for key in ("roce_packets", "retransmitted", "operations", "by_opcode"):
                self.assertEqual(three["summary"][key], one["summary"][key], key)

    def test_json_on_standard_output_is_all_that_is_there(self):
        result = tulle("sim", self.incast, "--json", "-")
        self.assertEqual(json.loads(result.stdout)["scenario"], "small incast")

    def test_a_place_that_cannot_be_written_is_found_before_the_run(self):
        result = tulle("sim", self.incast, "--json", self.folder / "run.json", "--csv",
                       self.folder / "no" / "flows.csv")
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"cannot write", result.stderr)
        self.assertEqual(self.names(), ["incast.yaml"])


    def test_pieces_of_work_are_told_by_their_names(self):
        named = self.file("named.yaml", """topology: star:5
work:
  - {name: backup, incast: {to: 0, bytes: 64KiB}}
  - {name: "reads, small", incast: {to: 1, bytes: 4KiB}}
""")
        place = self.folder / "flows.csv"
        result = tulle("sim", named, "--csv", place)
        self.assertEqual(result.returncode, 0, result.stderr)
        text = result.stdout.decode()
        table = text.partition("By piece of work\n")[2].partition("\n\n")[0]
        self.assertIn("  backup ", table)
        self.assertIn("  reads, small ", table)
        self.assertIn("work", text.partition("slowest")[2].splitlines()[0])
        flows = list(csv.DictReader(io.StringIO(place.read_text())))
        self.assertEqual({flow["group"] for flow in flows}, {"backup", "reads, small"})


class Refusals(InAFolder):
    def refuse(self, *arguments):
        result = tulle("sim", *arguments)
        self.assertEqual((result.returncode, result.stdout), (2, b""), result.stderr)
        self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)
        self.assertTrue(result.stderr.startswith(b"tulle sim: "), result.stderr)
        return result.stderr.decode()

    def test_a_wrong_command_line_is_one_sentence_that_says_what_to_write(self):
        cm = self.file("two.cm", CM)
        for words, part in (
                ((), "name a scenario"),
                ((self.incast, "--cm", cm), "exclude each other"),
                (("--cm", cm), "--topology"),
                (("--hpcc", "x", "--profile", "roce-v2-400g"), "leave out"),
                ((self.incast, "--tap", "h0-switch0"), "--pcap"),
                ((self.incast, "--pcap", self.folder / "x"), "--tap"),
                ((self.incast, "--pcap", self.folder / "x", "--tap", "h0-h1"), "no cable"),
                ((self.incast, "--set", "fabric.pfc.xoff"), "KEY=VALUE"),
                ((self.incast, "--threads", "0"), "--threads"),
                ((self.incast, "--json", "-", "--csv", "-"), "only one"),
                ((self.folder / "none.yaml",), "No such file"),
                ((self.folder,), "directory"),
                ((self.incast, "--topology", "star:nonsense"), "nonsense"),
                ((self.incast, "--profile", "no-such"), "no-such")):
            with self.subTest(words=words):
                self.assertIn(part, self.refuse(*words))
        self.assertEqual(self.names(), ["incast.yaml", "two.cm"])

    def test_a_wrong_scenario_is_refused_with_file_and_line(self):
        wrong = self.file("wrong.yaml", INCAST + "speed: 9\n")
        self.assertIn("wrong.yaml:5: ", self.refuse(wrong))


class Interrupt(InAFolder):
    def begin(self, *arguments, **keywords):
        scenario = self.file("endless.yaml", ENDLESS)
        return subprocess.Popen([TULLE, "sim", "-q", scenario, "--json", self.folder / "run.json",
                                 *arguments], **keywords)

    def wait_until_it_runs(self):
        """The file is created just before the run."""
        for _ in range(MOST_POLLS):
            if any(name.startswith("run.json") for name in self.names()):
                return
        self.fail("it does not begin")

    def wait_until_packets_move(self, timeline):
        """A timeline grows during the run."""
        for _ in range(MOST_POLLS):
            if any(path.stat().st_size for path in self.folder.glob(timeline.name + "*")):
                return
        self.fail("nothing happens")

    def test_what_is_known_so_far_is_printed_and_written(self):
        timeline = self.folder / "timeline"
        process = self.begin("--trace", timeline, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.wait_until_packets_move(timeline)
        process.send_signal(signal.SIGINT)
        printed, complaint = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"interrupted", complaint)
        self.assertIn(b"Verdict: interrupted: 0 of 2 flows", printed)
        timeline.unlink()
        report = json.loads((self.folder / "run.json").read_text())
        self.assertEqual(report["end"], "interrupted")
        self.assertEqual(self.names(), ["endless.yaml", "incast.yaml", "run.json"])

    def test_a_long_run_says_what_it_will_cost_before_it_begins(self):
        process = self.begin(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = process.stderr.readline()
        self.assertRegex(line, rb"tulle sim: this will take about \d+ h, \d+ million hops, and ")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)

    # All to all of 1,500 ranks: seconds of set-up, more than two million tasks.
    LARGE = "topology: rail:servers=250,rails=6\nwork: [{all_to_all: {bytes: 64MiB}}]\n"

    def test_ctrl_c_and_sigterm_end_the_set_up_at_once_and_nothing_is_left(self):
        large = self.file("large.yaml", self.LARGE)
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([TULLE, "sim", large, "--json", self.folder / "run.json"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            # Not before it catches signals: then it starts the thread that watches the set-up.
            threads = pathlib.Path(f"/proc/{process.pid}/task")
            for _ in range(MOST_POLLS):
                if len(list(threads.iterdir())) > 1:
                    break
            process.send_signal(number)
            printed, complaint = process.communicate(timeout=60)
            self.assertEqual((process.returncode, printed), (1, b""))
            self.assertIn(b"interrupted while it was set up; nothing was run", complaint)
            self.assertEqual(self.names(), ["incast.yaml", "large.yaml"])

    def test_a_terminal_shows_how_far_it_is(self):
        watcher, terminal = open_terminal(self)
        process = self.begin(stdout=subprocess.DEVNULL, stderr=terminal)
        os.close(terminal)
        shown = b""
        while b" simulated, " not in shown:
            shown += os.read(watcher, 4096)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), 1)
        os.close(watcher)


class List(unittest.TestCase):
    def test_profiles_are_listed_a_line_each(self):
        result = tulle("list", "profiles")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        names = [line.split()[0] for line in result.stdout.decode().splitlines()]
        self.assertIn("roce-v2-400g", names)
        for line in result.stdout.decode().splitlines():
            self.assertGreater(len(line.split()), 2, line)


if __name__ == "__main__":
    main()
