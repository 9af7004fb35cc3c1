"""How `tulle run` starts programs and tells of their end.

usage: launch.py TULLE NAME       runs one of the tests below
       launch.py --list           prints the names
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from interop import SECONDS, SKIPPED, free_port


class Skipped(Exception):
    pass


class Launch:
    """A folder of the test's own, which is also where runs keep their files."""

    def __init__(self, tulle, folder):
        self.tulle, self.folder = tulle, Path(folder)
        self.scratch = self.folder / "tmp"
        self.scratch.mkdir()

    def environment(self, **more):
        return os.environ | {"TULLE_WORLD": f"launch-{os.getpid()}", "TMPDIR": str(self.scratch)} \
            | more

    def run(self, *arguments, **more):
        result = subprocess.run([self.tulle, "run", *arguments], env=self.environment(**more),
                                capture_output=True, text=True, timeout=SECONDS, check=False,
                                stdin=subprocess.DEVNULL, cwd=self.folder)
        print("tulle run", *arguments, result.stdout, result.stderr, result.returncode, sep="\n")
        return result


# ---- the command line ----------------------------------------------------------------------------

def options_end_at_the_name_of_the_program(launch):
    assert launch.run("echo", "-n", "3", "hi").stdout == "3 hi"
    assert launch.run("echo", "--pair", "a", "b").stdout == "--pair a b\n"
    assert launch.run("echo", "a", "--", "b").stdout == "a -- b\n"
    assert launch.run("-n", "2", "echo", "-n", "x").stdout == "xx"
    assert "--help" in launch.run("echo", "a", "--help").stdout


def two_dashes_may_stand_before_the_program(launch):
    assert launch.run("--", "echo", "-n", "3", "hi").stdout == "3 hi"
    assert launch.run("-n", "2", "--", "echo", "-n", "x").stdout == "xx"


def a_wrong_option_is_refused(launch):
    for words in (["--nonsense", "echo"], ["-x"], ["--pair", "true", "true", "echo"], []):
        result = launch.run(*words)
        assert result.returncode == 2 and result.stderr.startswith("tulle run: "), words
    assert "'--nonsense'" in launch.run("--nonsense", "echo").stderr


# ---- what is said of programs and their end ------------------------------------------------------

def lines_are_labelled_when_asked_for(launch):
    result = launch.run("--label", "-n", "2", "sh", "-c", "echo I am $TULLE_RANK; echo oops >&2; "
                        "printf end")
    assert sorted(result.stdout.splitlines()) == ["host 0| I am 0", "host 0| end",
                                                  "host 1| I am 1", "host 1| end"]
    assert sorted(result.stderr.splitlines()) == ["host 0| oops", "host 1| oops"]
    server = "python3 -c 'import socket; s=socket.create_server((\"127.0.0.1\", 0)); print(1); " \
        "s.settimeout(1); s.accept()'"
    result = launch.run("--label", "--pair", f"{server} 2>/dev/null || true", "echo hello; exit 3")
    assert "client| hello" in result.stdout.splitlines() and result.returncode == 3


def lines_are_as_they_were_where_nobody_looks(launch):
    assert launch.run("-n", "2", "echo", "x").stdout == "x\nx\n"


def lines_are_labelled_on_a_terminal(launch):
    here, there = os.openpty()
    with subprocess.Popen([launch.tulle, "run", "-n", "2", "sh", "-c", "test -t 1 && echo shown"],
                          env=launch.environment(), stdin=subprocess.DEVNULL, stdout=there,
                          stderr=there, cwd=launch.folder) as process:
        os.close(there)
        text = b""
        try:
            while some := os.read(here, 4096):
                text += some
        except OSError:
            pass  # the other end has gone
        assert process.wait(SECONDS) == 0
    os.close(here)
    assert sorted(text.split(b"\r\n")) == [b"", b"host 0| shown", b"host 1| shown"], text


def much_output_comes_whole(launch):
    result = launch.run("--label", "seq", "100000")
    assert result.stdout == "".join(f"host 0| {i}\n" for i in range(1, 100001))


def an_end_that_is_not_well_is_explained(launch):
    said = launch.run("--pair", "false", "true")
    assert said.returncode == 1
    assert said.stderr == "tulle run: the server ended with exit code 1, before its client began\n"
    said = launch.run("-n", "2", "sh", "-c", "exit $TULLE_RANK")
    assert said.returncode == 1 and said.stderr == "tulle run: host 1 ended with exit code 1\n"
    said = launch.run("sh", "-c", "kill -SEGV $$")
    assert said.returncode == 139
    assert said.stderr == "tulle run: the program was ended by signal 11 (Segmentation fault)\n"
    said = launch.run("sh", "-c", "exit 4")
    assert said.returncode == 4 and said.stderr == ""


def a_refused_call_is_explained_when_asked_for(launch):
    program = build_own(launch, "gcc", "-DWITHOUT_PSN")
    said = launch.run("--explain", program).stderr
    assert "ibv_modify_qp was refused: EINVAL (Invalid argument): the step from INIT to RTR also " \
        "needs IBV_QP_RQ_PSN.\n" in said
    assert "tulle" not in launch.run(program).stderr
    for option, why in (("-DGID=7", "the index is 7, and the table has 4 GIDs.\n"),
                        ("-DPORT=2", "the port is 2, and the adapter has port 1 only.\n")):
        said = launch.run("--explain", build_own(launch, "gcc", option)).stderr
        assert f"ibv_query_gid was refused: EINVAL (Invalid argument): {why}" in said


def a_refused_call_of_any_form_is_explained(launch):
    for call, why in (
            ("MR(pd, 64, e.IBV_ACCESS_REMOTE_WRITE)",
             "ibv_reg_mr_iova2 was refused: EINVAL (Invalid argument): IBV_ACCESS_REMOTE_WRITE and "
             "IBV_ACCESS_REMOTE_ATOMIC need IBV_ACCESS_LOCAL_WRITE.\n"),
            ("QP(context, QPInitAttrEx(scq=cq, rcq=cq, pd=pd, qp_type=e.IBV_QPT_RC, "
             "cap=QPCap(max_send_sge=99), send_ops_flags=e.IBV_QP_EX_WITH_SEND, "
             "comp_mask=e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))",
             "ibv_create_qp_ex was refused: EINVAL (Invalid argument): max_send_sge 99 or "
             "max_recv_sge 1 is more than 32.\n"),
            ("CQEX(context, CqInitAttrEx(cqe=7, comp_vector=9))",
             "ibv_create_cq_ex was refused: EINVAL (Invalid argument): comp_vector is 9, and there "
             "are 2.\n"),
            ("SRQ(pd, SrqInitAttr(SrqAttr(max_wr=1 << 20)))",
             "ibv_create_srq was refused: EINVAL (Invalid argument): max_wr is 1048576, and a "
             "shared receive queue has 1 to 32768.\n")):
        script = (
            "import pyverbs.device as d, pyverbs.enums as e\n"
            "from pyverbs.cq import CQ, CQEX, CqInitAttrEx\nfrom pyverbs.pd import PD\n"
            "from pyverbs.mr import MR\nfrom pyverbs.qp import QP, QPCap, QPInitAttrEx\n"
            "from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr\n"
            "context = d.Context(name='tulle0')\npd, cq = PD(context), CQ(context, 8)\n"
            f"try: {call}\nexcept Exception: pass\n")
        done = launch.run("--explain", "/usr/bin/python3", "-c", script)
        if "No module named" in done.stderr:
            raise Skipped("this test needs python3-pyverbs")
        assert why in done.stderr, done.stderr


# ---- files ---------------------------------------------------------------------------------------

def killed_run(launch):
    """What a killed run has left: its folder."""
    first = subprocess.Popen([launch.tulle, "run", "sh", "-c",
                              "echo ready; exec tail -f /dev/null"],
                             env=launch.environment(), stdout=subprocess.PIPE, text=True)
    with first:
        first.stdout.readline()
        folder, = launch.scratch.iterdir()
        assert launch.run("ls", str(folder)).returncode == 0, "it lives, and so does its folder"
        assert folder.exists()
        first.kill()
    assert folder.exists()
    return folder


def what_a_killed_run_has_left_goes_with_the_next(launch):
    folder = killed_run(launch)
    # As another process with the same number would have it.
    folder = folder.rename(folder.with_name(f"tulle-run-{os.getpid()}-abcdef"))
    launch.run("true")
    assert not list(launch.scratch.iterdir())


def folders_whose_names_only_begin_like_those_of_runs_stay(launch):
    folders = [launch.scratch / name for name in ("tulle-run-results", "tulle-run-77-backup")]
    for folder in folders:
        folder.mkdir()
        (folder / "data").write_text("precious")
    assert launch.run("true").returncode == 0
    for folder in folders:
        assert (folder / "data").exists()
        shutil.rmtree(folder)


def folders_of_other_users_stay(launch):
    if os.geteuid() != 0:
        raise Skipped("this test needs root")
    folder = killed_run(launch)
    os.chown(folder, 65534, 65534)
    assert launch.run("true").returncode == 0
    assert folder.exists()
    shutil.rmtree(folder)


def a_folder_in_which_others_may_put_links_is_not_used(launch):
    open_to_all = launch.folder / "open"
    open_to_all.mkdir()
    below = open_to_all / "below"
    below.mkdir(mode=0o700)
    for mode, is_used in ((0o700, True), (0o1777, True), (0o777, False), (0o770, False)):
        open_to_all.chmod(mode)
        for folder in (open_to_all, below):
            tree = launch.run("printenv", "TULLE_SYSFS", TMPDIR=str(folder)).stdout
            assert tree.startswith(f"{folder}/tulle-run-") == is_used, f"{mode:o}: {tree}"
    if os.geteuid() == 0:
        open_to_all.chmod(0o755)
        os.chown(open_to_all, 65534, 65534)
        tree = launch.run("printenv", "TULLE_SYSFS", TMPDIR=str(open_to_all)).stdout
        assert tree and not tree.startswith(str(open_to_all)), tree


def every_adapter_has_a_folder_where_its_link_leads(launch):
    script = ("for d in /sys/class/infiniband/*; do r=$(readlink -f $d/device); cat $r/vendor; "
              "ls $r/infiniband; done")
    done = launch.run("--devices", "3", "bash", "-c", script)
    assert done.stdout.split() == ["0x544c", "tulle0", "0x544c", "tulle1", "0x544c", "tulle2"], \
        done.stdout + done.stderr


def a_capture_that_finds_no_room_is_an_error(launch):
    """On a file system of 64 KiB."""
    program = pair_of_its_own(launch)
    inside = " && ".join([
        f"mount -t tmpfs -o size=64k none {launch.scratch}", f"cd {launch.folder}",
        "ip link set lo up",
        f"TMPDIR=/tmp {launch.tulle} run --pcap {launch.scratch}/one.pcap {program}"])
    enter = ["unshare", "--user", "--map-root-user", "--mount", "--net"]
    if subprocess.run([*enter, "true"], capture_output=True, check=False).returncode != 0:
        enter = ["unshare", "--mount", "--net"]
    if subprocess.run([*enter, "true"], capture_output=True, check=False).returncode != 0:
        raise Skipped("this test needs namespaces, which this kernel refuses")
    result = subprocess.run([*enter, "sh", "-c", inside], env=launch.environment(),
                            capture_output=True, text=True, timeout=SECONDS, check=False)
    print(result)
    assert result.returncode == 1
    assert "the capture is not complete from here on: No space left on device" in result.stderr
    assert result.stderr.endswith("tulle run: the capture or the fault log is not complete: it "
                                  "could not be written\n")


def a_capture_of_one_side_has_both_directions(launch):
    """The server is another run, which captures nothing."""
    if not shutil.which("ib_send_bw"):
        raise Skipped("this test needs ib_send_bw (perftest)")
    port = str(free_port())
    line = ["ib_send_bw", "-s", "4096", "-n", "5", "-p", port]
    with subprocess.Popen([launch.tulle, "run", *line], env=launch.environment(),
                          stdout=subprocess.DEVNULL) as server:
        def is_ready():
            return any(f":{int(port):04X} " in row for kind in ("tcp", "tcp6")
                       for row in Path(f"/proc/net/{kind}").read_text().splitlines()[1:])
        while not is_ready():
            assert server.poll() is None
        said = launch.run("--pcap", "one.pcap", *line, "localhost")
        assert said.returncode == 0 and server.wait(SECONDS) == 0
    decoded = subprocess.run([launch.tulle, "decode", "--operations", "one.pcap"],
                             capture_output=True, text=True, check=False, cwd=launch.folder)
    print(decoded)
    assert "unanswered" not in decoded.stdout and "SEND" in decoded.stdout.upper()


def captures_of_both_sides_have_both_directions_each(launch):
    """Two runs, with a file each."""
    if not shutil.which("ib_send_bw"):
        raise Skipped("this test needs ib_send_bw (perftest)")
    port = str(free_port())
    line = ["ib_send_bw", "-s", "4096", "-n", "5", "-p", port]
    with Server(launch, ["--pcap", "server.pcap", *line], port) as server:
        said = launch.run("--pcap", "client.pcap", *line, "localhost")
        assert said.returncode == 0 and server.wait(SECONDS) == 0
    found = []
    for file in ("server.pcap", "client.pcap"):
        decoded = subprocess.run([launch.tulle, "decode", "--operations", file],
                                 capture_output=True, text=True, check=False, cwd=launch.folder)
        print(decoded)
        assert "unanswered" not in decoded.stdout and "SEND" in decoded.stdout.upper()
        found.append((launch.folder / file).stat().st_size)
    assert found[0] == found[1], "each packet is in each file once"


LAYERS = (("ethernet", "infiniband"), ("infiniband", "ethernet"))


def queue_pairs_on_different_links_never_meet(launch):
    """A client on RoCE and a server on InfiniBand, and the other way round."""
    if not shutil.which("ibv_rc_pingpong"):
        raise Skipped("this test needs ibv_rc_pingpong (ibverbs-utils)")
    names = {"ethernet": "Ethernet", "infiniband": "InfiniBand"}
    for own, other in LAYERS:
        port = str(free_port())
        line = ["ibv_rc_pingpong", "-g", "0", "-p", port]
        with Server(launch, ["--link-layer", other, *line], port):
            said = launch.run("--link-layer", own, *line, "localhost")
        assert said.returncode == 1
        assert f"of host 0 is on {names[other]} and this process on {names[own]}, which no " \
               "switch joins: start both with the same --link-layer." in said.stderr


def programs_on_different_links_do_not_connect(launch):
    """By the connection manager, which finds nobody and says why."""
    if not shutil.which("rping"):
        raise Skipped("this test needs rping (rdmacm-utils)")
    for own, other in LAYERS:
        port = str(free_port())
        line = ["rping", "-c", "-a", "127.0.0.1", "-C", "1", "-p", port]
        with Server(launch, ["--link-layer", other, "rping", "-s", "-p", port]) as server:
            said = launch.run("--link-layer", own, *line)
            while "which no switch joins" not in said.stderr:  # until it listens
                assert server.poll() is None and "REJECTED" in said.stderr
                said = launch.run("--link-layer", own, *line)
        assert said.returncode != 0
        assert f"the program that listens on port {port} is on" in said.stderr
        assert "start both with the same --link-layer." in said.stderr


class Server:
    """A program of another run, which waits at a TCP port if one is named. It is ended at last."""

    def __init__(self, launch, words, port=None):
        self.launch, self.words, self.port, self.process = launch, words, port, None

    def __enter__(self):
        self.process = subprocess.Popen(
            [self.launch.tulle, "run", *self.words], env=self.launch.environment(),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.launch.folder)
        while self.port and not any(
                f":{int(self.port):04X} " in row for kind in ("tcp", "tcp6")
                for row in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]):
            assert self.process.poll() is None
        return self.process

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(SECONDS)


def a_capture_that_cannot_begin_is_refused(launch):
    result = launch.run("--pcap", "/dev/full", "true")
    assert result.returncode == 2 and "cannot write '/dev/full'" in result.stderr


def pair_of_its_own(launch):
    """`sleeper`, which talks to a process of its own."""
    program = Path(launch.tulle).with_name("sleeper")
    if not program.exists():
        raise Skipped("this test needs the program `sleeper`, which is built with the tests")
    return f"{program} get 2000"


# ---- /sys ----------------------------------------------------------------------------------------

SYS = "/sys/class/infiniband"


def ls_and_cd_find_the_adapter(launch):
    said = launch.run("ls", "-lR", SYS)
    assert said.returncode == 0 and said.stderr == "" and "tulle0" in said.stdout
    for shell in ("sh", "bash"):
        said = launch.run(shell, "-c", f"cd {SYS}/tulle0/ports/1 && pwd && cat state && cd .. && "
                          f"pwd && ls && cd {SYS} && /bin/pwd && cd /")
        assert said.stderr == "" and said.stdout.splitlines() == [
            f"{SYS}/tulle0/ports/1", "4: ACTIVE", f"{SYS}/tulle0/ports", "1", SYS]


def patterns_and_searches_find_the_adapter(launch):
    for shell in ("sh", "bash"):
        said = launch.run(shell, "-c", f"echo {SYS}/*/ports/*; cd {SYS} && echo */ports; "
                          f"test -d {SYS}/tulle0 && test -r {SYS}/tulle0/node_guid && echo there")
        assert said.stdout.splitlines() == [f"{SYS}/tulle0/ports/1", "tulle0/ports", "there"]
    said = launch.run("find", SYS, "-name", "node_guid")
    assert said.stdout == f"{SYS}/tulle0/node_guid\n" and said.stderr == ""
    said = launch.run("python3", "-c", "import glob, os; os.chdir(f'{SYS}'); print(os.getcwd(), "
                      "*glob.glob('*/ports/*'), *os.listdir('.'))".replace("{SYS}", SYS))
    assert said.stdout == f"{SYS} tulle0/ports/1 tulle0\n"


def a_script_as_ibstatus_reads_all_ports(launch):
    """What ibstatus does: a folder, its ports, a file each."""
    script = f"""
for device in $(cd {SYS} && ls); do
    for port in {SYS}/$device/ports/*; do
        read state < $port/state; read rate < $port/rate; read gid < $port/gids/0
        echo "$device $(basename $port) $state, $rate, $gid"
    done
done"""
    said = launch.run("bash", "-c", script)
    assert said.stderr == "" and said.stdout.startswith("tulle0 1 4: ACTIVE, 100 Gb/sec (4X EDR), ")


def calls_of_c_find_the_adapter(launch):
    (launch.folder / "look.c").write_text(r"""
#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <unistd.h>
#include <stdlib.h>
int main(void) {
    struct dirent **list;
    glob_t found = {.gl_offs = 1};
    char room[64], *made;
    int count = scandir("/sys/class/infiniband", &list, NULL, alphasort);
    printf("%d %s\n", count, count > 2 ? list[2]->d_name : "");
    glob("/sys/class/infiniband/*/ports/*", GLOB_DOOFFS, NULL, &found);
    glob("/sys/class/infiniband/*/node_guid", GLOB_DOOFFS | GLOB_APPEND, NULL, &found);
    printf("%zu %s %s\n", found.gl_pathc, found.gl_pathv[1], found.gl_pathv[2]);
    if (chdir("/sys/class/infiniband/tulle0")) return 1;
    made = getcwd(NULL, 0);
    printf("%s %s %d\n", getcwd(room, sizeof room), made, getcwd(room, 5) == NULL);
    return 0;
}
""")
    subprocess.run(["gcc", "-O2", "-D_FORTIFY_SOURCE=2", "-o", "look", "look.c"], check=True,
                   cwd=launch.folder)
    said = launch.run("./look")
    assert said.stdout.splitlines() == [
        "3 tulle0", f"2 {SYS}/tulle0/ports/1 {SYS}/tulle0/node_guid",
        f"{SYS}/tulle0 {SYS}/tulle0 1"]


def a_program_of_another_user_finds_the_adapter(launch):
    """One that a run started as root, and that has given up its rights."""
    if os.geteuid() != 0:
        raise Skipped("this test needs root")
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    launch.folder.chmod(0o755)
    # The build may be where only its user can read.
    libraries = Path(launch.tulle).parent / "lib" / "tulle"
    shutil.copytree(libraries, launch.folder / "lib" / "tulle", symlinks=True)
    launch.tulle = shutil.copy2(launch.tulle, launch.folder)
    assert launch.run(*as_nobody, "cat", f"{SYS}/tulle0/ports/1/state").stdout == "4: ACTIVE\n"
    listed = launch.run(*as_nobody, "sh", "-c", f"ls {launch.scratch}/tulle-run-*")
    assert listed.returncode != 0 and "Permission denied" in listed.stderr


# ---- under sanitizers and debuggers --------------------------------------------------------------

def build_own(launch, compiler, *options):
    """A small program of verbs, as this compiler makes it."""
    if not shutil.which(compiler):
        raise Skipped(f"this test needs {compiler}")
    program = launch.folder / "own"
    source = Path(__file__).with_name("own.c")
    made = subprocess.run([compiler, "-g", *options, "-o", program, source, "-libverbs",
                           "-lpthread"], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise Skipped(f"this test needs {compiler} {' '.join(options)}: {made.stderr}")
    return str(program)


def says_nothing(launch, *command):
    result = launch.run(*command)
    assert result.returncode == 0 and "100 messages" in result.stdout
    assert "Sanitizer" not in result.stderr and "tulle" not in result.stderr, result.stderr


def _sanitized(launch, compiler, kind):
    program = build_own(launch, compiler, f"-fsanitize={kind}")
    says_nothing(launch, program)
    says_nothing(launch, "sh", "-c", f"{program}; exit $?")


def a_program_with_the_address_sanitizer_of_gcc(launch):
    _sanitized(launch, "gcc", "address,undefined")


def a_program_with_the_address_sanitizer_of_clang(launch):
    _sanitized(launch, "clang", "address,undefined")


def a_program_with_the_shared_address_sanitizer_of_clang(launch):
    program = build_own(launch, "clang", "-fsanitize=address", "-shared-libasan")
    folder = subprocess.run(["clang", "-print-file-name=libclang_rt.asan-x86_64.so"],
                            capture_output=True, text=True, check=True).stdout.strip()
    result = launch.run(program, LD_LIBRARY_PATH=str(Path(folder).parent))
    assert result.returncode == 0 and "100 messages" in result.stdout


def a_program_with_the_thread_sanitizer_of_gcc(launch):
    _sanitized(launch, "gcc", "thread")


def a_program_with_the_thread_sanitizer_of_clang(launch):
    _sanitized(launch, "clang", "thread")


def what_a_program_says_to_its_sanitizer_counts(launch):
    program = build_own(launch, "gcc", "-fsanitize=address")
    result = launch.run(program, ASAN_OPTIONS="help=1")
    assert "Available flags for AddressSanitizer" in result.stderr


def a_program_under_valgrind(launch):
    program = build_own(launch, "gcc")
    if not shutil.which("valgrind"):
        raise Skipped("this test needs valgrind")
    says_nothing(launch, "valgrind", "-q", "--error-exitcode=9", "--leak-check=full", program)


def a_program_in_a_debugger(launch):
    program = build_own(launch, "gcc")
    if not shutil.which("gdb"):
        raise Skipped("this test needs gdb")
    result = launch.run("gdb", "-q", "-batch", "-ex", "break connect_to_itself", "-ex", "run",
                        "-ex", "info threads", "-ex", "continue", program)
    assert "100 messages" in result.stdout and "exited normally" in result.stdout


TESTS = [
    options_end_at_the_name_of_the_program, two_dashes_may_stand_before_the_program,
    a_wrong_option_is_refused, lines_are_labelled_when_asked_for,
    lines_are_as_they_were_where_nobody_looks, lines_are_labelled_on_a_terminal,
    much_output_comes_whole, an_end_that_is_not_well_is_explained,
    a_refused_call_is_explained_when_asked_for, a_refused_call_of_any_form_is_explained,
    what_a_killed_run_has_left_goes_with_the_next,
    folders_whose_names_only_begin_like_those_of_runs_stay, folders_of_other_users_stay,
    a_folder_in_which_others_may_put_links_is_not_used,
    every_adapter_has_a_folder_where_its_link_leads, a_capture_that_finds_no_room_is_an_error,
    a_capture_of_one_side_has_both_directions, a_capture_that_cannot_begin_is_refused,
    captures_of_both_sides_have_both_directions_each,
    queue_pairs_on_different_links_never_meet, programs_on_different_links_do_not_connect,
    ls_and_cd_find_the_adapter,
    patterns_and_searches_find_the_adapter, a_script_as_ibstatus_reads_all_ports,
    calls_of_c_find_the_adapter, a_program_of_another_user_finds_the_adapter,
    a_program_with_the_address_sanitizer_of_gcc,
    a_program_with_the_address_sanitizer_of_clang,
    a_program_with_the_shared_address_sanitizer_of_clang,
    a_program_with_the_thread_sanitizer_of_gcc, a_program_with_the_thread_sanitizer_of_clang,
    what_a_program_says_to_its_sanitizer_counts, a_program_under_valgrind,
    a_program_in_a_debugger]


def run(tulle, name):
    test = next(test for test in TESTS if test.__name__ == name)
    with tempfile.TemporaryDirectory() as folder:
        try:
            test(Launch(tulle, folder))
        except Skipped as why:
            print(f"SKIPPED: {why}")
            return SKIPPED
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print(*(test.__name__ for test in TESTS), sep="\n")
    else:
        sys.exit(run(sys.argv[1], sys.argv[2]))
