"""What README.md says that commands print is what they print.

usage: readme_test.py TULLE CAPTURES [--update]

A line of three dots stands for lines that the page leaves out, such as those that depend on the
machine; everything else is there to the letter and in this order. `--update` writes into the page
what the commands print now: dots stay where they are, and between them as many lines as before.
"""

import difflib
import itertools
import pathlib
import shlex
import sys
import tempfile
import unittest

from program import CAPTURES, main, tulle

ROOT = CAPTURES.resolve().parents[1]
PAGE = ROOT / "README.md"
INDENT = "    "
PROMPT = INDENT + "$ build/release/tulle "
LEFT_OUT = "..."


class Session:
    """A command of the page, and the lines `begin` to `end` that are said to follow it."""

    def __init__(self, lines, number):
        self.command = lines[number][len(PROMPT):]
        self.begin = number + 1
        follows = itertools.takewhile(
            lambda line: not line or line.startswith(INDENT) and not line.startswith(PROMPT),
            lines[self.begin:])
        self.shown = [line[len(INDENT):] for line in follows]
        while self.shown and not self.shown[-1]:
            self.shown.pop()
        self.end = self.begin + len(self.shown)

    def chunks(self):
        """Lines that follow one another, in lists; an empty list begins or ends with dots."""
        chunks = [[]]
        for line in self.shown:
            if line == LEFT_OUT:
                chunks.append([])
            else:
                chunks[-1].append(line)
        return chunks

    def places(self, output, likeness):
        """Where in the output each chunk is most alike, one behind the other."""
        chunks = self.chunks()
        at = 0
        for number, chunk in enumerate(chunks):
            last = len(output) - sum(map(len, chunks[number:]))
            choice = range(at, max(at, last) + 1)
            if number == 0:
                choice = [0]
            elif number == len(chunks) - 1 and chunk:
                choice = [len(output) - len(chunk)]
            place = max(choice, key=lambda first: likeness(chunk, output[first:first + len(chunk)]))
            yield chunk, place
            at = place + len(chunk)


def sessions(text):
    lines = text.splitlines()
    return [Session(lines, n) for n, line in enumerate(lines) if line.startswith(PROMPT)]


def outputs(commands):
    """What each command prints. Files that one writes another may read, and nobody else."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("examples", "tests"):
            (pathlib.Path(folder) / name).symlink_to(ROOT / name)
        for command in commands:
            printed = tulle(*shlex.split(command), cwd=folder).stdout.decode()
            yield [line.rstrip() for line in printed.splitlines()]


def sameness(chunk, printed):
    return sum(a.rstrip() == b for a, b in zip(chunk, printed))


def resemblance(chunk, printed):
    return sum(difflib.SequenceMatcher(None, a, b).ratio() for a, b in zip(chunk, printed))


def shown_of(session, output):
    """The lines of the session as they should be."""
    chunks = [output[at:at + len(chunk)] for chunk, at in session.places(output, resemblance)]
    return [line for chunk in chunks for line in [LEFT_OUT, *chunk]][1:]


def update():
    lines = PAGE.read_text().splitlines()
    found = sessions(PAGE.read_text())
    printed = list(outputs(session.command for session in found))
    for session, output in reversed(list(zip(found, printed))):
        shown = [line and INDENT + line for line in shown_of(session, output)]
        lines[session.begin:session.end] = shown
    PAGE.write_text("\n".join(lines) + "\n")


class Readme(unittest.TestCase):
    def test_every_command_prints_what_the_page_shows(self):
        found = sessions(PAGE.read_text())
        self.assertGreaterEqual(len(found), 3)
        for session, output in zip(found, outputs(s.command for s in found), strict=True):
            with self.subTest(command=session.command):
                if session.shown and LEFT_OUT not in session.shown:
                    self.assertEqual(len(session.shown), len(output))
                for chunk, at in session.places(output, sameness):
                    shown = [line.rstrip() for line in chunk]
                    self.assertEqual(shown, output[at:at + len(chunk)])


if __name__ == "__main__":
    if "--update" in sys.argv:
        update()
    else:
        main()
