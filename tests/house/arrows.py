"""Includes between rooms follow the plan, and every room says what it is.

usage: arrows.py
"""

import re

from checker import ROOT, files, finish
from rooms import MAY_INCLUDE

_INCLUDE = re.compile(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


_ROW = re.compile(r"\| \[?(\w+)\]?(?:\([^)]*\))? \| .* \| ([^|]+) \| \w+ \|$")


def check(root):
    for entry in sorted((root / "src").iterdir()):
        name = entry.relative_to(root)
        if entry.name not in MAY_INCLUDE or not entry.is_dir():
            yield f"{name}:1: is no room of the plan; the rooms are: {' '.join(MAY_INCLUDE)}"
            continue
        yield from _check_readme(root, entry)
        for path in files(entry):
            if path.suffix in (".h", ".cc", ".c"):
                yield from _check_includes(root, entry.name, path)


def check_table(text):
    """The rows of ARCHITECTURE.md are the rooms of the plan, in its order."""
    seen = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _ROW.match(line)
        if not match or match.group(1) not in MAY_INCLUDE:
            continue
        room, words = match.groups()
        named = {"std": [], "all above": seen}.get(words.strip(), words.split())
        if sorted(named) != sorted(MAY_INCLUDE[room]):
            yield (f"ARCHITECTURE.md:{number}: says that {room} may include '{words.strip()}', but "
                   f"cmake/rooms.txt says '{' '.join(MAY_INCLUDE[room])}'")
        seen.append(room)
    if seen != list(MAY_INCLUDE):
        yield (f"ARCHITECTURE.md:1: the rooms are: {' '.join(MAY_INCLUDE)}; the table has "
               f"{' '.join(seen)}")


def _check_readme(root, room):
    readme = room / "README.md"
    lines = len(readme.read_text().splitlines()) if readme.exists() else 0
    if not 3 <= lines <= 20:
        yield (f"{readme.relative_to(root)}:1: has {lines} lines; every room has a README of about "
               "ten lines: what it is, where to start reading")


def _check_includes(root, room, path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = _INCLUDE.match(line)
        if not match:
            continue
        where = f"{path.relative_to(root)}:{number}"
        quoted, angled = match.groups()
        target = (quoted or angled).split("/")[0]
        if target not in MAY_INCLUDE:
            if quoted:
                yield f'{where}: include our headers as "room/file.h", not "{quoted}"'
        elif target != room and target not in MAY_INCLUDE[room]:
            allowed = " ".join(MAY_INCLUDE[room]) or "only std"
            yield f"{where}: {room} may not include {target}; it may include: {allowed}"


if __name__ == "__main__":
    finish([*check(ROOT), *check_table((ROOT / "ARCHITECTURE.md").read_text())])
