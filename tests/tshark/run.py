"""Wireshark reads what a simulation captures: data, acknowledgement, CNP and pause frame.

usage: run.py WRITE_RUN
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

OPCODES = ["4", "17", "129"]  # SEND only, acknowledge, CNP


def fields(capture, *names):
    """The values of fields, a list for each packet."""
    command = ["tshark", "-n", "-r", str(capture), "-o", "ip.check_checksum:TRUE", "-T", "fields"]
    for name in names:
        command += ["-e", name]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.split("\t") for line in output.splitlines()]


def check(folder):
    for name in ("roce_v2", "roce_v2_ipv6", "roce_v1", "infiniband"):
        packets = fields(folder / f"{name}.pcap", "infiniband.bth.opcode", "_ws.malformed",
                         "macc.cbfc.enbv", "frame.time_epoch", "ip.checksum.status")
        assert [packet[0] for packet in packets] == OPCODES + [""], (name, packets)
        # Wireshark knows no link packets of InfiniBand.
        known = packets[:3] if name == "infiniband" else packets
        assert not any(packet[1] for packet in known), (name, packets)
        assert [packet[3] for packet in packets] == [
            f"0.00000{i}000" for i in range(4)], (name, packets)
        if name != "infiniband":
            assert int(packets[3][2], 0) == 8, (name, packets)
        if name == "roce_v2":
            assert [packet[4] for packet in packets[:3]] == ["1"] * 3, packets
    source = fields(folder / "roce_v2.pcap", "ip.src", "ip.dst", "udp.dstport")
    assert source[0] == ["10.0.0.1", "10.0.0.2", "4791"], source


if __name__ == "__main__":
    if not shutil.which("tshark"):
        print("SKIPPED: needs tshark")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([sys.argv[1], place], check=True)
        check(pathlib.Path(place))
