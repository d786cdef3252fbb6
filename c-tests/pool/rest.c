/* One queue pair is created, and nothing more happens, until somebody ends the program. What was made ahead of the next one
 * rests in vain. */
#include "pool.h"

int main(void)
{
    struct ibv_context *ctx = verbs_open();
    struct ibv_pd *pd = ibv_alloc_pd(ctx);
    struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
    struct ibv_qp_init_attr attr = verbs_attr(cq);
    MUST(pd && cq && ibv_create_qp(pd, &attr));
    for (;;) pause();
}
