"""What planting defects takes: a copy of the sources, one change of text, a build, and tests.

A test that finds nothing may be blind. Each defect is one change of text; it fails loudly if the
text to change is not there, or is there twice. The copy is built as the project itself is. It stays
in build/planted: who plants next, or later, builds only what has changed since.

usage: planted.py SOURCE_FOLDER [DEFECT...]    plants all of them, or those named
       planted.py SOURCE_FOLDER --look         only sees whether the texts are there, once
"""

import fcntl
import pathlib
import re
import subprocess
import sys

SEEDS = 2000


def plant(defects, swarm):
    """Plants defects that a swarm has to find within so many seeds."""
    plant_in(defects, lambda copy: _find(copy, swarm), f" within {SEEDS} seeds")


def plant_in(defects, find, within=""):
    """The same for any tests. A defect is a file, the text to change, what it becomes, and what
    `find` is told besides."""
    source = pathlib.Path(sys.argv[1])
    if sys.argv[2:] == ["--look"]:
        for name, (file, before, *_) in defects.items():
            _look(source / file, name, before)
        return
    names = sys.argv[2:] or list(defects)
    copy = source.resolve() / "build" / "planted"
    copy.mkdir(parents=True, exist_ok=True)
    with open(copy.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one at a time
        _prepare(source, copy)
        if found := find(copy):
            sys.exit(f"planted: the tests fail without any defect: {found}")
        missed = [name for name in names if not _plant(copy, find, name, *defects[name])]
    if missed:
        sys.exit(f"planted: not found{within}: {', '.join(missed)}")


def build_in(copy, *targets):
    build = subprocess.run(["cmake", "--build", copy / "build", "--target", *targets],
                           capture_output=True, text=True, check=False)
    if build.returncode != 0:
        sys.exit(f"planted: it does not build:\n{build.stdout}{build.stderr}")


def _prepare(source, copy):
    """Makes the copy equal to the files that git knows; equal ones keep their time. A defect may
    leave a variable unused: a warning is no error here."""
    listed = subprocess.run(["git", "-C", source, "ls-files", "-z"], capture_output=True,
                            text=True, check=True).stdout.split("\0")
    names = {name for name in listed if name and (source / name).is_file()}
    for path in copy.rglob("*"):
        name = path.relative_to(copy)
        if path.is_file() and name.parts[0] != "build" and str(name) not in names:
            path.unlink()
    for name in names:
        _update(source / name, copy / name)
    subprocess.run(["cmake", "--preset", "release", "-DTULLE_WERROR=OFF", "-S", copy, "-B",
                    copy / "build"], cwd=copy, check=True, stdout=subprocess.DEVNULL)


def _update(path, copy):
    content = path.read_bytes()
    if not copy.exists() or copy.read_bytes() != content:
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)
        copy.chmod(path.stat().st_mode)


def _look(path, name, before):
    text = path.read_text()
    if text.count(before) != 1:
        sys.exit(f"planted: {name}: {path} has the text to change {text.count(before)} times")
    return text


def _plant(copy, find, name, file, before, after, *told):
    path = copy / file
    text = _look(path, name, before)
    path.write_text(text.replace(before, after))
    try:
        found = find(copy, *told)
    finally:
        path.write_text(text)
    print(f"planted: {name}: {found or 'NOT FOUND'}", flush=True)
    return found


def _find(copy, swarm):
    """Builds and runs the swarm; returns the line that says which seed failed, if one did."""
    build_in(copy, swarm)
    run = subprocess.run([copy / "build" / swarm, f"--seeds={SEEDS}"], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if run.returncode == 0:
        return None
    found = re.search(r"FAILED:? (.*)", run.stdout)
    return found[1] if found else sys.exit(f"planted: failed without a seed:\n{run.stdout}")
