/* RDMA before main (a constructor) and after it (a destructor). */
#include "cm.h"

static struct rdma_event_channel *early;

__attribute__((constructor)) static void before_main(void)
{
    early = TRY_PTR(rdma_create_event_channel());
}

__attribute__((destructor)) static void after_main(void)
{
    rdma_destroy_event_channel(early);
    struct rdma_event_channel *late = TRY_PTR(rdma_create_event_channel());
    if (late) rdma_destroy_event_channel(late);
}

int main(void)
{
    struct rdma_cm_id *id = cm_routed(early, RDMA_PS_TCP);
    say("route resolved on the channel of the constructor");
    rdma_destroy_id(id);
    return 0;
}
