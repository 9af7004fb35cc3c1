"""Makes one mistake with an RDMA connection, for trouble.py and counters.py, which look at what
comes of it.

usage: causes.py NAME       both queue pairs are in this process, but for those of `Two`
"""

import os
import signal
import sys
import unittest
from pathlib import Path

import pyverbs.enums as e
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.wr import SGE, RecvWR
from verbs_errors import ALL, Base


class One(Base):
    def write(self, rkey, remote, **options):
        self.here, self.there = self.pair(**options)
        self.post(self.here, self.mr, 16, e.IBV_WR_RDMA_WRITE, rkey, remote)

    def send(self, length=16):
        self.here, self.there = self.pair()
        self.post(self.here, self.mr, length)

    def test_no_receive(self):
        self.send()
        self.assertEqual(self.status(), e.IBV_WC_RNR_RETRY_EXC_ERR)

    def test_unknown_key(self):
        self.write(self.mr.rkey ^ 0x5500, self.mr.buf)
        self.assertEqual(self.status(), e.IBV_WC_REM_ACCESS_ERR)

    def test_other_domain(self):
        foreign = MR(PD(self.context), 64, ALL)
        self.write(foreign.rkey, foreign.buf)
        self.assertEqual(self.status(), e.IBV_WC_REM_ACCESS_ERR)

    def test_out_of_bounds(self):
        self.write(self.mr.rkey, self.mr.buf + 60)
        self.assertEqual(self.status(), e.IBV_WC_REM_ACCESS_ERR)

    def test_missing_right(self):
        closed = MR(self.pd, 64, e.IBV_ACCESS_LOCAL_WRITE)
        self.write(closed.rkey, closed.buf)
        self.assertEqual(self.status(), e.IBV_WC_REM_ACCESS_ERR)

    def test_not_offered(self):
        self.write(self.mr.rkey, self.mr.buf, access=0)
        self.assertEqual(self.status(), e.IBV_WC_REM_INV_REQ_ERR)

    def test_wrong_psn(self):
        here, there = self.qp(), self.qp()
        self.connect(here, there.qp_num)
        self.connect(there, here.qp_num, psn=0xfff000)
        self.post(here, self.mr)
        self.assertEqual(self.status(), e.IBV_WC_RETRY_EXC_ERR)

    def test_other_kind_of_gid(self):
        here, there = self.qp(), self.qp()
        self.connect(here, there.qp_num)
        self.connect(there, here.qp_num, index=2)
        self.post(here, self.mr)
        self.assertEqual(self.status(), e.IBV_WC_RETRY_EXC_ERR)

    def test_other_peer(self):
        here, there, other = self.qp(), self.qp(), self.qp()
        self.connect(here, there.qp_num)
        self.connect(there, other.qp_num, psn=0xfff000)
        self.post(here, self.mr)
        self.assertEqual(self.status(), e.IBV_WC_RETRY_EXC_ERR)

    def test_too_long(self):
        here, there = self.pair()
        there.post_recv(RecvWR(num_sge=1, sg=[SGE(self.mr.buf, 8, self.mr.lkey)]))
        self.post(here, self.mr, 64)
        self.completions(2)

    def test_local_memory(self):
        self.send(65)
        self.assertEqual(self.status(), e.IBV_WC_LOC_PROT_ERR)

    def test_not_ready(self):
        here, there = self.qp(), self.qp()
        self.connect(here, there.qp_num, timeout=1)
        self.post(here, self.mr)
        self.assertEqual(self.status(), e.IBV_WC_RETRY_EXC_ERR)

    def test_several(self):
        """One queue pair fails with more than one request, and then the other one because of it."""
        for qp in self.pair():
            for number in range(3):
                self.post(qp, self.mr, wr_id=number)
            self.completions(3)

    def test_counted(self):
        self.test_no_receive()
        counters = "/sys/class/infiniband/tulle0/ports/1/hw_counters"
        for name in ("req_cqe_error", "rnr_nak_retry_err", "out_of_buffer"):
            while int(Path(counters, name).read_text()) == 0:
                continue

    def test_all_is_well(self):
        self.write(self.mr.rkey, self.mr.buf)
        self.assertEqual(self.status(), e.IBV_WC_SUCCESS)


class Two(Base):
    """Against another process, which ends."""

    def setUp(self):
        self.to_child, self.from_child = os.pipe(), os.pipe()
        self.child = os.fork()
        super().setUp()

    def tell(self, pipe, number):
        os.write(pipe[1], number.to_bytes(4, "big"))

    def hear(self, pipe):
        return int.from_bytes(os.read(pipe[0], 4), "big")

    def test_dead_peer(self):
        qp = self.qp()
        mine, its = ((self.from_child, self.to_child) if self.child == 0 else
                     (self.to_child, self.from_child))
        self.tell(mine, qp.qp_num)
        self.connect(qp, self.hear(its), timeout=1)
        self.tell(mine, 0)
        self.hear(its)
        if self.child == 0:
            signal.pause()
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        self.post(qp, self.mr)
        self.assertEqual(self.status(), e.IBV_WC_RETRY_EXC_ERR)


if __name__ == "__main__":
    name = f"test_{sys.argv[1]}"
    case = One if hasattr(One, name) else Two
    result = unittest.TextTestRunner(stream=sys.stdout).run(case(name))
    sys.exit(0 if result.wasSuccessful() else 1)
