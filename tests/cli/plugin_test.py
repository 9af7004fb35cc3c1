"""Congestion control in a shared object: the examples, and some that misbehave."""

import itertools
import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from program import main, tulle

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "congestion"
INCAST = EXAMPLES / "incast.yaml"
CC = shutil.which("cc")
CXX = shutil.which("g++")


def compile_c(source, target, *flags):
    subprocess.run([CC, "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared",
                    f"-I{ROOT}/include", *flags, "-o", target, source, "-lm"], check=True)


def found(*arguments):
    """The results of a run, without the names of its input and the speed of the engine."""
    result = tulle("sim", INCAST, "--json", "-", *arguments)
    assert result.returncode == 0, result.stderr.decode()
    report = json.loads(result.stdout)
    del report["engine"], report["hash"]
    return report


def hash_of(*arguments):
    result = tulle("sim", INCAST, "--json", "-", "--no-verdict", *arguments)
    assert result.returncode == 0, result.stderr.decode()
    return json.loads(result.stdout)["hash"]


@unittest.skipIf(CC is None, "there is no C compiler")
class Plugins(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.at = pathlib.Path(cls.folder.name)
        for name in ("dcqcn", "swift", "table"):
            compile_c(EXAMPLES / f"{name}.c", cls.at / f"{name}.so")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def bad(self, wrong, *flags, parameters=""):
        target = self.at / "bad.so"
        compile_c(ROOT / "tests" / "cli" / "plugins" / "bad.c", target, f"-DWRONG={wrong}", *flags)
        result = tulle("sim", INCAST, "--congestion", f"{target}{parameters}")
        self.assertEqual(result.stdout, b"")
        lines = result.stderr.decode().splitlines()
        self.assertEqual(len(lines), 1, lines)
        return result.returncode, lines[0].replace(str(target), "bad.so")

    def test_dcqcn_as_a_plug_in_finds_what_the_built_in_finds(self):
        usual = found("--congestion", "dcqcn")
        self.assertTrue(found("--congestion", f"{self.at}/dcqcn.so") == usual)
        self.assertFalse(found("--congestion", f"{self.at}/dcqcn.so:gain=0.5") == usual)

    def test_dcqcn_as_a_plug_in_rises_as_the_built_in_does(self):
        settings = {"increase_interval": "15us", "increase_bytes": "60000B", "additive": "2Gbps",
                    "hyper": "9Gbps", "min_rate": "3Gbps"}
        built_in = [word for key, value in settings.items()
                    for word in ("--set", f"hosts.congestion.dcqcn.{key}={value}")]
        plugin = (f"{self.at}/dcqcn.so:increase_interval_us=15:increase_bytes=60000:additive=2e9"
                  ":hyper=9e9:min_rate=3e9")
        wanted = found("--congestion", "dcqcn", *built_in)
        self.assertTrue(found("--congestion", plugin) == wanted)
        self.assertFalse(wanted == found("--congestion", "dcqcn"))

    def test_each_example_finds_the_same_with_any_number_of_threads(self):
        for name in ("dcqcn", "swift", "table"):
            plugin = ("--congestion", self.at / f"{name}.so")
            self.assertEqual(hash_of(*plugin), hash_of(*plugin, "--threads", 2), name)

    def test_the_hash_of_a_run_knows_the_file_and_its_parameters_and_not_its_place(self):
        own = hash_of("--congestion", self.at / "dcqcn.so")
        shutil.copy(self.at / "dcqcn.so", self.at / "copy.so")
        self.assertEqual(hash_of("--congestion", self.at / "copy.so"), own)
        self.assertNotEqual(hash_of("--congestion", "dcqcn"), own)
        self.assertNotEqual(hash_of("--congestion", f"{self.at}/dcqcn.so:gain=0.5"), own)
        compile_c(EXAMPLES / "dcqcn.c", self.at / "copy.so", "-O1")
        self.assertNotEqual(hash_of("--congestion", self.at / "copy.so"), own)

    def test_plug_ins_are_compared_with_built_ins(self):
        own = [f"{self.at}/{name}.so" for name in ("dcqcn", "swift", "table")]
        names = ["dcqcn", "timely", *own]
        result = tulle("compare", INCAST, "--fabrics", "roce-v2-400g", "--congestion",
                       ",".join(names), "--json", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        runs = json.loads(result.stdout)["runs"]
        self.assertEqual(len(runs), len(names))
        self.assertEqual(runs[0]["flows"], runs[2]["flows"])

    def test_a_scenario_may_name_one_seen_from_its_folder(self):
        scenario = self.at / "own.yaml"
        hosts = "hosts: {congestion: {algorithm: ./swift.so:target_us=9}}\n"
        scenario.write_text(INCAST.read_text() + hosts)
        result = tulle("sim", scenario)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_mistyped_parameter_is_refused_by_each_example(self):
        for name, key in (("dcqcn", "gian"), ("swift", "target"), ("table", "tables")):
            result = tulle("sim", INCAST, "--congestion", f"{self.at}/{name}.so:{key}=1")
            self.assertEqual(result.returncode, 2, name)
            self.assertIn(f"refuses '{key}=1': ".encode(), result.stderr)

    def test_a_file_of_which_a_part_is_missing_is_refused(self):
        whole = (self.at / "swift.so").read_bytes()
        for length in (len(whole) // 2, len(whole) // 5, 64, 10):
            cut = self.at / "cut.so"
            cut.write_bytes(whole[:length])
            result = tulle("sim", INCAST, "--congestion", cut)
            self.assertEqual(result.returncode, 2, (length, result.stderr))
            self.assertIn(b"cut.so is no congestion control: ", result.stderr)

    def test_one_that_misbehaves_ends_the_run_with_a_sentence(self):
        for wrong, sentence in (
                ("decision->rate_bps = NAN", "it asked for a rate of not a number bit/s"),
                ("decision->rate_bps = -4e9", "it asked for a rate of -4e+09 bit/s"),
                ("decision->rate_bps = 0", "it asked for a rate of 0 bit/s"),
                ("decision->window_packets = 0.5", "it asked for a window of 0.5 packets"),
                ("decision->timer_at_ps = 1", "it set its timer to 1e-06 us, which is not later"),
                ("decision->timer_at_ps = event->now_ps + 1",
                 "it set its timer to 0.001 ns from then on; 1 ns is the least")):
            code, line = self.bad(wrong)
            self.assertEqual(code, 1, line)
            self.assertRegex(line, r"tulle sim: bad.so \(bad\) failed a flow of \w+, so the run is "
                                   r"void: at [\d.]+ us, told of an ACK, " + sentence
                                   .replace("+", r"\+"))

    def test_one_that_never_sends_is_not_waited_for(self):
        code, line = self.bad("decision->rate_bps = 3")
        self.assertEqual(code, 1, line)
        self.assertRegex(line, "let the next packet wait for .* s, which is never")

    def test_a_window_that_shrinks_to_a_packet_goes_on(self):
        compile_c(ROOT / "tests/cli/plugins/bad.c", self.at / "least.so",
                  "-DWRONG=decision->window_packets = event->now_ps % 7 == 0 ? 3 : 1")
        result = tulle("sim", INCAST, "--congestion", self.at / "least.so", "--json", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["totals"]["retransmitted"], 0)

    def test_which_failure_is_told_does_not_depend_on_threads(self):
        compile_c(ROOT / "tests/cli/plugins/bad.c", self.at / "nan.so",
                  "-DWRONG=decision->rate_bps = NAN")
        told = {tulle("sim", INCAST, "--congestion", self.at / "nan.so", "--threads", n).stderr
                for n in (1, 2)}
        self.assertEqual(len(told), 1, told)

    def test_compare_and_why_say_it_too(self):
        compile_c(ROOT / "tests/cli/plugins/bad.c", self.at / "nan.so",
                  "-DWRONG=decision->rate_bps = NAN")
        for words in (("compare", INCAST, "--fabrics", "roce-v2-400g"), ("why", INCAST)):
            result = tulle(*words, "--congestion", self.at / "nan.so")
            self.assertEqual((result.returncode, result.stdout), (1, b""), result.stderr)
            self.assertIn(b"so the run is void", result.stderr)

    def test_what_cannot_be_used_is_refused_before_the_run(self):
        code, line = self.bad("", "-DVERSION=7")
        self.assertEqual((code, line), (2, "tulle sim: bad.so is made for version 7 of "
                                           "tulle/congestion.h, and this is version 2; compile it "
                                           "again"))
        code, line = self.bad("", "-DNAME=other")
        self.assertEqual((code, line), (2, "tulle sim: bad.so is no congestion control: it does "
                                           "not export tulle_congestion "
                                           "(include/tulle/congestion.h)"))
        code, line = self.bad("", parameters=":refused")
        self.assertEqual((code, line),
                         (2, "tulle sim: bad.so refuses 'refused': it wants no parameters"))
        for says, told in (("one line\\nand another", "one line and another"),
                           ("x" * 300, "x" * 200 + "..."), ("", "it does not say why")):
            code, line = self.bad("", f'-DREFUSES="{says}"')
            self.assertEqual((code, line), (2, f"tulle sim: bad.so refuses '': {told}"))
        for name, why in ((self.at / "missing.so", "cannot be opened"),
                          (INCAST, "is no congestion control")):
            result = tulle("sim", INCAST, "--congestion", name)
            self.assertEqual(result.returncode, 2)
            self.assertIn(why, result.stderr.decode())


def shown_after(page, begin):
    """The indented block of a page that begins with a line, without its indentation."""
    lines = page.read_text().splitlines()
    block = itertools.takewhile(lambda line: not line or line.startswith("    "),
                                lines[lines.index("    " + begin):])
    return "\n".join(line[4:] for line in block) + "\n"


class Page(unittest.TestCase):
    """What docs/EXTENDING.md tells people to write is right."""

    PAGE = ROOT / "docs" / "EXTENDING.md"

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.at = pathlib.Path(folder.name)

    @unittest.skipIf(CC is None, "there is no C compiler")
    def test_its_plug_in_runs_and_knows_its_parameters(self):
        (self.at / "aimd.c").write_text(shown_after(self.PAGE, "#include <tulle/congestion.h>"))
        compile_c(self.at / "aimd.c", self.at / "aimd.so")
        usual = hash_of("--congestion", self.at / "aimd.so")
        self.assertNotEqual(hash_of("--congestion", f"{self.at}/aimd.so:step=200e6:part=0.5"),
                            usual)
        result = tulle("sim", INCAST, "--congestion", f"{self.at}/aimd.so:stp=3")
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"its parameters are step and part", result.stderr)

    @unittest.skipIf(CXX is None, "there is no C++ compiler")
    def test_its_algorithm_in_the_source_is_one_file_an_include_and_a_line(self):
        folder = self.at / "transport" / "congestion"
        folder.mkdir(parents=True)
        header = shown_after(self.PAGE, "// src/transport/congestion/aimd.h")
        (folder / "aimd.h").write_text(header)
        table = (ROOT / "src/transport/congestion/algorithms.h").read_text()
        line = "ALGORITHM(aimd, Aimd)"
        self.assertIn(line, self.PAGE.read_text())
        table = table.replace("ALGORITHM(dcqcn", line + " ALGORITHM(dcqcn")
        include = '#include "transport/congestion/aimd.h"\n'
        table = table.replace("#include", include + "#include", 1)
        (folder / "algorithms.h").write_text(table)
        (self.at / "all.cc").write_text('#include "transport/congestion/congestion.h"\n'
                                        "tulle::transport::AlgorithmSettings settings;\n"
                                        "auto step = settings.aimd.step_bps;\n")
        subprocess.run([CXX, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
                        f"-I{self.at}", f"-I{ROOT}/include", f"-I{ROOT}/src",
                        self.at / "all.cc"], check=True)


if __name__ == "__main__":
    main()
