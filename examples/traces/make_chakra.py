#!/usr/bin/env python3
"""make_chakra.py FOLDER: writes the traces of examples/chakra.yaml, layers.0.et and so on.

Eight ranks, two stages of four. The first stage computes a micro-batch and sends it to the second;
the second computes it and sends a gradient back. Each stage then adds its gradients up, in a
process group of its own. Every node is written as Chakra's et_def.proto lays it out.
"""

import pathlib
import sys

COMPUTE, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7
METADATA = 1
ALL_REDUCE = 0


def varint(value):
    out = b""
    while value > 0x7f:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    data = value if isinstance(value, bytes) else value.encode()
    return varint(field << 3 | 2) + varint(len(data)) + data


def attribute(name, value):
    if isinstance(value, bool):
        return text(10, text(1, name) + number(27, value))
    if isinstance(value, int):
        return text(10, text(1, name) + number(9, value))
    return text(10, text(1, name) + text(29, value))


def node(number_of, name, kind, needs=(), micros=0, inputs="", **attributes):
    out = number(1, number_of) + text(2, name) + number(3, kind)
    out += b"".join(number(5, need) for need in needs)
    out += number(7, micros) if micros else b""
    out += text(8, text(1, inputs)) if inputs else b""
    return out + b"".join(attribute(key, value) for key, value in attributes.items())


def rank_nodes(rank):
    groups = '[{"pg_name": "1", "ranks": [0, 1, 2, 3]}, {"pg_name": "2", "ranks": [4, 5, 6, 7]}]'
    yield node(1, "## process_group:init ##", METADATA, inputs=groups)
    is_first = rank < 4
    peer = rank + 4 if is_first else rank - 4
    said = {"comm_size": 4 << 20}
    if is_first:
        yield node(2, "forward", COMPUTE, [], 300, is_cpu_op=False)
        yield node(3, "send", SEND, [2], comm_src=rank, comm_dst=peer, comm_tag=1, **said)
        yield node(4, "receive", RECEIVE, [], comm_src=peer, comm_dst=rank, comm_tag=2, **said)
        yield node(5, "backward", COMPUTE, [4], 600, is_cpu_op=False)
    else:
        yield node(2, "receive", RECEIVE, [], comm_src=peer, comm_dst=rank, comm_tag=1, **said)
        yield node(3, "forward and backward", COMPUTE, [2], 900, is_cpu_op=False)
        yield node(4, "send", SEND, [3], comm_src=rank, comm_dst=peer, comm_tag=2, **said)
        yield node(5, "nothing", COMPUTE, [3], 0, is_cpu_op=True)
    yield node(6, "gradients", COLLECTIVE, [5], comm_type=ALL_REDUCE, comm_size=64 << 20,
               pg_name="1" if is_first else "2")
    yield node(7, "optimizer", COMPUTE, [6], 100, is_cpu_op=False)


def main():
    folder = pathlib.Path(sys.argv[1])
    for rank in range(8):
        messages = [text(1, "0.0.4"), *rank_nodes(rank)]
        data = b"".join(varint(len(message)) + message for message in messages)
        (folder / f"layers.{rank}.et").write_bytes(data)


if __name__ == "__main__":
    main()
