"""The front door: help, lists, completion, version, and refusals before anything runs."""

import fcntl
import json
import os
import pathlib
import re
import resource
import shutil
import struct
import subprocess
import tempfile
import termios
import threading
import unittest

from program import CAPTURES, TULLE, main, open_terminal, tulle

ROOT = pathlib.Path(__file__).parent.parent.parent
SLOW = "topology: fat-tree:k=4\nwork: [{permutation: {bytes: 200KB}}]\n"
IS_SANITIZED = any(sign in pathlib.Path(TULLE).read_bytes() for sign in (b"__asan_", b"__tsan_"))
# Presets with sanitizers build no drop-ins; refusals need none.
WITHOUT_LIBRARIES = {**os.environ, "TULLE_LIBRARIES": "/"}
INCAST = "topology: star:5\nwork: [{incast: {to: 0, bytes: 100KB}}]\n"


def output(*arguments, **keywords):
    result = tulle(*arguments, **keywords)
    assert result.returncode == 0, (arguments, result.stderr)
    return result.stdout.decode()


def refusal(*arguments, **keywords):
    result = tulle(*arguments, **keywords)
    assert result.returncode == 2, (arguments, result.returncode, result.stderr)
    assert len(result.stderr.splitlines()) == 1, result.stderr
    return result.stderr.decode()


def below(help_text):
    """The commands listed in a help text."""
    _, _, listing = help_text.partition("\nSubcommands:\n")
    return re.findall(r"^  ([a-z-]+)", listing.partition("\n\n")[0], re.MULTILINE)


def all_commands(words=()):
    """Every command and subcommand, as words."""
    yield words
    for name in below(output(*words, "--help")):
        if name != "help":
            yield from all_commands((*words, name))


class Help(unittest.TestCase):
    def test_every_command_has_examples_of_its_own_in_80_columns(self):
        commands = list(all_commands())
        self.assertGreater(len(commands), 10)
        for words in commands:
            text = output(*words, "--help")
            with self.subTest(command=words):
                self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])
                examples = text.partition("Examples:\n")[2]
                self.assertIn("tulle " + words[0] if words else "tulle ", examples)

    def test_help_is_a_command_too(self):
        self.assertEqual(output("help"), output("--help"))
        self.assertEqual(output("help", "sim"), output("sim", "--help"))
        self.assertEqual(output("help", "subnet", "check"), output("subnet", "check", "--help"))
        self.assertIn("no command 'nonsense'", refusal("help", "nonsense"))
        for words in (("sim", "nonsense"), ("subnet", "nonsense")):
            self.assertIn("'nonsense' is one word too many", refusal("help", *words))

    def test_nothing_is_promised_that_is_not_there(self):
        self.assertNotIn("tulle tune", output("--help"))

    def test_the_version_names_commit_and_compiler(self):
        self.assertRegex(output("--version"),
                         r"^tulle \d+\.\d+\.\d+ \(commit [0-9a-z]+, (g\+\+|Clang|Debian).*\d+")


def examples(*words):
    """The command lines that a help text shows, without what it says of them."""
    text = output(*words, "--help").partition("Examples:\n")[2].replace("\\\n", "")
    lines = re.findall(r"^  (?=tulle )(.*)", text, re.MULTILINE)
    return [re.split(r"(?<=\S) {2,}(?=[a-z0-9`])(?!--)", line)[0] for line in lines]


class Examples(unittest.TestCase):
    def test_those_of_an_incast_work_as_the_help_shows_them(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(ROOT / "profiles" / "roce-v2-800g.yaml", f"{folder}/mine.yaml")
            shutil.copy(ROOT / "cost" / "sample.yaml", f"{folder}/quotes.yaml")
            for command in ("sim", "why", "compare"):
                lines = [line for line in examples(command) if "incast.yaml" in line]
                self.assertGreater(len(lines), 3)
                self.assertEqual(lines[0], "tulle show incast > incast.yaml")
                for line in lines:
                    done = subprocess.run(["sh", "-c", line.replace("tulle", f"'{TULLE}'", 1)],
                                          cwd=folder, capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, (line, done.stderr))


class Lists(unittest.TestCase):
    def test_all_profiles_and_examples_are_listed_and_shown_as_they_are(self):
        for kind in ("profiles", "examples"):
            names = [line.split()[0] for line in output("list", kind).splitlines()]
            files = sorted((ROOT / kind).glob("*.yaml"))
            self.assertEqual(sorted(names), sorted(file.stem for file in files))
            for file in files:
                self.assertEqual(output("show", file.stem), file.read_text())

    def test_each_listed_topology_can_be_built(self):
        for topology in json.loads(output("list", "topologies", "--json", "-")):
            self.assertNotIn("  ", topology["description"])
            if not topology["name"].startswith("..."):
                output("topo", topology["name"])

    def test_a_list_for_programs_says_the_same(self):
        for kind in ("profiles", "examples", "topologies"):
            lines = output("list", kind).splitlines()
            entries = json.loads(output("list", kind, "--json", "-"))
            self.assertEqual(len(entries), len(lines))
            for entry, line in zip(entries, lines):
                self.assertTrue(line.startswith(entry["name"]), line)
                if kind != "topologies":
                    self.assertTrue(entry["description"], line)

    def test_what_is_not_there_is_said_with_where_to_look(self):
        self.assertIn("tulle list profiles", refusal("show", "no-such"))

    def test_an_example_runs_as_it_is_shown(self):
        output("sim", "-q", "-", input=tulle("show", "pfc-victim").stdout)

    def test_the_doctor_answers_programs_too(self):
        found = json.loads(tulle("doctor", "--json", "-").stdout)
        self.assertEqual(set(found), {"works", "findings"})
        self.assertTrue(all(f["answer"] in ("yes", "slow", "no") for f in found["findings"]))


class Completion(unittest.TestCase):
    def complete(self, *words):
        """What bash offers for the last of the words."""
        script = output("completion", "bash") + (
            f"COMP_WORDS=({' '.join(repr(w) for w in words)}); COMP_CWORD={len(words) - 1}\n"
            "compopt() { :; }\n_tulle; printf '%s\\n' \"${COMPREPLY[@]}\"\n")
        folder = pathlib.Path(TULLE).parent
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True,
                              env={"PATH": f"{folder}:/usr/bin:/bin"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split()

    def test_bash_completes_commands_options_and_profiles(self):
        self.assertEqual(self.complete("tulle", "si"), ["sim"])
        self.assertEqual(self.complete("tulle", "sim", "--thr"), ["--threads"])
        self.assertEqual(self.complete("tulle", "list", "prof"), ["profiles"])
        self.assertIn("ib-ndr", self.complete("tulle", "sim", "x.yaml", "--profile", "ib-"))
        self.assertEqual(self.complete("tulle", "show", "pfc-victim-d"), ["pfc-victim-dcqcn"])

    def test_other_shells_take_theirs(self):
        for shell, check in (("zsh", ["zsh", "-n"]), ("fish", ["fish", "-n"])):
            script = output("completion", shell)
            for words in all_commands():
                if words:
                    self.assertIn(words[0], script)
            if shutil.which(shell):
                with tempfile.NamedTemporaryFile("w") as file:
                    file.write(script)
                    file.flush()
                    subprocess.run([*check, file.name], check=True)


class Terminal(unittest.TestCase):
    def shown(self, *arguments):
        """What a terminal of 80 columns shows."""
        reader, terminal = open_terminal(self)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        with tempfile.TemporaryFile() as kept:
            copy = threading.Thread(target=lambda: self.copy(reader, kept))
            copy.start()
            subprocess.run([TULLE, *arguments], stdout=terminal, stderr=subprocess.DEVNULL,
                           check=True)
            os.close(terminal)
            copy.join()
            os.close(reader)
            kept.seek(0)
            return kept.read().decode()

    @staticmethod
    def copy(reader, kept):
        while True:
            try:
                some = os.read(reader, 65536)
            except OSError:  # the other end was closed
                return
            if not some:
                return
            kept.write(some)

    def test_a_report_is_as_wide_as_the_terminal(self):
        example = str(ROOT / "examples" / "pfc-victim.yaml")
        wide = output("sim", example)
        self.assertTrue(any(len(line) > 80 for line in wide.splitlines()))
        narrow = self.shown("sim", example)
        self.assertEqual([line for line in narrow.splitlines() if len(line) > 80], [])
        self.assertIn("Verdict: ", narrow)

    def test_every_command_fits_into_80_columns(self):
        example = str(ROOT / "examples" / "pfc-victim.yaml")
        for words in (("why", example, "--causes", "1"), ("list", "examples"),
                      ("list", "topologies"), ("topo", "fat-tree:k=4"),
                      ("subnet", "route", "fat-tree:k=4"), ("model", "llama3-8b", "--tp", "8",
                                                             "--gpus", "8"),
                      ("compare", example, "--fabrics", "ib-ndr,roce-v2-400g,tcp-ethernet"),
                      ("decode", str(CAPTURES / "cm-reject.pcap"))):
            shown = self.shown(*words)
            self.assertNotEqual(shown, "")
            self.assertEqual([line for line in shown.splitlines() if len(line) > 80], [], words)


class Refused(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, text):
        path = pathlib.Path(self.folder.name) / name
        path.write_text(text)
        return str(path)

    def test_numbers_are_whole_and_in_their_range(self):
        for words, answer in ((("--seed", "-1"), "'-1' is not a whole number from 0 on"),
                              (("--seed", "1.5"), "'1.5' is not"),
                              (("--seed", "99999999999999999999"), "is not a whole number"),
                              (("--threads", "0"), "'0' is not a whole number from 1 to 1024")):
            for command in ("sim", "why"):
                self.assertIn(answer, refusal(command, "x.yaml", *words))

    def test_a_mistyped_word_is_answered_with_the_nearest_one(self):
        incast = self.file("incast.yaml", INCAST)
        for words, answer in (
                (("smi", incast), "there is no command 'smi'; did you mean 'sim'?"),
                (("subnet", "chek"), "there is no command 'chek'; did you mean 'check'?"),
                (("sim", incast, "--thread", "2"),
                 "there is no option '--thread'; did you mean '--threads'?"),
                (("show", "pfc-victm"), "did you mean 'pfc-victim'?"),
                (("sim", "pfc-victim"), "`tulle show pfc-victim > pfc-victim.yaml` writes the"),
                (("compare", "pfc-victim"), "writes the example of that name"),
                (("sim", incast, "--topology", "fat-tre:k=4"), "did you mean 'fat-tree'?"),
                (("sim", incast, "--congestion", "dqcn"), "did you mean 'dcqcn'?"),
                (("sim", incast, "--congestion", "mine"), "or a file such as ./mine.so"),
                (("sim", self.file("typo.yaml", INCAST + "fabrics: [ib-ndx]\n")),
                 "typo.yaml:3: fabrics: there is no profile 'ib-ndx'; did you mean 'ib-ndr'?")):
            said = refusal(*words)
            self.assertIn(answer, said)
            self.assertNotIn("?;", said)

    def test_a_wrong_command_line_is_answered_in_plain_words(self):
        for words, answer in (
                (("sim", "x.yaml", "y.yaml"), "'y.yaml' is one word too many"),
                (("sim", "x.yaml", "--json"), "--json needs a value: --json FILE"),
                (("sim", "x.yaml", "--json", ""), "--json: its value is empty"),
                (("sim", "x.yaml", "--seed", "1", "--seed", "2"), "--seed is given more than once"),
                (("sim", "x.yaml", "--check"), "--check requires --skip"),
                (("run", "--pair", "true"), "--pair takes 2 words"),
                (("subnet",), "tulle subnet: name a command: "),
                (("list", "topologys"), "did you mean 'topologies'?"),
                (("compare", "--fabrics", ","), "',' has an empty part"),
                (("compare", "--congestion", "dcqcn,"), "'dcqcn,' has an empty part"),
                (("compare", "--fabrics", "all,ib-ndr"), "all takes every profile"),
                (("compare", "--sweep", "bytes=1KB,,2KB"), "write KEY=A,B,C"),
                (("compare", "--sweep", "bytes=1KB,"), "write KEY=A,B,C"),
                (("sim", self.file("one.yaml", INCAST), "--set", "fabric.ets.weights="),
                 "write KEY=VALUE"),
                (("topo", "star:99999999999"), "hosts=99999999999 is too large"),
                (("subnet", "sweep", "star:5", "--faults", "1"), "0 cables between switches"),
                (("run", "--delay", "99999999s", "true"), "'99999999s' is too large")):
            self.assertIn(answer, refusal(*words, env=WITHOUT_LIBRARIES))

    def test_an_option_that_would_change_nothing_is_refused(self):
        incast = self.file("incast.yaml", INCAST)
        idle = self.file("idle", "0 1 | 0 5 1 | 1 5 0\n")
        capture = CAPTURES / "cm-reject.pcap"
        for words, answer in (
                (("run", "--seed", "7", "true"), "--seed is for faults, and there are none"),
                (("run", "--fault-log", "log", "true"), "--fault-log is for faults"),
                (("subnet", "sweep", "star:5", "--seed", "3"), "--seed requires --loss"),
                (("decode", "-q", "-v", capture), "--quiet excludes --verbose"),
                (("decode", "-q", "--operations", capture), "--operations excludes --quiet"),
                (("decode", "--dump", "5", capture), "--dump requires --verbose"),
                (("sim", incast, "--paths", self.file("empty", "")), "there is no path in it"),
                (("sim", incast, "--paths", idle), "idle:1: no flow takes this path, from node 0"),
                (("sim", "--simai", "x", "--topology", "star:5", "--profile", "ib-ndr", "--paths",
                  idle), "--paths is for flows"),
                (("compare", incast, "--cost", self.file("no_prices", "")),
                 "no_prices:1: `currency` is missing")):
            self.assertIn(answer, refusal(*words, env=WITHOUT_LIBRARIES))
        self.assertEqual(os.listdir(self.folder.name).count("log"), 0)

    def test_a_closed_stream_is_no_place_for_a_report_and_no_crash(self):
        incast = self.file("incast.yaml", INCAST)
        json_file = pathlib.Path(self.folder.name) / "out.json"
        for closed, code in ((">&-", 1), ("2>&-", 0), ("<&- >&- 2>&-", 1), ("2>/dev/full", 0)):
            done = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", TULLE, "sim", incast,
                                   "--json", json_file], capture_output=True)
            self.assertEqual(done.returncode, code, (closed, done.stderr))
            if code == 0:
                json.loads(json_file.read_text())
                json_file.unlink()
            self.assertFalse(json_file.exists())
        done = subprocess.run(["sh", "-c", 'exec "$@" 2>/dev/full', "sh", TULLE, "sim", "none"])
        self.assertEqual(done.returncode, 2)

    def test_bytes_that_a_terminal_obeys_are_not_shown_to_it(self):
        said = refusal("sim", "-", input=b"\x1b[31m\xff: 1\n")
        self.assertIn(r"unknown key '\x1b[31m\xff' in a scenario", said)

    def test_two_outputs_to_one_file_are_an_error(self):
        incast = self.file("incast.yaml", INCAST)
        out = str(pathlib.Path(self.folder.name) / "out")
        for first, second in ((out, out), (out, self.folder.name + "/./out")):
            self.assertIn("two outputs go to one file",
                          refusal("sim", incast, "--json", first, "--csv", second))
            self.assertIn("two outputs go to one file",
                          refusal("compare", incast, "--json", first, "--html", second))
        self.assertIn("two outputs go to one file", refusal("sim", incast, "--json", "out", "--csv",
                                                            "./out", cwd=self.folder.name))
        self.assertIn("two outputs go to one file",
                      refusal("topo", "star:5", "--json", out, "-o", out))
        self.assertIn("two outputs go to one file",
                      refusal("run", "--loss", "1%", "--pcap", out, "--fault-log", out, "true",
                              env=WITHOUT_LIBRARIES))
        output("sim", incast, "--json", "/dev/null", "--csv", "/dev/null")
        self.assertFalse(pathlib.Path(out).exists())

    def test_a_list_of_fabrics_is_no_choice_for_one_run_and_that_is_said(self):
        both = self.file("both.yaml", INCAST + "fabrics: [ib-ndr, tcp-ethernet]\n")
        said = tulle("sim", both).stderr.decode()
        self.assertIn("lists fabrics for `tulle compare`; this run is on RoCE v2 400G", said)
        self.assertEqual(tulle("sim", both, "--profile", "ib-ndr").stderr, b"")

    def test_no_output_replaces_an_input(self):
        incast = self.file("incast.yaml", INCAST)
        rules = self.file("rules.yaml", "faults: [{drop: {nth: 1}}]\n")
        capture = pathlib.Path(self.folder.name) / "capture.pcap"
        shutil.copy(CAPTURES / "cm-reject.pcap", capture)
        for words in (("sim", incast, "--json", self.folder.name + "/./incast.yaml"),
                      ("compare", incast, "--html", incast), ("why", incast, "--json", incast),
                      ("decode", capture, "--json", capture),
                      ("run", "--faults", rules, "--pcap", rules, "true")):
            self.assertIn("it is an input of this command",
                          refusal(*words, env=WITHOUT_LIBRARIES))
        self.assertEqual(pathlib.Path(incast).read_text(), INCAST)

    def test_every_packet_lost_is_questioned(self):
        for option in ("--loss", "--corrupt", "--duplicate", "--reorder"):
            self.assertIn("did you mean 1%?",
                          refusal("run", option, "1", "true", env=WITHOUT_LIBRARIES))

    def test_a_bad_credit_buffer_is_refused_with_file_and_line(self):
        bad = self.file("bad.yaml", INCAST + "profile: ib-ndr\nfabric:\n  credits:\n"
                                             "    lane_buffer: 3KiB\n")
        self.assertIn("bad.yaml:6: credits.lane_buffer is 3072B", refusal("sim", bad))
        good = self.file("good.yaml", INCAST + "profile: ib-ndr\n")
        self.assertIn("command line: credits.lane_buffer",
                      refusal("sim", good, "--set", "fabric.credits.lane_buffer=1KB"))


class Limits(unittest.TestCase):
    @staticmethod
    def limited(kind, most, *words):
        def limit():
            resource.setrlimit(kind, (most, most))

        return tulle(*words, preexec_fn=limit)

    @unittest.skipIf(IS_SANITIZED, "a sanitizer takes more address space than is given here")
    def test_too_little_memory_is_said(self):
        result = self.limited(resource.RLIMIT_AS, 300 << 20, "topo", "fat-tree:k=128")
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"tulle: there is not enough memory", result.stderr)

    def test_a_file_that_grows_too_large_is_said_and_taken_away(self):
        with tempfile.TemporaryDirectory() as folder:
            result = self.limited(resource.RLIMIT_FSIZE, 100, "list", "profiles", "--json",
                                  pathlib.Path(folder) / "list.json")
            self.assertEqual(result.returncode, 1)
            self.assertIn(b"list.json': File too large", result.stderr)
            self.assertEqual(os.listdir(folder), [])


class FullDisk(unittest.TestCase):
    def test_what_cannot_be_written_to_standard_output_is_said(self):
        for words in (("help",), ("sim", "--help"), ("--version",), ("completion", "bash"),
                      ("show", "ib-ndr"), ("list", "profiles")):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([TULLE, *words], stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn(b"cannot write standard output", done.stderr, words)


class Threads(unittest.TestCase):
    def test_more_than_the_machine_has_change_neither_the_run_nor_its_time_much(self):
        reports = [json.loads(output("sim", "-", "--threads", threads, "--json", "-",
                                     input=SLOW.encode())) for threads in (1, 1024)]
        self.assertEqual(reports[0]["hash"], reports[1]["hash"])
        # 1,024 threads that take turns need minutes; a busy machine must not fail the test.
        self.assertLess(reports[1]["engine"]["cpu_s"], 20 * reports[0]["engine"]["cpu_s"] + 2)

    @unittest.skipIf(IS_SANITIZED, "a sanitizer has its own wishes about stacks")
    def test_a_machine_that_gives_none_is_no_reason_to_wait_for_ever(self):
        def no_room_for_stacks():
            resource.setrlimit(resource.RLIMIT_STACK, (1 << 47, resource.RLIM_INFINITY))

        result = tulle("sim", "-", "--threads", "4", "--json", "-", input=SLOW.encode(),
                       preexec_fn=no_room_for_stacks)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["engine"]["threads"], 1)


class Records(unittest.TestCase):
    @unittest.skipIf(IS_SANITIZED, "a sanitizer takes more address space than is given here")
    def test_a_timeline_and_a_capture_are_written_as_they_come(self):
        with tempfile.TemporaryDirectory() as folder:
            scenario = "topology: star:5\nwork: [{incast: {to: 0, bytes: 8MB}}]\n"
            def limited():
                resource.setrlimit(resource.RLIMIT_AS, (220 << 20, 220 << 20))

            trace, capture = (pathlib.Path(folder) / name for name in ("trace.json", "tap.pcap"))
            result = tulle("sim", "-", "-q", "--no-verdict", "--trace", trace, "--pcap", capture,
                           "--tap", "h0-switch0", input=scenario.encode(), preexec_fn=limited)
            self.assertEqual(result.returncode, 0, result.stderr)
            events = json.loads(trace.read_text())["traceEvents"]
            times = [event["ts"] for event in events if event["ph"] == "C"]
            self.assertEqual(times, sorted(times))
            self.assertGreater(capture.stat().st_size, 30_000_000)
            self.assertRegex(output("decode", "-q", capture), r"Packets +[1-9]\d+")


if __name__ == "__main__":
    main()
