"""Ctrl-C while packets arrive: results so far are printed, and files are complete."""

import json
import os
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from program import CAPTURES, TULLE, main

CAPTURE = (CAPTURES / "rc-rnr-nak.pcap").read_bytes()


def read_until(descriptor, text):
    """The output up to at least the given text."""
    shown = b""
    while text not in shown:
        shown += os.read(descriptor, 4096)
    return shown


class Interrupt(unittest.TestCase):
    def test_a_live_capture_ends_with_its_summary_and_a_whole_json_file(self):
        with tempfile.TemporaryDirectory() as folder:
            result = Path(folder) / "result.json"
            # Packets are shown as they come, so that the test knows when to interrupt.
            process = subprocess.Popen([TULLE, "decode", "--json", str(result), "-"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
            shown = process.stdout.fileno()
            process.stdin.write(CAPTURE)
            process.stdin.flush()
            read_until(shown, b"retransmission")
            process.send_signal(signal.SIGINT)
            read_until(shown, b"Retransmitted")  # the summary
            self.assertEqual(process.wait(timeout=60), 1)
            self.assertIn(b"interrupted", process.stderr.read())
            for stream in (process.stdin, process.stdout, process.stderr):
                stream.close()
            self.assertGreaterEqual(json.loads(result.read_text())["summary"]["packets"], 3)
            self.assertEqual(os.listdir(folder), ["result.json"])


class Ended(unittest.TestCase):
    def test_a_command_that_a_signal_ends_leaves_no_part_of_a_file(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with tempfile.TemporaryDirectory() as folder:
                result = Path(folder) / "result.json"
                process = subprocess.Popen([TULLE, "subnet", "route", "fat-tree:k=32", "--json",
                                            str(result)], stdout=subprocess.DEVNULL)
                while not os.listdir(folder):
                    self.assertIsNone(process.poll(), "it ended before it began to write")
                process.send_signal(number)
                self.assertEqual(process.wait(timeout=60), -number)
                self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    main()
