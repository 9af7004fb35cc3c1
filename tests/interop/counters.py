"""The counters of /sys/class/infiniband move with what programs do.

usage: counters.py TULLE NAME       runs one of the functions below
       counters.py --list           prints their names
"""

import sys
from pathlib import Path

from interop import free_port
from world import main

PORT = "/sys/class/infiniband/tulle0/ports/1"
# Prints each counter, after the rest of the script.
SHOW = f'for c in {PORT}/*counters/*; do echo "counter $TULLE_RANK $(basename $c) $(cat $c)"; done'


def shown(result):
    """By rank and name."""
    lines = [line.split() for line in result.stdout.splitlines() if line.startswith("counter ")]
    return {(int(rank), name): int(value) for _, rank, name, value in lines}


def until_somebody_listens(port):
    number = f"{int(port):04X}"
    return f"until grep -q ':{number} ' /proc/net/tcp /proc/net/tcp6; do :; done"


def two_sides(world, program, *options):
    """A server, a client, and what their host has counted when both have ended."""
    line = f"{program} -p {free_port()}"
    script = (f"{line} >/dev/null & {until_somebody_listens(line.split()[-1])}; "
              f"{line} localhost >/dev/null; wait; {SHOW}")
    return shown(world.run(*options, "--", "sh", "-c", script))


def bytes_of_writes_by_the_short_way_are_counted_to_the_last(world):
    counted = two_sides(world, "ib_write_bw -s 65536 -n 1000 -N -F")
    words = 65536 * 1000 // 4
    for name in ("port_xmit_data", "port_rcv_data"):
        world.check(counted[0, name] == words, f"{name} is {counted[0, name]}, not {words}")
    world.check(counted[0, "rx_write_requests"] == 1000, "a thousand WRITEs came")
    world.check(counted[0, "port_xmit_packets"] == counted[0, "unicast_xmit_packets"] > 0,
                "all packets have one target")


def bytes_of_messages_are_counted_when_their_programs_have_ended(world):
    counted = two_sides(world, "ibv_rc_pingpong -g 3 -s 4096 -n 500")
    words = 2 * 4096 * 500 // 4
    for name in ("port_xmit_data", "port_rcv_data"):
        world.check(counted[0, name] == words, f"{name} is {counted[0, name]}, not {words}")


def each_host_has_counters_of_its_own(world):
    port = free_port()
    script = (f"if [ $TULLE_RANK = 0 ]; then ib_read_bw -n 100 -p {port}; else "
              f"{until_somebody_listens(port)}; ib_read_bw -n 100 -p {port} localhost; fi "
              f">/dev/null; {SHOW}")
    counted = shown(world.run("-n", "2", "--", "sh", "-c", script))
    words = 65536 * 100 // 4
    world.check(counted[1, "port_rcv_data"] == words, "the reader's port received")
    world.check(counted[1, "port_xmit_data"] == 0, "the reader sent no data")
    world.check(counted[0, "port_xmit_data"] == words, "the target's port sent")


def what_faults_do_is_seen_in_hw_counters(world):
    rules = world.folder / "rules.yaml"
    rules.write_text("""faults:
  - drop: {opcode: data, nth: 5}
  - double: {opcode: data, nth: 20}
  - rnr: {opcode: send, nth: 30}
  - mark: {opcode: data, nth: 40}
  - damage: {opcode: data, nth: 50-56}
""")
    counted = two_sides(world, "ibv_rc_pingpong -g 3 -n 200", "--faults", str(rules))
    for name in ("out_of_sequence", "packet_seq_err", "duplicate_request", "out_of_buffer",
                 "np_ecn_marked_roce_packets", "np_cnp_sent", "rx_icrc_encapsulated"):
        world.check(counted[0, name] > 0, f"{name} is zero")


def a_group_is_counted_apart(world):
    arrived = f"[ $(cat {PORT}/counters/multicast_rcv_packets) -ge 10 ]"
    result = world.run("--pair", "mckey -m 239.1.2.3",
                       f"mckey -m 239.1.2.3 -s >/dev/null; until {arrived}; do :; done; {SHOW}")
    counted = shown(result)
    world.check(counted[0, "multicast_xmit_packets"] >= 10, "none was sent")
    world.check(counted[0, "unicast_xmit_packets"] == 0, "all went to the group")


def a_program_that_ends_amid_calls_of_its_threads_has_counted(world):
    leaver = Path(world.tulle).with_name("leaver")
    script = f"for i in 1 2 3 4 5 6 7 8 9 10; do {leaver} || exit 1; done; {SHOW}"
    counted = shown(world.run("--", "sh", "-c", script))
    sent = counted[0, "port_xmit_data"] * 4
    world.check(sent == 10 * 64, f"ten programs sent 64 bytes each, and {sent} are counted")


def a_program_that_still_runs_is_counted(world):
    """It looks at its counters itself, until they show its failure."""
    script = Path(__file__).with_name("causes.py")
    result = world.run("--", "/usr/bin/python3", "-B", str(script), "counted")
    world.check(result.returncode == 0, "it does not see what it did")


if __name__ == "__main__":
    sys.exit(main((
        bytes_of_writes_by_the_short_way_are_counted_to_the_last,
        bytes_of_messages_are_counted_when_their_programs_have_ended,
        each_host_has_counters_of_its_own,
        what_faults_do_is_seen_in_hw_counters,
        a_group_is_counted_apart,
        a_program_that_ends_amid_calls_of_its_threads_has_counted,
        a_program_that_still_runs_is_counted,
    )))
