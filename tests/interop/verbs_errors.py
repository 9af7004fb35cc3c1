"""Argument checks and error paths of verbs, through Debian's pyverbs, which calls the libraries as
programs do. Run by `tulle run`; both queue pairs of a connection are in this process.
"""

import errno
import os
import unittest

import pyverbs.device as device
import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ, CompChannel
from pyverbs.mr import MR, MW
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

ALL = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ


class Base(unittest.TestCase):
    def setUp(self):
        self.context = device.Context(name=device.get_device_list()[0].name.decode())
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 64)
        self.mr = MR(self.pd, 64, ALL)

    def tearDown(self):
        self.context.close()

    def refused(self, code, call, *arguments, **named):
        with self.assertRaises(PyverbsRDMAError) as raised:
            call(*arguments, **named)
        self.assertEqual(raised.exception.error_code, code)

    def qp(self, kind=e.IBV_QPT_RC, pd=None, cq=None, srq=None, **caps):
        cap = QPCap(**({"max_send_wr": 8, "max_recv_wr": 8, "max_inline_data": 64} | caps))
        cq = cq or self.cq
        return QP(pd or self.pd, QPInitAttr(qp_type=kind, scq=cq, rcq=cq, srq=srq, cap=cap))

    def address(self, gid=None, index=3):
        gid = gid or self.context.query_gid(1, 3)
        return AHAttr(is_global=1, port_num=1, gr=GlobalRoute(dgid=gid, sgid_index=index))

    def connect(self, qp, peer, gid=None, timeout=8, retries=1, rnr_retries=0, access=ALL,
                psn=0, index=3):
        attr = QPAttr(qp_state=e.IBV_QPS_INIT, port_num=1)
        attr.qp_access_flags = access
        qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_PKEY_INDEX | e.IBV_QP_PORT |
                  e.IBV_QP_ACCESS_FLAGS)
        attr = QPAttr(qp_state=e.IBV_QPS_RTR)
        attr.path_mtu = e.IBV_MTU_1024
        attr.dest_qp_num, attr.rq_psn = peer, psn
        attr.max_dest_rd_atomic = attr.min_rnr_timer = 1
        attr.ah_attr = self.address(gid, index)
        qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_AV | e.IBV_QP_PATH_MTU | e.IBV_QP_DEST_QPN |
                  e.IBV_QP_RQ_PSN | e.IBV_QP_MAX_DEST_RD_ATOMIC | e.IBV_QP_MIN_RNR_TIMER)
        attr = QPAttr(qp_state=e.IBV_QPS_RTS)
        attr.timeout, attr.retry_cnt, attr.rnr_retry, attr.max_rd_atomic = timeout, retries, \
            rnr_retries, 1
        qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_TIMEOUT | e.IBV_QP_RETRY_CNT |
                  e.IBV_QP_RNR_RETRY | e.IBV_QP_SQ_PSN | e.IBV_QP_MAX_QP_RD_ATOMIC)

    def pair(self, **options):
        here, there = self.qp(), self.qp()
        self.connect(here, there.qp_num, **options)
        self.connect(there, here.qp_num, **options)
        return here, there

    def post(self, qp, mr, length=16, opcode=e.IBV_WR_SEND, rkey=0, remote=0, offset=0, wr_id=1):
        wr = SendWR(wr_id=wr_id, num_sge=1, sg=[SGE(mr.buf + offset, length, mr.lkey)],
                    opcode=opcode, send_flags=e.IBV_SEND_SIGNALED)
        if opcode != e.IBV_WR_SEND:
            wr.set_wr_rdma(rkey, remote)
        qp.post_send(wr)

    def empty_receive(self):
        return RecvWR(num_sge=1, sg=[SGE(self.mr.buf, 0, self.mr.lkey)])

    def completions(self, count, cq=None):
        found = []
        while len(found) < count:
            found += (cq or self.cq).poll(count - len(found))[1]
        return found

    def status(self):
        return self.completions(1)[0].status


class Creation(Base):
    def test_a_region_that_others_may_write_needs_local_write(self):
        self.refused(errno.EINVAL, MR, self.pd, 64, e.IBV_ACCESS_REMOTE_WRITE)

    def test_a_region_of_memory_that_is_not_there_is_refused(self):
        self.refused(errno.EFAULT, MR, self.pd, 4096, e.IBV_ACCESS_LOCAL_WRITE, address=4096)

    def test_a_completion_queue_has_entries_and_not_too_many(self):
        self.refused(errno.EINVAL, CQ, self.context, 0)
        self.refused(errno.EINVAL, CQ, self.context, 1 << 30)

    def test_what_the_adapter_does_not_have_is_not_supported(self):
        self.refused(errno.EOPNOTSUPP, self.qp, e.IBV_QPT_RAW_PACKET)

    def test_queues_beyond_the_limits_are_refused(self):
        self.refused(errno.EINVAL, self.qp, max_send_wr=1 << 30)
        self.refused(errno.EINVAL, self.qp, max_send_sge=1000)
        self.refused(errno.EINVAL, self.qp, max_inline_data=1 << 20)

    def test_a_port_that_is_not_there_is_refused(self):
        self.refused(errno.EINVAL, self.context.query_port, 2)

    def test_a_domain_in_use_is_busy(self):
        mr = MR(self.pd, 64, e.IBV_ACCESS_LOCAL_WRITE)
        self.assertEqual(mr.length, 64)
        cq = CQ(self.context, 4)
        qp = self.qp(cq=cq)
        self.assertGreater(qp.qp_num, 0)

    def test_a_thousand_queue_pairs_have_numbers_of_their_own(self):
        qps = [self.qp() for _ in range(1000)]
        self.assertEqual(len({qp.qp_num for qp in qps}), 1000)


class States(Base):
    def test_illegal_changes_are_refused_and_change_nothing(self):
        qp = self.qp()
        self.refused(errno.EINVAL, qp.modify, QPAttr(qp_state=e.IBV_QPS_RTS), e.IBV_QP_STATE)
        self.refused(errno.EINVAL, qp.modify, QPAttr(qp_state=e.IBV_QPS_INIT), e.IBV_QP_STATE)
        self.assertEqual(qp.query(e.IBV_QP_STATE)[0].qp_state, e.IBV_QPS_RESET)

    def test_work_before_its_time_is_refused(self):
        mr = MR(self.pd, 64, e.IBV_ACCESS_LOCAL_WRITE)
        self.refused(errno.EINVAL, self.post, self.qp(), mr)

    def test_a_full_queue_takes_no_more(self):
        here, _ = self.pair(rnr_retries=7)
        mr = self.mr
        with self.assertRaises(PyverbsRDMAError) as raised:
            for _ in range(9):
                self.post(here, mr)
        self.assertEqual(raised.exception.error_code, errno.ENOMEM)

    def test_work_of_a_queue_pair_that_ends_is_flushed_in_order(self):
        here, _ = self.pair(rnr_retries=7)
        mr = self.mr
        for number in range(4):
            self.post(here, mr, wr_id=number)
        here.modify(QPAttr(qp_state=e.IBV_QPS_ERR), e.IBV_QP_STATE)
        done = self.completions(4)
        self.assertEqual([wc.wr_id for wc in done], [0, 1, 2, 3])
        self.assertEqual({wc.status for wc in done}, {e.IBV_WC_WR_FLUSH_ERR})
        self.assertEqual({wc.vendor_err for wc in done}, {249})


class Transfers(Base):
    def test_a_send_arrives(self):
        here, there = self.pair()
        source, sink = MR(self.pd, 64, ALL), MR(self.pd, 64, ALL)
        source.write("hello", 5)
        there.post_recv(RecvWR(wr_id=7, num_sge=1, sg=[SGE(sink.buf, 64, sink.lkey)]))
        self.post(here, source, 5)
        self.assertEqual({wc.status for wc in self.completions(2)}, {e.IBV_WC_SUCCESS})
        self.assertEqual(sink.read(5, 0), b"hello")

    def test_nothing_at_all_can_be_sent_and_written(self):
        here, there = self.pair()
        mr = self.mr
        there.post_recv(self.empty_receive())
        self.post(here, mr, 0)
        self.post(here, mr, 0, e.IBV_WR_RDMA_WRITE)
        self.assertEqual({wc.status for wc in self.completions(3)}, {e.IBV_WC_SUCCESS})

    def test_no_receive_and_no_patience_is_rnr_retry_exceeded(self):
        here, _ = self.pair()
        self.post(here, self.mr)
        self.assertEqual(self.status(), e.IBV_WC_RNR_RETRY_EXC_ERR)

    def test_nobody_there_is_retry_exceeded(self):
        here = self.qp()
        self.connect(here, 0xabcde, timeout=1)
        self.post(here, self.mr)
        wc = self.completions(1)[0]
        self.assertEqual((wc.status, wc.vendor_err), (e.IBV_WC_RETRY_EXC_ERR, 129))

    def test_a_message_longer_than_its_receive_ends_both_sides(self):
        here, there = self.pair()
        mr = self.mr
        there.post_recv(RecvWR(num_sge=1, sg=[SGE(mr.buf, 8, mr.lkey)]))
        self.post(here, mr, 64)
        self.assertEqual({wc.status for wc in self.completions(2)},
                         {e.IBV_WC_LOC_LEN_ERR, e.IBV_WC_REM_INV_REQ_ERR})

    def test_keys_are_checked_on_both_sides(self):
        mr, other = MR(self.pd, 64, ALL), MR(self.pd, 64, e.IBV_ACCESS_LOCAL_WRITE)
        cases = {
            "a key that nobody gave": (mr.rkey ^ 0x5500, mr.buf, 16),
            "no right": (other.rkey, other.buf, 16),
            "out of range": (mr.rkey, mr.buf + 60, 16),
        }
        for name, (rkey, remote, length) in cases.items():
            with self.subTest(name):
                here, _ = self.pair()
                self.post(here, mr, length, e.IBV_WR_RDMA_WRITE, rkey, remote)
                self.assertEqual(self.status(), e.IBV_WC_REM_ACCESS_ERR)
        here, _ = self.pair()
        self.post(here, mr, 65)
        self.assertEqual(self.status(), e.IBV_WC_LOC_PROT_ERR)

    def test_a_region_of_the_past_is_not_touched(self):
        here, _ = self.pair()
        source, sink = MR(self.pd, 64, ALL), MR(self.pd, 64, ALL)
        rkey, remote = sink.rkey, sink.buf
        sink.close()
        self.post(here, source, 16, e.IBV_WR_RDMA_WRITE, rkey, remote)
        self.assertEqual(self.status(), e.IBV_WC_REM_ACCESS_ERR)

    def test_a_key_of_another_protection_domain_opens_nothing(self):
        foreign = MR(PD(self.context), 64, ALL)
        here, _ = self.pair()
        self.post(here, self.mr, 16, e.IBV_WR_RDMA_WRITE, foreign.rkey, foreign.buf)
        self.assertEqual(self.status(), e.IBV_WC_REM_ACCESS_ERR)

    def test_a_queue_pair_that_offers_nothing_refuses(self):
        here, _ = self.pair(access=0)
        mr = self.mr
        self.post(here, mr, 16, e.IBV_WR_RDMA_READ, mr.rkey, mr.buf)
        self.assertEqual(self.status(), e.IBV_WC_REM_INV_REQ_ERR)

    def test_a_message_of_four_gib_is_refused(self):
        here, _ = self.pair()
        mr = self.mr
        wr = SendWR(num_sge=1, sg=[SGE(mr.buf, 0xffffffff, mr.lkey)], opcode=e.IBV_WR_RDMA_WRITE)
        wr.set_wr_rdma(mr.rkey, mr.buf)
        self.refused(errno.EINVAL, here.post_send, wr)


class Rest(Base):
    def test_a_window_holds_its_region(self):
        mw = MW(self.pd, e.IBV_MW_TYPE_2)
        self.assertNotEqual(mw.rkey, 0)

    def test_a_shared_receive_queue_takes_as_many_as_it_has_places(self):
        srq = SRQ(self.pd, SrqInitAttr(SrqAttr(max_wr=2)))
        for _ in range(2):
            srq.post_recv(self.empty_receive())
        self.refused(errno.ENOMEM, srq.post_recv, self.empty_receive())

    def test_an_armed_queue_wakes_its_channel(self):
        channel = CompChannel(self.context)
        cq = CQ(self.context, 8, None, channel)
        here, there = self.qp(cq=cq), self.qp()
        self.connect(here, there.qp_num)
        self.connect(there, here.qp_num)
        cq.req_notify()
        self.post(here, self.mr, 0, e.IBV_WR_RDMA_WRITE)
        channel.get_cq_event(cq)
        cq.ack_events(1)
        self.assertEqual(self.completions(1, cq)[0].status, e.IBV_WC_SUCCESS)

    def test_a_fork_leaves_the_parent_unharmed(self):
        here, there = self.pair()
        mr = self.mr
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        there.post_recv(RecvWR(num_sge=1, sg=[SGE(mr.buf, 64, mr.lkey)]))
        self.post(here, mr)
        self.assertEqual({wc.status for wc in self.completions(2)}, {e.IBV_WC_SUCCESS})


if __name__ == "__main__":
    unittest.main()
