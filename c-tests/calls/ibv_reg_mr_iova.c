/* covers: ibv_reg_mr_iova */
#include "verbs.h"

int main(void)
{
    static char buffer[8192] __attribute__((aligned(4096)));
    struct ibv_context *ctx = verbs_open();
    struct ibv_pd *pd = ibv_alloc_pd(ctx);
    void *nowhere = (void *)0x1000;
    struct ibv_mr *mr;
    mr = TRY_PTR((ibv_reg_mr_iova)(pd, buffer, 4096, 0x10000, IBV_ACCESS_LOCAL_WRITE));
    if (mr) TRY(ibv_dereg_mr(mr));
    TRY_PTR((ibv_reg_mr_iova)(pd, buffer, 4096, 0x10001, IBV_ACCESS_LOCAL_WRITE)); /* another offset in the page */
    TRY_PTR((ibv_reg_mr_iova)(pd, nowhere, 4096, 0, IBV_ACCESS_LOCAL_WRITE));
    TRY(ibv_dealloc_pd(pd));
    TRY(ibv_close_device(ctx));
    return 0;
}
