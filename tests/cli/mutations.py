"""Examples and profiles, changed at random: the program must answer every input.

usage: mutations.py TULLE EXAMPLES PROFILES COUNT [FIRST_SEED] [--sanitized]

Each draw changes a file in one to four places and runs it. Right answers are a result (0 or 1) or a
sentence (2). Wrong are: a signal, a sanitizer's report, a sentence that names no file, 20
seconds without a word, more than 2 GB without a warning. A draw repeats from its seed; what failed
is kept in the folder that is named.

A sanitized program is several times slower, so its time and memory say nothing: a run is
interrupted after 2 seconds, and has to end.
"""

import concurrent.futures
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SILENT_SECONDS = 20
WARNED_SECONDS = 2  # a run that said that it takes long is believed
IS_SANITIZED = "--sanitized" in sys.argv
MOST_KB = 2_000_000
SANITIZER = re.compile(r"AddressSanitizer|UndefinedBehavior|runtime error:|terminate called")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
NAMES_FILE = re.compile(r"^tulle sim: (\S+\.yaml|command line):", re.M)
WORD = re.compile(r"[A-Za-z_]\w*")
NUMBERS = ("0", "-1", "1", "2", "3", "255", "65536", "4294967296", "18446744073709551615", "1e3",
           "1e18", "0.5", "nan", "")
PIECES = ("{", "}", "[", "]", ":", ": ", ",", "- ", "#", "'", '"', "|", "&a", "*a", "~", "\t",
          "\x00", "\xff", "  ", "\n", "yes", "null", "Gb/s", "us", "KiB", "%")


def change_number(text, draw):
    found = list(NUMBER.finditer(text))
    if not found:
        return text
    one = draw.choice(found)
    scaled = str(int(float(one[0]) * draw.choice((0.1, 0.5, 2, 10, 1000))))
    near = str(int(float(one[0])) + draw.choice((-1, 1)))
    number = draw.choice((*NUMBERS, scaled, scaled, near, near))
    return text[:one.start()] + number + text[one.end():]


def swap_words(text, draw):
    found = list(WORD.finditer(text))
    if len(found) < 2:
        return text
    one, other = draw.choice(found), draw.choice(found)
    return text[:one.start()] + other[0] + text[one.end():]


def put_piece(text, draw):
    at = draw.randrange(len(text) + 1)
    return text[:at] + draw.choice(PIECES) + text[at + draw.choice((0, 0, 1, 5)):]


def change_lines(text, draw):
    lines = text.split("\n")
    at, kind = draw.randrange(len(lines)), draw.randrange(4)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, draw.choice(lines))
    elif kind == 2:
        lines[at] = " " * draw.randrange(9) + lines[at].lstrip()
    else:
        lines = lines[:at]
    return "\n".join(lines)


CHANGES = (change_number, change_number, change_number, swap_words, put_piece, change_lines)


def drawn(seed, examples, profiles):
    """A file's text, its name, and the command line for it."""
    draw = random.Random(seed)
    is_profile = draw.random() < 0.4
    source = draw.choice(profiles if is_profile else examples)
    text = source.read_text()
    for _ in range(draw.randrange(1, 5)):
        text = draw.choice(CHANGES)(text, draw)
    scenario = str(draw.choice(examples))
    return text, source.name, ([scenario, "--profile"] if is_profile else [])


def peak_kb(pid):
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmRSS:\s+(\d+)", status)
    return int(found[1]) if found else 0


def watch(process, output):
    """What is wrong with the run; nothing if it ends, or continues and has said so."""
    begin = time.monotonic()
    while True:
        try:
            process.wait(0.05)
            return None
        except subprocess.TimeoutExpired:
            pass
        took, has_spoken = time.monotonic() - begin, output.stat().st_size > 0
        is_believed = has_spoken or IS_SANITIZED
        if peak_kb(process.pid) > MOST_KB and not is_believed:
            return "more than 2 GB without a warning"
        if took > SILENT_SECONDS and not is_believed:
            return f"{SILENT_SECONDS} seconds without a word"
        if is_believed and took > WARNED_SECONDS:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(SILENT_SECONDS if IS_SANITIZED else 5)
                return None
            except subprocess.TimeoutExpired:
                return "does not end when it is interrupted"


def judge(code, text):
    if SANITIZER.search(text):
        return "a sanitizer's report"
    if code < 0 and code != -signal.SIGINT:
        return f"signal {-code}"
    if code not in (0, 1, 2, 130, -signal.SIGINT):
        return f"exit code {code}"
    if code == 2 and not NAMES_FILE.search(text):
        return "a sentence that names no file"
    return None


def run(seed, tulle, examples, profiles, folder):
    text, name, words = drawn(seed, examples, profiles)
    own = folder / str(seed)
    own.mkdir()
    path, output = own / name, own / "output"
    path.write_text(text, encoding="latin-1", errors="replace")
    with output.open("wb") as file:
        process = subprocess.Popen([tulle, "sim", *words, path, "--threads", "1"], stdout=file,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        wrong = watch(process, output)
        if process.poll() is None:
            process.kill()
            process.wait()
    said = output.read_text(errors="replace")
    wrong = wrong or judge(process.returncode, said)
    if wrong:
        return f"seed {seed}: {wrong}: {path}\n{said[:600]}", process.returncode
    path.unlink()
    output.unlink()
    own.rmdir()
    return None, process.returncode


def main():
    tulle, examples, profiles, count, *more = [word for word in sys.argv[1:] if word[:2] != "--"]
    first = int(more[0]) if more else 0
    files = [sorted(Path(folder).glob("*.yaml")) for folder in (examples, profiles)]
    folder = Path(tempfile.mkdtemp(prefix="tulle-mutations-"))
    seeds = range(first, first + int(count))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(lambda seed: run(seed, tulle, *files, folder), seeds))
    wrong = [what for what, _ in answers if what]
    print("\n".join(wrong))
    ran = sum(code in (0, 1) for _, code in answers)
    print(f"{len(answers)} mutations: {ran} ran, {len(answers) - ran - len(wrong)} refused, "
          f"{len(wrong)} wrong")
    if not wrong:
        folder.rmdir()
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
