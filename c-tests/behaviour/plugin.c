/* An object that a program opens at run time: linked to librdmacm, which the program is not. */
#include "cm.h"

int plugin_use(void)
{
    struct rdma_event_channel *ch = TRY_PTR(rdma_create_event_channel());
    MUST(ch);
    struct rdma_cm_id *id = cm_routed(ch, RDMA_PS_TCP);
    MUST(!cm_qp(id) && !rdma_connect(id, NULL));
    cm_next("plugin", ch, NULL); /* nobody listens */
    cm_drop_id(id);
    rdma_destroy_event_channel(ch);
    return 0;
}
