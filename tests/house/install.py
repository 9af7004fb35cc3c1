"""What `make install` puts in place is complete, runs from there, holds nothing of the tests, and
`make uninstall` removes all of it.

usage: install.py CMAKE BUILD_FOLDER
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from checker import ROOT, files, finish


def expected(root):
    wanted = ["bin/tulle", "share/doc/tulle/LICENSE",
              "share/bash-completion/completions/tulle", "share/zsh/site-functions/_tulle",
              "share/fish/vendor_completions.d/tulle.fish"]
    for kind in ("examples", "profiles"):
        wanted += [f"share/doc/tulle/{kind}/{file.name}" for file in (root / kind).glob("*.yaml")]
    wanted += [f"share/man/man1/{page.name}" for page in (root / "docs" / "man").glob("*.1")]
    if (root / "README.md").exists():
        wanted.append("share/doc/tulle/README.md")
    return wanted


def check(root, cmake, build):
    with tempfile.TemporaryDirectory() as folder:
        prefix = Path(folder)
        subprocess.run([cmake, "--install", build, "--prefix", prefix], check=True,
                       stdout=subprocess.DEVNULL)
        installed = [path.relative_to(prefix).as_posix() for path in files(prefix)]
        for name in expected(root):
            if name not in installed:
                yield f"CMakeLists.txt:1: `make install` leaves out {name}"
        for name in installed:
            if "test" in name or "fuzz" in name or "bench" in name:
                yield f"CMakeLists.txt:1: `make install` installs {name}, which is for tests"
        if "bin/tulle" in installed:
            yield from _check_runs(prefix / "bin" / "tulle")
        yield from _check_uninstall(root, Path(build), prefix)


def _check_uninstall(root, build, prefix):
    manifest = prefix / "installed.txt"
    manifest.write_text((build / "install_manifest.txt").read_text())
    subprocess.run([root / "scripts" / "uninstall", manifest], check=True)
    for path in files(prefix):
        yield f"scripts/uninstall:1: leaves {path.relative_to(prefix)} behind"


def _check_runs(tulle):
    shown = subprocess.run([tulle, "--help"], capture_output=True, text=True)
    if shown.returncode != 0:
        yield f"CMakeLists.txt:1: the installed `tulle --help` fails: {shown.stderr}"
    elif "--version" in shown.stdout and subprocess.run([tulle, "--version"]).returncode != 0:
        yield "CMakeLists.txt:1: the installed `tulle --version` fails"


if __name__ == "__main__":
    finish(check(ROOT, sys.argv[1], sys.argv[2]))
