"""Every subcommand that the program lists has a man page, and mandoc finds no fault in any.

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
    for name in ["tulle"] + [f"tulle-{command}" for command in subcommands(help_text)]:
        if not (pages / f"{name}.1").exists():
            yield f"docs/man/{name}.1:1: is missing; each subcommand has a man page"
    for page in sorted(pages.glob("*.1")):
        yield from lint(mandoc, page)


if __name__ == "__main__":
    finish(check(ROOT, sys.argv[1]))
