"""Holds `tulle decode` against Wireshark's dissector, field by field, on captures that we wrote and
on the kernel's. Where the two differ, either side is wrong: the dissector's own faults are listed
here, each must still show, and no other difference may.

usage: compare.py TULLE WRITE_SAMPLES CAPTURES_FOLDER
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# (header, field) of ours -> field of tshark.
FIELDS = {
    ("Ethernet", "destination"): "eth.dst",
    ("Ethernet", "source"): "eth.src",
    ("802.1Q", "priority"): "vlan.priority",
    ("802.1Q", "id"): "vlan.id",
    ("IPv4", "dscp"): "ip.dsfield.dscp",
    ("IPv4", "ecn"): "ip.dsfield.ecn",
    ("IPv4", "total_length"): "ip.len",
    ("IPv4", "identification"): "ip.id",
    ("IPv4", "dont_fragment"): "ip.flags.df",
    ("IPv4", "time_to_live"): "ip.ttl",
    ("IPv4", "checksum"): "ip.checksum",
    ("IPv4", "source"): "ip.src",
    ("IPv4", "destination"): "ip.dst",
    ("IPv6", "traffic_class"): "ipv6.tclass",
    ("IPv6", "flow_label"): "ipv6.flow",
    ("IPv6", "payload_length"): "ipv6.plen",
    ("IPv6", "next_header"): "ipv6.nxt",
    ("IPv6", "hop_limit"): "ipv6.hlim",
    ("IPv6", "source"): "ipv6.src",
    ("IPv6", "destination"): "ipv6.dst",
    ("UDP", "source_port"): "udp.srcport",
    ("UDP", "destination_port"): "udp.dstport",
    ("UDP", "length"): "udp.length",
    ("LRH", "virtual_lane"): "infiniband.lrh.vl",
    ("LRH", "link_version"): "infiniband.lrh.lver",
    ("LRH", "service_level"): "infiniband.lrh.sl",
    ("LRH", "next_header"): "infiniband.lrh.lnh",
    ("LRH", "destination"): "infiniband.lrh.dlid",
    ("LRH", "packet_words"): "infiniband.lrh.pktlen",
    ("LRH", "source"): "infiniband.lrh.slid",
    ("GRH", "version"): "infiniband.grh.ipver",
    ("GRH", "traffic_class"): "infiniband.grh.tclass",
    ("GRH", "flow_label"): "infiniband.grh.flowlabel",
    ("GRH", "payload_length"): "infiniband.grh.paylen",
    ("GRH", "next_header"): "infiniband.grh.nxthdr",
    ("GRH", "hop_limit"): "infiniband.grh.hoplmt",
    ("GRH", "source"): "infiniband.grh.sgid",
    ("GRH", "destination"): "infiniband.grh.dgid",
    ("BTH", "opcode"): "infiniband.bth.opcode",
    ("BTH", "solicited_event"): "infiniband.bth.se",
    ("BTH", "migrated"): "infiniband.bth.m",
    ("BTH", "pad_count"): "infiniband.bth.padcnt",
    ("BTH", "transport_version"): "infiniband.bth.tver",
    ("BTH", "pkey"): "infiniband.bth.p_key",
    ("BTH", "dest_qp"): "infiniband.bth.destqp",
    ("BTH", "ack_request"): "infiniband.bth.a",
    ("BTH", "psn"): "infiniband.bth.psn",
    ("RDETH", "ee_context"): "infiniband.rdeth.eecnxt",
    ("DETH", "qkey"): "infiniband.deth.q_key",
    ("DETH", "source_qp"): "infiniband.deth.srcqp",
    ("RETH", "virtual_address"): "infiniband.reth.va",
    ("RETH", "rkey"): "infiniband.reth.r_key",
    ("RETH", "dma_length"): "infiniband.reth.dmalen",
    ("AtomicETH", "virtual_address"): "infiniband.reth.va",
    ("AtomicETH", "rkey"): "infiniband.reth.r_key",
    ("AtomicETH", "swap_or_add"): "infiniband.atomiceth.swapdt",
    ("AtomicETH", "compare"): "infiniband.atomiceth.cmpdt",
    ("AETH", "syndrome"): "infiniband.aeth.syndrome",
    ("AETH", "msn"): "infiniband.aeth.msn",
    ("AtomicAckETH", "original"): "infiniband.atomicacketh.origremdt",
    ("ImmDt", "immediate"): "infiniband.immdt",
    ("IETH", "rkey"): "infiniband.ieth",
    ("PFC", "opcode"): "macc.opcode",
    ("PFC", "enable_vector"): "macc.cbfc.enbv",
    ("", "icrc"): "infiniband.invariant.crc",
    ("", "vcrc"): "infiniband.variant.crc",
    ("", "malformed"): "_ws.malformed",
}
for priority in range(8):
    FIELDS["PFC", f"quanta {priority}"] = f"macc.cbfc.pause_time.c{priority}"
TSHARK_FIELDS = sorted(set(FIELDS.values()))


def tshark_packets(tshark, capture):
    """Wireshark's reading: a list of {field: text}, the first occurrence of each."""
    command = [tshark, "-n", "-r", str(capture), "-T", "fields", "-E", "separator=|",
               "-E", "occurrence=f"]
    for name in TSHARK_FIELDS:
        command += ["-e", name]
    # The dissector keeps what CM messages said of queue pairs, and then calls payload by it.
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [dict(zip(TSHARK_FIELDS, line.split("|"))) for line in output.splitlines()]


def our_packets(tulle, capture):
    """Our reading: a list of ({(header, field): value}, packet)."""
    output = subprocess.run([tulle, "decode", "--json", "-", str(capture)], capture_output=True,
                            text=True, check=True).stdout
    for packet in json.loads(output)["packets"]:
        values = {}
        for header, fields in packet["headers"].items():
            for field, value in fields.items():
                if isinstance(value, list):
                    values.update({(header, f"{field} {i}"): v for i, v in enumerate(value)})
                else:
                    values[header, field] = value
        values["", "icrc"] = packet.get("icrc")
        values["", "vcrc"] = packet.get("vcrc")
        values["", "malformed"] = None
        yield values, packet


def number(value):
    """Numbers in any dress are compared as numbers, addresses as text."""
    if value is None or value == "":
        return None
    if isinstance(value, (bool, int)):
        return int(value)
    text = value.split(",")[0]
    for base in (0, 16):
        try:
            return int(text.replace(":", "") if ":" in text and base == 16 else text, base)
        except ValueError:
            continue
    return text


def same(field, ours, theirs):
    if field in ("icrc", "vcrc") and ours is not None:
        # We read a CRC as it is computed, least significant byte first, Wireshark the other way.
        size = 4 if field == "icrc" else 2
        ours = int.from_bytes(ours.to_bytes(size, "little"), "big")
    if isinstance(ours, str) and not ours.startswith("0x"):
        return ours == theirs
    return number(ours) == number(theirs)


# The dissector's own faults: (what it gets wrong, which packets and fields that concerns).

def service(packet):
    return (packet["opcode"] or "").split("_")[0]


def operation(packet):
    return (packet["opcode"] or "").partition("_")[2]


FAULTS = [
    ("SENDs with less than eight bytes of payload are called malformed",
     lambda p, header, field: "SEND" in operation(p) and p["payload_bytes"] < 8
     and field in ("malformed", "icrc", "vcrc")),
    ("FLUSH and ATOMIC WRITE (0x1c, 0x1d) are unknown",
     lambda p, header, field: operation(p) in ("FLUSH", "ATOMIC_WRITE")
     and (header in ("FETH", "RETH", "XRCETH", "RDETH", "DETH") or field in ("icrc", "vcrc"))),
    ("nothing behind the BTH of an XRC packet is understood",
     lambda p, header, field: service(p) == "XRC"
     and (header in ("RETH", "AtomicETH", "AETH", "AtomicAckETH", "ImmDt", "IETH")
          or field in ("icrc", "vcrc"))),
    ("a CNP is vendor specific",
     lambda p, header, field: service(p) == "CNP" and field in ("icrc", "vcrc")),
]


def compare(tshark, tulle, capture, seen_faults):
    """Yields a sentence for each difference that is not a known fault of the dissector."""
    theirs = tshark_packets(tshark, capture)
    ours = list(our_packets(tulle, capture))
    if len(ours) != len(theirs):
        yield f"{capture.name}: {len(ours)} packets here, {len(theirs)} in tshark"
    for (values, packet), their in zip(ours, theirs):
        for (header, field), value in values.items():
            name = FIELDS.get((header, field))
            if name is None or same(field, value, their[name]):
                continue
            fault = next((text for text, applies in FAULTS if applies(packet, header, field)), None)
            if fault:
                seen_faults[fault] = seen_faults.get(fault, 0) + 1
            else:
                yield (f"{capture.name} packet {packet['number']} {packet['opcode']}: "
                       f"{header} {field} is {value} here, {name} is {their[name]!r} in tshark")


def main(tulle, write_samples, captures):
    tshark = shutil.which("tshark")
    if tshark is None:
        print("SKIPPED: this test needs tshark; install the Debian package tshark")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([write_samples, folder], check=True)
        seen_faults, complaints, count = {}, [], 0
        for capture in [*sorted(Path(folder).glob("*.pcap")), *sorted(captures.glob("*.pcap"))]:
            count += 1
            complaints += compare(tshark, tulle, capture, seen_faults)
    complaints += [f"this fault of the dissector no longer shows, take it off the list: {text}"
                   for text, _ in FAULTS if text not in seen_faults]
    print(f"{count} captures. What the dissector gets wrong, and in how many fields:")
    for text, times in sorted(seen_faults.items()):
        print(f"  {times:6} {text}")
    print("\n".join(complaints[:40]))
    print(f"{len(complaints)} other differences")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
