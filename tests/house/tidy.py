"""Small rules of form, so that readers need not think about them.

usage: tidy.py
"""

import re

from checker import ROOT, files, finish

_CODE = {".c", ".cc", ".cmake", ".h", ".py", ".sh"}
_PROSE = {".1", ".json", ".md", ".yaml", ".yml"}  # tables and quotations may be wide
_MAX_COLUMNS = 100
_MAX_LINES = 800

_WORDS = [
    (re.compile(r"\b(TODO|FIXME)\b"), "finish it, or write it down outside the sources"),
    (re.compile(r"\.\./shared\b"), "the project stands alone; do not name folders outside it"),
    (re.compile(r"\busing namespace std\b"), "write std:: where it is used"),
]
_SLEEP = re.compile(r"\b(u|nano)?sleep(_for|_until)?\s*(\(|[0-9$])")

_LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)[^()]*\)|\b(?:src|href)=\"([^\"]+)\"")
_QUOTED_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def check(root):
    for path in files(root):
        name = path.relative_to(root).as_posix()
        kind = _kind(path)
        if not kind:
            continue
        text = path.read_text()
        lines = text.splitlines()
        yield from _check_form(name, lines, wide=kind == "prose")
        # The checkers name what they forbid, and their tests plant it.
        if not name.startswith("tests/house/"):
            yield from _check_words(name, lines)
        if name.startswith("src/") and len(lines) > _MAX_LINES:
            yield f"{name}:{len(lines)}: more than {_MAX_LINES} lines; split the file"
        if path.suffix == ".h" and "#pragma once" not in lines:
            yield f"{name}:1: a header has `#pragma once`"
        if path.suffix == ".md":
            yield from _check_links(root, path, text)


def _kind(path):
    if path.suffix in _PROSE:
        return "prose"
    if path.suffix in _CODE or path.name in ("CMakeLists.txt", "Makefile"):
        return "code"
    if not path.suffix:
        with path.open("rb") as file:
            return "code" if file.read(2) == b"#!" else None
    return None


def _check_form(name, lines, wide):
    for number, line in enumerate(lines, 1):
        if len(line) > _MAX_COLUMNS and not wide:
            yield f"{name}:{number}: {len(line)} columns; at most {_MAX_COLUMNS}"
        if "\t" in line and name != "Makefile":
            yield f"{name}:{number}: a tab; indent with spaces"
        if line != line.rstrip():
            yield f"{name}:{number}: space at the end of the line"


def _check_words(name, lines):
    is_test = name.startswith("tests/") or name.endswith("_test.cc")
    for number, line in enumerate(lines, 1):
        for pattern, rule in _WORDS:
            if match := pattern.search(line):
                yield f"{name}:{number}: {match[0]}; {rule}"
        if is_test and _SLEEP.search(line):
            yield f"{name}:{number}: a test never sleeps; time is an argument"


def _check_links(root, path, text):
    # Blanks instead of code keep the line numbers; `[](int)` in code is no link.
    text = _QUOTED_CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    for match in _LINK.finditer(text):
        target = (match[1] or match[2]).split("#")[0]
        if not target or re.match(r"[a-z]+:", target):
            continue
        if not (path.parent / target).exists():
            number = text.count("\n", 0, match.start()) + 1
            name = path.relative_to(root).as_posix()
            yield f"{name}:{number}: the link leads nowhere: {target}"


if __name__ == "__main__":
    finish(check(ROOT))
