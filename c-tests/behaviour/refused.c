/* The shortest program with a failing connection: nobody listens.
 * usage: refused [nobody] [threads|files|memlock N]    as another user, and with a low limit */
#include "cm.h"
#include <grp.h>
#include <sys/resource.h>

static void limit(const char *what, long n)
{
    struct rlimit l = {n, n};
    int which = !strcmp(what, "threads") ? RLIMIT_NPROC : !strcmp(what, "files") ? RLIMIT_NOFILE : RLIMIT_MEMLOCK;
    MUST(!setrlimit(which, &l));
}

static void memory(struct rdma_cm_id *id)
{
    size_t size = 1 << 20;
    void *buffer = aligned_alloc(4096, size);
    struct ibv_mr *mr = TRY_PTR((ibv_reg_mr)(id->pd, buffer, size, IBV_ACCESS_LOCAL_WRITE));
    if (mr) ibv_dereg_mr(mr);
    free(buffer);
}

int main(int argc, char **argv)
{
    int memlock = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "nobody")) {
            MUST(!setgroups(0, NULL) && !setgid(65534) && !setuid(65534));
        } else {
            MUST(i + 1 < argc);
            memlock |= !strcmp(argv[i], "memlock");
            limit(argv[i], atol(argv[i + 1]));
            i++;
        }
    }
    struct rdma_event_channel *ch = TRY_PTR(rdma_create_event_channel());
    struct sockaddr_in here = cm_addr(lab_addr(), lab_port());
    struct rdma_cm_id *id;
    if (!ch || rdma_create_id(ch, &id, NULL, RDMA_PS_TCP)) return 3;
    if (TRY(rdma_resolve_addr(id, NULL, (struct sockaddr *)&here, SOON))) return 4;
    if (cm_next("client", ch, NULL) != RDMA_CM_EVENT_ADDR_RESOLVED) return 5;
    MUST(!rdma_resolve_route(id, SOON));
    cm_next("client", ch, NULL);
    if (TRY(cm_qp(id))) return 6;
    if (memlock) memory(id);
    TRY(rdma_connect(id, NULL));
    cm_next("client", ch, NULL);
    cm_drop_id(id);
    rdma_destroy_event_channel(ch);
    return 0;
}
