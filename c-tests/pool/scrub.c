/* A preload beneath the shim that plays a device which cleans its completion queues when a queue pair is moved to RESET:
 * they are emptied then (all of them, so a program's queue must hold completions of that one queue pair only).
 * SCRUB=all      for everybody: an honest device
 * SCRUB=keeper   for the shim's own thread, and so for its reuse probe, only: a device that seems to, and does not
 * The export carries the version of the real one (scrub.map), since a versioned look-up skips others. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

static int scrubs(void)
{
    const char *whom = getenv("SCRUB");
    char name[16] = "";
    if (!whom) return 0;
    if (!strcmp(whom, "all")) return 1;
    return !prctl(PR_GET_NAME, name) && !strcmp(name, "cmshim-keeper");
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    int (*next)(struct ibv_qp *, struct ibv_qp_attr *, int) = dlvsym(RTLD_NEXT, "ibv_modify_qp", "IBVERBS_1.1");
    struct ibv_wc wc;
    if (!next) abort();
    int rc = next(qp, attr, mask);
    if (rc || !(mask & IBV_QP_STATE) || attr->qp_state != IBV_QPS_RESET || !scrubs()) return rc;
    while (ibv_poll_cq(qp->send_cq, 1, &wc) > 0) {}
    while (ibv_poll_cq(qp->recv_cq, 1, &wc) > 0) {}
    return rc;
}
