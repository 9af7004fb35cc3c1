"""`tulle decode` from the outside: what it prints, what it refuses, what it leaves behind."""

import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

from program import CAPTURES, GOLDEN, TULLE, decode_json, main, tulle

RNR = CAPTURES / "rc-rnr-nak.pcap"


def pcap(records, link_type=1):
    """A classic pcap file of (bytes, original length) records."""
    parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, link_type)]
    for number, (payload, original) in enumerate(records):
        parts.append(struct.pack("<IIII", 1000, number, len(payload), original) + payload)
    return b"".join(parts)


def pcapng(records, link_type=1):
    """A pcapng file with nanosecond timestamps."""

    def block(kind, body):
        body += b"\0" * (-len(body) % 4)
        length = struct.pack("<I", len(body) + 12)
        return struct.pack("<I", kind) + length + body + length

    data = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    nanoseconds = struct.pack("<HHBxxxHH", 9, 1, 9, 0, 0)
    data += block(1, struct.pack("<HHI", link_type, 0, 262144) + nanoseconds)
    for number, payload in enumerate(records):
        time = 1_000_000_000 * 1000 + number
        header = struct.pack("<IIIII", 0, time >> 32, time & 0xFFFFFFFF, len(payload), len(payload))
        data += block(6, header + payload + b"\0" * (-len(payload) % 4))
    return data


def frames_of(path):
    """The packets of a little-endian classic pcap file."""
    data = path.read_bytes()
    frames, at = [], 24
    while at < len(data):
        captured = struct.unpack_from("<I", data, at + 8)[0]
        frames.append(data[at + 16 : at + 16 + captured])
        at += 16 + captured
    return frames


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path


class BadInput(InAFolder):
    """Exit code 2, one sentence that names the file, nothing on standard output, no JSON file."""

    def refused(self, path, *sentence):
        before = set(self.folder.iterdir())
        for arguments in ([], ["--json", self.folder / "out.json"], ["--json", "-"], ["-q"]):
            result = tulle("decode", *arguments, path)
            text = result.stderr.decode()
            self.assertEqual(result.returncode, 2, text)
            self.assertEqual(result.stdout, b"")
            self.assertEqual(text.count("\n"), 1, text)
            self.assertIn(str(path), text)
            for part in sentence:
                self.assertIn(part, text)
        self.assertEqual(set(self.folder.iterdir()), before)

    def test_a_missing_file(self):
        self.refused(self.folder / "nothing.pcap", "No such file or directory")

    def test_a_directory(self):
        self.refused(self.folder, "is a directory")

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_a_file_that_may_not_be_read(self):
        path = self.file("secret.pcap", RNR.read_bytes())
        path.chmod(0)
        self.refused(path, "Permission denied")

    def test_an_empty_file(self):
        self.refused(self.file("empty", b""), "is empty", "pcap and pcapng")

    def test_zeros(self):
        self.refused(self.file("zeros", bytes(100_000)), "is not a capture", "pcap and pcapng")

    def test_a_sparse_file_of_ten_gigabytes_of_zeros(self):
        path = self.file("huge", b"")
        os.truncate(path, 10 << 30)
        self.refused(path, "is not a capture")

    def test_text(self):
        self.refused(self.file("text", b"once upon a time, there was a fabric\n"), "not a capture")

    def test_a_compressed_capture(self):
        self.refused(self.file("a.gz", b"\x1f\x8b\x08\0" + bytes(50)), "gunzip -c")

    def test_a_capture_that_ends_within_its_header(self):
        self.refused(self.file("cut", RNR.read_bytes()[:20]), "before the first packet")

    def test_a_capture_that_ends_within_a_packet(self):
        path = self.file("cut", RNR.read_bytes()[:-10])
        self.refused(path, "is cut within packet 6", "--partial", "the 5 packets before it")

    def test_a_pcapng_capture_that_ends_within_a_packet(self):
        data = pcapng(frames_of(RNR))
        self.refused(self.file("cut.pcapng", data[:-20]), "is cut within packet 6", "--partial")

    def test_a_capture_that_ends_within_a_record_header(self):
        path = self.file("cut", RNR.read_bytes()[:24 + 16 + 158 + 3])
        self.refused(path, "is cut within packet 2", "the 1 packet before it")

    def test_a_foreign_link_type(self):
        path = self.file("wifi", pcap([(bytes(64), 64)], link_type=105))
        self.refused(path, "IEEE802_11 (105)", "Ethernet (1), InfiniBand (247)")

    def test_a_record_without_bytes(self):
        frame = frames_of(RNR)[0]
        path = self.file("zero", pcap([(frame, len(frame)), (b"", 0)]))
        self.refused(path, "is damaged at packet 2", "holds no bytes")

    def test_an_absurd_record_length(self):
        data = pcap([]) + struct.pack("<IIII", 0, 0, 0xFFFFFF00, 0xFFFFFF00) + bytes(100)
        self.refused(self.file("absurd", data), "is damaged at packet 1", "4294967040")

    def test_standard_input_that_is_no_capture(self):
        result = tulle("decode", "-", input=bytes(1000))
        self.assertEqual((result.returncode, result.stdout), (2, b""))
        self.assertIn(b"standard input is not a capture", result.stderr)


class CommandLine(unittest.TestCase):
    def refused(self, *arguments):
        result = tulle(*arguments)
        self.assertEqual((result.returncode, result.stdout), (2, b""))
        self.assertIn(b"--help", result.stderr)
        return result.stderr.decode()

    def test_what_is_unknown_is_refused_with_a_hint(self):
        self.assertRegex(self.refused(), "name a command: .*decode")
        self.assertIn("there is no command 'decoed'", self.refused("decoed"))
        self.assertIn("there is no option '--colour'", self.refused("--colour"))
        self.assertIn("--colour", self.refused("decode", "--colour", RNR))
        self.assertIn("FILE is required", self.refused("decode"))
        self.assertIn("--dump", self.refused("decode", "-v", "--dump", "many", RNR))

    def test_help_shows_a_newcomer_around(self):
        text = tulle("--help").stdout.decode()
        for part in ("InfiniBand and RoCE fabric", "decode", "Examples", "--version"):
            self.assertIn(part, text)
        text = tulle("decode", "--help").stdout.decode()
        for part in ("--operations", "--json", "--partial", "tcpdump", "Examples"):
            self.assertIn(part, text)

    def test_version(self):
        self.assertRegex(tulle("--version").stdout.decode(), r"^tulle \d+\.\d+\.\d+ \(.+\)\n$")


class Decoding(InAFolder):
    def test_every_capture_decodes_and_every_json_is_valid(self):
        captures = sorted(CAPTURES.glob("*.pcap"))
        self.assertGreaterEqual(len(captures), 20)
        for capture in captures:
            for arguments in ([], ["-v"], ["--operations"], ["-q"]):
                result = tulle("decode", *arguments, capture)
                self.assertEqual((result.returncode, result.stderr), (0, b""), capture)
            report = decode_json(capture)
            self.assertEqual(len(report["packets"]), len(frames_of(capture)))
            self.assertEqual(report["summary"]["packets"], len(report["packets"]))

    def test_golden_output(self):
        for name in ("rc-nak-badrkey-write", "rc-rnr-nak"):
            result = tulle("decode", CAPTURES / f"{name}.pcap")
            self.assertEqual(result.stdout.decode(), (GOLDEN / f"{name}.txt").read_text())
        result = tulle("decode", "-v", "--dump", "32", RNR)
        self.assertEqual(result.stdout.decode(), (GOLDEN / "rc-rnr-nak.verbose.txt").read_text())
        result = tulle("decode", "--operations", CAPTURES / "rc-corrupt-netem.pcap")
        golden = (GOLDEN / "rc-corrupt-netem.operations.txt").read_text()
        self.assertEqual(result.stdout.decode(), golden)
        lines = tulle("decode", CAPTURES / "rc-corrupt-netem.pcap").stdout.decode().splitlines()
        golden = (GOLDEN / "rc-corrupt-netem.head.txt").read_text().splitlines()
        self.assertEqual(lines[:103], golden)

    def test_the_summary_of_a_damaged_transfer(self):
        report = decode_json(CAPTURES / "rc-corrupt-netem.pcap")
        summary = report["summary"]
        self.assertEqual(summary["packets"], 284)
        self.assertEqual(summary["roce_packets"], 284)
        self.assertEqual(summary["bad_icrc"], 14)
        bad = [p["number"] for p in report["packets"] if p["icrc_ok"] is False]
        self.assertEqual(summary["bad_icrc_packets"], bad)
        self.assertEqual(sum(summary["by_opcode"].values()), 284)
        self.assertEqual(summary["naks"], 2)
        self.assertEqual(summary["naks_by_reason"], {"PSN sequence error": 2})
        notes = [note for p in report["packets"] for note in p["notes"]]
        self.assertEqual(notes.count("BAD ICRC"), 14)
        self.assertEqual(notes.count("retransmission"), summary["retransmitted"])
        self.assertEqual(summary["unfinished"], [])

    def test_json_goes_to_a_file_while_text_goes_to_standard_output(self):
        out = self.folder / "out.json"
        result = tulle("decode", "--json", out, RNR)
        self.assertEqual(result.stdout.decode(), (GOLDEN / "rc-rnr-nak.txt").read_text())
        report = json.loads(out.read_text())
        self.assertEqual(report["packets"][1]["notes"], ["RNR NAK: wait 0.64 ms"])
        self.assertEqual(report["packets"][0]["headers"]["BTH"]["dest_qp"], 0x1F)
        self.assertEqual([p.name for p in self.folder.iterdir()], ["out.json"])

    def test_json_that_cannot_be_written(self):
        result = tulle("decode", "--json", self.folder / "no" / "out.json", RNR)
        self.assertEqual((result.returncode, result.stdout), (2, b""))
        self.assertIn(b"cannot write", result.stderr)
        result = tulle("decode", "--json", "/dev/full", RNR)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"No space left", result.stderr)

    def test_a_full_disk_behind_standard_output_is_a_failure(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([TULLE, "decode", RNR], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"No space left", result.stderr)

    def test_a_reader_that_goes_away_is_not_a_failure(self):
        big = self.file("big.pcap", pcap([(f, len(f)) for f in frames_of(RNR)] * 20_000))
        out = self.folder / "out.json"
        command = f"'{TULLE}' decode --json '{out}' '{big}' | head -1; echo ${{PIPESTATUS[0]}}"
        result = subprocess.run(["bash", "-c", command], capture_output=True, timeout=200)
        self.assertEqual(result.stderr, b"")
        self.assertEqual(result.stdout.splitlines()[-1], b"0")
        self.assertEqual(json.loads(out.read_text())["summary"]["packets"], 120_000)

    def test_partial_decodes_what_is_whole(self):
        path = self.file("cut", RNR.read_bytes()[:-10])
        result = tulle("decode", "--partial", path)
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"decoded the 5 packets before it", result.stderr)
        whole = tulle("decode", RNR).stdout.splitlines()
        self.assertEqual(result.stdout.splitlines()[:6], whole[:6])

    def test_standard_input_and_pcapng_with_nanoseconds(self):
        data = pcapng(frames_of(RNR))
        result = tulle("decode", "--json", "-", "-", input=data)
        report = json.loads(result.stdout)
        self.assertEqual([p["time_ns"] for p in report["packets"]],
                         [1_000_000_000_000 + i for i in range(6)])
        self.assertEqual(report["summary"]["naks"], 2)

    def test_a_capture_cut_by_its_snap_length_is_followed_without_its_icrc(self):
        frames = [(f[:80], len(f)) for f in frames_of(CAPTURES / "rc-write.pcap")]
        report = decode_json(self.file("snap", pcap(frames)))
        operations = [o for p in report["packets"] for o in p["completed"]]
        self.assertEqual([o["bytes"] for o in operations],
                         [0, 1, 3, 8, 1024, 1025, 2048, 4099, 16384])
        self.assertEqual(report["summary"]["bad_icrc"], 0)


class LinkTypes(InAFolder):
    """The same packets in every link type of captures."""

    def decoded(self, records, link_type):
        report = decode_json(self.file("capture", pcap([(r, len(r)) for r in records], link_type)))
        self.assertTrue(all(p["icrc_ok"] for p in report["packets"]))
        return [(p["source"], p["opcode"], p["psn"]) for p in report["packets"]]

    def setUp(self):
        super().setUp()
        self.frames = frames_of(RNR)
        self.expected = self.decoded(self.frames, 1)

    def test_raw_ip(self):
        self.assertEqual(self.decoded([f[14:] for f in self.frames], 101), self.expected)

    def test_linux_cooked(self):
        header = struct.pack(">HHH8sH", 4, 1, 6, bytes(8), 0x0800)
        self.assertEqual(self.decoded([header + f[14:] for f in self.frames], 113), self.expected)

    def test_linux_cooked_version_2(self):
        header = struct.pack(">HHIHBB8s", 0x0800, 0, 2, 1, 4, 6, bytes(8))
        self.assertEqual(self.decoded([header + f[14:] for f in self.frames], 276), self.expected)

    def test_erf_with_an_extension_header(self):
        def erf(frame):
            size = 16 + 8 + 2 + len(frame)
            header = struct.pack(">QBBHHH", 0, 0x80 | 2, 4, size, 0, len(frame))
            return header + bytes(8) + bytes(2) + frame

        self.assertEqual(self.decoded([erf(f) for f in self.frames], 197), self.expected)

    def test_pause_frames_and_strangers(self):
        mac = bytes.fromhex("0180c2000001020000000001")
        pfc = mac + struct.pack(">HHH8H", 0x8808, 0x0101, 0b1000, 0, 0, 0, 65535, 0, 0, 0, 0)
        arp = mac + struct.pack(">H", 0x0806) + bytes(46)
        records = [(f.ljust(60, b"\0"), 60) for f in (pfc, arp)]
        path = self.file("mixed", pcap(records))
        text = tulle("decode", path).stdout.decode()
        self.assertIn("priority 3: stop 65535 quanta", text)
        self.assertIn("an EtherType that is not RoCE", text)
        self.assertNotIn("not RoCE", tulle("decode", "--roce-only", path).stdout.decode())
        summary = decode_json(path)["summary"]
        self.assertEqual((summary["pause_frames"], summary["foreign"]), (1, 1))
        self.assertEqual(summary["roce_packets"], 0)


if __name__ == "__main__":
    main()
