"""Plants defects into a copy of `live`, one at a time, and sees whether its tests find them.

usage: planted.py SOURCE_FOLDER [--look | DEFECT...]

A test that cannot fail is worth nothing. Each defect leaves out one check, or one wait. It fails
loudly if the text to change is not there, or is there twice.
"""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "swarm"))
from plant import build_in, plant_in  # noqa: E402

PROGRAMS = ("live_test", "attacks_test")
SECONDS = 240

# name: file, the text to change, what it becomes, and which tests to run.
DEFECTS = {
    "any number is one of an adapter": (
        "src/live/peer.cc",
        "    if (facts.device >= kMaxDevices) return false;\n",
        "",
        "AdaptersTest.*",
    ),
    "a listener is whoever says so": (
        "src/live/ports.cc",
        "        if (index != 0 && !is_listener(peer, number)) continue;\n",
        "",
        "AdaptersTest.*",
    ),
    "all adapters of a program have one secret": (
        "src/live/presence.cc",
        "    secret_ = {random_word(), random_word(), random_word()};\n",
        "    static const uint64_t word = random_word();\n"
        "    secret_ = {random_word(), word, random_word()};\n",
        "AdaptersTest.*",
    ),
    "receives are lent to whoever asks": (
        "src/live/xrc_lender.cc",
        " && there.has_proven(world_.own().secret().word)",
        "",
        "LendingTest.*",
    ),
    "receives are lent whatever domain is named": (
        "src/live/xrc_lender.cc",
        " || found->second.file != record.file",
        "",
        "LendingTest.*",
    ),
    "what a borrower says of a completion is not checked": (
        "src/live/xrc_lender.cc",
        "    if (!is_sane(peer, record)) return false;\n",
        "",
        "LendingTest.*",
    ),
    "receives that were lent to one that has left stay lent": (
        "src/live/xrc_carriage.cc",
        "    lender_.on_left(peer);\n",
        "",
        "LendingTest.what_was_lent*",
    ),
    "the protection domain is not checked on the short way": (
        "src/live/direct.cc",
        "if (region == nullptr || region->pd.load() != note.pd.load()) return false;",
        "if (region == nullptr) return false;",
        "HostTest.*",
    ),
    "the access flags of the queue pair are not checked on the short way": (
        "src/live/direct.cc",
        "note.peer_instance.load() != work.own_instance || (note.access.load() & needed) == 0)",
        "note.peer_instance.load() != work.own_instance)",
        "HostTest.*",
    ),
    "the rights of the region are not checked on the short way": (
        "src/live/direct.cc",
        "    if ((region->access.load() & needed) == 0 ||\n        !contains(",
        "    if (!contains(",
        "HostTest.*",
    ),
    "the bounds of the region are not checked on the short way": (
        "src/live/direct.cc",
        "           inner - outer <= outer_length - inner_length;",
        "           inner - outer <= outer_length + 64;",
        "HostTest.*",
    ),
    "the queue pair of another connection is written to": (
        "src/live/direct.cc",
        "note.peer.load() != work.own_number.value ||\n"
        "        note.peer_instance.load() != work.own_instance || (note",
        "(note",
        "HostTest.*",
    ),
    "memory is copied to before its owner knows whom to wait for": (
        "src/live/encounters.cc",
        "    if (peer.outgoing().is_taken.load(std::memory_order_acquire) == 0) return false;\n",
        "",
        "HostTest.*",
    ),
    "deregistration does not wait for copies": (
        "src/live/open_memory.cc",
        "    if (!is_copying(index, instance)) return;\n",
        "    if (index != 0) return;\n",
        "HostTest.*",
    ),
    "deregistration does not read what is in the ring": (
        "src/live/open_memory.cc",
        "        drain(index, time);\n"
        "        await_copies_of(index, instance, time + kCopyPatience);\n",
        "",
        "HostTest.*",
    ),
    "what deregistration reads is answered by and by": (
        "src/live/open_memory.cc",
        "    carrier_.transmit(time);\n",
        "",
        "HostTest.*withdrawn*",
    ),
    "what deregistration reads is told to nobody": (
        "src/live/open_memory.cc",
        "    carrier_.flush();\n    worker_.tell_events();\n",
        "    carrier_.flush();\n",
        "HostTest.*withdrawn*",
    ),
    "an acknowledgement wakes nobody": (
        "src/live/outstanding.h",
        " || qp.drain_notify || is_armed(qp.send_cq)",
        " || qp.drain_notify",
        "AnswerTest.*",
    ),
    "an acknowledgement wakes nobody who has more to send": (
        "src/live/outstanding.h",
        "standing != transport::Standing::answers || qp.drain_notify",
        "qp.drain_notify",
        "AnswerTest.*",
    ),
    "a refusal wakes nobody": (
        "src/live/packets.cc",
        " &&\n           wire::ack_kind(packet.extended.ack.syndrome) == wire::AckKind::ack",
        "",
        "AnswerTest.*",
    ),
    "who sleeps is not told of what another thread posts": (
        "src/live/progress.cc",
        "    if (renew_announcement()) watch_.wake();\n",
        "",
        "AnswerTest.*",
    ),
    "copies behind packets of copies go by packets": (
        "src/live/posting.cc",
        "    } else if (sends_only_copies && peer_of(*qp) != nullptr) {\n",
        "    } else if (false) {\n",
        "HostTest.*",
    ),
    "what is posted later overtakes copies that wait": (
        "src/live/posting.cc",
        "    release(qpn);\n    posts_packets_ = true;\n    return",
        "    posts_packets_ = true;\n    return",
        "HostTest.*",
    ),
    "anybody completes what was lent to another": (
        "src/live/xrc_lender.cc",
        " || found->second.peer != peer) return true;\n    const Lent lent = found->second;\n"
        "    lent_.erase(found);\n    transport::Completion completion;\n",
        ") return true;\n    const Lent lent = found->second;\n"
        "    lent_.erase(found);\n    transport::Completion completion;\n",
        "LendingTest.*",
    ),
    "a process is called in each of its slots": (
        "src/live/calls.cc",
        "    if (is_being_called(line->who)) {",
        "    if (being_called_.contains(slot)) {",
        "SlotsTest.*",
    ),
    "deregistration waits with the lock held": (
        "src/live/lock.h",
        "        if (is_amid_progress) return wait();\n",
        "        if (!is_amid_progress) return wait();\n",
        "FreezeTest.*:HostTest.*withdrawn*",
    ),
    "deregistration waits for ever": (
        "src/live/open_memory.cc",
        "        if (now() > end) return world_.lose_peer(index);\n",
        "",
        "FreezeTest.deregistration*",
    ),
    "a deregistered region stays on the board": (
        "src/live/board.cc",
        "        note.rkey.store(0);\n        return true;",
        "        return true;",
        "HostTest.*:BoardTest.*",
    ),
    "write records are obeyed without a proof": (
        "src/live/packets.cc",
        "!peer.has_proven(world_.own().secret().word))",
        "&peer == nullptr)",
        "AttackTest.*",
    ),
    "a proof is whatever was sent": (
        "src/live/peer.h",
        "incoming().proof.load(std::memory_order_acquire) == word;",
        "incoming().proof.load(std::memory_order_acquire) != 0 && word != 0;",
        "AttackTest.*",
    ),
    "a peer is whoever names its instance": (
        "src/live/peer.h",
        "        return instance == introduction.instance && who == introduction.who;",
        "        return instance == introduction.instance;",
        "PeerTest.*",
    ),
    "the slot of a caller is not called back": (
        "src/live/meeting.cc",
        "    if (owner && owner->who == caller->who) return caller;",
        "    if (owner) return caller;",
        "AttackTest.another_user*",
    ),
    "who has left gets the slot that it claimed": (
        "src/live/encounters.cc",
        "if (!introduction.is_leaving) lose_peer(known->second);",
        "lose_peer(known->second);",
        "AttackTest.who_claims*",
    ),
    "other users are admitted to a user's world": (
        "src/live/meeting.cc",
        "    if (!who || !world_.admits(*who)) return Descriptor();",
        "    if (!who) return Descriptor();",
        "AttackTest.*",
    ),
    "other users get keys and bells": (
        "src/live/meeting.cc",
        "    if (!send_card(caller.get(), mine, world_.is_own(*who)) && ",
        "    if (!send_card(caller.get(), mine, true) && ",
        "AttackTest.*",
    ),
    "memory that can be shrunk is mapped": (
        "src/live/shared_memory.cc",
        "seals >= 0 && (seals & kFixedSize) == kFixedSize &&",
        "seals >= 0 &&",
        "AttackTest.*",
    ),
    "a bell may be anything": (
        "src/live/peer.cc",
        "    if (introduction.bell && is_eventfd(introduction.bell.get())) {",
        "    if (introduction.bell) {",
        "FreezeTest.*",
    ),
    "the facts of a board are not checked": (
        "src/live/peer.cc",
        "    return facts.rank <= kMaxRank && facts.gid_count >= 1 && facts.gid_count <= kGids;",
        "    return true;",
        "FreezeTest.*",
    ),
    "a ring may claim more than it holds": (
        "src/live/ring.h",
        "        is_broken_ = seen - read_ > kRingBytes || seen % kRecordAlignment != 0;",
        "        is_broken_ = false;",
        "RingTest.*",
    ),
    "an empty record is no error": (
        "src/live/ring.h",
        "            if (length == 0 || length > kMaxRecord ||",
        "            if (length > kMaxRecord ||",
        "RingTest.*:FreezeTest.an_empty*",
    ),
    "a writer believes any position of its reader": (
        "src/live/ring.h",
        "            if (seen - read_ <= written_ - read_) read_ = seen;  // else the reader lies",
        "            read_ = seen;",
        "RingTest.*",
    ),
    "what is taken back does not wait for the reader": (
        "src/live/write_stream.h",
        "        if (ring.read.load(std::memory_order_acquire) < readers_end_) return;\n",
        "",
        "WriteStreamTest.*",
    ),
    "a forked child keeps its rings": (
        "src/live/world.cc",
        "    for (auto& peer : peers_) peer.reset();\n",
        "",
        "LastingTest.*",
    ),
    "rings of those who have gone are kept": (
        "src/live/peer.cc",
        "    incoming_ = SharedMemory();\n    outgoing_ = SharedMemory();\n",
        "",
        "LastingTest.*",
    ),
    "boards of those who have gone are kept": (
        "src/live/peer.cc",
        "    board_ = SharedMemory();\n    grants_ = SharedMemory();\n",
        "",
        "LastingTest.*",
    ),
    "signals end a call": (
        "src/live/meeting.cc",
        "ppoll(waits.data(), waits.size(), &time, nullptr) < 0 && errno != EINTR) return;",
        "ppoll(waits.data(), waits.size(), &time, nullptr) < 0) return;",
        "LastingTest.a_call_outlasts_signals",
    ),
    "callers who say nothing are kept": (
        "src/live/watch.cc",
        "    if (strangers_.size() == kMostStrangers) {",
        "    if (strangers_.size() == kMostStrangers * 1000) {",
        "FreezeTest.*",
    ),
    "names that were taken keep everybody out": (
        "src/live/meeting.cc",
        "        if (!is_squatted) break;",
        "        if (variant == 0) break;",
        "FreezeTest.*",
    ),
    "users have no limit of peers": (
        "src/live/encounters.cc",
        "constexpr uint32_t kMostOfAnotherUser = 64;",
        "constexpr uint32_t kMostOfAnotherUser = 6400;",
        "FreezeTest.*",
    ),
    "RoCE v1 and v2 understand each other": (
        "src/live/connections.cc",
        "    route.is_agreed = peers.kind == own.kind && are_ports_met;",
        "    route.is_agreed = are_ports_met;",
        "HostTest.*",
    ),
    "link layers are not compared": (
        "src/live/encounters.cc",
        "    if (there.is_ethernet != is_ethernet) return kNowhere;  // no switch joins the "
        "two\n",
        "",
        "LinkLayerTest.*",
    ),
    "memory that became read-only is written": (
        "src/live/mapped.cc",
        "    return allows(address, length, MADV_POPULATE_WRITE);",
        "    return is_mapped(address, length);",
        "MappedTest.*",
    ),
    "an event that needs no count is no edge": (
        "src/live/event_queue.h",
        "        eventfd_write(file_.get(), has_count ? 0 : 1);\n",
        "        if (!has_count) eventfd_write(file_.get(), 1);\n",
        "EventQueue.*",
    ),
}


def find(copy, tests="*"):
    """Builds and runs the tests; returns which one failed, or that they do not end."""
    build_in(copy, *PROGRAMS)
    for program in PROGRAMS:
        if found := run(copy / "build" / program, tests):
            return found
    return None


def run(program, tests):
    try:
        done = subprocess.run([program, f"--gtest_filter={tests}", "--gtest_fail_fast"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS,
                              check=False)
    except subprocess.TimeoutExpired:
        return "the tests do not end"
    if done.returncode == 0:
        return None
    lines = [line for line in done.stdout.splitlines() if line.startswith("[  FAILED  ]")]
    started = [line for line in done.stdout.splitlines() if line.startswith("[ RUN      ]")]
    return (lines or started or ["it ended"])[0 if lines else -1][13:].split(" (")[0]


if __name__ == "__main__":
    plant_in(DEFECTS, find)
