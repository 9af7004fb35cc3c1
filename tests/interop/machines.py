"""Real programs, unmodified, on two machines: network namespaces with a cable between them.

usage: machines.py TULLE NAME       runs one of the tests below
       machines.py --list           prints the names

A test runs in a user namespace of its own, where it may make networks without being anybody: it
starts itself once more in there. Each side is `tulle run --listen INTERFACE`, as on two machines.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from interop import PERFTEST, PINGPONG, PROGRAMS, SKIPPED

SECONDS = 100
POLL = 0.02
INSIDE = "TULLE_TEST_IS_INSIDE"
HERE, THERE = ("10.9.0.1", "fd09::1"), ("10.9.0.2", "fd09::2")
CABLE_MTU = 4200


def call(*command):
    subprocess.run(command, check=True)


class Machines:
    """Two of them. Servers run on the first, clients on the second."""

    def __init__(self, tulle, folder):
        self.tulle, self.folder = tulle, Path(folder)
        self.started = []
        self.second = subprocess.Popen(["unshare", "--net", "sleep", str(SECONDS * 2)])
        first = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{self.second.pid}/ns/net") == first:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.second.wait(POLL)
        self.on_second = ["nsenter", "--net", "--target", str(self.second.pid)]
        call("ip", "link", "add", "v0", "mtu", str(CABLE_MTU), "type", "veth", "peer", "name",
             "v1", "mtu", str(CABLE_MTU))
        call("ip", "link", "set", "v1", "netns", str(self.second.pid))
        for to, name, addresses in (([], "v0", HERE), (self.on_second, "v1", THERE)):
            call(*to, "ip", "address", "add", f"{addresses[0]}/24", "dev", name)
            call(*to, "ip", "address", "add", f"{addresses[1]}/64", "dev", name, "nodad")
            for one in ("lo", name):
                call(*to, "ip", "link", "set", one, "up")

    def start(self, line, is_client=False, options=(), environment=None):
        output = self.folder / f"output{len(self.started)}"
        to = self.on_second if is_client else []
        with output.open("w") as file:
            one = subprocess.Popen([*to, self.tulle, "run", "--listen", "v1" if is_client else "v0",
                                    *options, "--", *line.split()], stdout=file,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   cwd=self.folder, env=os.environ | (environment or {}),
                                   start_new_session=True)
        one.output = output
        self.started.append(one)
        return one

    def until_it_listens(self, server, port):
        """On a TCP port, or on one of the connection manager, as the kernel's tables say."""
        names = "|".join(str(protocol << 16 | port) for protocol in (0x06, 0x11))

        def listens():
            tables = "".join(Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6"))
            by_port = re.search(rf":{port:04X} [0-9A-F]+:0000 0A ", tables)  # in state LISTEN
            sockets = Path("/proc/net/unix").read_text()
            by_name = re.search(rf"@tulle/.*/port/\d+/({names})\n", sockets)
            return by_port or by_name

        while not listens():
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(POLL)
                assert listens(), f"the server ended early:\n{server.output.read_text()}"

    def end(self, one, code=0, known=None):
        """Its output. `known` is a mistake of the program itself, after its work is done."""
        got = one.wait(SECONDS)
        text = one.output.read_text()
        print(text)
        assert got == code or (known and re.search(known, text)), f"exit code {got}, not {code}"
        return text

    def pair(self, server, client, port, expect, known=None, **named):
        first = self.start(server, **named)
        self.until_it_listens(first, port)
        second = self.start(client, is_client=True, **named)
        text = self.end(second, known=known)
        assert re.search(expect, text), f"the client did not say {expect}"
        assert re.search(expect, self.end(first, known=known)) or not known
        return text

    def kill_started(self):
        for one in self.started:
            if one.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(one.pid, signal.SIGKILL)
                one.wait()

    def close(self):
        self.kill_started()
        self.second.kill()
        self.second.wait()


def perftest(machines, program, arguments="", **named):
    line = f"{program} -F {arguments}"
    return machines.pair(line, f"{line} {HERE[0]}", 18515, PERFTEST, **named)


def pingpong_over_ipv4_and_ipv6(machines):
    for gid in (3, 1):
        line = f"ibv_rc_pingpong -c -n 200 -g {gid}"
        machines.pair(line, f"{line} {HERE[0]}", 18515, PINGPONG)
    for program in ("ibv_uc_pingpong", "ibv_ud_pingpong", "ibv_srq_pingpong"):
        options = "-m 1024" if "ud" not in program else "-s 1024"
        line = f"{program} -n 100 -g 3 {options}"
        machines.pair(line, f"{line} {HERE[0]}", 18515, PINGPONG)


def writes_reads_sends_and_atomics(machines):
    perftest(machines, "ib_write_bw", "-n 50 -s 1048576")
    perftest(machines, "ib_read_bw", "-n 50 -s 65536")
    perftest(machines, "ib_send_bw", "-n 100 -s 65536 -c RC")
    perftest(machines, "ib_atomic_bw", "-n 100")
    perftest(machines, "ib_send_lat", "-n 100 -c UD")


def programs_of_the_connection_manager(machines):
    for host in HERE:
        machines.pair(f"rping -s -v -V -C 5 -a {host}", f"rping -c -v -V -C 5 -a {host}", 7174,
                      "rdma-ping-4")
    machines.pair("ucmatose", f"ucmatose -s {HERE[0]}", 7471, "return status 0")
    machines.pair("udaddy", f"udaddy -s {HERE[0]}", 7174, "return status 0")


def ucx_between_machines(machines):
    if not shutil.which("ucx_perftest"):
        sys.exit(SKIPPED)
    for transport in ("rc_v", "ud_v"):
        line = "ucx_perftest -t tag_bw -n 300 -s 8192 -p 13337"
        machines.pair(line, f"{line} {HERE[0]}", 13337, r"Final:\s+300",
                      environment={"UCX_TLS": transport, "UCX_NET_DEVICES": "tulle0:1"})


def libfabric_between_machines(machines):
    if not shutil.which("fi_pingpong"):
        sys.exit(SKIPPED)
    for kind in ("rdm", "dgram"):
        line = f"fi_pingpong -p verbs -e {kind} -I 20 -S 4096"
        machines.pair(line, f"{line} {HERE[0]}", 47592, r"4k\s+20",
                      known=PROGRAMS["fabric_rdm"]["known"])


def a_network_that_loses_doubles_and_damages(machines):
    faults = ("--loss", "1%", "--corrupt", "1%", "--duplicate", "1%", "--reorder", "1%", "--seed",
              "7")
    line = "ibv_rc_pingpong -c -n 100 -g 3"
    machines.pair(line, f"{line} {HERE[0]}", 18515, PINGPONG, options=faults)
    perftest(machines, "ib_write_bw", "-n 20 -s 65536", options=faults)
    machines.pair(f"rping -s -v -V -C 10 -a {HERE[0]}", f"rping -c -v -V -C 10 -a {HERE[0]}", 7174,
                  "rdma-ping-9", options=faults)


def several_programs_share_the_port(machines):
    servers = []
    for i in range(3):
        port = 18600 + i
        one = machines.start(f"ib_write_bw -F -n 200 -s 4096 -p {port}")
        machines.until_it_listens(one, port)
        servers.append(one)
    rpings = machines.start(f"rping -s -v -V -C 10 -a {HERE[0]} -p 7555")
    machines.until_it_listens(rpings, 7555)
    clients = [machines.start(f"ib_write_bw -F -n 200 -s 4096 -p {18600 + i} {HERE[0]}",
                              is_client=True) for i in range(3)]
    clients.append(machines.start(f"rping -c -v -V -C 10 -a {HERE[0]} -p 7555", is_client=True))
    for one in clients + servers + [rpings]:
        machines.end(one)


def datagrams_out():
    """What the kernel has sent by UDP on the first machine."""
    names, values = [line.split() for line in Path("/proc/net/snmp").read_text().splitlines()
                     if line.startswith("Udp:")]
    return int(values[names.index("OutDatagrams")])


def programs_of_one_machine_use_shared_memory(machines):
    before = datagrams_out()
    line = "ib_send_bw -F -n 200 -s 65536"
    server = machines.start(line)
    machines.until_it_listens(server, 18515)
    machines.end(machines.start(f"{line} {HERE[0]}"))
    machines.end(server)
    sent = datagrams_out() - before
    assert sent < 100, f"{sent} datagrams for 200 messages of 16 packets"


def a_killed_peer_is_a_dead_host(machines):
    server = machines.start("ib_send_bw -F -D 60 -p 18515")
    machines.until_it_listens(server, 18515)
    client = machines.start(f"ib_send_bw -F -D 60 -p 18515 {HERE[0]}", is_client=True)
    while "MsgRate" not in client.output.read_text() and client.poll() is None \
            and cpu_ticks(server) < os.sysconf("SC_CLK_TCK") // 4:
        with contextlib.suppress(subprocess.TimeoutExpired):
            client.wait(POLL)
    os.killpg(server.pid, signal.SIGKILL)
    client.wait(SECONDS)
    text = client.output.read_text()
    print(text)
    assert client.returncode != 0
    assert "the peer has ended, or its host is not there" in text or \
        "no answer came from" in text, "no sentence says why"


def who_comes_after_a_killed_client_is_served(machines):
    """Its queue pair may have the number of the one that the server believes connected."""
    server = machines.start(f"rping -s -P -v -a {HERE[0]}")
    machines.until_it_listens(server, 7174)
    killed = machines.start(f"rping -c -v -C 1000000 -a {HERE[0]}", is_client=True)
    while "rdma-ping-9" not in killed.output.read_text():
        with contextlib.suppress(subprocess.TimeoutExpired):
            killed.wait(POLL)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait(SECONDS)
    machines.end(machines.start(f"rping -c -v -C 3 -a {HERE[0]}", is_client=True))


def cpu_ticks(process):
    """Of the programs that it has started."""
    ticks = 0
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            if int(fields[3]) == process.pid:  # its session
                ticks += int(fields[11]) + int(fields[12])
    return ticks


def nobody_listens_by_default(machines):
    one = subprocess.run([machines.tulle, "run", "cat", "/proc/net/udp", "/proc/net/udp6"],
                         capture_output=True, text=True, check=True)
    assert ":12B7 " not in one.stdout, one.stdout
    wrong = subprocess.run([machines.tulle, "run", "--listen", "10.1.2.3", "true"],
                           capture_output=True, text=True, check=False)
    print(wrong.stderr)
    assert wrong.returncode == 2
    assert "this machine has no address or interface '10.1.2.3'" in wrong.stderr


TESTS = {test.__name__: test for test in (
    pingpong_over_ipv4_and_ipv6, writes_reads_sends_and_atomics,
    programs_of_the_connection_manager, ucx_between_machines, libfabric_between_machines,
    a_network_that_loses_doubles_and_damages, several_programs_share_the_port,
    programs_of_one_machine_use_shared_memory, a_killed_peer_is_a_dead_host,
    who_comes_after_a_killed_client_is_served, nobody_listens_by_default)}
NEEDED = {"ibv_rc_pingpong": "ibverbs-utils", "ib_write_bw": "perftest", "rping": "rdmacm-utils",
          "ip": "iproute2", "unshare": "util-linux", "nsenter": "util-linux"}


def way_in():
    """In a chroot, and where users may have no namespaces, root may."""
    for enter in (["unshare", "--user", "--map-root-user", "--net"], ["unshare", "--net"]):
        if subprocess.run([*enter, "true"], capture_output=True, check=False).returncode == 0:
            return enter
    return None


def main():
    if sys.argv[1] == "--list":
        print(*TESTS, sep="\n")
        return 0
    for program, package in NEEDED.items():
        if not shutil.which(program):
            print(f"SKIPPED: this test needs {program} ({package})")
            return SKIPPED
    if INSIDE not in os.environ:
        enter = way_in()
        if not enter:
            print("SKIPPED: this test needs network namespaces, which this kernel refuses")
            return SKIPPED
        return subprocess.run([*enter, sys.executable, "-B", *sys.argv],
                              env=os.environ | {INSIDE: "1"}, check=False).returncode
    with tempfile.TemporaryDirectory() as folder:
        machines = Machines(sys.argv[1], folder)
        try:
            TESTS[sys.argv[2]](machines)
        except AssertionError as problem:
            print(problem)
            return 1
        finally:
            machines.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
