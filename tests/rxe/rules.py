"""What the kernel's packets taught us, held without a kernel: one rule a test.

usage: rules.py TULLE NAME       runs one of the tests below
       rules.py --list           prints the names

Each looks at a capture of the kernel (tests/captures) and at one of our own programs, the same way.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

TESTS_FOLDER = Path(__file__).parent.parent
sys.path.insert(0, str(TESTS_FOLDER / "interop"))
from interop import SKIPPED, free_port  # noqa: E402
from launch import Launch  # noqa: E402


class Packet(NamedTuple):
    source: str
    destination: str
    opcode: str
    qp: str
    psn: str
    what: str


def packets_of(launch, file):
    said = subprocess.run([launch.tulle, "decode", file], capture_output=True, text=True,
                          check=True, cwd=launch.folder)
    print(said.stdout)
    rows = re.findall(r"^ *\d+ +[\d.]+ +(\S+) > (\S+) +(\w+) +(0x\w{6}) +(0x\w{6}) +(.*)$",
                      said.stdout, re.M)
    assert rows, "the capture has no packets"
    return [Packet(*row) for row in rows]


def capture_of_rping(launch):
    line = f"-v -V -C 2 -a 127.0.0.1 -p {free_port()}"
    said = launch.run("--pcap", "own.pcap", "--pair", f"rping -s {line}", f"rping -c {line}")
    assert said.returncode == 0, said.stderr
    return launch.folder / "own.pcap"


def each_side_begins_at_the_psn_that_its_peer_named(launch):
    """A REQ and a REP name the PSN at which the receiver of that message begins to send."""
    for file in (TESTS_FOLDER / "captures/cm-rping.pcap", capture_of_rping(launch)):
        named, begun = {}, {}
        for packet in packets_of(launch, file):
            told = re.match(r"ComMgt Send Connect(?:Request|Reply): QP (0x\w+), PSN (0x\w+)",
                            packet.what)
            if told:
                named[packet.source, told[1]] = told[2]
            elif re.match("RC_SEND|RC_RDMA_READ_REQ|RC_RDMA_WRITE", packet.opcode):
                begun.setdefault((packet.destination, packet.qp), packet.psn)
        assert len(named) == 2 and begun == named, f"first: {begun}, named: {named}"


TESTS = {test.__name__: test for test in (each_side_begins_at_the_psn_that_its_peer_named,)}


def main():
    if sys.argv[1] == "--list":
        print(*TESTS, sep="\n")
        return 0
    if not shutil.which("rping"):
        print("SKIPPED: this test needs rping (rdmacm-utils)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        TESTS[sys.argv[2]](Launch(sys.argv[1], folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
