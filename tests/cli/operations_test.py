"""The operations that `tulle decode` finds in a capture are those that the client posted."""

import re
import unittest

from program import CAPTURES, decode_json, main

CLIENTS = ("10.77.0.2", "fd77::2")
CASE = re.compile(r"CASE (\S+) local qpn (\w+) .*\| remote qpn (\w+) .* addr (\w+)")
OPERATION = re.compile(r"op (\d+) opcode (\d+) len (\d+) roff (\w+) imm (\w+) status (\d+)"
                       r".*?(?:orig (\w+))?$")
DATAGRAM = re.compile(r"op (\d+) UD len (\d+) status 0")

# ibv_wr_opcode: the kind, and whether it has remote memory, an immediate, or a key to invalidate.
KINDS = {
    0: ("WRITE", True, None),
    1: ("WRITE", True, "immediate"),
    2: ("SEND", False, None),
    3: ("SEND", False, "immediate"),
    4: ("READ", True, None),
    5: ("CMP_SWAP", True, None),
    6: ("FETCH_ADD", True, None),
    9: ("SEND", False, "invalidated_rkey"),
}
# ibv_wc_status: what the wire shows of it.
OUTCOMES = {
    0: ("acknowledged", "delivered"),
    9: ("NAK: invalid request",),
    10: ("NAK: remote access error",),
    11: ("NAK: remote operational error",),
    12: ("unanswered",),
    13: ("RNR NAK",),
}


def operations_of(name):
    """All operations in the order of their first packets, management datagrams left out."""
    report = decode_json(CAPTURES / f"{name}.pcap")
    found = [o for p in report["packets"] for o in p["completed"]] + report["summary"]["unfinished"]
    found = [o for o in found if o["dest_qp"] > 1]
    return sorted(found, key=lambda o: o["first_packet"])


def cases_of(path):
    """(queue pair of the server, address of its memory, its operation lines) for each case."""
    cases = []
    for line in path.read_text().splitlines():
        if match := CASE.match(line):
            cases.append((int(match[3], 16), int(match[4], 16), []))
        elif cases and line.startswith("  op "):
            cases[-1][2].append(line.strip())
    return cases


class ClientText(unittest.TestCase):
    def check_datagram(self, line, found):
        _, length = DATAGRAM.match(line).groups()
        self.assertEqual((found["service"], found["kind"]), ("UD", "SEND"))
        self.assertEqual((found["bytes"], found["outcome"]), (int(length), "delivered"))

    def check_operation(self, line, memory, found):
        _, opcode, length, offset, extra, status, original = OPERATION.match(line).groups()
        kind, is_remote, extra_key = KINDS[int(opcode)]
        self.assertEqual(found["kind"], kind)
        self.assertEqual(found["bytes"], int(length))
        self.assertTrue(found["whole"])
        self.assertIn(found["outcome"], OUTCOMES[int(status)])
        if is_remote:
            self.assertEqual(int(found["remote_address"], 16) - memory, int(offset, 16))
        else:
            self.assertIsNone(found["remote_address"])
        for key in ("immediate", "invalidated_rkey"):
            self.assertEqual(found[key], int(extra, 16) if key == extra_key else None)
        if original:
            self.assertEqual(int(found["original"], 16), int(original, 16))

    def test_operations_are_exactly_those_of_the_client_in_order(self):
        checked = 0
        for path in sorted(CAPTURES.glob("*.client.txt")):
            name = path.name.removesuffix(".client.txt")
            cases = cases_of(path)
            if not cases or name == "rc-pipeline":
                continue
            found = [o for o in operations_of(name) if o["source"] in CLIENTS]
            self.assertEqual(len(found), sum(len(lines) for _, _, lines in cases), name)
            for queue_pair, memory, lines in cases:
                mine = [o for o in found if o["dest_qp"] == queue_pair]
                self.assertEqual(len(mine), len(lines), name)
                for line, operation in zip(lines, mine):
                    with self.subTest(capture=name, line=line):
                        if DATAGRAM.match(line):
                            self.check_datagram(line, operation)
                        else:
                            self.check_operation(line, memory, operation)
                        checked += 1
        self.assertGreater(checked, 100)


class OtherCaptures(unittest.TestCase):
    def kinds(self, operations):
        return [o["kind"] for o in operations]

    def test_sixteen_writes_then_four_reads_in_flight_together(self):
        found = operations_of("rc-pipeline")
        self.assertEqual(self.kinds(found), ["WRITE"] * 16 + ["READ"] * 4)
        self.assertEqual({o["bytes"] for o in found}, {3000})
        self.assertEqual({o["outcome"] for o in found}, {"acknowledged"})

    def test_rping_sends_its_address_and_the_server_reads_and_writes(self):
        found = operations_of("cm-rping")
        client = [o for o in found if o["source"] == "10.77.0.2"]
        server = [o for o in found if o["source"] == "10.77.0.3"]
        self.assertEqual(self.kinds(client), ["SEND"] * 6)
        self.assertEqual(self.kinds(server), ["READ", "SEND", "WRITE", "SEND"] * 3)
        self.assertEqual({o["outcome"] for o in found}, {"acknowledged"})
        self.assertEqual({o["bytes"] for o in server if o["kind"] != "SEND"}, {64})

    def test_ten_messages_each_way_in_a_ping_pong(self):
        found = operations_of("tool-rc-pingpong")
        for side, queue_pair in (("10.77.0.2", 0x3A), ("10.77.0.3", 0x3A)):
            mine = [o for o in found if o["source"] == side]
            self.assertEqual(self.kinds(mine), ["SEND"] * 10)
            self.assertEqual({o["dest_qp"] for o in mine}, {queue_pair})
            self.assertEqual({o["source_qp"] for o in mine}, {queue_pair})
        self.assertEqual(sum(o["bytes"] for o in found), 20480)
        self.assertEqual({o["outcome"] for o in found}, {"acknowledged"})

    def test_connection_messages_are_datagrams_to_queue_pair_one(self):
        for name in ("cm-reject", "cm-rping", "cm-udaddy-sidr"):
            report = decode_json(CAPTURES / f"{name}.pcap")
            mads = [p for p in report["packets"] if p["dest_qp"] == 1]
            self.assertGreaterEqual(len(mads), 2)
            self.assertEqual({p["payload_bytes"] for p in mads}, {256})
            self.assertEqual({p["opcode"] for p in mads}, {"UD_SEND_ONLY"})

    def test_udaddy_sends_datagrams_both_ways(self):
        found = operations_of("cm-udaddy-sidr")
        self.assertEqual({o["service"] for o in found}, {"UD"})
        self.assertEqual({o["outcome"] for o in found}, {"delivered"})
        self.assertEqual({o["source"] for o in found}, {"10.77.0.2", "10.77.0.3"})


if __name__ == "__main__":
    main()
