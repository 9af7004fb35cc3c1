"""NCCL between two ranks on one GPU, over our libraries and over its own sockets.

usage: nccl.py TULLE        runs both, and prints what each gave
       nccl.py --rank       one rank; the rest is in the environment

The ranks claim to be on different machines (NCCL_HOSTID), so all that they say goes through the
network. Needs PyTorch with NCCL and a GPU; without them it says so.
"""

import os
import subprocess
import sys

SIZES = (64 << 10, 1 << 20, 16 << 20, 128 << 20)
PORT = "29617"


def rank():
    import time

    import torch
    import torch.distributed as dist

    number = int(os.environ["TULLE_RANK"])
    os.environ["NCCL_HOSTID"] = f"host{number}"
    torch.cuda.set_device(0)
    store = dist.TCPStore("127.0.0.1", int(PORT), 2, number == 0)
    dist.init_process_group("nccl", store=store, rank=number, world_size=2)

    def busbw(operation, size, factor):
        for _ in range(5):
            operation()
        torch.cuda.synchronize()
        start, rounds = time.perf_counter(), 20
        for _ in range(rounds):
            operation()
        torch.cuda.synchronize()
        return size * factor * rounds / (time.perf_counter() - start) / 1e9

    for size in SIZES:
        count = size // 4
        data = torch.full((count,), number + 1.0, device="cuda")
        dist.all_reduce(data)
        gathered = torch.empty(2 * (count // 2), device="cuda")
        dist.all_gather_into_tensor(gathered, torch.full((count // 2,), number + 1.0,
                                                         device="cuda"))
        halves = gathered.view(2, -1)
        right = (bool((data == 3).all()) and bool((halves[0] == 1).all())
                 and bool((halves[1] == 2).all()))
        part = torch.zeros(count // 2, device="cuda")
        reduce = busbw(lambda d=data: dist.all_reduce(d), size, 1)
        gather = busbw(lambda g=gathered, p=part: dist.all_gather_into_tensor(g, p), size, 0.5)
        if number == 0:
            print(f"{size:>10} B  all_reduce {reduce:6.2f} GB/s  all_gather {gather:6.2f} GB/s  "
                  f"{'right' if right else 'WRONG'}", flush=True)
    dist.destroy_process_group()


def environment(net):
    return dict(os.environ, NCCL_NET=net, NCCL_SOCKET_IFNAME="lo")


def over_our_libraries(tulle):
    print("over our libraries:", flush=True)
    command = [tulle, "run", "-n", "2", "--", sys.executable, __file__, "--rank"]
    return subprocess.run(command, env=environment("IB"), timeout=250, check=False).returncode


def over_sockets():
    print("over its own sockets:", flush=True)
    ranks = [subprocess.Popen([sys.executable, __file__, "--rank"],
                              env=dict(environment("Socket"), TULLE_RANK=str(number)))
             for number in (0, 1)]
    return sum(process.wait(timeout=250) != 0 for process in ranks)


def main(tulle):
    try:
        import torch
    except ImportError:
        sys.exit("nccl.py: needs PyTorch with NCCL")
    if not torch.cuda.is_available():
        sys.exit("nccl.py: needs a GPU")
    print(f"NCCL {'.'.join(map(str, torch.cuda.nccl.version()))}", flush=True)
    failed = over_our_libraries(tulle) + over_sockets()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    rank() if sys.argv[1:] == ["--rank"] else main(*sys.argv[1:])
