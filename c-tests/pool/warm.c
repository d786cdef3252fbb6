/* cmshim_pool_warm: what was asked for lies ready before the first creation. Runs under the shim only. */
#include "../../include/cmshim.h"
#include "pool.h"
#include <dlfcn.h>

int main(void)
{
    struct ibv_context *ctx = verbs_open();
    struct ibv_pd *pd = ibv_alloc_pd(ctx);
    struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
    struct ibv_qp_init_attr attr = verbs_attr(cq), asked, foreign = verbs_attr((void *)&attr);
    __typeof__(&cmshim_pool_warm) warm;
    *(void **)&warm = dlsym(RTLD_DEFAULT, "cmshim_pool_warm");
    struct ibv_qp *qps[5];
    MUST(pd && cq && warm);
    asked = attr;
    TRY(warm(pd, &asked, 5));
    say("attributes kept %d", !memcmp(&attr, &asked, sizeof attr));
    TRY(warm(pd, &asked, 0));
    TRY(warm(pd, NULL, 1));
    TRY(warm(pd, &foreign, 1)); /* a completion queue that nobody knows */
    asked.send_cq = NULL;
    TRY(warm(pd, &asked, 1));
    asked = attr;
    asked.qp_type = IBV_QPT_UD;
    TRY(warm(pd, &asked, 1));
    let_pass(500);
    say_kernel_has("warm");
    for (int i = 0; i < 5; i++) {
        asked = attr;
        MUST((qps[i] = ibv_create_qp(pd, &asked)));
    }
    for (int i = 0; i < 5; i++) MUST(!ibv_destroy_qp(qps[i]));
    TRY(ibv_destroy_cq(cq));
    TRY(ibv_dealloc_pd(pd));
    say_kernel_has("all destroyed");
    return 0;
}
