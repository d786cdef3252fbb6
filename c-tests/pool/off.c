/* Queue pairs lie ready, and then memory runs out in the midst of the shim's own work, which turns it off: what the program
 * destroys afterwards is no more busy than without it. */
#include "pool.h"
#include <sys/resource.h>

static void *last;

/* No page more than now, and the heap used up. */
static void use_up_memory(void)
{
    struct rlimit limit;
    unsigned long pages;
    FILE *f = fopen("/proc/self/statm", "r");
    MUST(f && fscanf(f, "%lu", &pages) == 1 && !getrlimit(RLIMIT_AS, &limit));
    fclose(f);
    limit.rlim_cur = pages * sysconf(_SC_PAGESIZE);
    MUST(!setrlimit(RLIMIT_AS, &limit));
    for (size_t size = 1 << 20; size >= 16; size /= 2) {
        void *p;
        while ((p = malloc(size))) {
            *(void **)p = last;
            last = p;
        }
    }
}

static void have_memory_again(void)
{
    struct rlimit limit;
    MUST(!getrlimit(RLIMIT_AS, &limit));
    limit.rlim_cur = limit.rlim_max;
    MUST(!setrlimit(RLIMIT_AS, &limit));
    while (last) {
        void *before = *(void **)last;
        free(last);
        last = before;
    }
}

int main(void)
{
    struct ibv_context *ctx = verbs_open();
    struct ibv_pd *pd = ibv_alloc_pd(ctx);
    struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
    MUST(pd && cq);
    for (int i = 0; i < 4; i++) {
        struct ibv_qp_init_attr attr = verbs_attr(cq);
        struct ibv_qp *qp = ibv_create_qp(pd, &attr);
        MUST(qp);
        let_fill();
        MUST(!ibv_destroy_qp(qp));
    }
    let_fill();
    use_up_memory();
    for (int i = 0; i < 40; i++) MUST(!ibv_reg_mr(pd, NULL, 0, 1 << 30));
    have_memory_again();
    TRY(ibv_destroy_cq(cq));
    TRY(ibv_dealloc_pd(pd));
    TRY(ibv_close_device(ctx));
    return 0;
}
