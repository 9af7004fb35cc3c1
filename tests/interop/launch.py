"""How `tulle run` starts programs and tells of their end.

usage: launch.py TULLE NAME       runs one of the tests below
       launch.py --list           prints the names
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from interop import SECONDS, SKIPPED


class Skipped(Exception):
    pass


class Launch:
    """A folder of the test's own, which is also where runs keep their files."""

    def __init__(self, tulle, folder):
        self.tulle, self.folder = tulle, Path(folder)
        self.scratch = self.folder / "tmp"
        self.scratch.mkdir()

    def environment(self, **more):
        return os.environ | {"TULLE_WORLD": f"launch-{os.getpid()}", "TMPDIR": str(self.scratch)} \
            | more

    def run(self, *arguments, **more):
        result = subprocess.run([self.tulle, "run", *arguments], env=self.environment(**more),
                                capture_output=True, text=True, timeout=SECONDS, check=False,
                                stdin=subprocess.DEVNULL, cwd=self.folder)
        print("tulle run", *arguments, result.stdout, result.stderr, result.returncode, sep="\n")
        return result


# ---- the command line ----------------------------------------------------------------------------

def options_end_at_the_name_of_the_program(launch):
    assert launch.run("echo", "-n", "3", "hi").stdout == "3 hi"
    assert launch.run("echo", "--pair", "a", "b").stdout == "--pair a b\n"
    assert launch.run("echo", "a", "--", "b").stdout == "a -- b\n"
    assert launch.run("-n", "2", "echo", "-n", "x").stdout == "xx"
    assert "--help" in launch.run("echo", "a", "--help").stdout


def two_dashes_may_stand_before_the_program(launch):
    assert launch.run("--", "echo", "-n", "3", "hi").stdout == "3 hi"
    assert launch.run("-n", "2", "--", "echo", "-n", "x").stdout == "xx"


def a_wrong_option_is_refused(launch):
    for words in (["--nonsense", "echo"], ["-x"], ["--pair", "true", "true", "echo"], []):
        result = launch.run(*words)
        assert result.returncode == 2 and result.stderr.startswith("tulle run: "), words
    assert "'--nonsense'" in launch.run("--nonsense", "echo").stderr


TESTS = [options_end_at_the_name_of_the_program, two_dashes_may_stand_before_the_program,
         a_wrong_option_is_refused]


def run(tulle, name):
    test = next(test for test in TESTS if test.__name__ == name)
    with tempfile.TemporaryDirectory() as folder:
        try:
            test(Launch(tulle, folder))
        except Skipped as why:
            print(f"SKIPPED: {why}")
            return SKIPPED
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print(*(test.__name__ for test in TESTS), sep="\n")
    else:
        sys.exit(run(sys.argv[1], sys.argv[2]))
