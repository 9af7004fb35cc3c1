"""Runs the real program for the tests of this folder.

Every test script is called with the path of `tulle` and the folder of the captures.
"""

import json
import pathlib
import pty
import subprocess
import sys
import unittest

TULLE = sys.argv[1]
CAPTURES = pathlib.Path(sys.argv[2])
GOLDEN = pathlib.Path(__file__).parent / "golden"


def tulle(*arguments, **keywords):
    """The finished process; standard output and error are bytes."""
    command = [TULLE, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, timeout=200, **keywords)


def decode_json(capture):
    result = tulle("decode", "--json", "-", capture)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def open_terminal(test):
    """A pseudo-terminal: our end, and the program's. Skips the test if there is none."""
    try:
        return pty.openpty()
    except OSError:
        print("SKIPPED: there is no pseudo-terminal here (mount /dev/pts)")
        return test.skipTest("no pseudo-terminal")


def main():
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=1)
