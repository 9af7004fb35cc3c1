"""What README.md says that commands print is what they print."""

import shlex
import unittest
from pathlib import Path

from program import CAPTURES, main, tulle

ROOT = CAPTURES.parents[1]
PROMPT = "    $ build/release/tulle "
LEFT_OUT = "..."


def sessions(text):
    """Each command of the page with the lines that are said to follow it."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if not line.startswith(PROMPT):
            continue
        expected = []
        for shown in lines[number + 1:]:
            if not shown.startswith("    "):
                break
            expected.append(shown[4:])
        yield line[len(PROMPT):], expected


class Readme(unittest.TestCase):
    def test_every_command_prints_what_the_page_shows(self):
        found = list(sessions((ROOT / "README.md").read_text()))
        self.assertGreaterEqual(len(found), 3)
        for command, expected in found:
            with self.subTest(command=command):
                output = tulle(*shlex.split(command), cwd=ROOT).stdout.decode().splitlines()
                for line in expected:
                    if line != LEFT_OUT:
                        self.assertIn(line.rstrip(), [printed.rstrip() for printed in output])


if __name__ == "__main__":
    main()
