"""Real programs on Tulle, with the Linux kernel's RoCE (rdma_rxe) at the other end of the cable.

usage: rxe.py TULLE IMAGES KERNEL [CASE...]     runs these cases of the table below, or all
       rxe.py --list                            prints their names

Each case runs twice: with our side as server and with the kernel as server. All cases of a kernel
share one virtual machine (guest.py), which `image` makes and which is kept under IMAGES.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "interop"))
from guest import HERE, THERE, Guest  # noqa: E402
from interop import PERFTEST, PINGPONG, SKIPPED  # noqa: E402
from machines import INSIDE, Machines, way_in  # noqa: E402

FAREWELL = 30  # s for a server whose client has ended
SECONDS = 240  # of one program: the guest is emulated, and the machine may be busy
MTU = 4200  # room for packets of 4096 bytes; some cases ask for smaller ones
LOSS = "1%"
# An emulated machine may get no CPU for longer than the timeouts of a ping-pong, half a second in
# all, which then fails as it would on hardware. That is tried again.
STARVED = "transport retry counter exceeded"
# Where a client's goodbye is lost, its server does not learn of its end (README.md).
NOT_TOLD = "has not ended, though its client has"
TRIES = 4
# Of rping itself: one of its threads may destroy what the other waits for, when all is done.
KNOWN = "rdma_get_cm_event: Bad file descriptor"
OUR_GIDS = (3, 1)  # of RoCE v2, over IPv4 and IPv6
GIDS = "/sys/class/infiniband/rxe0/ports/1/gids"


class Cable(Machines):
    """Our side is this namespace; the other one is the guest."""

    def __init__(self, tulle, images, kernel, folder):
        self.tulle, self.folder, self.started = tulle, Path(folder), []
        self.guest = Guest(images, kernel, folder, MTU)
        self.holders = [self.guest.process]  # which end with the test

    def begin(self, case, role, is_guest, guest_is_server):
        family = case["family"]
        addresses = THERE if guest_is_server else HERE
        line = case[role].format(host=addresses[family], ipv4=addresses[0],
                                 gid=(self.guest_gids if is_guest else OUR_GIDS)[family])
        if is_guest:
            return self.guest.start(f"timeout {SECONDS} {line}")
        if role == "server" or not case["rules"]:
            return self.start(line)
        (self.folder / "rules").write_text(case["rules"])
        return self.start(line, options=("--faults", "rules"))

    def until_one_listens(self, server, is_guest, port):
        if not is_guest:
            return self.until_it_listens(server, port)
        return self.guest.run(f"until_someone_listens {port}", SECONDS)

    @staticmethod
    def complaint(one, role, expect, seconds):
        """Nothing if it did what is expected."""
        try:
            code = one.wait(seconds)
        except (subprocess.TimeoutExpired, TimeoutError):
            code = "none, after so long"
        text = one.text if hasattr(one, "text") else one.output.read_text()
        if (code == 0 or KNOWN in text) and re.search(expect, text):
            return ""
        return f"the {role} ended with exit code {code}, and said:\n{text}\n"

    def pair(self, case, guest_is_server):
        """What is wrong; nothing if all is well."""
        server = self.begin(case, "server", guest_is_server, guest_is_server)
        self.until_one_listens(server, guest_is_server, case["port"])
        client = self.begin(case, "client", not guest_is_server, guest_is_server)
        if case["loss"] and not guest_is_server:
            return self.pair_on_a_bad_network(case, server, client)
        both = [(server, case["server_says"]), (client, case["expect"])]
        ours, kernels = reversed(both) if guest_is_server else both
        problem = self.complaint(ours[0], "program on Tulle", ours[1], SECONDS)
        # The kernel would go on for long with one who is gone.
        return problem + self.complaint(kernels[0], "program on the kernel", kernels[1],
                                        5 if problem else SECONDS)

    def pair_on_a_bad_network(self, case, server, client):
        """The kernel is the client, and what it sends may be lost."""
        problem = self.complaint(client, "program on the kernel", case["expect"], SECONDS)
        if not problem and server.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(FAREWELL)
        if not problem and server.poll() is None:
            return f"the server {NOT_TOLD}"
        return problem + self.complaint(server, "program on Tulle", case["server_says"], 5)

    def end_programs(self):
        """What a case that failed has left, on both sides."""
        self.kill_started()
        self.guest.run("end_programs", SECONDS)

    def look_up_gids(self):
        """The guest's, by their ends."""
        self.guest_gids = [int(self.guest.run(f"cd {GIDS}; grep -l {text} *").split()[0])
                           for text in ("ffff:0a4d:0002", "fd77:.*:0002")]


def case(server, client, port, expect, family=0, loss=False, rules=None, server_says=None):
    """`rules`: faults (tulle run --faults) for our side when it is the client. `server_says`: where
    that is not what the client says, too."""
    return {"server": server, "client": client, "port": port, "expect": expect, "family": family,
            "loss": loss, "rules": rules,
            "server_says": expect if server_says is None else server_says}


def pingpong(kind, arguments, family=0, **named):
    line = f"ibv_{kind}_pingpong -g {{gid}} {arguments}"
    return case(line, f"{line} {{ipv4}}", 18515, PINGPONG, family, **named)


def perftest(program, arguments, **named):
    """With a timeout of 2 s; see STARVED."""
    # It asks its own adapter for as many READs at once as its peer's can do: 128 of the kernel's.
    reads = "-o 16" if re.search("read|atomic", program) else ""
    line = f"{program} -F -u 19 {reads} {arguments}"
    # Who is only read from measures no latency.
    says = "" if re.search("(read|atomic)_lat", program) else PERFTEST
    return case(line, f"{line} {{host}}", 18515, PERFTEST, server_says=says, **named)


# perftest with -R connects twice. Its server listens for the second connection only when the first
# one stands, and its client takes no refusal: what it asks for gets there when the server is ready.
LATE = "faults: [{delay: {qp: 1, by: 2s}}]"


def rping(arguments, family=0, **named):
    line = f"-v -V -C 5 -a {{host}} {arguments}"
    return case(f"rping -s {line}", f"rping -c {line}", 7174, "rdma-ping-4", family, **named)


def fio(verb, server="", client=""):
    line = "fio --name=one --ioengine=rdma --port=7300 --bs=16k --size=512k --iodepth=4"
    return case(f"{line} --rw=read {server}",
                f"{line} --rw=write --verb={verb} --hostname={{host}} {client}", 7300, "err= 0")


CASES = {
    "rc_pingpong": pingpong("rc", "-c -n 100"),
    "rc_pingpong_ipv6": pingpong("rc", "-c -n 50", family=1),
    "rc_pingpong_events": pingpong("rc", "-c -e -n 50"),
    "uc_pingpong": pingpong("uc", "-c -n 50"),
    "ud_pingpong": pingpong("ud", "-c -s 1024 -n 50"),
    "srq_pingpong": pingpong("srq", "-c -n 50"),
    "send_bw": perftest("ib_send_bw", "-n 20 -s 65536"),
    "send_bw_uc": perftest("ib_send_bw", "-c UC -n 50 -s 4096"),
    "send_bw_ud": perftest("ib_send_bw", "-c UD -n 50 -s 1024"),
    "send_lat": perftest("ib_send_lat", "-n 50 -s 64"),
    "write_bw": perftest("ib_write_bw", "-m 1024 -n 20 -s 65536"),
    "write_bw_uc": perftest("ib_write_bw", "-c UC -n 50 -s 4096"),
    "write_lat": perftest("ib_write_lat", "-n 50 -s 64"),
    "read_bw": perftest("ib_read_bw", "-n 20 -s 65536"),
    "read_lat": perftest("ib_read_lat", "-n 50 -s 64"),
    "atomic_bw": perftest("ib_atomic_bw", "-n 50"),
    "atomic_bw_swap": perftest("ib_atomic_bw", "-A CMP_AND_SWAP -n 50"),
    "atomic_lat": perftest("ib_atomic_lat", "-n 50"),
    "send_bw_cm": perftest("ib_send_bw", "-R -n 50 -s 4096", rules=LATE),
    "write_bw_cm": perftest("ib_write_bw", "-R -n 50 -s 4096", rules=LATE),
    "read_lat_cm": perftest("ib_read_lat", "-R -n 50", rules=LATE),
    "rping": rping(""),
    "rping_ipv6": rping("", family=1),
    "rping_large": rping("-S 60000"),
    "ucmatose": case("ucmatose", "ucmatose -s {host}", 7471, "return status 0"),
    "udaddy": case("udaddy", "udaddy -s {host}", 7174, "return status 0"),
    "fio_write": fio("write"),
    "fio_read": fio("read"),
    "fio_send": fio("send", "--verify=crc32c", "--verify=crc32c --do_verify=0"),
    "rc_pingpong_loss": pingpong("rc", "-c -n 50", loss=True),
    "send_bw_loss": perftest("ib_send_bw", "-m 1024 -n 20 -s 65536", loss=True),
    "write_bw_loss": perftest("ib_write_bw", "-m 1024 -n 20 -s 65536", loss=True),
    "read_bw_loss": perftest("ib_read_bw", "-m 1024 -n 20 -s 65536", loss=True),
    "atomic_bw_loss": perftest("ib_atomic_bw", "-n 50", loss=True),
    "rping_loss": rping("", loss=True),
}


def attempt(cable, name, guest_is_server):
    """What is wrong; then nothing is left of it."""
    loss = CASES[name]["loss"]
    if loss:
        cable.guest.run(f"tc qdisc add dev eth0 root netem loss {LOSS}", SECONDS)
    try:
        problem = cable.pair(CASES[name], guest_is_server)
    except (AssertionError, OSError) as what:
        problem = str(what) or type(what).__name__
    if problem:
        print(problem)
        cable.end_programs()
    if loss:
        cable.guest.run("tc qdisc del dev eth0 root", SECONDS)
    return problem


def run_case(cable, name):
    """The roles that failed."""
    failed = []
    for guest_is_server in (False, True):
        title = f"{name}, {'the kernel serves' if guest_is_server else 'we serve'}"
        start = time.monotonic()
        tries = 1
        while problem := attempt(cable, name, guest_is_server):
            if tries == TRIES or not (STARVED in problem or NOT_TOLD in problem):
                failed.append(title)
                break
            tries += 1
        word = "FAILED" if problem else "passed"
        print(f"{word} {title}: {time.monotonic() - start:.1f} s, {tries} tries", flush=True)
    return failed


def run_all(tulle, images, kernel, names):
    with tempfile.TemporaryDirectory() as folder:
        cable = Cable(tulle, images, kernel, folder)
        try:
            print(f"kernel {kernel}: ready after {cable.guest.until_it_runs():.0f} s", flush=True)
            cable.look_up_gids()
            failed = [one for name in names for one in run_case(cable, name)]
            print(cable.guest.console.read_text())
        finally:
            cable.close()
    for one in failed:
        print(f"FAILED: {one}")
    return 1 if failed else 0


def main():
    if sys.argv[1] == "--list":
        print(*CASES, sep="\n")
        return 0
    tulle, images, kernel, *names = sys.argv[1:]
    if not shutil.which("qemu-system-x86_64"):
        print("SKIPPED: this test needs qemu-system-x86_64 (qemu-system-x86)")
        return SKIPPED
    if INSIDE not in os.environ:
        made = subprocess.run([Path(__file__).with_name("image"), images, kernel], check=False)
        if made.returncode:
            return made.returncode
        enter = way_in()
        if not enter:
            print("SKIPPED: this test needs network namespaces, which this kernel refuses")
            return SKIPPED
        return subprocess.run([*enter, sys.executable, "-B", *sys.argv],
                              env=os.environ | {INSIDE: "1"}, check=False).returncode
    return run_all(tulle, images, kernel, names or CASES)


if __name__ == "__main__":
    sys.exit(main())
