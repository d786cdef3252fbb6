/* Threads that create and destroy at once, on completion queues of their own, of one and of each other. */
#include "pool.h"

enum { THREADS = 6, ROUNDS = 40 };

static struct ibv_context *ctx;
static struct ibv_pd *shared_pd;
static struct ibv_cq *shared_cq;
static int faults;

static void fault(const char *what)
{
    __atomic_add_fetch(&faults, 1, __ATOMIC_RELAXED);
    say("%s failed: %s", what, errno_name(errno));
}

/* A queue pair that is the caller's alone can be moved, and has the caller's context. */
static void use(struct ibv_pd *pd, struct ibv_cq *cq, void *context)
{
    struct ibv_qp_init_attr attr = verbs_attr(cq);
    attr.qp_context = context;
    struct ibv_qp *qp = ibv_create_qp(pd, &attr);
    if (!qp) {
        fault("ibv_create_qp");
        return;
    }
    if (qp->state != IBV_QPS_RESET || qp->qp_context != context) fault("a fresh queue pair");
    if (to_init(qp)) fault("ibv_modify_qp");
    if (qp->state != IBV_QPS_INIT || qp->qp_context != context) fault("a queue pair of one's own");
    if (ibv_destroy_qp(qp)) fault("ibv_destroy_qp");
}

static void *worker(void *arg)
{
    intptr_t me = (intptr_t)arg;
    for (int i = 0; i < ROUNDS; i++) {
        if (me % 2) {
            use(shared_pd, shared_cq, (void *)(me * 1000 + i + 1));
            continue;
        }
        struct ibv_pd *pd = ibv_alloc_pd(ctx);
        struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
        if (!pd || !cq) {
            fault("set-up");
            return NULL;
        }
        for (int j = 0; j < 4; j++) use(pd, cq, (void *)(me * 1000 + j + 1));
        if (ibv_destroy_cq(cq)) fault("ibv_destroy_cq");
        if (ibv_dealloc_pd(pd)) fault("ibv_dealloc_pd");
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    ctx = verbs_open();
    MUST((shared_pd = ibv_alloc_pd(ctx)));
    MUST((shared_cq = ibv_create_cq(ctx, 16, NULL, NULL, 0)));
    for (intptr_t i = 0; i < THREADS; i++) MUST(!pthread_create(&threads[i], NULL, worker, (void *)i));
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    TRY(ibv_destroy_cq(shared_cq));
    TRY(ibv_dealloc_pd(shared_pd));
    TRY(ibv_close_device(ctx));
    say("faults: %d", faults);
    return faults != 0;
}
