"""A virtual machine whose kernel does RoCE by itself (rdma_rxe), at the other end of a cable.

The cable is a tap device of the network namespace that the caller is in. The machine is emulated
(QEMU without KVM), which is slow and needs no rights. `init` is what runs in it.
"""

import contextlib
import socket
import subprocess
import time
from pathlib import Path

HERE, THERE = ("10.77.0.1", "fd77::1"), ("10.77.0.2", "fd77::2")
CABLE = "v0"
PORT = 2222
BOOT_SECONDS = 900
POLL = 0.05


class Program:
    """A script that runs in the guest. `wait` returns its exit code, as of a subprocess."""

    def __init__(self, script, seconds):
        self.seconds, self.text = seconds, ""
        self.stream = socket.create_connection((THERE[0], PORT), timeout=seconds)
        self.stream.sendall(script.encode())
        self.stream.shutdown(socket.SHUT_WR)

    def wait(self, seconds):
        self.stream.settimeout(seconds)
        with self.stream:
            while piece := self.stream.recv(65536):
                self.text += piece.decode(errors="replace")
        self.text, _, code = self.text.rpartition("exit code ")
        return int(code)


class Guest:
    def __init__(self, images, kernel, folder, mtu):
        self.console = Path(folder) / "console"
        for line in (f"tuntap add dev {CABLE} mode tap", f"link set {CABLE} mtu {mtu} up",
                     f"address add {HERE[0]}/24 dev {CABLE}",
                     f"address add {HERE[1]}/64 dev {CABLE} nodad", "link set lo up"):
            subprocess.run(["ip", *line.split()], check=True)
        with self.console.open("w") as console:
            self.process = subprocess.Popen(self.command(Path(images), kernel, mtu),
                                            stdin=subprocess.DEVNULL, stdout=console,
                                            stderr=subprocess.STDOUT)

    @staticmethod
    def command(images, kernel, mtu):
        # The clocks of an emulated machine that gets no CPU for a while are odd; none is checked.
        words = ["console=ttyS0", "quiet", "mitigations=off", "nokaslr", "random.trust_cpu=on",
                 "tsc=unstable", "no_timer_check", "clocksource=acpi_pm", "net.ifnames=0",
                 "panic=1", "rdinit=/init",
                 f"rxe.four={THERE[0]}", f"rxe.six={THERE[1]}", f"rxe.mtu={mtu}"]
        # No offload: what the guest sends is what is on the wire.
        offloads = ",".join(f"{name}=off" for name in (
            "csum", "guest_csum", "gso", "guest_tso4", "guest_tso6", "guest_ufo", "host_tso4",
            "host_tso6", "host_ufo", "mrg_rxbuf"))
        return ["nice", "-n", "10", "qemu-system-x86_64", "-M", "q35", "-accel", "tcg", "-cpu",
                "max,la57=off", "-smp", "1", "-m", "1024", "-display", "none", "-vga", "none",
                "-no-reboot", "-nodefaults", "-serial", "stdio",
                "-kernel", images / f"{kernel}.kernel", "-initrd", images / f"{kernel}.root",
                "-append", " ".join(words),
                "-netdev", f"tap,id=cable,ifname={CABLE},script=no,downscript=no,vhost=off",
                "-device", f"virtio-net-pci,netdev=cable,romfile=,host_mtu=9000,{offloads}"]

    def until_it_runs(self):
        """Seconds that it took."""
        start = time.monotonic()
        while "ready: " not in self.console.read_text():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(POLL)
            assert self.process.returncode is None and time.monotonic() - start < BOOT_SECONDS, \
                f"the guest does not start:\n{self.console.read_text()}"
        while self.process.poll() is None:  # it says so just before it listens
            with contextlib.suppress(ConnectionRefusedError):
                self.run("true")
                break
        return time.monotonic() - start

    @staticmethod
    def start(script, seconds=600):
        return Program(script, seconds)

    @staticmethod
    def run(script, seconds=240):
        """Its output; it has to end well."""
        one = Program(script, seconds)
        code = one.wait(seconds)
        assert code == 0, f"in the guest, {script} ended with {code}:\n{one.text}"
        return one.text

    def close(self):
        self.process.kill()
        self.process.wait()
