"""Plants defects into a copy of the engine, one at a time, and sees whether the swarm finds them.

usage: planted.py SOURCE_FOLDER [--look | DEFECT...]
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
    "an ACK in the middle covers one packet too many": (
        "src/transport/completer.cc",
        "    const Psn end = psn_plus(packet.psn(), 1);",
        "    const Psn end = psn_plus(packet.psn(), 2);",
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
    "a packet that was kept and taken stays in the bitmap": (
        "src/transport/loss/reorder_buffer.cc",
        "    bitmap.forget(psn);\n",
        "",
    ),
    "early packets count as carried out": (
        "src/transport/loss/scoreboard.cc",
        "        note_arrival(psn);\n        for",
        "        note_arrival(psn);\n        note_delivered(psn_plus(psn, 1));\n        for",
    ),
    "a packet that has gone again still counts as lost": (
        "src/transport/loss/scoreboard.cc",
        "            lost_.clear(at);\n            --lost_count_;",
        "            sent_again_.clear(at);",
    ),
    "a READ that misses an answer ends": (
        "src/transport/selective.cc",
        "psn_before(psn, work.end_psn()) && qp.scoreboard->is_answered(psn)",
        "psn_before(psn, work.end_psn())",
    ),
    "a READ that is asked for again begins at its start": (
        "src/transport/requester.cc",
        "        packet.extended.rdma = {work.remote_address + plan.offset,",
        "        packet.extended.rdma = {work.remote_address,",
    ),
    "a packet that came early is counted again": (
        "src/transport/unordered.cc",
        "|| qp.early->bitmap.has(psn);",
        ";",
    ),
    "a message in any order is whole without its last packet": (
        "src/transport/unordered.cc",
        "message.packets = packet.srq_or_ee + 1;",
        "message.packets = std::max(1u, packet.srq_or_ee);",
    ),
    "an early packet is in its place but not counted": (
        "src/transport/unordered.cc",
        "    if (is_placed && qp.spread->delivery == Delivery::unordered)",
        "    if (is_placed && packet.psn_bits % 64 != 5 &&\n"
        "        qp.spread->delivery == Delivery::unordered)",
    ),
    "a sender without credit never asks": (
        "src/transport/credit/sender_credit.h",
        "asks_at_ = now + settings_->request_after;\n        return {target",
        "asks_at_ = base::Instant::never();\n        return {target",
    ),
    "demand for credit takes the place of immediate data": (
        "src/transport/credit/credit.cc",
        "                                         : &packet.extended.rdma.qkey.value;",
        "                                         : &packet.extended.rdma.immediate_or_flush;",
    ),
    "a grant looks for a queue pair that is gone": (
        "src/transport/credit/credit.cc",
        "        return qp != nullptr && qp->spread ? &qp->spread->client : nullptr;",
        "        return &qp->spread->client;",
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
        "    if (r.recovering) {",
        "    if (!r.recovering && is_named && now.ps < 0) {",
    ),
    "the domain of an XRC queue is not checked": (
        "src/transport/xrc.cc",
        "    if (shared == nullptr || shared->xrc_domain != qp.xrc_domain) return",
        "    if (shared == nullptr) return",
    ),
    "an XRC message goes to the queue of the one before it": (
        "src/transport/xrc.cc",
        "    qp.srq = named;",
        "    if (qp.srq.value == 0) qp.srq = named;",
    ),
    "RESYNC is skipped": (
        "src/transport/rd.cc",
        "        ee.resync_due = ee.resync_due || !unsent;",
        "        ee.resync_due = false;",
    ),
    "RESYNC leaves the message under way open": (
        "src/transport/rd.cc",
        "        end_receive(core, half, Status::remote_aborted);\n",
        "",
    ),
    "a second message goes over an EE context": (
        "src/transport/rd.cc",
        "    if (half.state != QpState::rts || r.oldest != r.end) return;",
        "    if (half.state != QpState::rts || r.end - r.oldest > 1 ||\n"
        "        (r.oldest != r.end && (ee.carried.value == 0 || r.begun != r.end))) return;",
    ),
    "a suspended message is always sent again": (
        "src/transport/rd.cc",
        "    if (qp == nullptr || done < 2) return;",
        "    if (qp == nullptr || done < 99) return;",
    ),
    "the Q_Key of RD is not checked": (
        "src/transport/rd.cc",
        "    if (source.qkey != qp->qkey) {",
        "    if (qp == nullptr) {",
    ),
    "the RD domain of the destination is not checked": (
        "src/transport/rd.cc",
        "!qp->receives() || qp->rd_domain != ee.domain)",
        "!qp->receives())",
    ),
    "a datagram to a group is delivered twice": (
        "src/transport/delivery.cc",
        "    for (const MulticastMember& member : core.members)\n"
        "        if (member.group.value == packet.destination)",
        "    for (int twice = 0; twice < 2; ++twice)\n"
        "    for (const MulticastMember& member : core.members)\n"
        "        if (member.group.value == packet.destination)",
    ),
    "a datagram to a group goes to the members of all": (
        "src/transport/delivery.cc",
        "        if (member.group.value == packet.destination)\n",
        "",
    ),
    "the rights of a window are not checked": (
        "src/transport/memory.cc",
        "    if ((slot.access & access) != access) return Denial::missing_right;",
        "    if (slot.kind == Kind::region && (slot.access & access) != access)\n"
        "        return Denial::missing_right;",
    ),
    "a window of type 1 keeps its key": (
        "src/transport/memory.cc",
        "    ++window.variant;  // a new key",
        "    // a new key",
    ),
    "grants outlive their region": (
        "src/transport/memory.cc",
        "    const uint32_t epoch = slots_[slot].epoch + 1;",
        "    const uint32_t epoch = slots_[slot].epoch;",
    ),
    "the limit of a shared queue is told each time": (
        "src/transport/core.cc",
        "    shared->limit = 0;",
        "    shared->limit += 0;",
    ),
    "the limit of a shared queue is told too late": (
        "src/transport/core.cc",
        "shared->queue.waiting() + shared->lent >= shared->limit) return;",
        "shared->queue.waiting() + shared->lent >= shared->limit / 2) return;",
    ),
    "a queue pair that goes keeps the receive that it took": (
        "src/transport/queue_pairs.cc",
        "        shared->queue.give_back(responder.receive_place);",
        "        shared->queue.release(responder.receive_place);",
    ),
    "an answer to a queue pair of before counts": (
        "src/transport/completer.cc",
        "(packet.psn(), r.unacknowledged) && psn_before(packet.psn(), r.sent_end);",
        "(packet.psn(), r.unacknowledged);",
    ),
    "a path that migrated leads nowhere": (
        "src/transport/migration.cc",
        "    core.on_new_path(qp);\n",
        "",
    ),
    "a migration that was agreed upon is refused": (
        "src/transport/migration.cc",
        "        if (packet.source == qp.alternate.endpoint.value)",
        "        if (packet.source != qp.alternate.endpoint.value)",
    ),
    "a queue pair that is paced is not woken": (
        "src/transport/core.cc",
        "        qp->waits_for_pace = false;\n        wake(*qp);",
        "        qp->waits_for_pace = false;",
    ),
    "nobody is told of congestion": (
        "src/transport/notify.cc",
        "    if (!is_unicast) return;",
        "    if (!is_unicast || packet.source != 0) return;",
    ),
}

if __name__ == "__main__":
    plant(DEFECTS, "swarm_test")
