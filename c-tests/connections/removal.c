/* The device goes away under a connection: whoever runs this deletes the device that carries LAB_ADDR.
 * The kernel finishes that only when this program has ended (rxe waits for its users). */
#include "cm.h"

int main(void)
{
    struct cm_pair p = cm_connected();
    say("connected on %s", ibv_get_device_name(p.client->verbs->device));
    while (cm_next("client", p.cc, NULL) != RDMA_CM_EVENT_DEVICE_REMOVAL) {}
    cm_drop_id(p.client);
    cm_drop_id(p.server);
    cm_drop_id(p.listener);
    return 0;
}
