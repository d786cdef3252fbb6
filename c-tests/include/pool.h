/* Helpers for the tests of the pool: queue pairs on verbs alone, and what can be seen of one. */
#ifndef POOL_TEST_H
#define POOL_TEST_H
#include "verbs.h"

enum { FILL_MS = 60 }; /* long enough for a keeper in an emulated guest to make some */

HELPER void let_fill(void) { let_pass(FILL_MS); }

/* Everything of a new queue pair that does not depend on numbers which the kernel chose. */
HELPER void describe(const char *what, struct ibv_qp *qp, struct ibv_qp_init_attr *given, struct ibv_qp_init_attr *asked)
{
    struct ibv_qp_attr attr = {0};
    struct ibv_qp_init_attr init = {0};
    if (!qp) {
        say("%s: none, errno %s", what, errno_name(errno));
        return;
    }
    int rc = ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init);
    say("%s: caps %u %u %u %u %u; query %d: state %d, cached %d, caps %u %u %u %u %u, sig_all %d, type %d", what,
        given->cap.max_send_wr, given->cap.max_recv_wr, given->cap.max_send_sge, given->cap.max_recv_sge,
        given->cap.max_inline_data, rc, attr.qp_state, qp->state, init.cap.max_send_wr, init.cap.max_recv_wr,
        init.cap.max_send_sge, init.cap.max_recv_sge, init.cap.max_inline_data, init.sq_sig_all, init.qp_type);
    say("%s: context own %d, queried %d; attr kept %d; send cq %d, recv cq %d, srq %d, pd context %d, type %d, events %u",
        what, qp->qp_context == asked->qp_context, init.qp_context == asked->qp_context,
        given->qp_context == asked->qp_context && given->send_cq == asked->send_cq && given->recv_cq == asked->recv_cq &&
            given->srq == asked->srq && given->qp_type == asked->qp_type && given->sq_sig_all == asked->sq_sig_all,
        qp->send_cq == asked->send_cq, qp->recv_cq == asked->recv_cq, qp->srq == asked->srq,
        qp->context == qp->pd->context, qp->qp_type, qp->events_completed);
}

HELPER int to_init(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

/* The GID of LAB_ADDR: the one that holds it as a mapped IPv4 address. */
HELPER int lab_gid(struct ibv_context *ctx, union ibv_gid *gid)
{
    struct in_addr want;
    inet_pton(AF_INET, lab_addr(), &want);
    for (int i = 0; i < 16; i++)
        if (!ibv_query_gid(ctx, 1, i, gid) && !memcmp(gid->raw + 12, &want, 4)) return i;
    return 0;
}

/* Connects two queue pairs of one device with each other. */
HELPER void join_qps(struct ibv_qp *a, struct ibv_qp *b)
{
    union ibv_gid gid;
    int index = lab_gid(a->context, &gid);
    for (int i = 0; i < 2; i++) {
        struct ibv_qp *qp = i ? b : a, *peer = i ? a : b;
        struct ibv_qp_attr rtr = {
            .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qp_num,
            .max_dest_rd_atomic = 1, .min_rnr_timer = 12,
            .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = gid, .sgid_index = index, .hop_limit = 1}},
        };
        MUST(!to_init(qp));
        if (qp->qp_type == IBV_QPT_RC)
            MUST(!ibv_modify_qp(qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
        else
            MUST(!ibv_modify_qp(qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN));
    }
    for (int i = 0; i < 2; i++) {
        struct ibv_qp *qp = i ? b : a;
        struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
        if (qp->qp_type == IBV_QPT_RC)
            MUST(!ibv_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                              IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
        else
            MUST(!ibv_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN));
    }
}

/* Is it an object of this process? Each belongs to the thread that made it, and the pool's to our own. */
HELPER int of_this_process(const char *shown)
{
    char task[64];
    int pid;
    const char *at = strstr(shown, " pid ");
    if (!at || sscanf(at, " pid %d", &pid) != 1) return 0;
    snprintf(task, sizeof task, "/proc/self/task/%d", pid);
    return !access(task, F_OK);
}

/* Adds one list of what the kernel has of this process to the most that was seen: false if there is nothing. (The shell's
 * children are not preloaded.) */
HELPER int kernel_has(int most[3])
{
    static const char *const kinds[] = {" lqpn ", " cqn ", " pdn "};
    int counts[3] = {0};
    char line[512];
    FILE *f = popen("unset LD_PRELOAD; for kind in qp cq pd; do rdma resource show $kind; done", "r");
    MUST(f);
    while (fgets(line, sizeof line, f)) {
        /* The first name is the line's own: a queue pair's tells its protection domain, too. */
        int kind = 0;
        while (kind < 3 && !strstr(line, kinds[kind])) kind++;
        if (kind < 3 && of_this_process(line)) counts[kind]++;
    }
    MUST(!pclose(f));
    for (int kind = 0; kind < 3; kind++)
        if (counts[kind] > most[kind]) most[kind] = counts[kind];
    return counts[0] || counts[1] || counts[2];
}

/* What the kernel has of this process while it lives, as `rdma resource show` tells it. A trial of the device may be under way (with
 * pool.recycle), and goes; a list may lack some, where other processes' objects go while the kernel makes it. */
HELPER void say_kernel_has(const char *when)
{
    int most[3] = {0};
    for (int i = 0; i < 8; i++) {
        if (!kernel_has(most)) {
            memset(most, 0, sizeof most);
            break;
        }
        let_pass(200);
    }
    say("%s, the kernel has %d queue pairs, %d completion queues, %d protection domains", when, most[0], most[1], most[2]);
}

HELPER int poll_for(struct ibv_cq *cq, struct ibv_wc *wc, int ms)
{
    for (int left = within(ms); left > 0; left--) {
        int n = ibv_poll_cq(cq, 1, wc);
        if (n) return n;
        usleep(1000);
    }
    return 0;
}
#endif
