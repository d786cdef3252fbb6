/* covers: ibv_reg_mr_iova2 */
#include "verbs.h"

int main(void)
{
    static char buffer[8192] __attribute__((aligned(4096)));
    struct ibv_context *ctx = verbs_open();
    struct ibv_pd *pd = ibv_alloc_pd(ctx);
    void *nowhere = (void *)0x1000;
    struct ibv_mr *mr;
    /* The header's ibv_reg_mr comes here when the access flags are no constant. */
    volatile unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING;
    mr = TRY_PTR(ibv_reg_mr(pd, buffer, sizeof buffer, access));
    if (mr) TRY(ibv_dereg_mr(mr));
    mr = TRY_PTR((ibv_reg_mr_iova2)(pd, buffer, 4096, (uintptr_t)buffer, access));
    if (mr) TRY(ibv_dereg_mr(mr));
    TRY_PTR((ibv_reg_mr_iova2)(pd, nowhere, 4096, 0, access));
    TRY(ibv_dealloc_pd(pd));
    TRY(ibv_close_device(ctx));
    return 0;
}
