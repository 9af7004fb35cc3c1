"""Pure rooms do no input or output: none of their objects uses a banned symbol.

Events come in and are polled out; time, randomness and memory are arguments. That is what lets one
core serve virtual and real time, so it is checked where nothing can hide: in the undefined symbols
of the room's library, by nm. Inline code is in no object until somebody calls it, so headers that
are good for nothing else must not even be included.

usage: purity.py BUILD_FOLDER
"""

import re
import subprocess
import sys
from pathlib import Path

from checker import ROOT, files, finish, need
from rooms import PURE

# Kind -> symbols of C, then a pattern for demangled symbols of C++.
_BANNED = {
    "a clock": (
        "clock clock_gettime ftime gettimeofday localtime localtime_r time times timespec_get "
        "timer_create timerfd_create",
        r"std::chrono::.*::now\(\)"),
    "a sleep": (
        "alarm clock_nanosleep epoll_wait nanosleep pause poll ppoll pselect select setitimer "
        "sleep thrd_sleep usleep",
        r"std::this_thread::"),
    "a socket": (
        "accept accept4 bind connect freeaddrinfo getaddrinfo gethostbyname getsockopt listen recv "
        "recvfrom recvmmsg recvmsg send sendmmsg sendmsg sendto setsockopt shutdown socket "
        "socketpair",
        None),
    "a thread": (
        "pthread_create sem_post sem_wait thrd_create",
        r"std::(thread|jthread|condition_variable|__future_base|async)\b"),
    "a file": (
        "access chdir chmod close closedir creat dup dup2 fclose fcntl fdopen fflush fgetc fgets "
        "fopen fread freopen fscanf fseek fstat fsync ftell ftruncate fwrite getline inotify_init "
        "ioctl link lseek lstat mkdir mkstemp open openat opendir pipe pipe2 pread preadv pwrite "
        "pwritev read readdir readlink readv realpath remove rename rmdir shm_open stat symlink "
        "tmpfile truncate unlink write writev",
        r"std::(basic_(i|o)?fstream|basic_filebuf|filesystem::(?!__cxx11::path\b))"),
    "a random device": (
        "arc4random drand48 getentropy getrandom lrand48 rand rand_r random srand srandom",
        r"std::random_device\b"),
    "a print": (
        "dprintf fprintf fputc fputs fputwc perror printf putc putchar puts stderr stdin stdout "
        "syslog vdprintf vfprintf vprintf",
        r"std::(w?(cout|cerr|clog|cin)$|ios_base::Init\b)|fmt::v\d+::v?print\b"),
    "the environment": (
        "environ getcwd gethostname getenv getpid secure_getenv setenv sysconf uname",
        None),
    "a process": (
        "_exit execl execle execlp execv execve execvp exit fork kill popen posix_spawn "
        "posix_spawnp quick_exit sigaction signal syscall system vfork waitpid",
        None),
}

_BANNED_INCLUDE = re.compile(
    r"\s*#\s*include\s*<(condition_variable|fcntl\.h|fstream|future|iostream|pthread\.h|"
    r"sys/socket\.h|thread|unistd\.h)>")

# (room, object) -> what it may use nevertheless, and why.
_EXCEPTIONS = {
    ("base", "check.cc.o"): (
        {"fprintf", "fwrite", "stderr"},
        "check_failed() says which check failed before it ends the program"),
}

_KIND_OF = {symbol: kind for kind, (symbols, _) in _BANNED.items() for symbol in symbols.split()}
_PATTERNS = [(kind, re.compile(pattern)) for kind, (_, pattern) in _BANNED.items() if pattern]


def plain(symbol):
    """The name as written in the source: __fprintf_chk is fprintf, open64@GLIBC_2.2 is open."""
    symbol = symbol.split("@")[0]
    if hardened := re.fullmatch(r"__(?:isoc99_)?(\w+?)(?:_chk|_2)?", symbol):
        symbol = hardened[1]
    return symbol.removesuffix("64")


def banned_kind(symbol):
    """The kind of a banned symbol; None for all others."""
    for kind, pattern in _PATTERNS:
        if pattern.search(symbol):
            return kind
    return _KIND_OF.get(plain(symbol))


def undefined_symbols(nm, library):
    """(object, symbol) for every undefined symbol of the objects of a library."""
    command = [nm, "--undefined-only", "--demangle", "--print-file-name", library]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for line in output.splitlines():
        if match := re.fullmatch(r".*\.a:([^:]+):\s+[Uwv] (.+)", line):
            yield match[1], match[2]


def check(root, build):
    nm = need("nm", "binutils")
    for room in PURE:
        if not (root / "src" / room).is_dir():
            continue
        yield from _check_includes(root, room)
        library = build / f"libtulle_{room}.a"
        if not library.exists():
            yield f"src/{room}:1: {library} is not built, so nobody knows whether the room is pure"
            continue
        for name, symbol in undefined_symbols(nm, library):
            kind = banned_kind(symbol)
            allowed, _ = _EXCEPTIONS.get((room, name), (set(), ""))
            if kind and plain(symbol) not in allowed:
                where = _source_of(root, room, name, plain(symbol))
                yield f"{where}: uses {symbol}, which is {kind}; {room} is a pure room"


def _check_includes(root, room):
    for path in files(root / "src" / room):
        if path.suffix not in (".h", ".cc") or path.stem.endswith(("_test", "_bench")):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if match := _BANNED_INCLUDE.match(line):
                where = f"{path.relative_to(root)}:{number}"
                yield f"{where}: includes <{match[1]}>; {room} is a pure room"


def _source_of(root, room, name, symbol):
    """file:line of the first mention of the symbol in the source of an object."""
    word = symbol.split("(")[0].split("::")
    mention = re.compile(r"\b" + re.escape(word[-1]) + r"\b")
    for path in files(root / "src" / room):
        if path.name == name.removesuffix(".o"):
            lines = path.read_text().splitlines()
            found = (n for n, line in enumerate(lines, 1) if mention.search(line))
            return f"{path.relative_to(root)}:{next(found, 1)}"
    return f"src/{room}/{name}:1"


if __name__ == "__main__":
    finish(check(ROOT, Path(sys.argv[1])))
