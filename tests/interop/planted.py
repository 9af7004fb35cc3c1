"""Plants defects into a copy of the drop-in libraries, and sees whether the tests find them.

usage: TULLE=PROGRAM planted.py SOURCE_FOLDER [--look | DEFECT...]

Each defect leaves out one check, or one thing that a call does besides its work.
"""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "swarm"))
from plant import build_in, plant_in  # noqa: E402

SECONDS = 240
OPTIONS = {"strict_test": ["--strict"], "devices_test": ["--devices", "4"],
           "ports_test": ["--devices", "2", "--ports", "2"]}

# name: file, the text to change, what it becomes, and which program finds it.
DEFECTS = {
    "any P_Key index is accepted": (
        "src/verbs/translation.cc",
        "    if (has(IBV_QP_PKEY_INDEX) && a.pkey_index != 0) return EINVAL;\n",
        "",
        "calls_test",
    ),
    "any port is accepted": (
        "src/verbs/translation.cc",
        "    if (has(IBV_QP_PORT) && !device.has_port(a.port_num)) return EINVAL;\n",
        "",
        "refusals_test",
    ),
    "a queue pair hears at all ports": (
        "src/live/connections.cc",
        "    const bool are_ports_met = peers.port == own.peer_port && "
        "peers.peer_port == own.port;\n",
        "    const bool are_ports_met = peers.port != 0;\n",
        "ports_test",
    ),
    "a connection of the second port is one of the first": (
        "src/verbs/rdmacm/connect.cc",
        "            a.port_num = std::max<uint8_t>(id.shown.port_num, 1);\n",
        "            a.port_num = 1;\n",
        "ports_test",
    ),
    "more READs at a time are accepted than the device promises": (
        "src/verbs/translation.cc",
        "    if (has(IBV_QP_MAX_QP_RD_ATOMIC) && a.max_rd_atomic > kMaxReads) return EINVAL;\n",
        "",
        "refusals_test",
    ),
    "any index of a GID is accepted": (
        "src/verbs/address.cc",
        "    if (a.is_global != 0 && a.grh.sgid_index >= gids.size()) return EINVAL;\n",
        "",
        "refusals_test",
    ),
    "inline data has as much room as was asked for": (
        "src/verbs/translation.cc",
        "    return std::min(room, static_cast<uint32_t>(kMaxInline));\n",
        "    return std::min(room, cap.max_inline_data);\n",
        "calls_test",
    ),
    "a target of another XRC domain can be opened": (
        "src/verbs/queue_pair.cc",
        "target->xrc_domain != object_of<XrcDomain>(attributes->xrcd).id",
        "target == nullptr",
        "refusals_test",
    ),
    "a target of another process's other domain can be opened": (
        "src/live/xrc_borrower.cc",
        "    if (!shown || shown->file != file->second) return std::nullopt;\n",
        "    if (!shown) return std::nullopt;\n",
        "xrc_test",
    ),
    "a queue of another process's other domain takes messages": (
        "src/live/xrc_borrower.cc",
        "    if (!shown || shown->file != file) return nullptr;\n",
        "    if (!shown) return nullptr;\n",
        "xrc_test",
    ),
    "completions of a queue pair outlive its reset": (
        "src/live/software_adapter.cc",
        "    if (mask == transport::kState && attributes.state == QpState::reset)\n"
        "        adapter_.queue_pairs().forget_completions(qpn);\n",
        "",
        "calls_test",
    ),
    "a channel goes while queues use it": (
        "src/verbs/completion.cc",
        "    if (channel->refcnt != 0) return EBUSY;\n",
        "",
        "calls_test",
    ),
    "a queue pair ends with the first of its handles": (
        "src/verbs/queue_pair.cc",
        "process.qp(qp.qpn) == &qp && qp.other == nullptr;",
        "true;",
        "calls_test",
    ),
    "memory is registered for more than its pages allow": (
        "src/verbs/memory.cc",
        "    return is_usable(address, length, access) ? 0 : EFAULT;",
        "    return is_usable(address, length, access) ? 0 : 0;",
        "calls_test",
    ),
    "memory that peers write need not be writable here": (
        "src/verbs/memory.cc",
        "    if (writes && (access & IBV_ACCESS_LOCAL_WRITE) == 0) return EINVAL;\n",
        "    if (writes && access == 0) return EINVAL;\n",
        "refusals_test",
    ),
    "a region that was deregistered stays on the board": (
        "src/verbs/memory.cc",
        "    // The peers release it first; then it belongs to the program alone.\n"
        "    host.memory().withdraw_region(mr->rkey);\n",
        "",
        "two_test",
    ),
    "a region is moved while peers copy": (
        "src/verbs/memory.cc",
        "    host.memory().withdraw_region(mr->rkey);\n"
        "    const auto refusal = host.adapter().memory().reregister_region",
        "    const auto refusal = host.adapter().memory().reregister_region",
        "two_test",
    ),
    "a region of another domain is imported": (
        "src/verbs/imports.cc",
        "original == nullptr || original->request.pd != pd_of(pd).id",
        "original == nullptr",
        "refusals_test",
    ),
    "a region of another process's other domain is imported": (
        "src/live/imports.cc",
        "    if (note == nullptr || note->pd.load() != pd) return std::nullopt;\n",
        "    if (note == nullptr) return std::nullopt;\n",
        "imports_test",
    ),
    "an imported region outlives its owner's": (
        "src/live/imports.cc",
        "    if (!stands(peer->grants(), writes)) return false;\n",
        "",
        "imports_test",
    ),
    "an imported region is written though its owner has taken that right away": (
        "src/live/imports.cc",
        "(!writes || (note->access.load() & transport::kLocalWrite) != 0);",
        "(!writes || note->access.load() != UINT32_MAX);",
        "imports_test",
    ),
    "nobody waits for copies into what was imported": (
        "src/live/imports.cc",
        "word_(peer.outgoing().at_work) { word_.fetch_add(1); }",
        "word_(peer.outgoing().at_work) { word_.fetch_add(2); }",
        "imports_test",
    ),
    "any handle is a domain of another process": (
        "src/live/imports.cc",
        "has_domain(world_.at(*peer).grants(), pd) ? ImportRefusal::none",
        "pd != 0 ? ImportRefusal::none",
        "imports_test",
    ),
    "a device's file may be made by anybody": (
        "src/live/imports.cc",
        "!peer.has_made(owner.word)",
        "!peer.is_reachable",
        "imports_test",
    ),
    "atomics on what was imported are not refused": (
        "src/live/imports.cc",
        ".access = terms_.access & ~uint32_t{transport::kRemoteAtomic}}",
        ".access = terms_.access}",
        "imports_test",
    ),
    "a domain goes while others stand on it": (
        "src/verbs/memory.cc",
        "    if (domain.children != 0) return EBUSY;\n",
        "",
        "refusals_test",
    ),
    "a thread domain goes while it is used": (
        "src/verbs/memory.cc",
        "        if (domain.users != 0) return EBUSY;\n",
        "",
        "calls_test",
    ),
    "advice is taken for memory that is not there": (
        "src/verbs/memory.cc",
        "            return EFAULT;\n",
        "            return 0;\n",
        "calls_test",
    ),
    "a queue is resized although its limit is refused": (
        "src/verbs/shared_receive.cc",
        " || (limits && attributes->srq_limit > places)",
        "",
        "refusals_test",
    ),
    "a forked child keeps the rings of its parent": (
        "src/verbs/process.cc",
        "            process.host_->abandon();\n",
        "",
        "clients_test",
    ),
    "a forked child keeps the objects of its parent": (
        "src/verbs/process.cc",
        "        process.qps_.clear();\n",
        "",
        "fork_test",
    ),
    "a forked child keeps the devices of its parent": (
        "src/verbs/process.cc",
        "        for (Context* context : process.contexts_) context->host = nullptr;\n",
        "",
        "fork_test",
    ),
    "a forked child takes the events of its parent": (
        "src/verbs/rdmacm/channel.cc",
        "    if (channel.made_in != era()) return fail(EIO);\n",
        "",
        "fork_test",
    ),
    "nobody waits for one who is about to listen": (
        "src/verbs/rdmacm/connect.cc",
        "            manager.seeker().seek(id, param);\n",
        "            tell_nobody_listens(manager, id);\n",
        "clients_test",
    ),
    "an event has no place before it comes": (
        "src/live/event_queue.h",
        "        make_room(1);\n        ++kept_places_;\n",
        "        ++kept_places_;\n",
        "scarce",
    ),
    "events of a queue pair outlive it": (
        "src/verbs/queue_pair.cc",
        "               event.element.qp == shown;\n",
        "               event.element.qp == nullptr;\n",
        "refusals_test",
    ),
    "a queue goes before its events were acknowledged": (
        "src/verbs/completion.cc",
        "    cq.completions.wait();\n",
        "",
        "refusals_test",
    ),
    "exceptions reach the program": (
        "src/verbs/guard.h",
        "            return failed<Answer, how>(ENOMEM);\n",
        "            throw;\n",
        "scarce",
    ),
    "connections begin at packet number 0": (
        "src/verbs/rdmacm/manager.cc",
        "    id->receive_psn = next_psn();\n",
        "",
        "clients_test",
    ),
    "an event is looked at after others see it": (
        "src/verbs/rdmacm/told_events.h",
        "            events.add_place();\n"
        "            events.push_into_place(unshown_.pop_front());\n",
        "            events.push(unshown_.front());\n"
        "            (void)unshown_.pop_front();\n",
        "calls_test",
    ),
    "a full backlog takes one more": (
        "src/verbs/rdmacm/delivery.cc",
        "    if (listener != nullptr && listener->untaken >= listener->backlog)\n"
        "        return (void)manager_.engine().ignore(handle);\n",
        "",
        "clients_test",
    ),
    "a killed client keeps its connection": (
        "src/transport/cm/gone.cc",
        "        cm::lose(desk_, *desk_.table.find(handle));\n",
        "        (void)handle;\n",
        "clients_test",
    ),
    "a stream takes any number of announced buffers": (
        "src/verbs/rsockets/outgoing.cc",
        "        if (targets_.size() == kTargets) return false;\n",
        "",
        "rsockets_test",
    ),
    "everybody who sends a header is remembered": (
        "src/verbs/rsockets/datagram.cc",
        "peers_.size() < kMostHeard || knows(from) ? peer_at(from) : unknown;",
        "peers_.size() < kMostHeard || !knows(unknown.own) ? peer_at(from) : unknown;",
        "rsockets_test",
    ),
}


def find(copy, *chosen):
    """Builds the libraries and runs the programs; returns which of their tests failed."""
    programs = chosen or sorted({defect[3] for defect in DEFECTS.values()})
    build_in(copy, "ibverbs", "rdmacm", "tulle-preload", *programs)
    for program in programs:
        if found := run(copy, program):
            return found
    return None


def run(copy, program):
    environment = dict(os.environ, TULLE_LIBRARIES=str(copy / "build/lib/tulle"))
    command = [os.environ["TULLE"], "run", *OPTIONS.get(program, []), "--",
               copy / "build" / program, "--gtest_fail_fast"]
    try:
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE, env=environment,
                              stderr=subprocess.STDOUT, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"{program} does not end"
    if done.returncode == 0:
        return None
    lines = done.stdout.splitlines()
    failed = [line for line in lines if line.startswith("[  FAILED  ]")]
    started = [line for line in lines if line.startswith("[ RUN      ]")]
    return (failed or started[-1:] or ["[ NO TEST  ] it ended"])[0][13:].split(" (")[0]


if __name__ == "__main__":
    plant_in(DEFECTS, find)
