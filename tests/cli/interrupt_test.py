"""Ctrl-C while packets arrive: what is known so far is printed and written, whole."""

import json
import os
import pty
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from program import CAPTURES, TULLE, main

CAPTURE = (CAPTURES / "rc-rnr-nak.pcap").read_bytes()


def read_until(descriptor, text):
    """What a terminal shows up to the given text."""
    shown = b""
    while text not in shown:
        shown += os.read(descriptor, 4096)
    return shown


class Interrupt(unittest.TestCase):
    def test_a_live_capture_ends_with_its_summary_and_a_whole_json_file(self):
        with tempfile.TemporaryDirectory() as folder:
            result = Path(folder) / "result.json"
            terminal, stdout = pty.openpty()
            # A terminal on standard output: packets are shown as they come, so that the test knows
            # when to interrupt.
            process = subprocess.Popen([TULLE, "decode", "--json", str(result), "-"],
                                       stdin=subprocess.PIPE, stdout=stdout,
                                       stderr=subprocess.PIPE)
            process.stdin.write(CAPTURE)
            process.stdin.flush()
            read_until(terminal, b"retransmission")
            process.send_signal(signal.SIGINT)
            read_until(terminal, b"RC_ACKNOWLEDGE  ")  # the summary's table of opcodes
            self.assertEqual(process.wait(timeout=60), 1)
            self.assertIn(b"interrupted", process.stderr.read())
            process.stdin.close()
            process.stderr.close()
            self.assertGreaterEqual(json.loads(result.read_text())["summary"]["packets"], 3)
            self.assertEqual(os.listdir(folder), ["result.json"])
            os.close(terminal)
            os.close(stdout)


if __name__ == "__main__":
    main()
