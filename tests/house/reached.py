"""What a header of src declares is used by more than tests: functions, constants, members, types.

usage: reached.py

It looks at names, not at calls: a name that occurs in the sources only where it is declared and
defined, outside tests and benchmarks, is reached by tests at most. A name that means two things
hides the one that nothing reaches, so this finds less than there may be, and nothing wrong.
"""

import re
from collections import Counter

from checker import ROOT, finish

_TESTS = re.compile(r"_(test|bench)\.(cc|h)$|testing\.(cc|h)$|for_tests\.(cc|h)$")
_NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
_NAME = re.compile(r"[A-Za-z_]\w*")
# A type, then the name and its arguments, at the beginning of a line.
_DECLARED = re.compile(
    r"^[ ]*(?:template <[^\n]*>\s*)?(?:static |inline |constexpr |virtual |explicit |friend )*"
    r"(?!return\b|else\b|throw\b|case\b|using\b|new\b|delete\b|co_return\b|define\b)"
    r"[A-Za-z_][\w:]*(?:<[^;{}()]*>)?(?:::\w+)*[ ]?(?:const)?[ &*]+(?:\w+::)*(\w+)\(", re.M)

# A constant, a type, or a member with its type before it.
_NAMED = re.compile(
    r"^\s*(?:inline |static )*constexpr [\w:<>, ]+ (k\w+)|"
    r"^\s*(?:struct|class|enum class) (\w+)|^\s*using (\w+) =|"
    r"^\s+(?!return\b|using\b|friend\b|struct\b|class\b|enum\b)"
    r"[A-Za-z_][\w:]*(?:<[^;{}()]*>)?[ &*]+(\w+)(?: = [^;()]*|\{[^;]*\})?;", re.M)

# Names that only tests use, and the reason.
_KNOWN = {
    # The standard library calls them.
    "do_allocate", "do_deallocate", "do_is_equal",
    # What tests inspect, or start from, in types that are used.
    "capture_report", "frame_size", "has_been_warned", "penalty_of", "setup_hash", "shared_used",
    "target_bps",
    # A structure of libibverbs, as it is there.
    "file_offset",
    # The world of subnet managers: faults of its swarm, and what the swarm inspects then.
    "bad_keys", "gmps", "inject", "multicast_ports", "reach_from", "run_until", "set_loss",
    "take_notices",
}


def _declared_in(text, seen, declared):
    """The names that a header declares and nothing else uses."""
    for match in _DECLARED.finditer(text):
        if seen[match[1]] <= declared[match[1]]:
            yield match[1]
    for match in _NAMED.finditer(text):
        name = next(filter(None, match.groups()))
        if seen[name] == 1:
            yield name


def check(root):
    texts = {path: _NO_CODE.sub("", path.read_text())
             for path in sorted((root / "src").rglob("*"))
             if path.suffix in (".h", ".cc") and not _TESTS.search(path.name)}
    seen = Counter(name for text in texts.values() for name in _NAME.findall(text))
    declared = Counter(name for text in texts.values() for name in _DECLARED.findall(text))
    for path, text in texts.items():
        if path.suffix != ".h":
            continue
        for name in _declared_in(text, seen, declared):
            if name not in _KNOWN:
                lines = path.read_text().splitlines()
                number = next((i for i, each in enumerate(lines, 1)
                               if re.search(rf"\b{name}\b", each)), 1)
                yield (f"{path.relative_to(root)}:{number}: only tests reach {name}: take it away, "
                       "or use it")


if __name__ == "__main__":
    finish(check(ROOT))
