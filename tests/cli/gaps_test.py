"""Pairs of fabrics whose gap has a known reason: one setting differs, and `tulle compare` says so.

The parts of a gap add up to it, to the picosecond. `tulle why` proves a cause by taking it away.
"""

import copy
import json
import pathlib
import tempfile
import unittest

from program import main, tulle

ONE_FLOW = {"name": "pairs", "topology": "leaf-spine:leaves=2,spines=2,hosts=4",
            "work": [{"flows": [{"from": 0, "to": 4, "bytes": "4MB"}]}]}
INCAST = {**ONE_FLOW, "work": [{"incast": {"to": 0, "bytes": "1MB"}}]}

# Without congestion control, which would react to every other change.
BASE = {"fabric": {"marking": "none"}, "hosts": {"congestion": {"algorithm": "none"}}}
LIMITED = {"algorithm": "fixed_rate", "fixed_rate": {"rate": "100Gbps"}}

# The difference from the base, and the kind of share that must be the largest part of the gap.
PAIRS = {
    "a slower line": ({"fabric": {"link": {"rate": "200Gbps"}}}, ONE_FLOW, {"serialization"}),
    "longer cables": ({"fabric": {"link": {"delay": "100us"}}}, ONE_FLOW, {"propagation"}),
    "slow switches": ({"fabric": {"switch": {"latency": "60us"}}}, ONE_FLOW, {"switching"}),
    "slow adapters": ({"hosts": {"send_latency": "60us"}}, ONE_FLOW, {"software"}),
    "a slow bus for sending": ({"hosts": {"send_toll": {"rate": "150Gbps"}}}, ONE_FLOW,
                               {"host_bus"}),
    # What the bus cannot take is held back before the host, or waits in it.
    "a slow bus for receiving": ({"hosts": {"receive_toll": {"rate": "150Gbps"}}}, ONE_FLOW,
                                 {"host_bus", "held"}),
    "a small window": ({"hosts": {"window": 20}}, ONE_FLOW, {"window"}),
    "a rate limit": ({"hosts": {"congestion": LIMITED}}, ONE_FLOW, {"rate_limit"}),
    "bit errors": ({"fabric": {"link": {"error_rate": "3e-7"}}, "hosts": {"ack_timeout": 4}},
                   ONE_FLOW, {"loss"}),
    "no flow control": ({"fabric": {"flow_control": "none", "switch": {"buffer": "100KB"}},
                         "hosts": {"ack_timeout": 4}}, INCAST, {"loss"}),
    "marks that come too early": ({"fabric": {"marking": "ecn", "ecn": {"kmin": "1KB"}},
                                   "hosts": {"congestion": {"algorithm": "dcqcn"}}}, INCAST,
                                  {"congestion_control"}),
}


def merged(base, change):
    result = copy.deepcopy(base)
    for key, value in change.items():
        both_are_maps = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both_are_maps else value
    return result


class Gaps(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.path = pathlib.Path(self._folder.name)
        self.write("base.yaml", {})

    def write(self, name, change):
        """A profile; JSON is YAML."""
        names = {"name": name, "description": name, "like": "roce-v2-400g"}
        profile = {**names, **merged(BASE, change)}
        (self.path / name).write_text(json.dumps(profile))

    def behind(self, change, scenario):
        """The claim about the slower fabric, and its gap in picoseconds."""
        (self.path / "scenario.yaml").write_text(json.dumps(scenario))
        self.write("other.yaml", change)
        result = tulle("compare", "scenario.yaml", "--fabrics", "base.yaml,other.yaml", "--json",
                       "-", cwd=self.path)
        self.assertEqual(result.returncode, 0, result.stderr)
        found = json.loads(result.stdout)
        base, other = (run["time"]["end_ps"] for run in found["runs"])
        return found["verdict"]["claims"][-1], other - base

    def test_the_largest_part_of_a_gap_is_what_differs_and_the_parts_add_up(self):
        self.assertGreaterEqual(len(PAIRS), 10)
        for name, (change, scenario, kinds) in PAIRS.items():
            with self.subTest(name):
                claim, gap = self.behind(change, scenario)
                self.assertEqual(claim["kind"], "behind", claim)
                self.assertEqual(sum(part["ps"] for part in claim["parts"]), gap)
                self.assertIn(claim["parts"][0]["kind"], kinds, claim["sentence"])


class Shares(unittest.TestCase):
    def test_shares_add_up_to_the_end_of_the_run(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "incast.yaml"
            path.write_text(json.dumps(INCAST))
            for profile in ("ib-ndr", "roce-v2-400g", "roce-v2-400g-no-pfc", "tcp-ethernet"):
                result = tulle("sim", path, "--profile", profile, "--json", "-")
                found = json.loads(result.stdout)["time"]
                self.assertEqual(sum(s["ps"] for s in found["shares"]), found["end_ps"], profile)
                self.assertTrue(all(s["ps"] > 0 for s in found["shares"]), found)


class Why(unittest.TestCase):
    def why(self, scenario, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "s.yaml"
            path.write_text(json.dumps(scenario))
            return tulle("why", path, *arguments)

    def test_a_cause_that_is_taken_away_saves_its_time(self):
        change = {"profile": "roce-v2-400g", "fabric": {"link": {"error_rate": "3e-7"}},
                  "hosts": {"ack_timeout": 4}}
        scenario = merged(merged(ONE_FLOW, BASE), change)
        result = self.why(scenario, "--json", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        trial = json.loads(result.stdout)["trials"][0]
        self.assertEqual((trial["kind"], trial["judgement"]), ("lossy_cable", "cause"), trial)
        self.assertLess(trial["after_ps"], trial["before_ps"])

    def test_the_text_says_what_was_taken_away(self):
        result = self.why({**merged(INCAST, BASE), "profile": "roce-v2-400g"}, "--causes", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("without the other senders to h0", result.stdout.decode())

    def test_links_inside_servers_are_taken_away_as_a_cause(self):
        step = {"all_reduce": {"bytes": "64MiB", "algorithm": "ring"}}
        scenario = {"topology": "rail:servers=1,rails=8", "profile": "ib-ndr",
                    "gpus": {"scale_up": "nvlink4"}, "work": [{"job": {"steps": [step]}}]}
        result = self.why(scenario, "--json", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        trials = {trial["kind"]: trial for trial in json.loads(result.stdout)["trials"]}
        full = trials["oversubscribed"]
        self.assertEqual(full["judgement"], "cause", full)
        self.assertEqual(full["without"], "with 16 times the rate inside servers")

    def serving(self, change, fabric=None):
        """The trials of a model that is served, by suspect, and the verdict."""
        serving = {"model": "llama3-8b", "prefill": {"tp": 4, "ranks": ["0-3"]},
                   "decode": {"tp": 4, "ranks": ["4-7"]}, "rate": 1, "requests": 4,
                   "prompt": 1000, "output": 4, **change}
        scenario = {"topology": "rail:servers=2,rails=4", "profile": "ib-ndr",
                    "fabric": fabric or {}, "gpus": {"scale_up": "nvlink4"},
                    "work": [{"serving": serving}]}
        result = self.why(scenario, "--causes", "4", "--json", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        found = json.loads(result.stdout)
        saved = {trial["suspect"]: [trial[f"{wait}_us"] - trial[f"{wait}_without_us"]
                                    for wait in ("first_token", "between_tokens")]
                 for trial in found["serving_trials"]}
        trial = found["serving_trials"][0]
        return saved, trial["first_token_us"], trial["between_tokens_us"], found["verdict"]

    def test_requests_that_come_at_once_wait_for_each_other(self):
        saved, first, _, verdict = self.serving({"rate": 10000})
        self.assertGreater(saved["other requests"][0], 0.5 * first)
        self.assertLess(abs(saved["too few places"][0]), 0.05 * first)
        self.assertRegex(verdict["sentence"], r"first token for .* on average \([^(]* other requ")

    def test_caches_on_a_slow_network_are_waited_for_between_tokens(self):
        saved, _, between, verdict = self.serving({"kv": "whole"}, {"link": {"rate": "10Gbps"}})
        self.assertGreater(saved["KV caches on their way"][1], 0.5 * between)
        self.assertLess(abs(saved["other requests"][1]), 0.05 * between)
        self.assertRegex(verdict["sentence"], r"for the next for .* \([0-9.]* ms the network")

    def test_an_answer_that_finds_no_place_waits_for_one(self):
        saved, first, _, _ = self.serving({"rate": 10000, "sequences": 1, "output": 40})
        self.assertGreater(saved["too few places"][0], 0.3 * first)

    def test_wrong_input_is_one_sentence_and_exit_code_2(self):
        for arguments in (["missing.yaml"], [], ["--causes", "-1", "x.yaml"]):
            result = tulle("why", *arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertNotEqual(result.stderr, b"")


if __name__ == "__main__":
    main()
