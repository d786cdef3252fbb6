/* A server that reads nothing until it is told to, and then counts the requests that the kernel kept for it.
 * usage: hold ADDR PORT BACKLOG GO_FILE COUNT_FILE
 * Once GO_FILE is there, takes what waits, writes how many that were to COUNT_FILE, and accepts these and all that come. */
#include "cm.h"

static struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1};

static int take(struct rdma_event_channel *ch)
{
    struct rdma_cm_event *ev;
    MUST(rdma_get_cm_event(ch, &ev) == 0);
    struct rdma_cm_id *id = ev->id;
    int type = ev->event;
    rdma_ack_cm_event(ev);
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
        MUST(cm_qp(id) == 0);
        rdma_accept(id, &param);
    } else if (type == RDMA_CM_EVENT_DISCONNECTED) {
        cm_drop_id(id);
    }
    return type;
}

int main(int argc, char **argv)
{
    if (argc < 6) return 2;
    struct sockaddr_in sa = cm_addr(argv[1], atoi(argv[2]));
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id *listener;
    int waited = 0;
    MUST(ch && rdma_create_id(ch, &listener, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_bind_addr(listener, (struct sockaddr *)&sa) == 0);
    MUST(rdma_listen(listener, atoi(argv[3])) == 0);
    say("server: listening");
    MUST(cm_ready(ch, -1));
    while (access(argv[4], F_OK)) usleep(50000);
    /* What the kernel dropped is sent again after 4 s. */
    while (cm_ready(ch, 0)) waited += take(ch) == RDMA_CM_EVENT_CONNECT_REQUEST;
    FILE *f = fopen(argv[5], "w");
    MUST(f);
    fprintf(f, "%d\n", waited);
    MUST(!fclose(f));
    say("server: counted");
    for (;;) take(ch);
}
