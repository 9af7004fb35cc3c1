"""What planting defects takes: a copy of the sources, one change of text, a build, and tests.

A swarm that finds nothing may be blind. Each defect is one change of text; it fails loudly if the
text to change is not there, or is there twice. A defect has to be found within so many seeds.

usage: planted.py SOURCE_FOLDER COMPILER [DEFECT...]    plants all of them, or those named
       planted.py SOURCE_FOLDER --look                  only sees whether the texts are there, once
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SEEDS = 2000

BUILD = """\
cmake_minimum_required(VERSION 3.25)
project(planted LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_EXTENSIONS OFF)
find_package(Threads REQUIRED)
file(GLOB_RECURSE sources src/*.cc tests/{program}/*.cc)
list(FILTER sources EXCLUDE REGEX "(src/.*_test|_bench)\\\\.cc$")
list(FILTER sources EXCLUDE REGEX "{left_out}")
add_executable({program}_test ${{sources}})
target_include_directories({program}_test PRIVATE src tests/{program} tests/swarm)
target_link_libraries({program}_test PRIVATE Threads::Threads)
"""


def plant(defects, rooms, program, left_out="^$"):
    """Plants defects that a swarm has to find."""
    text = BUILD.format(program=program, left_out=left_out)
    plant_in(defects, lambda copy: prepare(copy, rooms, {program, "swarm"}, text,
                                           "-DFMT_HEADER_ONLY"),
             lambda copy: _find(copy, program), f" within {SEEDS} seeds")


def plant_in(defects, prepare_copy, find, within=""):
    """The same for any tests. A defect is a file, the text to change, what it becomes, and what
    `find` is told besides."""
    if sys.argv[2:] == ["--look"]:
        for name, (file, before, *_) in defects.items():
            _look(pathlib.Path(sys.argv[1]) / file, name, before)
        return
    names = sys.argv[3:] or list(defects)
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        copy = pathlib.Path(folder)
        prepare_copy(copy)
        if found := find(copy):
            sys.exit(f"planted: the tests fail without any defect: {found}")
        missed = [name for name in names if not _plant(copy, find, name, *defects[name])]
    if missed:
        sys.exit(f"planted: not found{within}: {', '.join(missed)}")


def build_in(copy, *targets):
    chosen = ["--target", *targets] if targets else []
    build = subprocess.run(["cmake", "--build", copy / "build", *chosen], capture_output=True,
                           text=True, check=False)
    if build.returncode != 0:
        sys.exit(f"planted: it does not build:\n{build.stdout}{build.stderr}")


def prepare(copy, rooms, tests, text, flags):
    """The rooms and tests, built by `text`, a CMakeLists.txt, and further flags of the compiler."""
    source = pathlib.Path(sys.argv[1])
    for room in rooms:
        shutil.copytree(source / "src" / room, copy / "src" / room)
    for folder in tests:
        shutil.copytree(source / "tests" / folder, copy / "tests" / folder)
    (copy / "CMakeLists.txt").write_text(text)
    subprocess.run(
        ["cmake", "-G", "Ninja", "-S", copy, "-B", copy / "build", "-DCMAKE_BUILD_TYPE=Release",
         f"-DCMAKE_CXX_COMPILER={sys.argv[2]}", f"-DCMAKE_CXX_FLAGS=-O1 {flags}"],
        check=True, stdout=subprocess.DEVNULL)


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


def _find(copy, program):
    """Builds and runs the swarm; returns the line that says which seed failed, if one did."""
    build_in(copy)
    run = subprocess.run([copy / f"build/{program}_test", f"--seeds={SEEDS}"], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if run.returncode == 0:
        return None
    found = re.search(r"FAILED:? (.*)", run.stdout)
    return found[1] if found else sys.exit(f"planted: failed without a seed:\n{run.stdout}")
