"""A word that readers met with several meanings has one.

usage: names.py

Types of these names may be defined in one room only, at its top level. Functions of these names
belong to the rooms that are listed: there they mean what the reason says, and nowhere else.
"""

import re

from checker import ROOT, finish

_TYPES = {"EventQueue", "Endpoint", "Host", "Network", "Operation", "PortCounters", "Verdict"}
_FUNCTIONS = {
    "accept": {"live", "transport", "verbs"},  # a connection that somebody asks for
    "deliver": {"live", "transport"},  # a packet to the queue pair that it is for
}
_TYPE = re.compile(r"^(?:class|struct|enum class|union) (?:\[\[\w+\]\] )?(\w+)\b[^;=]*\{", re.M)
_NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
_FUNCTION = re.compile(r"^[ ]*(?!return\b|else\b|throw\b)(?:[A-Z_]+ )?"
                       r"[A-Za-z_][\w:<>,]*(?: const)?[ &*]+(\w+)\(", re.M)


def check(root):
    defined = {}
    for path in sorted((root / "src").rglob("*.h")):
        text = _NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), path.read_text())
        room = path.relative_to(root / "src").parts[0]
        place = path.relative_to(root)
        for found in _TYPE.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            if found[1] in _TYPES:
                defined.setdefault(found[1], {}).setdefault(room, f"{place}:{line}")
        for found in _FUNCTION.finditer(text):
            rooms = _FUNCTIONS.get(found[1])
            if rooms and room not in rooms:
                line = text.count("\n", 0, found.start(1)) + 1
                yield (f"{place}:{line}: {found[1]}() has another meaning in "
                       f"{', '.join(sorted(rooms))}: name it by what it does")
    for name, places in sorted(defined.items()):
        for place in list(places.values())[1:]:
            yield f"{place}: {name} is a type of {next(iter(places))} already: name it by its role"


if __name__ == "__main__":
    finish(check(ROOT))
