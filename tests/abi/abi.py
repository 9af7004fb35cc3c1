"""What the drop-in libraries export and need.

usage: abi.py FOLDER_OF_LIBRARIES FOLDER_OF_SOURCES [fortified]

They need the C library and nothing else, and they export what programs ask for under the versions
that they ask for it; of our own names only those that our libraries share among each other. They
are hardened, as what runs inside programs of others should be.
"""

import re
import subprocess
import sys
from pathlib import Path

_ALLOWED = re.compile(r"(libc\.so\.6|ld-linux.*|libibverbs\.so\.1)")
# The newest C library that Debian 12 has: what is built there runs wherever this is or newer.
_NEWEST_GLIBC = (2, 36)


def dynamic(library):
    return subprocess.run(["readelf", "-dW", library], check=True, capture_output=True,
                          text=True).stdout


def needed(library):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic(library))


def symbols(library, *options):
    text = subprocess.run(["nm", "-D", "--with-symbol-versions", *options, library], check=True,
                          capture_output=True, text=True).stdout
    # Versions are symbols too, absolute ones.
    return [line.split()[-1] for line in text.splitlines() if line.split()[-2] != "A"]


def wanted(folder, library):
    """name@version for each line of a map of the sources."""
    version = None
    for line in (folder / f"{library}.map").read_text().splitlines():
        if match := re.match(r"(\w[\w.]*) \{", line):
            version = match[1]
        elif match := re.match(r"\s+(\w+);", line):
            yield f"{match[1]}@@{version}"


def hardening(library, is_fortified):
    """Read-only tables, bound at once; canaries on stacks; calls that check their room."""
    segments = subprocess.run(["readelf", "-lW", library], check=True, capture_output=True,
                              text=True).stdout
    names = {symbol.split("@")[0] for symbol in symbols(library, "--undefined-only")}
    stack = re.search(r"GNU_STACK.*", segments)
    if "GNU_RELRO" not in segments:
        yield f"{library.name} is linked without -z relro"
    if not re.search(r"\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW", dynamic(library)):
        yield f"{library.name} is linked without -z now"
    if not stack or "RWE" in stack[0]:
        yield f"{library.name} has a stack that can be executed"
    if "__stack_chk_fail" not in names:
        yield f"{library.name} is compiled without -fstack-protector-strong"
    if is_fortified and not any(name.endswith("_chk") for name in names):
        yield f"{library.name} is compiled without _FORTIFY_SOURCE"


def check(libraries, sources, is_fortified):
    yield from hardening(libraries / "libtulle-preload.so", False)
    for name, folder in (("libibverbs", sources), ("librdmacm", sources / "rdmacm")):
        library = libraries / f"{name}.so.1"
        if not library.exists():
            yield f"{library} is not built"
            continue
        yield from (f"{name} needs {other}" for other in needed(library)
                    if not _ALLOWED.fullmatch(other))
        yield from hardening(library, is_fortified)
        if "NODELETE" not in dynamic(library):
            yield f"{name} can be unloaded while its thread runs"
        exported = set(symbols(library, "--defined-only"))
        yield from (f"{name} does not export {one}" for one in wanted(folder, name)
                    if one not in exported)
        yield from (f"{name} exports {one}" for one in exported
                    if "@" not in one or one.startswith("_Z"))
        for symbol in symbols(library, "--undefined-only"):
            if match := re.search(r"@GLIBC_(\d+)\.(\d+)", symbol):
                if (int(match[1]), int(match[2])) > _NEWEST_GLIBC:
                    yield f"{name} needs {symbol}"


if __name__ == "__main__":
    problems = list(check(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:] == ["fortified"]))
    print(*problems, sep="\n")
    sys.exit(1 if problems else 0)
