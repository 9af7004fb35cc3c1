"""A header that changes is compiled again, also where it is part of a precompiled header.

usage: compiler_cache.py

Without CCACHE_DEPEND ccache takes a precompiled header that is compiled anew for one that is used:
its key is then the old one, not the headers. A later change from the same state gets back what an
earlier change had made, and the program is not that of the sources.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from checker import ROOT, finish

_LAUNCHER = re.compile(r"\bCCACHE_[A-Z]+=[^\s)]+")


class Build:
    """A header, precompiled, and a program that returns what the header says."""

    def __init__(self, folder, settings):
        self.folder = Path(folder)
        self.environment = {**os.environ, "CCACHE_DIR": f"{folder}/cache", **settings}
        self.write("all.h", '#include "value.h"\n')
        self.write("all.cc", "")
        self.write("main.cc", '#include "value.h"\nint main() { return value(); }\n')

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        os.utime(path, (1, 1))  # ccache does not trust files of this second

    def compile(self, *words):
        subprocess.run(["ccache", "g++", "-include", self.folder / "all.h", *words],
                       cwd=self.folder, env=self.environment, check=True)

    def result(self, value):
        self.write("value.h", f"#pragma once\ninline int value() {{ return {value}; }}\n")
        self.compile("-x", "c++-header", "-MD", "-MF", "all.d", "-o", "all.h.gch", "-c", "all.cc")
        self.compile("-MD", "-MF", "main.d", "-o", "main.o", "-c", "main.cc")
        subprocess.run(["g++", "main.o", "-o", "main"], cwd=self.folder, check=True)
        return subprocess.run([self.folder / "main"]).returncode

    def forget_header(self):
        (self.folder / "all.h.gch").unlink()


def check(root):
    settings = dict(word.split("=") for word in _LAUNCHER.findall(
        (root / "CMakeLists.txt").read_text()))
    with tempfile.TemporaryDirectory() as folder:
        build = Build(folder, settings)
        results = [build.result(1), build.result(2)]
        build.forget_header()
        results += [build.result(1), build.result(3)]
    if results != [1, 2, 1, 3]:
        yield f"CMakeLists.txt:1: sources that say 1, 2, 1, 3 were built as {results}"


if __name__ == "__main__":
    if not shutil.which("ccache") or not shutil.which("g++"):
        print("SKIPPED: this test needs ccache and g++")
        sys.exit(77)
    finish(check(ROOT))
