"""Scenarios give the reports that were written down, whatever the number of threads.

usage: golden.py TULLE [--update] [NAME...]
"""

import difflib
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
EXPECTED = HERE / "expected"
# What depends on the machine and not on the run.
VOLATILE = ("cpu_s", "wall_s", "hops_per_cpu_s", "peak_rss_bytes", "threads")


def simulate(tulle, scenario, *options):
    command = [tulle, "sim", scenario.name, *options]
    result = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=300)
    # On a busy machine a run takes long, and says how far it is.
    complaints = re.sub(r"^\d+ %, .*\n", "", result.stderr, flags=re.MULTILINE)
    if result.returncode not in (0, 1) or complaints:
        sys.exit(f"{' '.join(command)}: exit code {result.returncode}\n{result.stderr}")
    return result.stdout


def text_report(tulle, scenario, threads):
    text = simulate(tulle, scenario, "--threads", str(threads))
    engine = r"^(Engine    \d+ hops)(?: \(.*?\))?, (\d+ events), .*; (hash [0-9a-f]+)$"
    steady, replaced = re.subn(engine, r"\1, \2; \3", text, flags=re.MULTILINE)
    assert replaced == 1, text
    return steady


def json_report(tulle, scenario, threads):
    report = json.loads(simulate(tulle, scenario, "--threads", str(threads), "--json", "-"))
    for key in VOLATILE:
        del report["engine"][key]
    return json.dumps(report, indent=1) + "\n"


def difference(expected, found, name):
    return "".join(difflib.unified_diff(expected.splitlines(True), found.splitlines(True),
                                        f"expected/{name}", "now"))


def check(tulle, scenario, update):
    """What differs from what was written down, as text."""
    for kind, report in (("txt", text_report), ("json", json_report)):
        place = EXPECTED / f"{scenario.stem}.{kind}"
        found = report(tulle, scenario, 1)
        if update:
            place.write_text(found)
        expected = place.read_text() if place.exists() else ""
        yield difference(expected, found, place.name)
        yield difference(found, report(tulle, scenario, 2), f"{place.name} with two threads")


def main(tulle, *words):
    update = "--update" in words
    names = [word for word in words if word != "--update"]
    scenarios = [HERE / f"{name}.yaml" for name in names] or sorted(HERE.glob("*.yaml"))
    tulle = str(pathlib.Path(tulle).resolve())
    if update:
        EXPECTED.mkdir(exist_ok=True)
    found = (text for scenario in scenarios for text in check(tulle, scenario, update))
    differences = [text for text in found if text]
    print("\n".join(differences), end="")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
