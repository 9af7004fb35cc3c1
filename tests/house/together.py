"""Files that are compiled together do not share a name in their unnamed namespaces.

usage: together.py

cmake/Rooms.cmake makes several files of a folder one for the compiler. Two functions of one name in
two unnamed namespaces are overloads there: what a file calls may be the other file's. The compiler
says so only where it cannot choose.
"""

import re

from checker import ROOT, finish

_UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.M | re.S)
_DECLARED = re.compile(r"^(?:class|struct|enum class) (\w+)|^using (\w+) =|"
                       r"^[a-zA-Z][\w:<>,&*\[\] ]*?[ &*](\w+)(?:\(|\[\]| = |;|\{)", re.M)
_ALONE = re.compile(r"^tulle_(?:room|quick_to_build)\((\w+)[^)]*?ALONE ([^)]*)\)", re.M)
_COLD = re.compile(r"^tulle_room\((\w+)[^)]*?\b(?:COLD|TOGETHER)\b", re.M)
_WORDS = {"return", "template", "namespace", "operator", "using"}


def declared(text):
    """The names declared at the left edge, with their lines."""
    for match in _DECLARED.finditer(text):
        name = match[1] or match[2] or match[3]
        if name not in _WORDS and match[0].split()[0] not in _WORDS:
            yield name, match.start()


def names(text):
    """What the unnamed namespaces of a file declare, with the line of each."""
    for part in _UNNAMED.finditer(text):
        for name, start in declared(part[1]):
            yield name, text.count("\n", 0, part.start(1) + start) + 1


def clashes(files, headers=()):
    """Of (name of file, text): each name that an earlier file of the folder or a header has too."""
    owners = {name: header for header, text in headers for name, _ in declared(text)}
    for file, text in files:
        for name, line in names(text):
            owner = owners.setdefault(name, file)
            if owner != file:
                yield (f"{file}:{line}: {name} is a name of {owner} too, and the two are compiled "
                       "together: rename one, or list the file as ALONE where its room is built")


def check(root):
    rooms = (root / "CMakeLists.txt").read_text()
    cold = set(_COLD.findall(rooms))
    folders = {}
    for path in sorted(root.glob("src/**/*.cc")):
        room, is_test = path.relative_to(root / "src").parts[0], path.name.endswith("_test.cc")
        if is_test or (room in cold and not re.search(r"(_bench|/main)\.cc$", str(path))):
            folders.setdefault((path.parent, is_test), []).append(path)
    alone = {root / "src" / room / file for room, files in _ALONE.findall(rooms)
             for file in files.split()}
    for build in sorted(root.glob("tests/*/CMakeLists.txt")):
        if "tulle_quick_to_build" in build.read_text():
            folders[build.parent, True] = sorted(build.parent.glob("*.cc"))
            alone |= {build.parent / file for _, files in _ALONE.findall(build.read_text())
                      for file in files.split()}
    for (folder, _), paths in folders.items():
        room = root.joinpath(*folder.relative_to(root).parts[:2])
        sources = [path for path in paths if path not in alone]
        yield from clashes(_texts(root, sources), _texts(root, sorted(room.glob("**/*.h"))))


def _texts(root, paths):
    return [(path.relative_to(root), path.read_text()) for path in paths]


if __name__ == "__main__":
    finish(check(ROOT))
