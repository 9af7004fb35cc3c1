"""docs/SPEC_MAP.md names files and tests that exist.

usage: spec_map.py
"""

import re

from checker import ROOT, files, finish

_MAP = "docs/SPEC_MAP.md"
_ROW = re.compile(r"^\|(?P<clause>[^|]+)\|[^|]+\|(?P<files>[^|]+)\|(?P<tests>[^|]+)\|$")
_TEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)")
_NAME = re.compile(r"`([^`]+)`")


def check(root):
    known = _tests(root)
    for number, line in enumerate((root / _MAP).read_text().splitlines(), 1):
        row = _ROW.match(line)
        if not row or row["clause"].strip() in ("clause", "---"):
            continue
        for name in _NAME.findall(row["files"]):
            if not (root / name).is_file():
                yield f"{_MAP}:{number}: there is no file {name}"
        tests = _NAME.findall(row["tests"])
        if not tests:
            yield f"{_MAP}:{number}: a clause names the test that holds it"
        for name in tests:
            if name not in known:
                yield f"{_MAP}:{number}: there is no test {name}"


def _tests(root):
    """Names of all tests: Suite.name of the C++ ones, the path of every other."""
    names = set()
    for path in files(root):
        if path.name.endswith("_test.cc"):
            names.update(f"{suite}.{test}" for suite, test in _TEST.findall(path.read_text()))
        elif "tests" in path.relative_to(root).parts:
            names.add(path.relative_to(root).as_posix())
    return names


if __name__ == "__main__":
    finish(check(ROOT))
