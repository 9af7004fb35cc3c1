"""Real programs in trouble that was made for them: rules for packets, and what is said of it.

usage: trouble.py TULLE NAME       runs one of the functions below
       trouble.py --list           prints their names
"""

import re
import subprocess
import sys
from pathlib import Path

from interop import free_port
from world import main


def a_packet_that_a_rule_drops_is_sent_again(world):
    result, log = world.pair("faults:\n  - drop: {program: client, opcode: data, nth: 5}\n",
                             "ibv_rc_pingpong -g 3 -c -n 100")
    world.check(result.returncode == 0, "the data did not arrive")
    world.check(len(log) == 1 and re.match(r"host 0 lost .* bytes 1024 line 2$", log[0]),
                "the log does not say that one packet was lost")


def a_receiver_that_is_called_not_ready_is_asked_again(world):
    result, log = world.pair("faults:\n  - rnr: {program: client, opcode: send, nth: 3-4}\n",
                             "ibv_rc_pingpong -g 3 -c -n 100")
    world.check(result.returncode == 0, "the data did not arrive")
    world.check([line.split()[2] for line in log] == ["refused"] * 2, "two were to be refused")


def a_write_that_is_refused_completes_as_a_remote_access_error(world):
    rules = "faults:\n  - nak: {program: client, opcode: write, nth: 4, code: remote_access}\n"
    result, log = world.pair(rules, "ib_write_bw -n 100")
    world.check(result.returncode != 0, "the program did not notice")
    world.check(re.search(r"vendor_err .*[sS]tatus .*10|remote access error|status 10",
                          result.stdout + result.stderr), "the status is not 10")
    world.check(len(log) == 1 and " refused " in log[0], "one was to be refused")


def a_link_that_is_down_for_longer_than_the_retries_ends_with_status_12(world):
    result, log = world.pair("faults:\n  - link_down: {program: client, nth: 10, for: 60s}\n",
                             "ibv_rc_pingpong -g 3 -n 100")
    world.check(result.returncode != 0, "the program did not notice")
    world.check("(12) for wr_id" in result.stdout + result.stderr, "the status is not 12")
    world.check(log and " link-down " in log[0] and log[0].endswith("line 2"),
                "the log does not begin with the link")
    world.check(all(" lost " in line for line in log[1:]), "what followed was not lost")


def every_other_act_leaves_the_data_whole(world):
    # Damage to data alone: the program ends when it has received everything, and a peer whose last
    # acknowledgement was damaged would find nobody to ask again, as on hardware.
    rules = """faults:
  - double: {opcode: data, nth: every 7}
  - reorder: {opcode: data, nth: every 11}
  - delay: {opcode: ack, nth: every 5, by: 200us}
  - damage: {opcode: data, share: 2%}
  - mark: {opcode: data, nth: every 3}
  - nak: {opcode: send, nth: every 13, code: sequence}
"""
    result, log = world.pair(rules, "ibv_rc_pingpong -g 3 -c -n 200")
    world.check(result.returncode == 0, "the data did not arrive")
    words = {line.split()[2] for line in log}
    world.check(words == {"doubled", "late", "delayed", "damaged", "marked", "refused"},
                f"the log has {words}")


def rules_that_cannot_be_read_start_nothing(world):
    rules = world.folder / "rules.yaml"
    rules.write_text("faults:\n  - drop: {nht: 5}\n")
    result = world.run("--faults", str(rules), "--", "touch", str(world.folder / "started"))
    world.check(result.returncode == 2, f"exit code {result.returncode}")
    world.check(f"{rules}:2: unknown key 'nht' in drop; did you mean 'nth'?" in result.stderr,
                "the sentence is another one")
    world.check(not (world.folder / "started").exists(), "the program was started")


# The mistakes of causes.py, and the expected words.
CAUSES = {
    "no_receive": r"RNR retry counter exceeded \(status 13\): this process itself had no receive "
                  r"posted on its queue pair 0x",
    "unknown_key": r"remote access error \(status 10\): this process itself knows no memory with "
                   r"the rkey 0x",
    "other_domain": r"remote access error .* is of another protection domain than the queue pair",
    "out_of_bounds": r"the WRITE of 16 bytes at 0x\w+ is out of the bounds of the memory that",
    "missing_right": r"does not allow a WRITE: .* register it with IBV_ACCESS_REMOTE_WRITE",
    "not_offered": r"remote invalid request error .* qp_access_flags lack IBV_ACCESS_REMOTE_WRITE",
    "local_memory": r"local protection error \(status 4\): a local piece of the request",
    "not_ready": r"transport retry counter exceeded \(status 12\): the queue pair 0x\w+ of this "
                 r"process itself was not in RTR yet",
    "wrong_psn": r"transport retry counter exceeded \(status 12\): queue pair 0x\w+ of this "
                 r"process itself is connected to this one and takes none of its requests: its "
                 r"rq_psn is not the sq_psn of this one",
    "other_kind_of_gid": r"queue pair 0x\w+ of this process itself has a source GID of RoCE v1, "
                         r"and this one has one of RoCE v2: give both the sgid_index of one type",
    "other_peer": r"queue pair 0x\w+ of this process itself is connected to another one, 0x",
    "dead_peer": r"transport retry counter exceeded \(status 12\): the peer, process \d+ of host "
                 r"0, has ended",
}


def sentences(world, name, environment=None):
    """What is said of one mistake, a line each."""
    script = Path(__file__).with_name("causes.py")
    result = world.run("--", "/usr/bin/python3", "-B", str(script), name, environment=environment)
    world.check(result.returncode == 0, f"{name}: exit code {result.returncode}")
    return [line for line in result.stderr.splitlines() if line.startswith("tulle: ")]


def a_failed_completion_is_explained_in_one_sentence(world):
    for name, words in CAUSES.items():
        said = sentences(world, name)
        world.check(len(said) == 1, f"{name}: {len(said)} sentences")
        start = r"^tulle: host 0, process \d+, QP 0x\w{6}: .*"
        world.check(said and re.search(start + words + r".*\.$", said[0]), f"{name}: {said}")


def both_ends_of_a_message_that_is_too_long_say_so(world):
    said = sorted(sentences(world, "too_long"), key=lambda line: "remote" in line)
    world.check(len(said) == 2, f"{len(said)} sentences")
    for line, words in zip(said, ("longer than the receive buffer posted for it.",
                                  "longer than the receive buffer that this process itself had")):
        world.check(words in line, line)


def a_queue_pair_is_explained_once(world):
    said = sentences(world, "several")
    world.check(len(said) == 2, f"{len(said)} sentences for two queue pairs")
    world.check(said and "of this process itself is in the error state." in said[-1],
                "the second does not know of the first")


def nothing_is_said_where_nothing_failed_or_nobody_wants_to_know(world):
    world.check(not sentences(world, "all_is_well"), "a sentence, and all was well")
    world.check(not sentences(world, "no_receive", {"TULLE_QUIET": "1"}), "not quiet")


def a_rule_that_made_the_failure_is_named(world):
    result, _ = world.pair("faults:\n  - link_down: {program: client, nth: 10, for: 60s}\n",
                           "ibv_rc_pingpong -g 3 -n 100")
    world.check("the link was down, as a rule of --faults says." in result.stderr,
                "the client does not know")
    rules = "faults:\n  - nak: {program: client, opcode: write, nth: 4, code: remote_access}\n"
    result, _ = world.pair(rules, "ib_write_bw -n 100")
    world.check("(status 10): a rule of --faults had the request refused." in result.stderr,
                "the refusal is not explained")
    result, _ = world.pair("faults:\n  - drop: {program: client, opcode: data, nth: 5-}\n",
                           "ibv_rc_pingpong -g 3 -n 100")
    world.check("lost again and again, as the faults that were asked for say" in result.stderr,
                "the losses are not explained")


def messages_of_the_connection_manager_meet_faults_and_captures(world):
    """The first of the client is lost, and sent again after the four seconds that its time is."""
    rules, log, capture = (world.folder / name for name in ("rules.yaml", "log", "pcap"))
    rules.write_text("faults:\n  - drop: {program: client, qp: 1, nth: 1}\n")
    line = f"-C 3 -a 127.0.0.1 -p {free_port()}"
    result = world.run("--faults", str(rules), "--fault-log", str(log), "--pcap", str(capture),
                       "--pair", f"rping -s {line}", f"rping -c -v {line}")
    world.check(result.returncode == 0 and "rdma-ping-2" in result.stdout, "the data is missing")
    # It may have ended before it could say so.
    world.check(len(re.findall(r"client DISCONNECT EVENT", result.stderr)) <= 1,
                "the client was told of the end more than once")
    world.check(re.fullmatch(r"host 0 lost qp 0x000001 .* bytes 256 line 2\n", log.read_text()),
                "the log does not say that one was lost")
    shown = subprocess.run([world.tulle, "decode", str(capture)], capture_output=True, text=True,
                           check=True).stdout
    said = re.findall(r"ComMgt Send (\w+)", shown)
    world.check(said[:4] == ["ConnectRequest", "ConnectRequest", "ConnectReply", "ReadyToUse"] and
                "DisconnectRequest" in said, f"the capture has {said}")


def limits_that_are_too_low_are_named(world):
    for limit in ("ulimit -f", "ulimit -n"):
        result = world.run("--", "sh", "-c", f"{limit} 12; exec ibv_rc_pingpong -g 3")
        world.check(result.returncode == 1, f"{limit}: the program ended with {result.returncode}")
        world.check(re.search(rf"^tulle: .* raise .* by {limit}$", result.stderr, re.MULTILINE),
                    f"{limit} is not named")


if __name__ == "__main__":
    sys.exit(main((
        a_packet_that_a_rule_drops_is_sent_again,
        a_receiver_that_is_called_not_ready_is_asked_again,
        a_write_that_is_refused_completes_as_a_remote_access_error,
        a_link_that_is_down_for_longer_than_the_retries_ends_with_status_12,
        every_other_act_leaves_the_data_whole,
        rules_that_cannot_be_read_start_nothing,
        a_failed_completion_is_explained_in_one_sentence,
        both_ends_of_a_message_that_is_too_long_say_so,
        a_queue_pair_is_explained_once,
        nothing_is_said_where_nothing_failed_or_nobody_wants_to_know,
        a_rule_that_made_the_failure_is_named,
        messages_of_the_connection_manager_meet_faults_and_captures,
        limits_that_are_too_low_are_named,
    )))
