/* A program that sends messages to itself and frees all that it has made: what sanitizers and
 * debuggers are to say nothing of. Exit code 0 if each message arrived. */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WITHOUT_PSN /* a mistake, which is to be explained */
#define RECEIVE_PSN 0
#else
#define RECEIVE_PSN IBV_QP_RQ_PSN
#endif

#ifndef GID
#define GID 3
#endif
#ifndef PORT
#define PORT 1
#endif

enum { MESSAGES = 100, BYTES = 64 };

static struct ibv_context *context;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static char *memory;

#define NEED(what)                                       \
    do {                                                 \
        if (!(what)) {                                   \
            fprintf(stderr, "not so: %s\n", #what);      \
            exit(1);                                     \
        }                                                \
    } while (0)

static void connect_to_itself(void) {
    struct ibv_qp_attr a;
    memset(&a, 0, sizeof a);
    a.qp_state = IBV_QPS_INIT;
    a.port_num = 1;
    NEED(!ibv_modify_qp(qp, &a,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_1024;
    a.dest_qp_num = qp->qp_num;
    a.min_rnr_timer = 12;
    a.ah_attr.is_global = 1;
    a.ah_attr.port_num = 1;
    a.ah_attr.grh.sgid_index = 3;
    NEED(!ibv_query_gid(context, PORT, GID, &a.ah_attr.grh.dgid));
    NEED(!ibv_modify_qp(qp, &a,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            RECEIVE_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
    a.qp_state = IBV_QPS_RTS;
    a.timeout = 14;
    a.retry_cnt = a.rnr_retry = 7;
    NEED(!ibv_modify_qp(qp, &a,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static void post(int number) {
    struct ibv_sge to = {(uintptr_t)memory + BYTES, BYTES, mr->lkey};
    struct ibv_sge from = {(uintptr_t)memory, BYTES, mr->lkey};
    struct ibv_recv_wr receive = {.sg_list = &to, .num_sge = 1}, *bad_receive;
    struct ibv_send_wr send = {.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND,
                               .send_flags = IBV_SEND_SIGNALED}, *bad_send;
    memset(memory, number, BYTES);
    NEED(!ibv_post_recv(qp, &receive, &bad_receive));
    NEED(!ibv_post_send(qp, &send, &bad_send));
}

/* Another thread than the one that posts. */
static void *collect(void *count) {
    struct ibv_wc wc;
    for (int found = 0; found < 2;) {
        const int now = ibv_poll_cq(cq, 1, &wc);
        NEED(now == 0 || wc.status == IBV_WC_SUCCESS);
        found += now;
    }
    ++*(int *)count;
    return NULL;
}

int main(void) {
    struct ibv_device **list = ibv_get_device_list(NULL);
    NEED(list && list[0]);
    NEED((context = ibv_open_device(list[0])) != NULL);
    ibv_free_device_list(list);
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
    NEED((cq = ibv_create_cq(context, 16, NULL, channel, 0)) != NULL);
    memory = calloc(2, BYTES);
    NEED((mr = ibv_reg_mr(pd, memory, 2 * BYTES, IBV_ACCESS_LOCAL_WRITE)) != NULL);
    struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
                                    .cap = {4, 4, 1, 1, 0}};
    NEED((qp = ibv_create_qp(pd, &init)) != NULL);
    connect_to_itself();
    int count = 0;
    for (int i = 0; i < MESSAGES; ++i) {
        pthread_t thread;
        post(i);
        NEED(!pthread_create(&thread, NULL, collect, &count));
        pthread_join(thread, NULL);
        NEED(memory[0] == memory[BYTES]);
    }
    NEED(!ibv_destroy_qp(qp));
    NEED(!ibv_dereg_mr(mr));
    NEED(!ibv_destroy_cq(cq));
    NEED(!ibv_destroy_comp_channel(channel));
    NEED(!ibv_dealloc_pd(pd));
    NEED(!ibv_close_device(context));
    free(memory);
    printf("%d messages\n", count);
    return 0;
}
