"""Real programs, unmodified, between two processes of this machine.

usage: interop.py TULLE NAME       runs one of the table below
       interop.py --list           prints the names

Each run is a world of its own, on TCP ports of its own, so that several may run at a time. Besides
what a program says of itself, nothing of it may be left: no process, no socket, no file.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
SECONDS = 240  # the machine may be busy

PINGPONG = r"iters in"
PERFTEST = r"#bytes\s+#iterations"
# Perftest measures the clock of the CPU after its work, in 200 spins of up to 2 ms. If it loses the
# CPU between two lines there (get_clock.c), it ends with "Can't produce a report" unless told this.
ANY_CLOCK = "-F"


def pair(program, options="", package="perftest", expect=PERFTEST, run=(), server="", client="",
         host="localhost", port="-p {port}"):
    """Both sides call one program, the client with the server's name behind its options."""
    any_clock = ANY_CLOCK if package == "perftest" else ""
    line = f"{program} {options} {any_clock} {port}"
    return {"program": program, "package": package, "expect": expect, "run": list(run),
            "pair": [f"{line} {server}", f"{line} {client} {host}"]}


def alone(program, options="", package="ibverbs-utils", expect="", run=()):
    return {"program": program, "package": package, "expect": expect, "run": list(run),
            "command": [program, *options.split()]}


def two(server, client, package, expect, run=(), environment=None):
    """A server and a client that are called differently."""
    return {"program": server.split()[0], "package": package, "expect": expect, "run": list(run),
            "pair": [server, client], "environment": environment or {}}


def ucx(test, transports="rc_v,ud_v", options=""):
    line = f"ucx_perftest -t {test} -n 500 {options} -p {{port}}"
    environment = {"UCX_TLS": transports, "UCX_NET_DEVICES": "tulle0:1"}
    return two(line, f"{line} 127.0.0.1", "ucx-utils", r"Final:\s+500", environment=environment)


def fabric(kind):
    line = f"fi_pingpong -p verbs -e {kind} -I 50"
    return two(f"{line} -B {{port}}", f"{line} -P {{port}} 127.0.0.1", "libfabric-bin",
               r"4k\s+50" if kind == "dgram" else r"1m\s+50")


def rping(count, options=""):
    line = f"-v -V -C {count} {options} -a 127.0.0.1 -p {{port}}"
    return two(f"rping -s {line}", f"rping -c {line}", "rdmacm-utils", f"rdma-ping-{count - 1}")


def rsocket(program, options, expect, server="", client=""):
    line = f"{program} {options} -p {{port}}"
    return two(f"{line} {server}", f"{line} -s 127.0.0.1 {client}", "rdmacm-utils", expect)


def rcopy():
    """The copy is compared with what was copied."""
    return two("rcopy -p {port}",
               "rcopy /bin/bash 127.0.0.1:$TMPDIR/copy -p {port} && cmp /bin/bash $TMPDIR/copy && "
               "echo the same; rm -f $TMPDIR/copy", "rdmacm-utils", "the same")


SOCKETS_OVER_RDMA = "/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so"


def preloaded(server, client, package, expect):
    """Programs that know sockets alone, with Debian's library that puts RDMA under them."""
    under = f"LD_PRELOAD=$LD_PRELOAD:{SOCKETS_OVER_RDMA}"
    return two(server.format(under=under, port="{port}"), client.format(under=under, port="{port}"),
               package, expect) | {
                   "program": package,
                   "probe": ["test", "-e", SOCKETS_OVER_RDMA]}


def fio(verb, server="", client=""):
    line = "fio --name=one --ioengine=rdma --port={port} --bs=64k --size=16m --iodepth=8"
    return two(f"{line} --rw=read {server}",
               f"{line} --rw=write --verb={verb} --hostname=127.0.0.1 {client}", "fio",
               r"err= 0[\s\S]*err= 0")


def pyverbs():
    """Our own tests of argument checks and errors. The module is of the system's Python."""
    script = Path(__file__).with_name("verbs_errors.py")
    return {"program": "/usr/bin/python3", "package": "python3-pyverbs", "expect": "", "run": [],
            "probe": ["/usr/bin/python3", "-c", "import pyverbs"],
            "command": ["/usr/bin/python3", "-B", str(script)]}


def mpi(ranks):
    """Ring and all-reduce, results checked, by Open MPI over UCX."""
    source = Path(__file__).with_name("ring.c")
    environment = {"UCX_TLS": "rc_v,ud_v,self", "UCX_NET_DEVICES": "tulle0:1",
                   "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    line = (f"mpicc -o $TMPDIR/ring {source} && mpirun -np {ranks} --oversubscribe --mca pml ucx "
            "--mca btl ^openib,tcp,vader $TMPDIR/ring; code=$?; rm -f $TMPDIR/ring; exit $code")
    return {"program": "mpirun", "package": "openmpi-bin libopenmpi-dev", "expect": "right",
            "run": [], "command": ["sh", "-c", line], "environment": environment}


def mpi_fabric(ranks):
    """The same over libfabric, which unloads our library before the process ends."""
    one = mpi(ranks)
    line = one["command"][-1].replace(
        "--mca pml ucx", "--mca pml cm --mca mtl ofi "
        "--mca mtl_ofi_provider_include 'verbs;ofi_rxm'")
    return one | {"command": ["sh", "-c", line]}


def utils(program, options=""):
    return pair(program, f"-g 3 {options}", "ibverbs-utils",
                "success" if "xsrq" in program else PINGPONG)


PROGRAMS = {
    "devinfo": alone("ibv_devinfo", "-v", expect=r"GID\[  3\]:\s+::ffff:127.0.0.1, RoCE v2"),
    "devices": alone("ibv_devices", expect=r"tulle0"),
    "devinfo_infiniband": alone("ibv_devinfo", "-v", expect=r"link_layer:\s+InfiniBand",
                                run=["--link-layer", "infiniband"]),
    "rc_pingpong": utils("ibv_rc_pingpong", "-c"),
    "rc_pingpong_events": utils("ibv_rc_pingpong", "-e -c"),
    "rc_pingpong_builders": utils("ibv_rc_pingpong", "-N -t -c"),
    "rc_pingpong_large": utils("ibv_rc_pingpong", "-s 1048576 -n 50 -m 1024 -c"),
    "rc_pingpong_on_demand": utils("ibv_rc_pingpong", "-o -c"),
    "rc_pingpong_infiniband": pair("ibv_rc_pingpong", "-c", "ibverbs-utils", PINGPONG,
                                   run=["--link-layer", "infiniband"]),
    "uc_pingpong": utils("ibv_uc_pingpong", "-c"),
    "uc_pingpong_events": utils("ibv_uc_pingpong", "-e -c"),
    "ud_pingpong": utils("ibv_ud_pingpong", "-c"),
    "ud_pingpong_events": utils("ibv_ud_pingpong", "-e -c"),
    "srq_pingpong": utils("ibv_srq_pingpong", "-c"),
    "srq_pingpong_events": utils("ibv_srq_pingpong", "-e -c"),
    "xsrq_pingpong": utils("ibv_xsrq_pingpong", "-n 200 -e"),
    "send_bw": pair("ib_send_bw", "-n 500"),
    "send_bw_events": pair("ib_send_bw", "-e -n 500"),
    "send_bw_both_ways": pair("ib_send_bw", "-b -n 500"),
    "send_bw_uc": pair("ib_send_bw", "-c UC -n 500"),
    "send_bw_ud": pair("ib_send_bw", "-c UD -n 500"),
    "send_bw_xrc": pair("ib_send_bw", "-c XRC -n 500"),
    "send_bw_srq": pair("ib_send_bw", "--use-srq -n 500 -q 4"),
    "send_bw_all": pair("ib_send_bw", "-a -n 20"),
    "send_lat": pair("ib_send_lat", "-n 500"),
    "send_lat_ud": pair("ib_send_lat", "-c UD -n 500"),
    "send_lat_xrc": pair("ib_send_lat", "-c XRC -n 200"),
    "write_bw": pair("ib_write_bw", "-n 500"),
    "write_bw_16_qps": pair("ib_write_bw", "-q 16 -n 100"),
    "write_bw_lists": pair("ib_write_bw", "-s 8 -l 16 -n 1600"),
    "write_bw_uc": pair("ib_write_bw", "-c UC -n 500"),
    "write_bw_both_ways": pair("ib_write_bw", "-b -n 500"),
    "write_bw_all": pair("ib_write_bw", "-a -n 20"),
    "write_lat": pair("ib_write_lat", "-n 500"),
    "write_lat_inline": pair("ib_write_lat", "-I 64 -n 500"),
    "read_bw": pair("ib_read_bw", "-n 500"),
    "read_lat": pair("ib_read_lat", "-n 500"),
    "atomic_bw": pair("ib_atomic_bw", "-n 500"),
    "atomic_bw_fetch": pair("ib_atomic_bw", "-A FETCH_AND_ADD -n 500"),
    "atomic_lat": pair("ib_atomic_lat", "-n 200"),
    "send_bw_16_qps": pair("ib_send_bw", "-q 16 -n 50"),
    "send_bw_inline": pair("ib_send_bw", "-I 64 -s 64 -n 200"),
    "send_lat_events": pair("ib_send_lat", "-e -n 100"),
    "send_lat_uc": pair("ib_send_lat", "-c UC -n 100"),
    "send_lat_srq": pair("ib_send_lat", "--use-srq -n 100"),
    "write_bw_xrc": pair("ib_write_bw", "-c XRC -n 100"),
    "write_lat_uc": pair("ib_write_lat", "-c UC -n 100"),
    "write_lat_xrc": pair("ib_write_lat", "-c XRC -n 100"),
    "read_bw_both_ways": pair("ib_read_bw", "-b -n 100"),
    "read_bw_16_qps": pair("ib_read_bw", "-q 16 -n 50"),
    "read_bw_events": pair("ib_read_bw", "-e -n 100"),
    "read_bw_all": pair("ib_read_bw", "-a -n 5"),
    "read_lat_xrc": pair("ib_read_lat", "-c XRC -n 100"),
    "atomic_bw_both_ways": pair("ib_atomic_bw", "-b -n 100"),
    "atomic_bw_16_qps": pair("ib_atomic_bw", "-q 16 -n 50"),
    "atomic_bw_events": pair("ib_atomic_bw", "-e -n 100"),
    "atomic_lat_xrc": pair("ib_atomic_lat", "-c XRC -n 100"),
    "read_bw_cm": pair("ib_read_bw", "-R -n 100", host="127.0.0.1"),
    "atomic_bw_cm": pair("ib_atomic_bw", "-R -n 100", host="127.0.0.1"),
    "write_bw_infiniband": pair("ib_write_bw", "-n 500", run=["--link-layer", "infiniband"]),
    "write_bw_cm": pair("ib_write_bw", "-R -n 200", host="127.0.0.1"),
    "send_lat_cm": pair("ib_send_lat", "-R -n 200", host="127.0.0.1"),
    "rping": rping(20),
    "rping_own_queue_pairs": rping(20, "-q"),
    "rstream": rsocket("rstream", "-S 65536 -C 500", r"custom\s+64k\s+500"),
    "rstream_one_by_one": rsocket("rstream", "-S 64 -I 500 -C 1", r"custom\s+64\s+1\s+500"),
    "rstream_blocking": rsocket("rstream", "-T b -S 4096 -C 500", r"custom\s+4k\s+500"),
    "rstream_nonblocking": rsocket("rstream", "-T n -S 4096 -C 500", r"custom\s+4k\s+500"),
    "rstream_async": rsocket("rstream", "-T a -S 4096 -C 500", r"custom\s+4k\s+500"),
    "rstream_resolved": rsocket("rstream", "-T r -S 4096 -C 500", r"custom\s+4k\s+500"),
    "riostream": rsocket("riostream", "-S 65536 -C 200", r"custom\s+64k\s+200"),
    "rcopy": rcopy(),
    # Its server binds to ::1 by default. As many datagrams as there is room for.
    "udpong": rsocket("udpong", "-S 1000 -C 200", r"custom\s+1000\s+200", "-b 127.0.0.1"),
    "udpong_blocking": rsocket("udpong", "-T b -S 64 -C 200", r"custom\s+64\s+200",
                               "-b 127.0.0.1"),
    "preloaded_iperf": preloaded("{under} iperf -s -B 127.0.0.1 -p {port} -P 1",
                                 "{under} iperf -c 127.0.0.1 -p {port} -n 20M", "iperf",
                                 r"20\.0 MBytes[\s\S]*20\.0 MBytes"),
    # A file is opened last: the library is not ready for one before the first socket.
    "preloaded_socat": preloaded(
        "{under} socat -U TCP4-LISTEN:{port},bind=127.0.0.1 OPEN:/bin/bash,rdonly",
        "{under} socat -u TCP4:127.0.0.1:{port} OPEN:$TMPDIR/copy,creat && cmp /bin/bash "
        "$TMPDIR/copy && echo the same; rm -f $TMPDIR/copy", "socat", "the same"),
    "ucmatose": two("ucmatose -p {port}", "ucmatose -p {port} -s 127.0.0.1", "rdmacm-utils",
                    r"return status 0[\s\S]*return status 0"),
    "ucmatose_many": two("ucmatose -c 20 -p {port}", "ucmatose -c 20 -p {port} -s 127.0.0.1",
                         "rdmacm-utils", r"return status 0[\s\S]*return status 0"),
    # More connections at once than a usual backlog holds; none is refused.
    "cmtime": two("cmtime -c 500 -p {port}", "cmtime -c 500 -p {port} -s 127.0.0.1", "rdmacm-utils",
                  r"connecting\ndisconnecting[\s\S]*connect +:"),
    "rdma_xclient": two("rdma_xserver -c r -p {port}", "rdma_xclient -c r -s 127.0.0.1 -p {port}",
                        "rdmacm-utils", r"rdma_xclient: end 0"),
    "rdma_xclient_xrc": two("rdma_xserver -c x -p {port}",
                            "rdma_xclient -c x -s 127.0.0.1 -p {port}", "rdmacm-utils",
                            r"rdma_xclient: end 0"),
    "udaddy": two("udaddy", "udaddy -s 127.0.0.1", "rdmacm-utils",
                  r"return status 0[\s\S]*return status 0"),
    "mckey": two("mckey -m 239.1.2.3", "mckey -m 239.1.2.3 -s",
                 "rdmacm-utils", r"return status 0[\s\S]*return status 0"),
    "mckey_by_packets": two("mckey -m 239.1.2.3", "mckey -m 239.1.2.3 -s",
                            "rdmacm-utils", r"return status 0[\s\S]*return status 0",
                            run=["--strict"]),
    "qperf": two("qperf -lp {port}", "qperf -lp {port} 127.0.0.1 -t 1 -cm 1 rc_bw rc_lat "
                 "rc_rdma_write_bw; qperf -lp {port} 127.0.0.1 quit", "qperf",
                 r"rc_rdma_write_bw:\s+bw +="),
    "qperf_infiniband": two("qperf -lp {port}", "qperf -lp {port} 127.0.0.1 -t 1 rc_bw ud_lat uc_bw"
                            " rc_compare_swap_mr; qperf -lp {port} 127.0.0.1 quit", "qperf",
                            r"rc_compare_swap_mr:\s+msg_rate +=",
                            run=["--link-layer", "infiniband"]),
    "fio_write": fio("write"),
    "fio_read": fio("read"),
    "fio_send": fio("send"),
    # The receiver checks the sender's stamps: of the three verbs, only in the one whose data it
    # sees.
    "fio_send_verified": fio("send", "--verify=crc32c", "--verify=crc32c --do_verify=0"),
    "ucx_tag": ucx("tag_lat"),
    "ucx_tag_bw": ucx("tag_bw"),
    "ucx_put": ucx("ucp_put_lat"),
    "ucx_get": ucx("ucp_get"),
    "ucx_atomic": ucx("ucp_add"),
    "ucx_ud": ucx("tag_lat", "ud_v"),
    "ucx_tag_asleep": ucx("tag_lat", options="-E sleep"),
    "openmpi_2": mpi(2),
    "openmpi_4": mpi(4),
    "openmpi_fabric": mpi_fabric(2),
    "pyverbs": pyverbs(),
    "fabric_msg": fabric("msg"),
    "fabric_dgram": fabric("dgram"),
    # Its connection thread closes the end point when the peer has left. Completions that the
    # program has not polled by then are lost with the queue pair, as with adapters, and count as
    # flushed.
    "fabric_rdm": fabric("rdm") | {"known": r"cq_readerr: Work Request Flushed Error"},
}

# All of perftest and rping again on a bad network. Lost packets are retransmitted: no data is
# missing, or the programs would not end. There are few iterations, because a loss at the end of a
# message costs a timeout. UC and UD do not retransmit, and their receivers wait for ever: of these
# only the sides that send (WRITE) run, and for a time instead of a number (-D). Programs that wait
# for each answer (latency by UC and UD) cannot pass on any network.
FAULTS = ["--loss", "1%", "--reorder", "2%", "--duplicate", "1%", "--corrupt", "1%", "--seed", "7"]
FEWER = {
    "send_bw": "-n 20", "send_bw_events": "-e -n 20", "send_bw_both_ways": "-b -n 20",
    "send_bw_xrc": "-c XRC -n 20", "send_bw_srq": "--use-srq -q 4 -n 20", "send_bw_all": "-a -n 5",
    "send_bw_uc": "-c UC -D 1", "send_bw_ud": "-c UD -D 1", "send_lat": "-n 40",
    "send_lat_xrc": "-c XRC -n 30", "write_bw": "-n 20", "write_bw_16_qps": "-q 16 -n 10",
    "write_bw_lists": "-s 8 -l 16 -n 160", "write_bw_uc": "-c UC -n 50",
    "write_bw_both_ways": "-b -n 20", "write_bw_all": "-a -n 5", "write_lat": "-n 25",
    "write_lat_inline": "-I 64 -n 25", "read_bw": "-n 20", "read_lat": "-n 40",
    "atomic_bw": "-n 50", "atomic_bw_fetch": "-A FETCH_AND_ADD -n 50", "atomic_lat": "-n 40",
    "write_bw_cm": "-R -n 10", "send_lat_cm": "-R -n 10",
}
for _name, _options in FEWER.items():
    PROGRAMS[f"{_name}_faults"] = pair(PROGRAMS[_name]["program"], _options, run=FAULTS,
                                       host="127.0.0.1")
PROGRAMS["rping_faults"] = rping(10, "-S 5000") | {"run": FAULTS}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def is_there(test):
    if not shutil.which(test["program"]):
        return False
    probe = test.get("probe")
    return not probe or subprocess.run(probe, capture_output=True, check=False).returncode == 0


def leftovers(world, folder):
    """What is still there of a run: names of sockets, files."""
    names = Path("/proc/net/unix").read_text().splitlines()
    yield from (line for line in names if f"@tulle/{world}/" in line)
    yield from (str(path) for path in Path(folder).iterdir())


def is_known(test, result):
    """A mistake of the program itself, after both sides have done their work."""
    known = test.get("known")
    return (known and re.search(known, result.stderr) and
            len(re.findall(test["expect"], result.stdout)) == 2)


def run(tulle, name):
    test = PROGRAMS[name]
    if not is_there(test):
        print(f"SKIPPED: this test needs {test['program']} ({test['package']})")
        return SKIPPED
    world = f"interop-{name}-{os.getpid()}"
    port = free_port()
    command = [tulle, "run", *test["run"]]
    if "pair" in test:
        command += ["--pair", *(line.format(port=port) for line in test["pair"])]
    else:
        command += ["--", *test["command"]]
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"TULLE_WORLD": world, "TMPDIR": folder}
        environment |= test.get("environment", {})
        result = subprocess.run(command, env=environment, capture_output=True, text=True,
                                timeout=SECONDS, check=False, stdin=subprocess.DEVNULL)
        left = list(leftovers(world, folder))
    print(" ".join(command), result.stdout, result.stderr, sep="\n")
    problems = []
    if result.returncode != 0 and not is_known(test, result):
        problems.append(f"exit code {result.returncode}")
    if not re.search(test["expect"], result.stdout):
        problems.append(f"the output has no {test['expect']!r}")
    problems += [f"left behind: {what}" for what in left]
    print(*problems, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print(*PROGRAMS, sep="\n")
    else:
        sys.exit(run(sys.argv[1], sys.argv[2]))
