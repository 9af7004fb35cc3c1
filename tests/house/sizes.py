"""No class has more methods than a reader can keep in mind.

usage: sizes.py

Counted are all methods that a class declares, private ones too, and each overload.
"""

import re

from checker import ROOT, finish

_MOST = 40
_NO_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'", re.S)
_CLASS = re.compile(r"\b(?:class|struct)\s+(?:\[\[\w+\]\]\s*)?(\w+)(?:\s+final)?\s*"
                    r"(?::[^{;()]*)?\{")
_NO_METHOD = re.compile(r"(?:using|friend|static_assert|typedef|enum|struct|class)\b")
_METHOD = re.compile(r"(operator\S+|~?\w+)\s*\(")

# Classes that are larger still. Each shrinks, or has its reason here. None may be added.
_KNOWN = {}


def _end_of(text, start):
    depth = 1
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return len(text)


def _outside_braces(body):
    """Only the declarations of a class: inner braces become semicolons."""
    kept, depth = [], 0
    for letter in body:
        if letter == "{":
            depth += 1
            kept.append(";")
        elif letter == "}":
            depth -= 1
        elif depth == 0:
            kept.append(letter)
    return "".join(kept)


def methods(body):
    count = 0
    for part in _outside_braces(body).split(";"):
        part = re.sub(r"\b(public|private|protected):", "", part).strip()
        part = re.sub(r"^template\s*<[^;]*?>\s*", "", part)
        found = _METHOD.search(part)
        if found and not _NO_METHOD.match(part) and "=" not in part[:found.start()]:
            count += 1
    return count


def classes(text):
    """Name, position and number of methods of each class."""
    for found in _CLASS.finditer(text):
        body = text[found.end():_end_of(text, found.end())]
        yield found[1], found.start(), methods(body)


def check(root):
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".h", ".cc"):
            continue
        text = _NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), path.read_text())
        file = str(path.relative_to(root))
        large = {}
        for name, start, count in classes(text):
            if count > _MOST:
                line = text.count("\n", 0, start) + 1
                large[name] = f"{file}:{line}: {name} has {count} methods"
        known = _KNOWN.get(file)
        for name, sentence in large.items():
            if name != known:
                yield f"{sentence}, at most {_MOST}: take a part of it out"
        if known and known not in large:
            yield f"{file}:1: {known} is small enough now: take it out of tests/house/sizes.py"


if __name__ == "__main__":
    finish(check(ROOT))
