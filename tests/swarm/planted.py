"""Plants defects into a copy of the engine, one at a time, and sees whether the swarm finds them.

usage: planted.py SOURCE_FOLDER COMPILER [DEFECT...]
"""

from plant import plant

# name: file, the text to change, and what it becomes.
DEFECTS = {
    "duplicates are carried out": (
        "src/transport/responder.cc",
        "    if (packet.psn() == r.expected) {",
        "    if (!psn_before(r.expected, packet.psn())) {",
    ),
    "a PSN comes not before the next one": (
        "src/wire/ids.h",
        "    return distance != 0 && distance < 0x80'0000;",
        "    return distance > 1 && distance < 0x80'0000;",
    ),
    "a PSN comes before itself": (
        "src/wire/ids.h",
        "    return distance != 0 && distance < 0x80'0000;",
        "    return distance < 0x80'0000;",
    ),
    "an atomic is carried out again for a duplicate": (
        "src/transport/responder.cc",
        "        answer.next_psn = answer.burst_psn = packet.psn();\n        return",
        "        answer.next_psn = answer.burst_psn = packet.psn();\n"
        "        if (answer.is_atomic) carry_out_atomic(answer.grant.host, packet);\n"
        "        return",
    ),
    "an ACK covers one packet too many": (
        "src/transport/completer.cc",
        "            acknowledge(core, qp, now, psn_plus(packet.psn(), 1), is_marked(packet));",
        "            acknowledge(core, qp, now, psn_plus(packet.psn(), 2), is_marked(packet));",
    ),
    "an ACK answers READs too": (
        "src/transport/completer.cc",
        "        if (work.awaits_data()) {\n            answers_missing",
        "        if (work.awaits_data() && work.packets > 1) {\n            answers_missing",
    ),
    "the payload of an early packet is not copied": (
        "src/transport/loss/reorder_buffer.cc",
        "        here.payload.assign(bytes, bytes + packet.payload_length);",
        "        here.payload.assign(packet.payload_length, *bytes);",
    ),
    "a READ that is asked for again begins at its start": (
        "src/transport/requester.cc",
        "        packet.extended.rdma = {work.remote_address + plan.offset,",
        "        packet.extended.rdma = {work.remote_address,",
    ),
    "a fence does not wait": (
        "src/transport/requester.cc",
        "(work.flags & kFence) != 0 && r.awaiting_data != 0",
        "(work.flags & kFence) != 0 && r.awaiting_data > 99",
    ),
    "flushed work tells nobody": (
        "src/transport/completer.cc",
        "    if (!signalled && status == Status::success) return;",
        "    if (!signalled) return;",
    ),
    "a UC message with a gap is not lost": (
        "src/transport/unreliable.cc",
        "    if (packet.psn() != r.expected || begins) lose_message(core, qp);",
        "    if (begins) lose_message(core, qp);",
    ),
    "every answer behind a lost one spends a retry": (
        "src/transport/retry.cc",
        "    if (r.recovering || !spend_retry(core, qp)) return;",
        "    if (!spend_retry(core, qp)) return;",
    ),
}

if __name__ == "__main__":
    plant(DEFECTS, ("base", "wire", "transport"), "swarm")
