/* A server whose clients are accepted only while it is told so: a slow reader with a small backlog.
 * usage: hold ADDR PORT BACKLOG PAUSE_US LIFE_MS   takes one request per PAUSE_US, accepts it, lives LIFE_MS */
#include "cm.h"
#include <time.h>

int main(int argc, char **argv)
{
    if (argc < 6) return 2;
    struct sockaddr_in sa = cm_addr(argv[1], atoi(argv[2]));
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id *listener;
    struct rdma_conn_param p = {.responder_resources = 1, .initiator_depth = 1};
    time_t end = time(NULL) + atoi(argv[5]) / 1000;
    MUST(ch && rdma_create_id(ch, &listener, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_bind_addr(listener, (struct sockaddr *)&sa) == 0);
    MUST(rdma_listen(listener, atoi(argv[3])) == 0);
    say("server: listening");
    while (time(NULL) < end) {
        struct rdma_cm_event *ev;
        if (!cm_ready(ch, 200)) continue;
        MUST(rdma_get_cm_event(ch, &ev) == 0);
        struct rdma_cm_id *id = ev->id;
        int type = ev->event;
        rdma_ack_cm_event(ev);
        if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
            MUST(cm_qp(id) == 0);
            rdma_accept(id, &p);
            usleep(atoi(argv[4]));
        } else if (type == RDMA_CM_EVENT_DISCONNECTED) {
            cm_drop_id(id);
        }
    }
    return 0;
}
