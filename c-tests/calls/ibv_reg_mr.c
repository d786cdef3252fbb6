/* covers: ibv_reg_mr */
#include "verbs.h"

int main(void)
{
    static char buffer[8192] __attribute__((aligned(4096)));
    struct ibv_context *ctx = verbs_open();
    struct ibv_pd *pd = ibv_alloc_pd(ctx);
    void *nowhere = (void *)0x1000;
    struct ibv_mr *mr;
    mr = TRY_PTR((ibv_reg_mr)(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE));
    say("length %d, address %d", mr->length == sizeof buffer, mr->addr == buffer);
    TRY(ibv_dereg_mr(mr));
    mr = TRY_PTR((ibv_reg_mr)(pd, buffer + 1, 100, 0)); /* any address and length will do */
    TRY(ibv_dereg_mr(mr));
    TRY_PTR((ibv_reg_mr)(pd, buffer, sizeof buffer, IBV_ACCESS_REMOTE_WRITE)); /* needs LOCAL_WRITE too */
    TRY_PTR((ibv_reg_mr)(pd, nowhere, 4096, IBV_ACCESS_LOCAL_WRITE));
    TRY(ibv_dealloc_pd(pd));
    TRY(ibv_close_device(ctx));
    return 0;
}
