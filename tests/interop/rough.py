"""Programs that are many, killed, interrupted, of other users, or shut in: what is left of them.

usage: rough.py TULLE NAME       runs one of the tests below
       rough.py --list           prints the names

After each of them nothing may be there any more: no process, no socket, no file; and no shared
memory with a name, which is looked for where nobody else could have left any.
"""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from interop import ANY_CLOCK, FAULTS, SECONDS, SKIPPED, free_port, leftovers

NOBODY, SOMEBODY = 65534, 1
POLL = 0.02


class Skipped(Exception):
    pass


def processes(world):
    """Programs that were started in this world, by what their environment says."""
    mark = f"TULLE_WORLD={world}".encode()
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and mark in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name), (folder / "comm").read_text().strip()


class World:
    """A place for programs, and a look at what they leave behind."""

    def __init__(self, tulle, name, folder):
        self.tulle, self.folder = tulle, Path(folder)
        self.name = f"rough-{name}-{os.getpid()}"
        self.started = []
        self.scratch = self.folder / "tmp"
        self.scratch.mkdir()
        os.chmod(folder, 0o755)
        os.chmod(self.scratch, 0o1777)

    def environment(self, world=None):
        return os.environ | {"TULLE_WORLD": world or self.name, "TMPDIR": str(self.scratch)}

    def start(self, *command, user=None, world=None):
        """`tulle run` with these arguments, its output in a file."""
        output = self.folder / f"output{len(self.started)}"
        to = [] if user is None else [*as_root(), "setpriv", f"--reuid={user}", f"--regid={user}",
                                      "--clear-groups"]
        with output.open("w") as file:
            one = subprocess.Popen([*to, self.tulle, "run", *command], stdout=file,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   env=self.environment(world), start_new_session=True,
                                   cwd=self.folder)
        one.output = output
        self.started.append(one)
        return one

    def open_to_all(self):
        """The program where every user finds it; a home folder may be closed to others."""
        here = Path(self.tulle).parent
        shutil.copytree(here / "lib" / "tulle", self.folder / "lib" / "tulle", symlinks=True)
        self.tulle = shutil.copy2(self.tulle, self.folder)

    def pair(self, line, port, **named):
        line = f"{line} {ANY_CLOCK} -p {port}"
        return self.start("--pair", line, f"{line} 127.0.0.1", **named)

    def end(self, one, code=0):
        assert one.wait(SECONDS) == code, \
            f"exit code {one.returncode}, not {code}:\n{one.output.read_text()}"
        return one.output.read_text()

    def until(self, condition, what):
        """Looks again and again, as long as the run that was started last goes on."""
        while not condition():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.started[-1].wait(POLL)
                assert condition(), f"ended before {what}:\n{self.started[-1].output.read_text()}"

    def amid_transfer(self, process):
        """A program that polls is amid its transfer when it has computed for a while."""
        ticks = os.sysconf("SC_CLK_TCK")
        self.until(lambda: cpu_ticks(process) > ticks // 2, "a transfer")

    def process(self, name):
        """The program of this name, once it is there; `tulle` and shells are not meant."""
        found = []
        self.until(lambda: found.extend(p for p, comm in processes(self.name) if comm == name)
                   or found, name)
        return found[0]

    def left(self):
        yield from leftovers(self.name, self.scratch)
        yield from (f"process {number} {comm}" for number, comm in processes(self.name))


def cpu_ticks(process):
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def as_root():
    """What a command begins with in order to start programs as other users."""
    if os.geteuid() == 0:
        return []
    sudo = ["sudo", "-n", "--preserve-env"]
    if not shutil.which("sudo") or subprocess.run([*sudo, "true"], capture_output=True,
                                                  check=False).returncode != 0:
        raise Skipped("this test starts programs as other users, which root alone may")
    return sudo


# ---- tests ---------------------------------------------------------------------------------------

def several_pairs_share_a_world(world):
    pairs = [world.pair(f"{program} -n 200", free_port())
             for program in ("ib_send_bw", "ib_write_bw", "ib_read_bw")]
    for one in pairs:
        assert "#bytes" in world.end(one)


def two_worlds_do_not_see_each_other(world):
    """The same ports of the connection manager, in use twice at a time."""
    line = f"-v -V -C 200 -a 127.0.0.1 -p {free_port()}"
    pairs = [world.start("--pair", f"rping -s {line}", f"rping -c {line}",
                         world=f"{world.name}{suffix}") for suffix in ("", "/other")]
    for one in pairs:
        assert "rdma-ping-199" in world.end(one)


def a_thousand_queue_pairs_of_a_process(world):
    for program, options in (("ib_write_bw", ""), ("ib_send_bw", "-r 6")):
        text = world.end(world.pair(f"{program} -q 1000 -n 5 -s 1024 {options}", free_port()))
        assert "5000" in text, text


def _killed(world, program, *options):
    """The server is killed amid a transfer: its host is dead, and the client is told so."""
    port = free_port()
    line = [program, "-n", "50000000", "-p", str(port)]
    server = world.start(*options, "--", *line)
    world.until(lambda: _listens(port), "the server")
    client = world.start(*options, "--", *line, "127.0.0.1")
    world.until(lambda: sum(comm == program for _, comm in processes(world.name)) == 2, "both")
    victim = next(p for p, comm in processes(world.name)
                  if comm == program and parent_of(p) == server.pid)
    world.amid_transfer(next(p for p, comm in processes(world.name)
                             if comm == program and parent_of(p) == client.pid))
    os.kill(victim, signal.SIGKILL)
    world.end(server, 128 + signal.SIGKILL)
    client.wait(SECONDS)
    text = client.output.read_text()
    assert client.returncode != 0 and "Failed status 12" in text, text


def parent_of(process):
    return int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])


def _listens(port):
    return any(f":{port:04X} " in line and line.split()[3] == "0A"
               for kind in ("tcp", "tcp6")
               for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:])


def a_killed_peer_of_sends(world):
    _killed(world, "ib_send_bw")


def a_killed_peer_of_writes(world):
    _killed(world, "ib_write_bw")


def a_killed_peer_of_reads(world):
    _killed(world, "ib_read_bw")


def a_killed_peer_on_a_bad_network(world):
    _killed(world, "ib_write_bw", *FAULTS)


def a_killed_peer_of_the_connection_manager(world):
    line = f"-v -V -C 1000000 -a 127.0.0.1 -p {free_port()}"
    server = world.start("--", "rping", "-s", *line.split())
    world.until(lambda: any("/port/" in name for name in leftovers(world.name, world.scratch)),
                "the server")
    client = world.start("--", "rping", "-c", *line.split())
    world.until(lambda: client.output.stat().st_size > 10000, "pings")
    victim = next(p for p, comm in processes(world.name)
                  if comm == "rping" and parent_of(p) == client.pid)
    os.kill(victim, signal.SIGKILL)
    world.end(client, 128 + signal.SIGKILL)
    server.wait(SECONDS)
    assert "server DISCONNECT EVENT" in server.output.read_text(), server.output.read_text()[-1000:]


def _interrupted(world, sends):
    run = world.pair("ib_send_bw -n 50000000", free_port())
    world.amid_transfer(world.process("ib_send_bw"))
    sends(run.pid, signal.SIGINT)
    assert run.wait(SECONDS) == 128 + signal.SIGINT, run.output.read_text()


def an_interrupted_run(world):
    _interrupted(world, os.kill)


def a_run_whose_terminal_is_interrupted(world):
    """As Ctrl-C does it: the signal goes to the whole group."""
    _interrupted(world, os.killpg)


def a_killed_run_takes_its_programs_along(world):
    run = world.pair("ib_send_bw -n 50000000", free_port())
    world.amid_transfer(world.process("ib_send_bw"))
    programs = [os.pidfd_open(p) for p, comm in processes(world.name) if comm == "ib_send_bw"]
    run.kill()
    run.wait(SECONDS)
    for program in programs:
        assert select.select([program], [], [], SECONDS)[0], "a program goes on"
        os.close(program)
    assert list(world.scratch.iterdir()), "it was killed before it could tidy up"
    world.end(world.start("true"))  # tidies up for it


def an_unprivileged_user(world):
    world.open_to_all()
    user = NOBODY if os.geteuid() == 0 else None
    assert "#bytes" in world.end(world.pair("ib_write_bw -n 200", free_port(), user=user))
    line = f"-v -V -C 20 -a 127.0.0.1 -p {free_port()}"
    assert "rdma-ping-19" in world.end(
        world.start("--pair", f"rping -s {line}", f"rping -c {line}", user=user))


def two_users_in_one_world(world):
    """Both ask for it. Neither may reach into the other's memory: the target copies."""
    world.open_to_all()
    line = f"-v -V -C 20 -S 20000 -a 127.0.0.1 -p {free_port()}"
    server = world.start("--shared", "--", "rping", "-s", *line.split(), user=NOBODY)
    world.until(lambda: any("/port/" in name for name in leftovers(world.name, world.scratch)),
                "the server")
    client = world.start("--shared", "--", "rping", "-c", *line.split(), user=SOMEBODY)
    assert "rdma-ping-19" in world.end(client)
    world.end(server)
    for program in ("ib_write_bw", "ib_read_lat", "ib_atomic_bw"):
        port = free_port()
        server = world.start("--shared", "--", program, "-n", "100", "-p", str(port), user=NOBODY)
        world.until(lambda: _listens(port), "the server")
        client = world.start("--shared", "--", program, "-n", "100", "-p", str(port), "127.0.0.1",
                             user=SOMEBODY)
        assert "#bytes" in world.end(client)
        world.end(server)


def users_who_do_not_ask_for_it_do_not_meet(world):
    world.open_to_all()
    line = f"-v -V -C 20 -a 127.0.0.1 -p {free_port()}"
    server = world.start("--", "rping", "-s", *line.split(), user=NOBODY)
    world.until(lambda: any("/port/" in name for name in leftovers(world.name, world.scratch)),
                "the server")
    client = world.start("--", "rping", "-c", *line.split(), user=SOMEBODY)
    client.wait(SECONDS)
    text = client.output.read_text()
    assert "rdma-ping" not in text and "REJECTED" in text, text
    os.killpg(server.pid, signal.SIGTERM)
    server.wait(SECONDS)


def a_namespace_with_little_shared_memory(world):
    """As in a container: users, processes, network and mounts of its own, 64 KiB in /dev/shm."""
    others = ["--mount", "--net", "--pid", "--fork", "--mount-proc"]
    enter = ["unshare", "--user", "--map-root-user", *others]
    if subprocess.run([*enter, "true"], capture_output=True, check=False).returncode != 0:
        enter = [*as_root(), "unshare", *others]  # in a chroot, and where users may have none
    if subprocess.run([*enter, "true"], capture_output=True, check=False).returncode != 0:
        raise Skipped("this test needs namespaces, which this kernel refuses")
    line = f"-v -V -C 20 -S 20000 -a 127.0.0.1 -p {free_port()}"
    bandwidth = f"ib_write_bw -s 4194304 -n 5 -p {free_port()}"
    tulle = world.tulle
    script = "\n".join([
        "set -e", "ip link set lo up", "mount -t tmpfs -o size=64k none /dev/shm",
        f"{tulle} run --pair 'rping -s {line}' 'rping -c {line}'",
        f"{tulle} run --pair '{bandwidth}' '{bandwidth} 127.0.0.1'",
        "test -z \"$(ls -A /dev/shm)\"", "umount /dev/shm", "mount -t tmpfs -o ro none /dev/shm",
        f"{tulle} run --pair '{bandwidth}' '{bandwidth} 127.0.0.1'",
        "! ps -eo comm | grep -E 'rping|ib_write'", "! grep @tulle /proc/net/unix"])
    result = subprocess.run([*enter, "sh", "-c", script], capture_output=True, text=True,
                            env=world.environment(), timeout=SECONDS, check=False)
    print(result.stdout, result.stderr)
    assert result.returncode == 0, f"exit code {result.returncode}"
    assert "rdma-ping-19" in result.stdout


NEEDED = ("ib_send_bw", "rping", "setpriv", "unshare")
TESTS = [several_pairs_share_a_world, two_worlds_do_not_see_each_other,
         a_thousand_queue_pairs_of_a_process, a_killed_peer_of_sends, a_killed_peer_of_writes,
         a_killed_peer_of_reads, a_killed_peer_on_a_bad_network,
         a_killed_peer_of_the_connection_manager, an_interrupted_run,
         a_run_whose_terminal_is_interrupted, a_killed_run_takes_its_programs_along,
         an_unprivileged_user, two_users_in_one_world,
         users_who_do_not_ask_for_it_do_not_meet, a_namespace_with_little_shared_memory]


def run(tulle, name):
    missing = [program for program in NEEDED if not shutil.which(program)]
    if missing:
        print(f"SKIPPED: this test needs {', '.join(missing)} (perftest, rdmacm-utils, util-linux)")
        return SKIPPED
    test = next(test for test in TESTS if test.__name__ == name)
    with tempfile.TemporaryDirectory() as folder:
        world = World(tulle, name, folder)
        try:
            test(world)
            left = list(world.left())
            print(*(f"left behind: {what}" for what in left), sep="\n")
            return 1 if left else 0
        except Skipped as why:
            print(f"SKIPPED: {why}")
            return SKIPPED
        finally:
            for one in world.started:
                with contextlib.suppress(ProcessLookupError):
                    if one.poll() is None:
                        os.killpg(one.pid, signal.SIGKILL)


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print(*(test.__name__ for test in TESTS), sep="\n")
    else:
        sys.exit(run(sys.argv[1], sys.argv[2]))
