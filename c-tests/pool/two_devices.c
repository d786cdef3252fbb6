/* The same kind of queue pair on two devices, and twice opened: each comes from its own device, and closing one with all
 * that is on it leaves the other alone. */
#include "pool.h"

enum { CONTEXTS = 4, ROUNDS = 5 };

int main(void)
{
    int devices;
    struct ibv_device **list = ibv_get_device_list(&devices);
    struct ibv_context *ctx[CONTEXTS];
    struct ibv_pd *pd[CONTEXTS];
    struct ibv_cq *cq[CONTEXTS];
    MUST(list && devices >= 2);
    for (int i = 0; i < CONTEXTS; i++) {
        MUST((ctx[i] = ibv_open_device(list[i % 2])));
        MUST((pd[i] = ibv_alloc_pd(ctx[i])) && (cq[i] = ibv_create_cq(ctx[i], 16, NULL, NULL, 0)));
    }
    for (int left = CONTEXTS; left > 0; left--) {
        for (int round = 0; round < ROUNDS; round++) {
            struct ibv_qp *qps[CONTEXTS];
            for (int i = 0; i < left; i++) {
                struct ibv_qp_init_attr attr = verbs_attr(cq[i]);
                MUST((qps[i] = ibv_create_qp(pd[i], &attr)));
                say("device %d: own %d %d, to INIT %d", i, qps[i]->context == ctx[i], qps[i]->pd == pd[i], to_init(qps[i]));
            }
            for (int i = 0; i < left; i++) MUST(!ibv_destroy_qp(qps[i]));
            let_fill();
        }
        if (left % 2) {
            TRY(ibv_destroy_cq(cq[left - 1]));
            TRY(ibv_dealloc_pd(pd[left - 1]));
        }
        TRY(ibv_close_device(ctx[left - 1]));
    }
    ibv_free_device_list(list);
    return 0;
}
