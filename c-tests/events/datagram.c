/* parts: block nonblock    Datagram ids (RDMA_PS_UDP): five clients at once, one of them rejected, one gone before
 * its answer is read; both sides in one thread. */
#include "events.h"

enum { N = 5 };
static struct rdma_event_channel *sc, *cc;
static struct rdma_cm_id *clients[N], *servers[N];
static int seen[16];

static void qp(struct rdma_cm_id *id)
{
    struct ibv_qp_init_attr attr = {.cap = {8, 8, 1, 1, 0}, .qp_type = IBV_QPT_UD};
    MUST(!rdma_create_qp(id, NULL, &attr));
}

/* The number of the id; events of several ids may come in any order, so it is not printed. */
static int next(struct rdma_event_channel *ch)
{
    struct rdma_cm_event *ev;
    MUST(cm_ready(ch, SOON) && !rdma_get_cm_event(ch, &ev));
    int number = (long)ev->id->context;
    if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
        number = *(const char *)ev->param.ud.private_data;
        servers[number] = ev->id;
    }
    if (ev->event == RDMA_CM_EVENT_ESTABLISHED) MUST(ev->param.ud.qp_num);
    if (ev->event == RDMA_CM_EVENT_UNREACHABLE) say("%s %d for %d", rdma_event_str(ev->event), ev->status, number);
    else if (ev->status) say("%s %d", rdma_event_str(ev->event), ev->status);
    seen[ev->event]++;
    rdma_ack_cm_event(ev);
    return number;
}

static void part(const char *name)
{
    int nonblock = is(name, "nonblock");
    struct sockaddr_in here = cm_addr(lab_addr(), lab_port());
    struct rdma_cm_id *listener;
    struct rdma_conn_param p = {.qp_num = 0};
    sc = new_channel(nonblock);
    cc = new_channel(nonblock);
    MUST(!rdma_create_id(sc, &listener, NULL, RDMA_PS_UDP) && !rdma_bind_addr(listener, (struct sockaddr *)&here));
    MUST(!rdma_listen(listener, 16));
    for (long i = 0; i < N; i++) MUST(!rdma_create_id(cc, &clients[i], (void *)i, RDMA_PS_UDP));
    for (int i = 0; i < N; i++) resolve(clients[i]);
    for (int i = 0; i < N; i++) next(cc);
    for (int i = 0; i < N; i++) MUST(!rdma_resolve_route(clients[i], SOON));
    for (int i = 0; i < N; i++) next(cc);
    for (int i = 0; i < N; i++) {
        char number = i;
        p.private_data = &number;
        p.private_data_len = 1;
        qp(clients[i]);
        MUST(!rdma_connect(clients[i], &p));
    }
    for (int i = 0; i < N; i++) next(sc);
    p.private_data_len = 0;
    for (int i = 0; i < N; i++) {
        qp(servers[i]);
        p.qp_num = servers[i]->qp->qp_num;
        if (i == 3) TRY(rdma_reject(servers[i], NULL, 0));
        else TRY(rdma_accept(servers[i], &p));
    }
    let_pass(50);
    int gone = next(cc) == 2 ? 1 : 2;
    cm_drop_id(clients[gone]); /* its answer is queued */
    clients[gone] = NULL;
    for (int i = 2; i < N; i++) next(cc);
    for (int type = 0; type < 16; type++)
        if (seen[type]) say("%s %d times", rdma_event_str(type), seen[type]);
    memset(seen, 0, sizeof seen);
    say("readable: server %d, client %d", readable(sc->fd), readable(cc->fd));
    for (int i = 0; i < N; i++) {
        cm_drop_id(clients[i]);
        cm_drop_id(servers[i]);
    }
    rdma_destroy_id(listener);
    rdma_destroy_event_channel(sc);
    rdma_destroy_event_channel(cc);
}

int main(int argc, char **argv)
{
    return play_parts(argc, argv, part);
}
