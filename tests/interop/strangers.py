"""What a stranger may send to UDP port 4791: nonsense, damaged packets, and requests of the
connection manager without end.

usage: strangers.py OWN THEM KIND COUNT

KIND is nonsense, damaged, connected (a good packet for a queue pair that is not the stranger's) or
requests (each from a communication ID and queue pair of its own, for port 20000).
"""

import random
import socket
import struct
import sys
import zlib

PORT = 4791
OWN_PORT = 0xd000
RC_SEND_ONLY, UD_SEND_ONLY = 0x04, 0x64
GENERAL_SERVICES, GSI_QKEY = 1, 0x80010000
CONNECT_REQUEST = 0x10


def icrc(own, them, transport):
    """IBTA annex A17.3.3: fields that routers change count as ones."""
    length = 28 + len(transport) + 4
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0xff, length, 0, 0x4000, 0xff, 17, 0xffff,
                     socket.inet_aton(own), socket.inet_aton(them))
    udp = struct.pack("!HHHH", OWN_PORT, PORT, length - 20, 0xffff)
    masked = transport[:4] + b"\xff" + transport[5:]
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + ip + udp + masked))


def bth(opcode, queue_pair, number):
    return struct.pack("!BBHII", opcode, 0x40, 0xffff, queue_pair, number & 0xffffff)


def request(number):
    """A REQ (12.6.5) as far as anybody looks at it."""
    mad = bytearray(256)
    mad[0:4] = bytes((1, 7, 2, 3))  # version 1, communication management of version 2, Send
    struct.pack_into("!Q", mad, 8, number + 1)
    struct.pack_into("!H", mad, 16, CONNECT_REQUEST)
    body = 24
    struct.pack_into("!I", mad, body, number + 1)  # its communication ID
    struct.pack_into("!Q", mad, body + 8, 0x01060000 | 20000)  # RDMA IP CM service, TCP
    struct.pack_into("!Q", mad, body + 16, 0x1234)  # its GUID
    struct.pack_into("!I", mad, body + 32, (number + 2) << 8)  # its queue pair
    mad[body + 50] = 0x30  # path MTU 1024
    return bytes(mad)


def packet(kind, chance, number):
    if kind == "nonsense":
        return chance.randbytes(chance.randrange(1, 300)), False
    if kind == "requests":
        deth = struct.pack("!II", GSI_QKEY, GENERAL_SERVICES)
        return bth(UD_SEND_ONLY, GENERAL_SERVICES, number) + deth + request(number), True
    data = chance.randbytes(64)
    return bth(RC_SEND_ONLY, chance.randrange(2, 1 << 24), number) + data, kind != "damaged"


def main():
    own, them, kind, count = sys.argv[1:4] + [int(sys.argv[4])]
    chance = random.Random(7)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER: "don't fragment"
        one.bind((own, OWN_PORT))
        for number in range(count):
            body, is_sealed = packet(kind, chance, number)
            if kind != "nonsense":
                body += icrc(own, them, body) if is_sealed else b"\0\0\0\0"
            one.sendto(body, (them, PORT))


if __name__ == "__main__":
    main()
