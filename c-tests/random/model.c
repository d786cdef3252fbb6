/* What has to come of what was done. */
#include "random.h"

struct chan chans[CHANNELS];
struct cmid cmids[IDS];
struct set sets[SETS];
struct copy copies[COPIES];
int on_null_kernel;

int pick(unsigned from, int slots, test *fits)
{
    int found[32], n = 0;
    for (int i = 0; i < slots; i++)
        if (fits(i)) found[n++] = i;
    return n ? found[from % n] : NONE;
}

int chan_open(int c) { return chans[c].ch != NULL; }
int chan_closed(int c) { return !chans[c].ch; }
int chan_usable(int c) { return chans[c].ch && !chans[c].old_cred; }
int chan_waits(int c) { return chan_usable(c) && chans[c].count; }
int chan_waits_in_order(int c) { return chan_waits(c) && !chans[c].mixed; }
int chan_empty(int c) { return chan_usable(c) && !chans[c].count; }
int chan_empty_blocking(int c) { return chan_empty(c) && !chans[c].nonblock; }

int free_ids(void)
{
    int n = 0;
    for (int i = 0; i < IDS; i++) n += cmids[i].state == FREE;
    return n;
}

int requests_waiting(void)
{
    int n = 0;
    for (int c = 0; c < CHANNELS; c++)
        for (int i = 0; i < chans[c].count; i++) n += chans[c].waits[i].type == RDMA_CM_EVENT_CONNECT_REQUEST;
    return n;
}

int events_of(int id)
{
    struct chan *c = &chans[cmids[id].chan];
    int n = 0;
    for (int i = 0; i < c->count; i++) n += c->waits[i].id == id;
    return n;
}

int channel_used(int chan)
{
    for (int i = 0; i < IDS; i++)
        if (cmids[i].state != FREE && cmids[i].chan == chan) return 1;
    return 0;
}

/* An event will come, or is there: its channel's epoll sets have to notice. */
void expect(int id, int type, int status, int client)
{
    struct chan *c = &chans[cmids[id].chan];
    if (c->count == PENDING) give_up("the model is full");
    c->waits[c->count++] = (struct pending){id, type, status, client};
    for (int s = 0; s < SETS; s++)
        for (unsigned i = 0; i < sizeof sets[s].items / sizeof sets[s].items[0]; i++) {
            struct item *item = &sets[s].items[i];
            if (item->used && item->set == NONE && item->chan == cmids[id].chan) item->due = 1;
        }
}

void forget_pending(int chan, int at)
{
    struct chan *c = &chans[chan];
    memmove(&c->waits[at], &c->waits[at + 1], (--c->count - at) * sizeof c->waits[0]);
    if (!c->count) c->mixed = c->unsure = 0;
}

/* On the real kernel, an own connection goes the same way as the events before it. */
static struct rdma_event_channel *own_server, *own_client;
static struct rdma_cm_id *own_listener;

void settle_begin(void)
{
    if (on_null_kernel) return;
    struct sockaddr_in any = cm_addr(lab_addr(), 0);
    own_server = new_channel(0);
    own_client = new_channel(0);
    MUST(!rdma_create_id(own_server, &own_listener, NULL, RDMA_PS_TCP));
    MUST(!rdma_bind_addr(own_listener, (struct sockaddr *)&any) && !rdma_listen(own_listener, 4));
}

void settle_events(void)
{
    if (on_null_kernel) return;
    struct sockaddr_in to = cm_addr(lab_addr(), 0);
    struct rdma_conn_param p = {.qp_num = 1, .retry_count = 7};
    struct rdma_cm_id *client;
    struct rdma_cm_event *ev;
    to.sin_port = rdma_get_src_port(own_listener);
    MUST(!rdma_create_id(own_client, &client, NULL, RDMA_PS_TCP));
    MUST(!rdma_resolve_addr(client, NULL, (struct sockaddr *)&to, 5000));
    cm_expect(own_client, RDMA_CM_EVENT_ADDR_RESOLVED);
    MUST(!rdma_resolve_route(client, 5000));
    cm_expect(own_client, RDMA_CM_EVENT_ROUTE_RESOLVED);
    MUST(!rdma_connect(client, &p) && !rdma_get_cm_event(own_server, &ev));
    struct rdma_cm_id *server = ev->id;
    rdma_ack_cm_event(ev);
    MUST(!rdma_reject(server, NULL, 0) && !rdma_destroy_id(server));
    cm_expect(own_client, RDMA_CM_EVENT_REJECTED);
    rdma_destroy_id(client);
    usleep(5000); /* two processors may answer in two rows */
}
