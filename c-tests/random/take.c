/* Events are waited for, taken, compared with the model, and acked now or later. */
#include "random.h"
#include <sys/select.h>

/* An event is there or on its way: every way to wait for it has to find it. */
void wait_for(int chan, unsigned way)
{
    int fd = chans[chan].ch->fd, found = 1;
    struct timeval limit = {.tv_sec = SOON / 1000 + 1};
    struct epoll_event got;
    fd_set set;
    switch (way % 4) {
    case 0:
        return; /* at once; a thread of cmshim may be reading it just now */
    case 1:
        found = cm_ready(chans[chan].ch, SOON);
        break;
    case 2:
        FD_ZERO(&set);
        FD_SET(fd, &set);
        found = select(fd + 1, &set, NULL, NULL, &limit) == 1;
        break;
    case 3: {
        if (chans[chan].unsure) return;
        int waiting = epoll_with(fd, EPOLLIN);
        found = epoll_wait(waiting, &got, 1, SOON) == 1;
        close(waiting);
    }
    }
    if (!found) give_up("channel %d: not readable, %s", chan, way % 4 == 1 ? "poll" : way % 4 == 2 ? "select" : "epoll");
}

/* TIMEWAIT_EXIT comes when it comes. */
struct rdma_cm_event *get_event(int chan)
{
    struct rdma_cm_event *ev;
    for (;;) {
        errno = 0;
        if (rdma_get_cm_event(chans[chan].ch, &ev)) {
            if (errno == EAGAIN && cm_ready(chans[chan].ch, SOON)) continue;
            give_up("channel %d: rdma_get_cm_event errno %s", chan, errno_name(errno));
        }
        if (ev->event != RDMA_CM_EVENT_TIMEWAIT_EXIT) return ev;
        rdma_ack_cm_event(ev);
    }
}

static const char *short_name(int type) { return rdma_event_str(type) + strlen("RDMA_CM_EVENT_"); }

static int slot_of(const struct rdma_cm_id *id) { return id ? (int)(long)id->context - 1 : NONE; }

/* Where in the model is it? */
static int find(const struct chan *c, const struct rdma_cm_event *ev)
{
    int request = ev->event == RDMA_CM_EVENT_CONNECT_REQUEST;
    int slot = slot_of(request ? ev->listen_id : ev->id);
    int client = request ? ((const uint8_t *)ev->param.conn.private_data)[0] - 1 : NONE;
    for (int i = 0; i < c->count; i++) {
        const struct pending *p = &c->waits[i];
        if (p->id == slot && p->type == (int)ev->event && p->status == ev->status && (!request || p->client == NONE || p->client == client))
            return i;
    }
    give_up("%s %d of id %d: was not to come", short_name(ev->event), ev->status, slot);
}

static int new_slot(void)
{
    for (int i = 0; i < IDS; i++)
        if (cmids[i].state == FREE) return i;
    give_up("no slot is left");
}

static int took_request(struct rdma_cm_event *ev, struct pending p)
{
    int slot = new_slot();
    cmids[slot] = (struct cmid){.state = REQUEST, .id = ev->id, .chan = cmids[p.id].chan, .peer = p.client};
    ev->id->context = (void *)(long)(slot + 1);
    if (p.client != NONE) cmids[p.client].peer = slot;
    return slot;
}

/* What librdmacm did while it gave the event. */
static void took(struct pending p)
{
    struct cmid *id = &cmids[p.id];
    if (p.type == RDMA_CM_EVENT_ADDR_RESOLVED) id->state = ADDRESS;
    if (p.type == RDMA_CM_EVENT_ROUTE_RESOLVED) id->state = ROUTE;
    if (p.type == RDMA_CM_EVENT_REJECTED) id->state = OVER;
    if (p.type == RDMA_CM_EVENT_ESTABLISHED && id->state == CONNECTING) {
        id->state = cmids[id->peer].state = UP;
        expect(id->peer, RDMA_CM_EVENT_ESTABLISHED, 0, NONE);
        settle_events();
    }
}

void take_into(int chan, struct rdma_cm_event *ev, char *line, size_t size, int hold)
{
    struct chan *c = &chans[chan];
    int at = find(c, ev), owner = c->waits[at].id;
    struct pending p = c->waits[at];
    for (int i = 0; i < at; i++)
        if (!c->mixed || c->waits[i].id == owner)
            give_up("%s of id %d: before %s of id %d", short_name(p.type), p.id, short_name(c->waits[i].type), c->waits[i].id);
    forget_pending(chan, at);
    if (p.type == RDMA_CM_EVENT_CONNECT_REQUEST)
        snprintf(line, size, "channel %d: CONNECT_REQUEST of id %d, from id %d", chan, p.id, p.client);
    else
        snprintf(line, size, "channel %d: %s %d of id %d", chan, short_name(p.type), p.status, p.id);
    if (p.type == RDMA_CM_EVENT_CONNECT_REQUEST) took_request(ev, p);
    if (hold && cmids[owner].held < 4) {
        cmids[owner].unacked[cmids[owner].held++] = ev;
    } else {
        rdma_ack_cm_event(ev);
    }
    took(p);
}

void take_one(int chan, int hold)
{
    char line[160];
    take_into(chan, get_event(chan), line, sizeof line, hold);
    say("%s%s", line, hold ? ", held" : "");
}

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

void take_everything(int chan)
{
    char lines[PENDING][160];
    int n = 0, sorted = chans[chan].mixed;
    /* What comes while it is taken is taken too. */
    while (chans[chan].count && n < PENDING) {
        wait_for(chan, 1);
        take_into(chan, get_event(chan), lines[n], sizeof lines[0], 0);
        n++;
    }
    if (sorted) qsort(lines, n, sizeof lines[0], by_text);
    for (int i = 0; i < n; i++) say("%s", lines[i]);
}

void ack_all(int id)
{
    while (cmids[id].held) rdma_ack_cm_event(cmids[id].unacked[--cmids[id].held]);
}
