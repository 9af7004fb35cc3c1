"""Common parts of the checkers: a complaint is `file:line: sentence with the rule`."""

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_NOT_OURS = {".git", ".cache", "build", "node_modules", "__pycache__"}


def files(folder):
    """The files under a folder in a fixed order, without files of tools."""
    for path in sorted(folder.iterdir()):
        if path.name in _NOT_OURS or path.is_symlink():
            continue
        if path.is_dir():
            yield from files(path)
        else:
            yield path


def finish(complaints):
    """Ends the test: prints one complaint per line, and exits with the status for ctest."""
    complaints = list(complaints)
    print("\n".join(complaints) or "clean")
    sys.exit(1 if complaints else 0)


def need(program, package):
    """The path of a program; without it the test is skipped (status 77) with a message."""
    path = shutil.which(program)
    if path is None:
        print(f"SKIPPED: this test needs {program}; install the Debian package {package}")
        sys.exit(77)
    return path
