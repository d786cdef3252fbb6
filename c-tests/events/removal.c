/* The device goes away (whoever runs this deletes it) while the channels are polled: with a connection, and with ids
 * whose events nobody has read. (Read when the device is gone, ADDR_RESOLVED becomes ADDR_ERROR within librdmacm.) */
#include "crowd.h"

static int removed, seen[KINDS];

static void take_all(struct rdma_event_channel *ch)
{
    struct rdma_cm_event *ev;
    while (!rdma_get_cm_event(ch, &ev)) {
        seen[ev->event]++;
        removed += ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL;
        rdma_ack_cm_event(ev);
    }
}

int main(void)
{
    enum { UNREAD = 20, IDS = UNREAD + 3 };
    struct rdma_cm_id *ids[UNREAD];
    end_if_hung(30);
    struct cm_pair p = cm_connected();
    struct pollfd fds[2] = {{.fd = p.cc->fd, .events = POLLIN}, {.fd = p.sc->fd, .events = POLLIN}};
    set_nonblock(p.cc->fd, 1);
    set_nonblock(p.sc->fd, 1);
    for (int i = 0; i < UNREAD; i++) ids[i] = resolving(p.cc, i);
    settle();
    say("took %ld", take(p.cc)); /* others are read ahead, perhaps */
    say("ready");
    MUST(poll(&fds[1], 1, SOON) == 1);
    while (removed < IDS) {
        MUST(poll(fds, 2, SOON) > 0);
        if (fds[0].revents) take_all(p.cc);
        if (fds[1].revents) take_all(p.sc);
    }
    say("addresses: %d", seen[RDMA_CM_EVENT_ADDR_RESOLVED] + seen[RDMA_CM_EVENT_ADDR_ERROR]);
    say("RDMA_CM_EVENT_DEVICE_REMOVAL %d times", removed);
    for (int i = 0; i < UNREAD; i++) rdma_destroy_id(ids[i]);
    cm_close(&p);
    return 0;
}
