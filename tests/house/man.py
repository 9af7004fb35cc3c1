"""Every subcommand that the program lists has a man page, which names the options of its --help and
no others, and mandoc finds no fault in any.

usage: man.py TULLE
"""

import re
import subprocess
import sys

from checker import ROOT, finish, need


def subcommands(help_text):
    """The names in the list under `Subcommands:` of a --help text."""
    _, _, listing = help_text.partition("\nSubcommands:\n")
    listing, _, _ = listing.partition("\n\n")
    return re.findall(r"^  ([a-z][a-z-]*)", listing, re.MULTILINE)


def options_in(help_text):
    """The long options in a --help text."""
    return {name for line in help_text.splitlines() if line.startswith("  -")
            for name in re.findall(r"--[a-z-]+", line[:line.find("  ", 2) + 1 or None])}


def options_of(tulle, words):
    """The long options of a command and of all commands below it."""
    text = subprocess.run([tulle, *words, "--help"], check=True, capture_output=True,
                          text=True).stdout
    below = [name for name in subcommands(text) if name != "help"]
    return options_in(text).union(*(options_of(tulle, [*words, name]) for name in below))


def options_on(page):
    """The long options that a page names, and those that it explains as options of its command."""
    named, explained = set(), set()
    for line in page.splitlines():
        found = {f"-{word}" for word in re.findall(r"(?<= )-[a-z][a-z-]*", line)}
        if re.match(r"\.(It|Op|Fl)\b.*", line):
            named |= found
        if line.startswith(".It Fl"):
            explained |= found
    return named, explained


def compare_options(tulle, name, text):
    """The differences between a command's --help and its page, as complaints."""
    options = options_of(tulle, [name])
    named, explained = options_on(text)
    for option in sorted(options - named - {"--help", "--version"}):
        yield f"docs/man/tulle-{name}.1:1: does not name {option}, an option of `tulle {name}`"
    for option in sorted(explained - options):
        yield f"docs/man/tulle-{name}.1:1: explains {option}; `tulle {name}` has no such option"


def lint(mandoc, page):
    """The warnings of mandoc about a page, as complaints."""
    command = [mandoc, "-Tlint", "-Wwarning", page.name]
    result = subprocess.run(command, cwd=page.parent, capture_output=True, text=True)
    for line in (result.stdout + result.stderr).splitlines():
        # mandoc: tulle.1:12:5: WARNING: what is wrong
        match = re.fullmatch(r"mandoc: [^:]+:(?:(\d+):\d+: )?(.*)", line)
        number, message = (match[1] or 1, match[2]) if match else (1, line)
        yield f"docs/man/{page.name}:{number}: {message}"


def check(root, tulle):
    mandoc = need("mandoc", "mandoc")
    help_text = subprocess.run([tulle, "--help"], check=True, capture_output=True, text=True).stdout
    pages = root / "docs" / "man"
    for command in subcommands(help_text):
        page = pages / f"tulle-{command}.1"
        if not page.exists():
            yield f"docs/man/{page.name}:1: is missing; each subcommand has a man page"
        elif command != "help":
            yield from compare_options(tulle, command, page.read_text())
    for page in sorted(pages.glob("*.1")):
        yield from lint(mandoc, page)


if __name__ == "__main__":
    finish(check(ROOT, sys.argv[1]))
