/* parts: block nonblock    Datagram ids (RDMA_PS_UDP): five clients at once, one of them rejected, one gone before
 * its answer is read; both sides in one thread. */
#include "events.h"

enum { N = 5 };
static struct rdma_event_channel *sc, *cc;

static void qp(struct rdma_cm_id *id)
{
    struct ibv_qp_init_attr attr = {.cap = {8, 8, 1, 1, 0}, .qp_type = IBV_QPT_UD};
    MUST(!rdma_create_qp(id, NULL, &attr));
}

static struct rdma_cm_id *next(const char *who, struct rdma_event_channel *ch, long number)
{
    struct rdma_cm_event *ev;
    MUST(cm_ready(ch, 5000) && !rdma_get_cm_event(ch, &ev));
    struct rdma_cm_id *id = ev->id;
    if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST) number = *(const char *)ev->param.ud.private_data;
    else if (number < 0) number = (long)id->context;
    say("%s: %s %d for %ld, its qp known: %d", who, rdma_event_str(ev->event), ev->status, number,
        ev->event == RDMA_CM_EVENT_ESTABLISHED && ev->param.ud.qp_num != 0);
    rdma_ack_cm_event(ev);
    return id;
}

static void part(const char *name)
{
    int nonblock = is(name, "nonblock");
    struct sockaddr_in here = cm_addr(lab_addr(), lab_port());
    struct rdma_cm_id *listener, *clients[N], *servers[N];
    struct rdma_conn_param p = {.qp_num = 0};
    sc = new_channel(nonblock);
    cc = new_channel(nonblock);
    MUST(!rdma_create_id(sc, &listener, NULL, RDMA_PS_UDP) && !rdma_bind_addr(listener, (struct sockaddr *)&here));
    MUST(!rdma_listen(listener, 16));
    for (long i = 0; i < N; i++) MUST(!rdma_create_id(cc, &clients[i], (void *)i, RDMA_PS_UDP));
    for (int i = 0; i < N; i++) resolve(clients[i]);
    for (int i = 0; i < N; i++) next("client", cc, -1);
    for (int i = 0; i < N; i++) MUST(!rdma_resolve_route(clients[i], 5000));
    for (int i = 0; i < N; i++) next("client", cc, -1);
    for (int i = 0; i < N; i++) {
        char number = i;
        p.private_data = &number;
        p.private_data_len = 1;
        qp(clients[i]);
        MUST(!rdma_connect(clients[i], &p));
    }
    for (int i = 0; i < N; i++) servers[i] = next("server", sc, -1);
    p.private_data_len = 0;
    for (int i = 0; i < N; i++) {
        qp(servers[i]);
        p.qp_num = servers[i]->qp->qp_num;
        if (i == 3) TRY(rdma_reject(servers[i], NULL, 0));
        else TRY(rdma_accept(servers[i], &p));
    }
    usleep(50000);
    next("client", cc, -1);
    cm_drop_id(clients[2]); /* its answer is queued */
    clients[2] = NULL;
    for (int i = 2; i < N; i++) next("client", cc, -1);
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
