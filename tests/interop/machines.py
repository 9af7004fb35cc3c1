"""Real programs, unmodified, on two machines: network namespaces with a cable between them.

usage: machines.py TULLE NAME       runs one of the tests below
       machines.py --list           prints the names, --list-long those of long tests

A test runs in a user namespace of its own, where it may make networks without being anybody: it
starts itself once more in there. Each side is `tulle run --listen INTERFACE`, as on two machines.
"""

import array
import contextlib
import fcntl
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from interop import FAULTS, PERFTEST, PINGPONG, PROGRAMS, SKIPPED

SECONDS = 100
POLL = 0.02
ROOT = Path(__file__).parents[2]
INSIDE = "TULLE_TEST_IS_INSIDE"
HERE, THERE = ("10.9.0.1", "fd09::1"), ("10.9.0.2", "fd09::2")
CABLE_MTU = 4200
STRANGER = "10.11.0.3"
ABSENT = "10.9.0.99"  # on the cable, but of nobody
NEAR, FAR = "10.10.0.1", "10.10.0.2"  # behind the second machine
GROUP = None  # in the place of a port
# For perftest: 4 s until a peer that does not answer is given up, where the usual half a second may
# be too short for a process among many others. What is lost at the end is sent again after 0.5 s.
PATIENT = "-u 17"
# UCX ends a program whose peer is silent for 30 s. Eight ranks that spin on two busy cores begin
# one after the other, and the first waits longer for the last.
UCX_PATIENCE = "90s"


def call(*command):
    subprocess.run(command, check=True)


class Machines:
    """Two of them. Servers run on the first, clients on the second."""

    def __init__(self, tulle, folder):
        self.tulle, self.folder = tulle, Path(folder)
        self.started = []
        self.holders = []
        self.on_second = self.one_more()
        call("ip", "link", "add", "v0", "mtu", str(CABLE_MTU), "type", "veth", "peer", "name",
             "v1", "mtu", str(CABLE_MTU))
        call("ip", "link", "set", "v1", "netns", self.on_second[-1])
        for to, name, addresses in (([], "v0", HERE), (self.on_second, "v1", THERE)):
            call(*to, "ip", "address", "add", f"{addresses[0]}/24", "dev", name)
            call(*to, "ip", "address", "add", f"{addresses[1]}/64", "dev", name, "nodad")
            for one in ("lo", name):
                call(*to, "ip", "link", "set", one, "up")

    def one_more(self):
        """A namespace: what a command begins with that runs in it. It lives as long as this
        process, which holds the other end of its input."""
        one = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE)
        self.holders.append(one)
        while os.readlink(f"/proc/{one.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.wait(POLL)
        return ["nsenter", "--net", "--target", str(one.pid)]

    def start(self, line, is_client=False, options=(), environment=None, at=None, listen=None):
        output = self.folder / f"output{len(self.started)}"
        to = at or (self.on_second if is_client else [])
        with output.open("w") as file:
            listen = listen or ("v1" if to else "v0")
            one = subprocess.Popen([*to, self.tulle, "run", "--listen", listen, *options, "--",
                                    *line.split()], stdout=file,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   cwd=self.folder, env=os.environ | (environment or {}),
                                   start_new_session=True)
        one.output = output
        self.started.append(one)
        return one

    def until_it_listens(self, server, port):
        """On a TCP port, or on one of the connection manager, as the kernel's tables say."""
        own = Path(f"/proc/{server.pid}/net")
        names = "|".join(str(protocol << 16 | (port or 0)) for protocol in (0x06, 0x11))

        def listens():
            tables = "".join((own / name).read_text() for name in ("tcp", "tcp6"))
            by_port = re.search(rf":{port or 0:04X} [0-9A-F]+:0000 0A ", tables)  # in state LISTEN
            sockets = (own / "unix").read_text()
            by_name = re.search(rf"@tulle/.*/port/\d+/({names})\n", sockets)
            return by_port or by_name

        def hears_group():
            """One socket of RoCE's port more than addresses."""
            tables = "".join((own / name).read_text() for name in ("udp", "udp6"))
            return tables.count(":12B7 ") > len(HERE)

        if port is GROUP:
            listens = hears_group
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
        for one in self.holders:
            one.kill()
            one.wait()


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


# A SEND that finds no room in the receiver's socket is not repeated. perftest waits for a number of
# them, so these run for a time.
MAY_LOSE = {"send_bw_uc", "send_bw_ud"}


def whole_table_of(machines, prefix, options=(), suffix=""):
    """What the table of programs on one machine has of perftest, from machine to machine."""
    for name, test in PROGRAMS.items():
        is_meant = name.startswith(prefix) and test["package"] == "perftest" and \
            name.endswith("_faults") == bool(suffix) and "--link-layer" not in test["run"]
        if not is_meant:
            continue
        if name in MAY_LOSE:
            test = PROGRAMS[f"{name}_faults"]
        server, client = (line.format(port=18515) for line in test["pair"])
        client = client.replace("localhost", HERE[0]).replace("127.0.0.1", HERE[0])
        server, client = f"{server} {PATIENT}", f"{client} {PATIENT}"
        print(name, flush=True)
        machines.pair(server, client, 18515, PERFTEST, options=options)


def perftest_sends(machines):
    whole_table_of(machines, "send")


def perftest_writes(machines):
    whole_table_of(machines, "write")


def perftest_reads(machines):
    whole_table_of(machines, "read")


def perftest_atomics(machines):
    whole_table_of(machines, "atomic")


def programs_of_the_connection_manager(machines):
    for host in HERE:
        machines.pair(f"rping -s -v -V -C 5 -a {host}", f"rping -c -v -V -C 5 -a {host}", 7174,
                      "rdma-ping-4")
    machines.pair("ucmatose", f"ucmatose -s {HERE[0]}", 7471, "return status 0")
    machines.pair("udaddy", f"udaddy -s {HERE[0]}", 7174, "return status 0")
    for group, own, there in (("239.1.2.3", HERE[0], THERE[0]), ("ff0e::1:2", HERE[1], THERE[1])):
        line = f"mckey -m {group} -b"
        machines.pair(f"{line} {own}", f"{line} {there} -s", GROUP, "return status 0")


def until_joined(member, users):
    """Its machine hears 239.9.8.7, for so many programs."""
    memberships = Path(f"/proc/{member.pid}/net/igmp")
    while not re.search(rf"\b070809EF +{users} ", memberships.read_text()):
        with contextlib.suppress(subprocess.TimeoutExpired):
            member.wait(POLL)
            assert False, member.output.read_text()


def groups_have_members_on_both_machines(machines):
    """Two here and one there; the sender is here. Who has joined meets neighbours later."""
    line = "mckey -m 239.9.8.7 -C 3 -b"
    members = [machines.start(f"{line} {THERE[0]}", is_client=True),
               machines.start(f"{line} {HERE[0]}"), machines.start(f"{line} {HERE[0]}")]
    until_joined(members[0], 1)
    until_joined(members[2], 2)
    machines.end(machines.start(f"{line} {HERE[0]} -s"))
    for one in members:
        assert "data transfers complete" in machines.end(one)


def ucx_between_machines(machines, options=()):
    if not shutil.which("ucx_perftest"):
        sys.exit(SKIPPED)
    for transport in ("rc_v", "ud_v"):
        line = "ucx_perftest -t tag_bw -n 300 -s 8192 -p 13337"
        machines.pair(line, f"{line} {HERE[0]}", 13337, r"Final:\s+300", options=options,
                      environment={"UCX_TLS": transport, "UCX_NET_DEVICES": "tulle0:1",
                                   "UCX_UD_TIMEOUT": UCX_PATIENCE})


def libfabric_between_machines(machines, kinds=("rdm", "dgram", "msg"), options=()):
    if not shutil.which("fi_pingpong"):
        sys.exit(SKIPPED)
    for kind in kinds:
        line = f"fi_pingpong -p verbs -e {kind} -I 20 -S 4096"
        machines.pair(line, f"{line} {HERE[0]}", 47592, r"4k\s+20", options=options,
                      known=PROGRAMS["fabric_rdm"]["known"])


def open_mpi_with_8_ranks(machines, options=()):
    """Four ranks on each machine. The launcher's agent is what enters the second one."""
    if not shutil.which("mpicc"):
        sys.exit(SKIPPED)
    ring = machines.folder / "ring"
    call("mpicc", "-o", ring, Path(__file__).with_name("ring.c"))
    agent = machines.folder / "agent"
    words = " ".join(machines.on_second)
    agent.write_text(f'#!/bin/sh\nshift\nexec {words} sh -c "$*"\n')
    agent.chmod(0o755)
    side = machines.folder / "side"
    side.write_text(f'#!/bin/sh\nip link show v0 >/dev/null 2>&1 && own=v0 || own=v1\n'
                    f'exec {machines.tulle} run --listen $own {" ".join(options)} -- {ring}\n')
    side.chmod(0o755)
    environment = {"UCX_TLS": "rc_v,ud_v,self", "UCX_NET_DEVICES": "tulle0:1",
                   "UCX_UD_TIMEOUT": UCX_PATIENCE,
                   "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    line = ["mpirun", "-np", "8", "--host", f"{HERE[0]}:4,{THERE[0]}:4", "--oversubscribe",
            "--map-by", "node", "--bind-to", "none", "--mca", "plm_rsh_agent", agent, "--mca",
            "pml", "ucx", "--mca", "btl", "^openib,tcp,vader", "--mca", "oob_tcp_if_include",
            "10.9.0.0/24", *(word for name in environment if name.startswith("UCX")
                             for word in ("-x", name)), side]
    one = subprocess.run([str(word) for word in line], env=os.environ | environment,
                         capture_output=True, text=True, timeout=SECONDS, check=False,
                         stdin=subprocess.DEVNULL)
    print(one.stdout, one.stderr)
    assert one.returncode == 0 and "right" in one.stdout, f"exit code {one.returncode}"


def on_a_bad_network(machines):
    """Lost, late, doubled and damaged packets, on both machines."""
    line = "ibv_rc_pingpong -c -n 100 -g 3"
    machines.pair(line, f"{line} {HERE[0]}", 18515, PINGPONG, options=FAULTS)
    perftest(machines, "ib_write_bw", f"-n 20 -s 65536 {PATIENT}", options=FAULTS)
    perftest(machines, "ib_read_bw", f"-n 20 -s 65536 {PATIENT}", options=FAULTS)
    perftest(machines, "ib_atomic_bw", f"-n 50 {PATIENT}", options=FAULTS)
    machines.pair(f"rping -s -v -V -C 10 -a {HERE[0]}", f"rping -c -v -V -C 10 -a {HERE[0]}", 7174,
                  "rdma-ping-9", options=FAULTS)


def what_is_lost_goes_again_alone(machines):
    """Among ourselves. Going back to each packet that is lost would send nearly all twice."""
    line = f"ib_write_bw -F -n 20 -s 1048576 {PATIENT}"
    options = ["--loss", "1%", "--seed", "7", "--verbose"]
    server = machines.start(line, options=options)
    machines.until_it_listens(server, 18515)
    client = machines.start(f"{line} {HERE[0]}", is_client=True, options=options)
    sent = counted(machines.end(client))["port_xmit_packets"]
    machines.end(server)
    needed = 20 * 256
    assert needed < sent < 1.4 * needed, f"{sent} packets were sent for {needed}"


def reads_of_many_queue_pairs_are_answered_at_once(machines):
    """No answer is left for a timer to ask for, which is that of two seconds here."""
    line = "ib_read_bw -F -q 16 -n 50 -u 19"
    server = machines.start(line)
    machines.until_it_listens(server, 18515)
    client = machines.start(f"{line} {HERE[0]}", is_client=True, options=["--verbose"])
    found = counted(machines.end(client))
    machines.end(server)
    assert "local_ack_timeout_err" not in found, f"{found['local_ack_timeout_err']} timeouts"


def perftest_on_a_bad_network(machines):
    whole_table_of(machines, "", FAULTS, "_faults")


def ucx_libfabric_and_mpi_on_a_bad_network(machines):
    ucx_between_machines(machines, FAULTS)
    libfabric_between_machines(machines, ("rdm", "msg"), FAULTS)
    open_mpi_with_8_ranks(machines, FAULTS)


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
    assert "the peer has ended" in text, "no sentence says why"


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


def until_said(one, word):
    while word not in one.output.read_text():
        with contextlib.suppress(subprocess.TimeoutExpired):
            one.wait(POLL)
            assert word in one.output.read_text(), one.output.read_text()


def waiters(machines, host):
    """Both ends of a connection that is idle."""
    program = Path(machines.tulle).resolve().with_name("waiter")
    listener = machines.start(f"{program} listen {host} 7300")
    machines.until_it_listens(listener, 7300)
    caller = machines.start(f"{program} connect {host} 7300", is_client=True)
    for one in (listener, caller):
        until_said(one, "connected")
    return listener, caller


def who_waits_learns_that_the_peer_was_killed(machines):
    """Whether nobody is left on its machine, or programs that never heard of it, with and without
    the connection manager."""
    neighbours = (None, ("ibv_rc_pingpong -g 3", 18515), (f"rping -s -a {THERE[0]}", 7174))
    for neighbour in neighbours:
        if neighbour:
            machines.until_it_listens(machines.start(neighbour[0], is_client=True), neighbour[1])
        for host in HERE:
            for dies in (0, 1) if not neighbour else (1,):
                pair = waiters(machines, host)
                os.killpg(pair[dies].pid, signal.SIGKILL)
                assert "RDMA_CM_EVENT_DISCONNECTED" in machines.end(pair[1 - dies])


def a_stopped_peer_is_not_a_dead_one(machines):
    """It answers no question, and is not believed dead because a neighbour of it is asked."""
    machines.until_it_listens(machines.start(f"rping -s -a {THERE[0]}", is_client=True), 7174)
    listener, caller = waiters(machines, HERE[0])
    os.killpg(caller.pid, signal.SIGSTOP)
    with contextlib.suppress(subprocess.TimeoutExpired):
        listener.wait(6)
    assert listener.poll() is None, listener.output.read_text()
    os.killpg(caller.pid, signal.SIGCONT)
    os.killpg(caller.pid, signal.SIGKILL)
    assert "RDMA_CM_EVENT_DISCONNECTED" in machines.end(listener)


def cpu_ticks(process):
    """Of the programs that it has started."""
    ticks = 0
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            if int(fields[3]) == process.pid:  # its session
                ticks += int(fields[11]) + int(fields[12])
    return ticks


def turn_gro_on(interface):
    """As `ethtool -K INTERFACE gro on`."""
    value = array.array("I", [0x2c, 1])  # ETHTOOL_SGRO
    request = struct.pack("16sP16x", interface.encode(), value.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8946, request)  # SIOCETHTOOL


def doctor(machines):
    return subprocess.run([machines.tulle, "doctor"], capture_output=True, text=True,
                          check=False).stdout


def the_doctor_knows_the_largest_path_mtu(machines):
    turn_gro_on("v0")
    assert CABLE_MTU >= 4192
    assert "yes   --listen v0 sends packets of 4096 bytes" in doctor(machines)
    call("ip", "link", "set", "v0", "mtu", "1500")
    assert "sends packets of no more than 1024 bytes: its MTU is 1500" in doctor(machines)
    assert "at both ends and on the way, allows 4096" in doctor(machines)


def nobody_listens_by_default_or_where_others_do(machines):
    one = subprocess.run([machines.tulle, "run", "cat", "/proc/net/udp", "/proc/net/udp6"],
                         capture_output=True, text=True, check=True)
    assert ":12B7 " not in one.stdout, one.stdout
    wrong = subprocess.run([machines.tulle, "run", "--listen", "10.1.2.3", "true"],
                           capture_output=True, text=True, check=False)
    print(wrong.stderr)
    assert wrong.returncode == 2
    assert "this machine has no address or interface '10.1.2.3'" in wrong.stderr
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind((HERE[0], 4791))
        text = run_alone(machines, "--listen v0 ibv_devinfo", [])
        assert f"UDP port 4791 of {HERE[0]} is taken" in text, text
        said = doctor(machines)
        assert f"--listen v0 does not work: UDP port 4791 of {HERE[0]} is taken" in said, said


def counted(text):
    """By --verbose, of the one host that was run."""
    line = re.search(r"tulle run: host 0, tulle0: (.*)", text)
    pairs = (one.split() for one in line[1].split(", ")) if line else ()
    return {words[0]: int(words[1]) for words in pairs if len(words) == 2}


def verbose_tells_how_work_travels_and_what_was_counted(machines):
    server = machines.start("ib_send_bw -F -n 100", options=["--verbose"])
    machines.until_it_listens(server, 18515)
    client = machines.start(f"ib_send_bw -F -n 100 {HERE[0]}", is_client=True)
    machines.end(client)
    text = machines.end(server)
    assert re.search(rf"work for the machine at {THERE[0]} goes by UDP port 4791: the address is "
                     "not of this machine", text), "no way"
    assert counted(text)["port_rcv_packets"] >= 1600, "no counters"


def settle_stranger(machines):
    """Behind the second machine's interface, so that no program there takes its address."""
    call(*machines.on_second, "ip", "address", "add", f"{STRANGER}/32", "dev", "lo")
    call("ip", "route", "add", f"{STRANGER}/32", "via", THERE[0])


def stranger(machines, kind, count):
    """Sends from an address of the second machine that nobody is connected to."""
    script = Path(__file__).with_name("strangers.py")
    call(*machines.on_second, sys.executable, "-B", str(script), STRANGER, HERE[0], kind,
         str(count))


def strangers_are_dropped_and_counted(machines):
    settle_stranger(machines)
    line = "ib_write_bw -F -n 200 -s 65536 -u 19"  # patient: the machine may be busy
    server = machines.start(line, options=["--verbose"])
    machines.until_it_listens(server, 18515)
    for kind in ("nonsense", "damaged", "connected"):
        stranger(machines, kind, 2000)
    client = machines.start(f"{line} {HERE[0]}", is_client=True)
    for kind in ("nonsense", "damaged", "connected"):
        stranger(machines, kind, 2000)
    machines.end(client)
    found = counted(machines.end(server))
    names = ("rx_malformed", "rx_icrc_errors", "rx_unknown_source", "rx_no_process")
    for name in names:
        assert found.get(name, 0) > 0, f"{name} is {found.get(name)}"
    assert sum(found[name] for name in names) > 6000, "most of them were not counted"


def resident(process):
    """Bytes of memory of the programs that it has started."""
    pages = 0
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            if int(fields[3]) == process.pid:
                pages += int(fields[21])
    return pages * os.sysconf("SC_PAGE_SIZE")


def requests_of_strangers_take_no_memory(machines):
    """More of them than a listener has room for; a friend is served all the same."""
    settle_stranger(machines)
    program = Path(machines.tulle).resolve().with_name("crowd")
    server = machines.start(f"{program} 0 {HERE[0]} {THERE[0]}")
    machines.until_it_listens(server, 20000)
    stranger(machines, "requests", 100)
    before = resident(server)
    stranger(machines, "requests", 20000)
    grown = resident(server) - before
    print(f"{grown} bytes more")
    assert grown < 64 << 20, f"{grown} bytes more"
    friend = machines.start(f"{program} 1 {HERE[0]} {THERE[0]}", is_client=True)
    assert "done" in machines.end(friend), "a friend was not served"
    assert server.poll() is None, "the server has ended"


def a_link_on_the_way_is_too_narrow(machines):
    """Interfaces carry 4096 bytes at both ends, and less behind the router between them."""
    router, far = machines.on_second, machines.one_more()
    call(*router, "ip", "link", "add", "w0", "mtu", str(CABLE_MTU), "type", "veth", "peer", "name",
         "v1", "mtu", str(CABLE_MTU), "netns", far[-1])
    for where, name, address in ((router, "w0", NEAR), (far, "v1", FAR)):
        call(*where, "ip", "address", "add", f"{address}/24", "dev", name)
        for one in ("lo", name):
            call(*where, "ip", "link", "set", one, "up")
    call("ip", "route", "add", f"{FAR}/32", "via", THERE[0])
    call(*far, "ip", "route", "add", "default", "via", NEAR)
    call(*router, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
    call(*router, "ip", "route", "add", f"{FAR}/32", "dev", "w0", "mtu", "lock", "1500")
    line = "ib_send_bw -F -n 20 -s 65536"
    server = machines.start(line, at=far)
    machines.until_it_listens(server, 18515)
    client = machines.start(f"{line} {FAR}")
    client.wait(SECONDS)
    text = client.output.read_text()
    print(text)
    assert client.returncode != 0 and "too long for a link on the way" in text, "no sentence"


def paths_are_as_wide_as_the_narrower_interface(machines):
    """Of two that rdma_cm connects: its client does not know the server's."""
    call("ip", "link", "set", "v0", "mtu", "1500")
    line = "ib_send_bw -R -F -n 20 -s 65536"
    server = machines.start(line, options=["--verbose"])
    machines.until_it_listens(server, 18515)
    machines.end(machines.start(f"{line} {HERE[0]}", is_client=True))
    packets = counted(machines.end(server))["port_rcv_packets"]
    assert packets >= 20 * 64, f"{packets} packets of 1024 bytes"


def a_request_to_nobody_is_refused_and_says_why(machines):
    """Nobody has the port; no host has the address; no route leads to it."""
    for host, event, why in (
            (HERE[0], "RDMA_CM_EVENT_REJECTED, error 8", f"nobody listens on UDP port 4791 of "
             f"{HERE[0]}: the peer has ended, or was not started by `tulle run --listen`"),
            (HERE[1], "RDMA_CM_EVENT_REJECTED, error 8", f"4791 of {HERE[1]}: the peer has ended"),
            (ABSENT, "RDMA_CM_EVENT_UNREACHABLE", f"{ABSENT} cannot be reached"),
            ("10.99.0.1", "RDMA_CM_EVENT_ADDR_ERROR", "no route leads to it")):
        client = machines.start(f"rping -c -v -C 1 -a {host}", is_client=True)
        client.wait(SECONDS)
        text = client.output.read_text()
        assert event in text and why in text, text


def run_alone(machines, line, at):
    one = subprocess.run([*at, machines.tulle, "run", *line.split()], capture_output=True,
                         text=True, check=False, timeout=SECONDS)
    assert one.returncode != 0
    return one.stderr


def who_does_not_listen_is_named(machines):
    text = run_alone(machines, f"rping -c -C 1 -a {HERE[0]}", machines.on_second)
    assert "to reach others, start the program by `tulle run --listen`" in text, text
    line = "ibv_rc_pingpong -g 3 -n 1"
    server = machines.start(line)
    machines.until_it_listens(server, 18515)
    text = run_alone(machines, f"{line} {HERE[0]}", machines.on_second)
    assert "on another machine: start this program by `tulle run --listen`, too" in text, text
    machines.kill_started()
    with subprocess.Popen([machines.tulle, "run", *line.split()], stdout=subprocess.DEVNULL,
                          start_new_session=True) as server:
        machines.until_it_listens(server, 18515)
        client = machines.start(f"{line} {HERE[0]}", is_client=True)
        client.wait(SECONDS)
        os.killpg(server.pid, signal.SIGKILL)
    text = client.output.read_text()
    assert "127.0.0.1: the peer was not started by `tulle run --listen`" in text, text


def link_address(to, name):
    """The link-local one of an interface, once the kernel has found that nobody else has it."""
    while True:
        text = subprocess.run([*to, "ip", "-6", "address", "show", "dev", name, "scope", "link"],
                              capture_output=True, text=True, check=True).stdout
        if (found := re.search(r"inet6 (fe80::\S+)/", text)) and "tentative" not in text:
            return f"{found[1]}%{name}"
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(["sleep", "1"], timeout=POLL, check=False)


def link_local_addresses_are_used_where_they_are_named(machines):
    here, there = link_address([], "v0"), link_address(machines.on_second, "v1")
    alone = subprocess.run([machines.tulle, "run", "--listen", here.split("%", 1)[0], "true"],
                           capture_output=True, text=True, check=False)
    assert alone.returncode == 2 and f"write {here} to listen on it" in alone.stderr, alone.stderr
    server = machines.start(f"rping -s -v -C 3 -a {here}", listen=here)
    machines.until_it_listens(server, 7174)
    target = here.replace("%v0", "%v1")
    client = machines.start(f"rping -c -v -C 3 -a {target}", is_client=True, listen=there)
    assert "rdma-ping-2" in machines.end(client)
    machines.end(server)


def each_peer_is_spoken_to_from_the_address_on_its_link(machines):
    call("ip", "link", "add", "w0", "type", "veth", "peer", "name", "w1")
    call("ip", "link", "set", "w1", "netns", machines.on_second[-1])
    for to, name, address in (([], "w0", NEAR), (machines.on_second, "w1", FAR)):
        call(*to, "ip", "address", "add", f"{address}/24", "dev", name)
        call(*to, "ip", "link", "set", name, "up")
    line = "mckey -m 239.9.8.7 -C 3 -b"
    member = machines.start(f"{line} {NEAR}", listen="v0,w0")
    until_joined(member, 1)
    machines.end(machines.start(f"{line} {FAR} -s", is_client=True, listen="v1,w1"))
    assert "data transfers complete" in machines.end(member)
    server = machines.start("rping -s -v -C 3 -a 0.0.0.0", options=["--verbose"], listen="v0,w0")
    machines.until_it_listens(server, 7174)
    machines.end(machines.start(f"rping -c -v -C 3 -a {NEAR}", is_client=True, listen="v1,w1"))
    text = machines.end(server)
    assert f"work for the machine at {FAR} goes by UDP" in text, text


def what_the_network_marks_is_told_to_its_sender(machines):
    """A rule has packets of the second client marked on the wire."""
    rules = machines.folder / "marks.yaml"
    rules.write_text("faults:\n  - mark: {opcode: data, share: 50%}\n")
    counts = []
    for faults in ((), ("--faults", str(rules))):
        line = "ib_write_bw -F -n 100 -s 65536"
        server = machines.start(line, options=["--verbose"])
        machines.until_it_listens(server, 18515)
        client = machines.start(f"{line} {HERE[0]}", is_client=True,
                                options=["--verbose", "--congestion", "dcqcn", *faults])
        counts.append((counted(machines.end(client)), counted(machines.end(server))))
    own, there = counts[1]
    assert there["np_ecn_marked_roce_packets"] > 0 and there["np_cnp_sent"] > 0, there
    assert own["rp_cnp_handled"] > 0, own
    assert "rp_cnp_handled" not in counts[0][0], counts[0][0]


def compiled(machines, source, *flags):
    """A congestion control of the examples or of the tests, as a shared object."""
    target = machines.folder / f"{source.stem}.so"
    call("cc", "-O2", "-fPIC", "-shared", f"-I{ROOT}/include", *flags, "-o", str(target),
         str(source), "-lm")
    return target


def a_plug_in_paces_what_goes_to_other_machines(machines):
    """Each example carries a program's data; one at a rate of its own is as slow as it says."""
    line = "ib_write_bw -F -n 200 -s 65536"
    # In software a round trip is longer than with the switches that the defaults are for.
    for name, parameters in (("dcqcn", ""), ("swift", ":target_us=5000:least=1"), ("table", "")):
        plugin = compiled(machines, ROOT / "examples" / "congestion" / f"{name}.c")
        machines.pair(line, f"{line} {HERE[0]}", 18515, PERFTEST,
                      options=["--congestion", f"{plugin}{parameters}"])
    bad = ROOT / "tests" / "cli" / "plugins" / "bad.c"
    slow = compiled(machines, bad, "-DWRONG=decision->rate_bps = 2e8")
    text = machines.pair(line, f"{line} {HERE[0]}", 18515, PERFTEST,
                         options=["--congestion", str(slow)])
    average = float(re.search(r"^ *65536 +200 +\S+ +(\S+)", text, re.MULTILINE)[1])
    assert average < 2 * 25, f"{average} MB/s at 200 Mb/s"


def a_plug_in_that_misbehaves_ends_its_program(machines):
    bad = compiled(machines, ROOT / "tests" / "cli" / "plugins" / "bad.c",
                   "-DWRONG=decision->rate_bps = NAN")
    line = "ib_write_bw -F -n 200 -s 65536"
    server = machines.start(line)
    machines.until_it_listens(server, 18515)
    client = machines.start(f"{line} {HERE[0]}", is_client=True, options=["--congestion", str(bad)])
    text = machines.end(client, code=1)
    said = r"bad.so \(bad\) failed a queue pair, so the run is void: .*a rate of not a number"
    assert re.search(said, text), text
    machines.kill_started()


def an_xrc_domain_is_shared_on_another_machine(machines):
    """One process there has the target, another one the queue; the sender is here."""
    program = Path(machines.tulle).resolve().with_name("xrc_test")
    chosen = ("a_message_to_a_target", "arrive_in_their_order", "burst", "without_receives",
              "written_and_read", "an_event_wakes", "is_no_queue")
    tests = ":".join(f"SharedDomain.*{one}*" for one in chosen)
    receivers = {"RECEIVERS_AT": f"/proc/{os.getpid()}/ns/net", "RECEIVERS_LISTEN": "v0"}
    for options in ((), ("--loss", "2%")):
        text = machines.end(machines.start(f"{program} --gtest_filter={tests}", is_client=True,
                                           options=options, environment=receivers))
        assert re.search(rf"PASSED.* {len(chosen)} tests", text), "some tests were not run"


def crowd(machines, processes, ends):
    """All pairs talk, while processes end and others take their places."""
    program = Path(machines.tulle).resolve().with_name("crowd")
    hosts = [(HERE, THERE)[slot % 2][0] for slot in range(processes)]
    running, done, left = {}, set(), ends

    def begin(slot):
        to = machines.on_second if slot % 2 else []
        one = subprocess.Popen([*to, machines.tulle, "run", "--listen", f"v{slot % 2}", "--",
                                str(program), str(slot), *hosts], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=sys.stdout, start_new_session=True)
        machines.started.append(one)
        running[one.stdout.fileno()] = slot, one

    for slot in range(processes):
        begin(slot)
    while len(done) < processes:
        ready, _, _ = select.select(list(running), [], [], SECONDS)
        assert ready, f"{len(done)} of {processes} are done and {left} are left to end"
        for file in ready:
            slot, one = running[file]
            word = one.stdout.readline()
            assert word == b"done\n", f"the process in slot {slot} said {word}"
            if left == 0:
                done.add(slot)
                continue
            left -= 1
            finish(one)
            del running[file]
            begin(slot)
    for _, one in running.values():
        finish(one)
    assert not re.search("@tulle/", Path("/proc/net/unix").read_text()), "a socket is left behind"


def finish(one):
    one.stdin.close()
    code = one.wait(SECONDS)
    one.stdout.close()
    assert code == 0, f"exit code {code}"


def four_processes_come_and_go(machines):
    crowd(machines, 4, 4)


def a_thousand_of_64_processes_come_and_go(machines):
    crowd(machines, 64, 1000)


TESTS = {test.__name__: test for test in (
    pingpong_over_ipv4_and_ipv6, perftest_sends, perftest_writes, perftest_reads, perftest_atomics,
    programs_of_the_connection_manager, groups_have_members_on_both_machines,
    ucx_between_machines, libfabric_between_machines,
    open_mpi_with_8_ranks, on_a_bad_network, what_is_lost_goes_again_alone,
    reads_of_many_queue_pairs_are_answered_at_once,
    several_programs_share_the_port, programs_of_one_machine_use_shared_memory,
    a_killed_peer_is_a_dead_host, who_waits_learns_that_the_peer_was_killed,
    a_stopped_peer_is_not_a_dead_one,
    who_comes_after_a_killed_client_is_served, the_doctor_knows_the_largest_path_mtu,
    nobody_listens_by_default_or_where_others_do,
    verbose_tells_how_work_travels_and_what_was_counted, strangers_are_dropped_and_counted,
    requests_of_strangers_take_no_memory, a_link_on_the_way_is_too_narrow,
    paths_are_as_wide_as_the_narrower_interface, a_request_to_nobody_is_refused_and_says_why,
    who_does_not_listen_is_named, link_local_addresses_are_used_where_they_are_named,
    each_peer_is_spoken_to_from_the_address_on_its_link,
    what_the_network_marks_is_told_to_its_sender,
    a_plug_in_paces_what_goes_to_other_machines, a_plug_in_that_misbehaves_ends_its_program,
    an_xrc_domain_is_shared_on_another_machine, four_processes_come_and_go)}
LONG = {test.__name__: test for test in (
    perftest_on_a_bad_network, ucx_libfabric_and_mpi_on_a_bad_network,
    a_thousand_of_64_processes_come_and_go)}
NEEDED = {"ibv_rc_pingpong": "ibverbs-utils", "ib_write_bw": "perftest", "rping": "rdmacm-utils",
          "ip": "iproute2", "unshare": "util-linux", "nsenter": "util-linux",
          "cc": "gcc"}


def way_in():
    """In a chroot, and where users may have no namespaces, root may."""
    for enter in (["unshare", "--user", "--map-root-user", "--net"], ["unshare", "--net"]):
        if subprocess.run([*enter, "true"], capture_output=True, check=False).returncode == 0:
            return enter
    return None


def main():
    if sys.argv[1] in ("--list", "--list-long"):
        print(*(TESTS if sys.argv[1] == "--list" else LONG), sep="\n")
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
            (TESTS | LONG)[sys.argv[2]](machines)
        except AssertionError as problem:
            print(problem)
            return 1
        finally:
            machines.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
