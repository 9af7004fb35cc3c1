"""Opens the pages of `tulle compare --html` and `tulle sim --html` in Chromium: they draw what they
should, complain of nothing and fetch nothing.

usage: look.py TULLE WRITE_PAGE [--keep FOLDER]
"""

import html.parser
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TULLE, WRITE_PAGE = sys.argv[1:3]
MOST_BYTES = 2_000_000
SCENARIO = """
name: small
topology: leaf-spine:leaves=2,spines=2,hosts=4
fabrics: [ib-ndr, roce-v2-400g]
work: [{incast: {to: 0, bytes: 500KB}}]
"""


def chromium():
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        print("SKIPPED: pages are not looked at; install chromium")
        sys.exit(77)
    return found


class Marks(html.parser.HTMLParser):
    """Counts elements by section and class, and gathers texts."""

    def __init__(self, dom):
        super().__init__()
        self.count = {}
        self.text = ""
        self._section = ""
        self._in_script = False
        self.feed(dom)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self._in_script = tag in ("script", "style")
        if tag == "section":
            self._section = attributes["id"]
            self.count[self._section] = {}
        marks = self.count.setdefault(self._section, {})
        for name in (tag, attributes.get("class")):
            marks[name] = marks.get(name, 0) + 1

    def handle_endtag(self, tag):
        self._in_script = False

    def handle_data(self, data):
        if not self._in_script:
            self.text += data


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = chromium()
        cls._folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls._folder.cleanup)
        cls.folder = Path(cls._folder.name)
        subprocess.run([WRITE_PAGE, cls.folder], check=True)
        (cls.folder / "small.yaml").write_text(SCENARIO)
        subprocess.run([TULLE, "compare", "small.yaml", "--html", "small.html"], cwd=cls.folder,
                       check=True, capture_output=True)
        subprocess.run([TULLE, "sim", "small.yaml", "--html", "sim.html", "--link", "h0-leaf0"],
                       cwd=cls.folder, check=True, capture_output=True)

    def look(self, name, *more):
        """What is in the page once its script has run, and what the browser had to say."""
        page = self.folder / name
        self.assertLess(page.stat().st_size, MOST_BYTES)
        command = [self.browser, "--headless", "--no-sandbox", "--disable-gpu",
                   "--disable-dev-shm-usage", f"--user-data-dir={self.folder}/profile",
                   "--enable-logging=stderr", "--v=0", "--window-size=1200,2400",
                   "--virtual-time-budget=2000", *more, "--dump-dom", page.as_uri()]
        environment = dict(os.environ, HOME=str(self.folder))
        result = subprocess.run(command, capture_output=True, text=True, timeout=120,
                                env=environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        complaints = re.findall(r".*CONSOLE.*", result.stderr)
        self.assertEqual(complaints, [])
        return Marks(result.stdout)

    def test_a_page_of_a_run_has_its_tables_and_charts(self):
        marks = self.look("small.html")
        self.assertEqual(marks.count["verdict"]["li"], 2)
        self.assertGreater(marks.count["figures"]["tr"], 10)
        self.assertEqual(marks.count["latency"]["mark"], 2)
        self.assertEqual(marks.count["queue"]["mark"], 2)
        self.assertEqual(marks.count["paused"]["mark"], 2)
        # Two runs of two leaves with six ports and two spines with two.
        self.assertEqual(marks.count["load"]["cell"], 2 * (2 * 6 + 2 * 2))
        self.assertGreater(marks.count["cost"]["td"], 10)
        self.assertGreater(marks.count["rules"]["opinion"], 1)
        self.assertIn("ib-ndr is fastest", marks.text)

    def test_it_starts_with_the_decision_and_the_question(self):
        text = self.look("small.html").text
        order = [text.index(words) for words in
                 ("ib-ndr and roce-v2-400g are equally fast: ", "The question",
                  "incast: 7 flows", "small.yaml", "Tulle 0.", "Time to do the work", "Reasons",
                  "What held each one up", "Figures", "Parts and prices",
                  "The scenario, as it was run")]
        self.assertEqual(order, sorted(order))
        self.assertIn("sample prices", text)
        self.assertIn("* is a guess", text)

    def test_shares_of_the_time_are_stacked_bars_with_a_legend(self):
        marks = self.look("collectives.html")
        self.assertEqual(marks.count["shares"]["share"], 5 * 3)
        self.assertEqual(marks.count["shares"]["block"], 3)
        self.assertIn("held by a full buffer", marks.text)
        self.assertGreater(self.look("small.html").count["shares"]["share"], 2)
        self.assertGreater(self.look("sim.html").count["shares"]["share"], 1)

    def test_axes_are_labelled(self):
        marks = self.look("collectives.html")
        for name in ("bandwidth", "latency", "queue", "paused"):
            self.assertEqual(marks.count[name]["title"], 2 + marks.count[name].get("mark", 0)
                             + marks.count[name].get("dot", 0), name)

    def test_a_grid_is_a_table_in_which_the_best_stands_out(self):
        marks = self.look("grid.html")
        self.assertEqual(marks.count["sweep"]["best"], 1)
        self.assertIn("topology.spines down, hosts across", marks.text)

    def test_a_page_of_one_run_has_the_topology_and_links_over_time(self):
        marks = self.look("sim.html")
        self.assertEqual(marks.count["topology"]["node"], 8 + 4)
        self.assertEqual(marks.count["topology"]["cable"], 8 + 4)
        self.assertGreaterEqual(marks.count["queue"]["mark"], 4)
        self.assertGreater(marks.count["rates"]["mark"], 1)
        self.assertGreater(marks.count["links"]["tr"], 4)
        self.assertIn("incast: 7 flows", marks.text)
        self.assertIn("leaf0[0] \u2192 h0", marks.text)

    def test_pauses_and_marks_of_a_run_are_drawn(self):
        marks = self.look("run.html")
        for name in ("queue", "paused", "marks", "rates"):
            self.assertGreaterEqual(marks.count[name].get("mark", 0), 1, name)
        self.assertIn("h3 QP 17 to h0", marks.text)

    def test_bus_bandwidth_is_drawn_against_size_a_line_a_fabric(self):
        marks = self.look("collectives.html")
        self.assertEqual(marks.count["bandwidth"]["mark"], 5)
        self.assertEqual(marks.count["bandwidth"]["dot"], 4 * 5 - 1)  # one did not end
        self.assertEqual(marks.count["verdict"]["failed"], 1)
        self.assertIn("64 MiB", marks.text)

    def test_names_cannot_break_out_of_the_page(self):
        self.assertIn("By hand </script><script>throw 1</script>",
                      self.look("collectives.html").text)

    def test_a_sweep_has_a_verdict_for_each_value(self):
        marks = self.look("sweep.html")
        self.assertIn("At topology.spines = 2", marks.text)
        self.assertGreater(marks.count["sweep"]["mark"], 0)
        self.assertEqual(marks.count["figures"]["table"], 2)

    def test_a_comparison_without_a_finished_run_says_so(self):
        self.assertIn("No run came to its end", self.look("nothing.html").text)

    def test_nothing_is_fetched(self):
        for name in ("small.html", "collectives.html", "sweep.html", "sim.html"):
            text = (self.folder / name).read_text()
            self.assertIn("default-src 'none'", text)
            outside = [url for url in re.findall(r"https?://[^\s\"'`<)]+", text)
                       if url != "http://www.w3.org/2000/svg"]
            self.assertEqual(outside, [])
            self.assertIsNone(re.search(r"\b(src|href)=", text))
        log = self.folder / "net.json"
        self.look("small.html", f"--log-net-log={log}")
        requests = [url for url in re.findall(r'"url":"([a-z]+:[^"]*)"', log.read_text())
                    if not url.startswith(("file:", "data:", "chrome:"))]
        self.assertEqual([url for url in requests if "small" in url], [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=1)
