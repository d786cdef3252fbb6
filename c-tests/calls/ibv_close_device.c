/* covers: ibv_close_device */
#include "verbs.h"

int main(void)
{
    struct ibv_context *ctx = verbs_open();
    struct ibv_pd *pd = ibv_alloc_pd(ctx);
    struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
    struct ibv_qp_init_attr attr = verbs_attr(cq);
    MUST(ibv_create_qp(pd, &attr) && ibv_create_qp(pd, &attr) && ibv_create_qp(pd, &attr));
    TRY(ibv_close_device(ctx)); /* with all that stands on it */
    ctx = verbs_open();
    TRY(ibv_close_device(ctx));
    return 0;
}
