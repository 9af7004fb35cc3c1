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

# Layers of management datagrams, whose fields have the same names but for underscores.
MANAGEMENT = {
    "MAD": "mad",
    "DR SMP": "smpdirected",
    "SA": "sa",
    "NodeInfo": "nodeinfo",
    "SwitchInfo": "switchinfo",
    "PortInfo": "portinfo",
    "PortCounters": "portcounters",
    "PortCountersExtended": "portcounters_extended",
    "PathRecord": "pathrecord",
    "ConnectRequest": "cm.req",
    "ConnectReply": "cm.rep",
    "ConnectReject": "cm.rej",
    "DisconnectRequest": "cm.dreq",
}


class Fields:
    """Which of our fields Wireshark has too, and under which name."""

    def __init__(self, tshark):
        listing = subprocess.run([tshark, "-G", "fields"], capture_output=True, text=True,
                                 check=True).stdout
        self._known = {line.split("\t")[2] for line in listing.splitlines() if line[0] == "F"}
        self.compared = set()

    def name(self, header, field):
        name = FIELDS.get((header, field))
        if name is None and header in MANAGEMENT:
            name = f"infiniband.{MANAGEMENT[header]}.{field.replace('_', '')}"
        if name not in self._known:
            return None
        self.compared.add((header, field))
        return name


def tshark_packets(tshark, capture, names):
    """Wireshark's reading: a list of {field: text}, the first occurrence of each."""
    command = [tshark, "-n", "-r", str(capture), "-T", "fields", "-E", "separator=|",
               "-E", "occurrence=f"]
    for name in names:
        command += ["-e", name]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [dict(zip(names, line.split("|"))) for line in output.splitlines()]


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


def number(value, base=0):
    """Numbers in any dress are compared as numbers."""
    if value is None or value == "":
        return None
    if isinstance(value, (bool, int)):
        return int(value)
    return int(value, base)


def same(field, ours, theirs):
    if field in ("icrc", "vcrc") and ours is not None:
        # We read a CRC as it is computed, least significant byte first, Wireshark the other way.
        size = 4 if field == "icrc" else 2
        ours = int.from_bytes(ours.to_bytes(size, "little"), "big")
    if field == "malformed" or (isinstance(ours, str) and not ours.startswith("0x")):
        return (ours or "") == theirs
    # Immediate data and the key of an IETH are bytes to Wireshark, shown as digits alone.
    is_bytes = field == "immediate" or (field == "rkey" and not theirs.startswith("0x"))
    return number(ours) == number(theirs, 16 if is_bytes else 0)


# The dissector's own faults: (what it gets wrong, which packets and fields that concerns).

def service(packet):
    return (packet["opcode"] or "").split("_")[0]


def operation(packet):
    return (packet["opcode"] or "").partition("_")[2]


CRCS = ("icrc", "vcrc")
EXTENDED = ("RDETH", "DETH", "XRCETH", "FETH", "RETH", "AtomicETH", "AETH", "AtomicAckETH", "ImmDt",
            "IETH")

FAULTS = [
    ("SENDs of up to eight bytes are called malformed: it takes them for RPC over RDMA",
     lambda p, header, field: "SEND" in operation(p) and p["payload_bytes"] <= 8
     and field in ("malformed", *CRCS)),
    ("FLUSH and ATOMIC WRITE (0x1c, 0x1d) are unknown",
     lambda p, header, field: operation(p) in ("FLUSH", "ATOMIC_WRITE")
     and (header in EXTENDED or field in ("malformed", *CRCS))),
    ("reliable datagrams: what stands behind the BTH is read from the wrong place",
     lambda p, header, field: service(p) == "RD"
     and (header in EXTENDED or field in ("malformed", *CRCS))),
    ("extended reliable connection: what stands behind the BTH is not read",
     lambda p, header, field: service(p) == "XRC" and (header in EXTENDED or field in CRCS)),
    ("the direction bit of a directed-route packet is taken for part of its status",
     lambda p, header, field: "DR SMP" in p["headers"] and (header, field) == ("MAD", "status")),
    ("nothing is read behind a performance management datagram",
     lambda p, header, field: p["headers"].get("MAD", {}).get("management_class") == 4
     and field in CRCS),
    ("a CNP is vendor specific",
     lambda p, header, field: service(p) == "CNP" and field in CRCS),
]

# One fault is an absence: the damaged packets of this capture look like all others.
DAMAGED = "rc-corrupt-netem"
NEVER_VERIFIED = "the ICRC is never verified"


def compare(tshark, tulle, capture, fields, seen_faults):
    """Yields a sentence for each difference that is not a known fault of the dissector."""
    ours = list(our_packets(tulle, capture))
    names = sorted({fields.name(*key) for values, _ in ours for key in values} - {None})
    theirs = tshark_packets(tshark, capture, names)
    if len(ours) != len(theirs):
        yield f"{capture.name}: {len(ours)} packets here, {len(theirs)} in tshark"
    for (values, packet), their in zip(ours, theirs):
        for (header, field), value in values.items():
            name = fields.name(header, field)
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
    fields, seen_faults, complaints = Fields(tshark), {}, []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([write_samples, folder], check=True)
        files = [*sorted(Path(folder).glob("*.pcap")), *sorted(captures.glob("*.pcap"))]
        for capture in files:
            complaints += compare(tshark, tulle, capture, fields, seen_faults)
    faults = [text for text, _ in FAULTS]
    damaged = tshark_packets(tshark, captures / f"{DAMAGED}.pcap", ["_ws.malformed"])
    if not any(packet["_ws.malformed"] for packet in damaged):
        seen_faults[NEVER_VERIFIED] = 14
    complaints += [f"this fault of the dissector no longer shows, take it off the list: {text}"
                   for text in [*faults, NEVER_VERIFIED] if text not in seen_faults]
    print(f"{len(files)} captures, {len(fields.compared)} kinds of field. "
          "What the dissector gets wrong, and how often:")
    for text, times in sorted(seen_faults.items()):
        print(f"  {times:6} {text}")
    print("\n".join(complaints[:40]))
    print(f"{len(complaints)} other differences")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
