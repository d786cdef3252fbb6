/* covers: ibv_reg_mr ibv_reg_mr_iova ibv_reg_mr_iova2 */
#include "verbs.h"

int main(void)
{
    static char buffer[8192];
    struct ibv_context *ctx = verbs_open();
    struct ibv_pd *pd = ibv_alloc_pd(ctx);
    unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING; /* no constant: the header takes iova2 */
    void *nowhere = (void *)0x1000;
    struct ibv_mr *mr = TRY_PTR((ibv_reg_mr)(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE));
    say("length %d, address %d", mr->length == sizeof buffer, mr->addr == buffer);
    TRY(ibv_dereg_mr(mr));
    if (getenv("LAB_VOLATILE")) access |= 1;
    mr = TRY_PTR(ibv_reg_mr(pd, buffer, sizeof buffer, access));
    if (mr) TRY(ibv_dereg_mr(mr));
    mr = TRY_PTR((ibv_reg_mr_iova)(pd, buffer, 4096, 0x10000, IBV_ACCESS_LOCAL_WRITE));
    if (mr) TRY(ibv_dereg_mr(mr));
    mr = TRY_PTR((ibv_reg_mr_iova2)(pd, buffer, 4096, (uintptr_t)buffer, access));
    if (mr) TRY(ibv_dereg_mr(mr));
    TRY_PTR((ibv_reg_mr)(pd, buffer, sizeof buffer, IBV_ACCESS_REMOTE_WRITE)); /* needs LOCAL_WRITE too */
    TRY_PTR((ibv_reg_mr)(pd, nowhere, 4096, IBV_ACCESS_LOCAL_WRITE));
    TRY_PTR((ibv_reg_mr_iova)(pd, nowhere, 4096, 0, IBV_ACCESS_LOCAL_WRITE));
    TRY_PTR((ibv_reg_mr_iova2)(pd, nowhere, 4096, 0, access));
    TRY(ibv_dealloc_pd(pd));
    TRY(ibv_close_device(ctx));
    return 0;
}
