"""What tests of real programs share that look closer than at an exit code."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from interop import SKIPPED, free_port

SECONDS = 120


class World:
    """One test's own: a folder, a name for what runs in it, and what was said."""

    def __init__(self, tulle, folder):
        self.tulle = tulle
        self.folder = Path(folder)
        self.problems = []

    def check(self, is_right, sentence):
        if not is_right:
            self.problems.append(sentence)

    def run(self, *arguments, environment=None):
        command = [self.tulle, "run", *arguments]
        name = f"trouble-{os.getpid()}"
        result = subprocess.run(command, env=os.environ | {"TULLE_WORLD": name} |
                                (environment or {}), capture_output=True, text=True,
                                timeout=SECONDS, check=False, stdin=subprocess.DEVNULL)
        print(" ".join(command), result.stdout, result.stderr, sep="\n")
        return result

    def pair(self, rules, line, client="localhost"):
        """Both sides of one program under these rules. Returns the result and the lines of the
        log."""
        (self.folder / "rules.yaml").write_text(rules)
        line = f"{line} -p {free_port()}"
        result = self.run("--faults", str(self.folder / "rules.yaml"),
                          "--fault-log", str(self.folder / "log"), "--pair", line,
                          f"{line} {client}")
        log = (self.folder / "log").read_text()
        print(log)
        return result, log.splitlines()


def main(tests):
    """Runs the one of these functions that the command line names, or prints their names."""
    tests = {test.__name__: test for test in tests}
    if sys.argv[1] == "--list":
        print(*tests, sep="\n")
        return 0
    for program, package in (("ibv_rc_pingpong", "ibverbs-utils"), ("ib_write_bw", "perftest"),
                             ("rping", "rdmacm-utils")):
        if not shutil.which(program):
            print(f"SKIPPED: this test needs {program} ({package})")
            return SKIPPED
    if subprocess.run(["/usr/bin/python3", "-c", "import pyverbs"], capture_output=True,
                      check=False).returncode != 0:
        print("SKIPPED: this test needs pyverbs (python3-pyverbs)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        world = World(sys.argv[1], folder)
        tests[sys.argv[2]](world)
    print(*world.problems, sep="\n")
    return 1 if world.problems else 0
