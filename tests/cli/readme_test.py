"""The outputs shown in README.md and docs/GUIDE.md are what the commands print.

usage: readme_test.py TULLE CAPTURES [--update]

A line of three dots stands for lines that the page leaves out, such as those that depend on the
machine; everything else is there to the letter and in this order. `--update` writes into the pages
what the commands print now: dots stay where they are, and between them as many lines as before.

A file that a page shows, lines behind `$ cat NAME`, is there for the commands that follow.
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
PAGES = [page for page in (ROOT / "README.md", ROOT / "docs" / "GUIDE.md") if page.exists()]
INDENT = "    "
PROMPT = INDENT + "$ build/release/tulle "
SHOWN_FILE = INDENT + "$ cat "
LEFT_OUT = "..."


class Session:
    """A command of the page, and the lines `begin` to `end` that are shown after it."""

    def __init__(self, lines, number, prompt=PROMPT):
        self.command = lines[number][len(prompt):]
        self.begin = number + 1
        follows = itertools.takewhile(
            lambda line: not line or line.startswith(INDENT) and
            not line.startswith((PROMPT, SHOWN_FILE)),
            lines[self.begin:])
        self.shown = [line[len(INDENT):] for line in follows]
        while self.shown and not self.shown[-1]:
            self.shown.pop()
        self.end = self.begin + len(self.shown)

    def chunks(self):
        """Lists of consecutive lines; dots at the beginning or end give an empty list."""
        chunks = [[]]
        for line in self.shown:
            if line == LEFT_OUT:
                chunks.append([])
            else:
                chunks[-1].append(line)
        return chunks

    def places(self, output, likeness):
        """The best match of each chunk in the output, one after another."""
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


def shown_files(text):
    """Names and texts of the files that a page shows."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if line.startswith(SHOWN_FILE):
            file = Session(lines, number, SHOWN_FILE)
            yield file.command, "\n".join(file.shown) + "\n"


def outputs(text):
    """The output of each command of a page. Files of one command are there for the next ones."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in shown_files(text):
            (pathlib.Path(folder) / name).write_text(content)
        for name in ("examples", "tests"):
            (pathlib.Path(folder) / name).symlink_to(ROOT / name)
        for session in sessions(text):
            printed = tulle(*shlex.split(session.command), cwd=folder).stdout.decode()
            yield [line.rstrip() for line in printed.splitlines()]


def sameness(chunk, printed):
    return sum(a.rstrip() == b for a, b in zip(chunk, printed))


def resemblance(chunk, printed):
    return sum(difflib.SequenceMatcher(None, a, b).ratio() for a, b in zip(chunk, printed))


def shown_of(session, output):
    """The lines of the session as they should be."""
    chunks = [output[at:at + len(chunk)] for chunk, at in session.places(output, resemblance)]
    return [line for chunk in chunks for line in [LEFT_OUT, *chunk]][1:]


def update(page):
    lines = page.read_text().splitlines()
    found = sessions(page.read_text())
    printed = list(outputs(page.read_text()))
    for session, output in reversed(list(zip(found, printed))):
        shown = [line and INDENT + line for line in shown_of(session, output)]
        lines[session.begin:session.end] = shown
    page.write_text("\n".join(lines) + "\n")


class Pages(unittest.TestCase):
    def test_every_command_prints_what_the_page_shows(self):
        for page in PAGES:
            text = page.read_text()
            found = sessions(text)
            self.assertGreaterEqual(len(found), 3)
            for session, output in zip(found, outputs(text), strict=True):
                with self.subTest(page=page.name, command=session.command):
                    self.compare(session, output)

    def compare(self, session, output):
        if session.shown and LEFT_OUT not in session.shown:
            self.assertEqual(len(session.shown), len(output))
        for chunk, at in session.places(output, sameness):
            shown = [line.rstrip() for line in chunk]
            self.assertEqual(shown, output[at:at + len(chunk)])


if __name__ == "__main__":
    if "--update" in sys.argv:
        for one in PAGES:
            update(one)
    else:
        main()
