/* The device fails (strange.so makes up that event): what lies ready goes, none is made any more, and what the program does
 * from there on goes as it does bare. */
#include "pool.h"

enum { KEPT = 4 };

int main(void)
{
    struct ibv_async_event event;
    struct ibv_context *ctx = verbs_open();
    struct ibv_pd *pd = ibv_alloc_pd(ctx);
    struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
    struct ibv_qp *qps[KEPT];
    MUST(pd && cq);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < KEPT; i++) {
            struct ibv_qp_init_attr attr = verbs_attr(cq);
            MUST((qps[i] = ibv_create_qp(pd, &attr)));
            say("%d.%d: to INIT %d", round, i, to_init(qps[i]));
            let_fill();
        }
        if (!round) {
            MUST(!ibv_get_async_event(ctx, &event));
            say("event: %s", ibv_event_type_str(event.event_type));
            ibv_ack_async_event(&event);
        }
        for (int i = 0; i < KEPT; i++) MUST(!ibv_destroy_qp(qps[i]));
        if (!round) say_kernel_has("the device failed");
    }
    TRY(ibv_destroy_cq(cq));
    TRY(ibv_dealloc_pd(pd));
    TRY(ibv_close_device(ctx));
    return 0;
}
