/* covers: mlx5dv_set_context_attr, on a device of another provider: libmlx5 says so, and a queue pair can be made as before */
#include "verbs.h"
#include <infiniband/mlx5dv.h>

int main(void)
{
    struct ibv_context *ctx = verbs_open();
    struct mlx5dv_ctx_allocators none = {0};
    TRY(mlx5dv_set_context_attr(ctx, MLX5DV_CTX_ATTR_BUF_ALLOCATORS, &none));
    struct ibv_pd *pd = ibv_alloc_pd(ctx);
    struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
    struct ibv_qp_init_attr attr = verbs_attr(cq);
    struct ibv_qp *qp = ibv_create_qp(pd, &attr);
    MUST(qp);
    TRY(ibv_destroy_qp(qp));
    TRY(ibv_destroy_cq(cq));
    TRY(ibv_dealloc_pd(pd));
    TRY(ibv_close_device(ctx));
    return 0;
}
