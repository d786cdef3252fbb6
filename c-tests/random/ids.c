/* Steps with ids and connections. */
#include "random.h"

static struct ibv_pd *pd;
static struct ibv_cq *cq;
static int ports;

static int id_free(int i) { return cmids[i].state == FREE; }
static int id_new(int i) { return cmids[i].state == NEW; }
static int id_unresolved(int i) { return cmids[i].state == NEW || cmids[i].state == BOUND; }
static int id_address(int i) { return cmids[i].state == ADDRESS; }
static int id_route(int i) { return cmids[i].state == ROUTE; }
static int id_bound(int i) { return cmids[i].state == BOUND; }
static int id_listens(int i) { return cmids[i].state == LISTENER; }
static int id_request(int i) { return cmids[i].state == REQUEST && cmids[i].peer != NONE; }
static int id_asked(int i) { return cmids[i].state == REQUEST; }
static int id_held(int i) { return cmids[i].held > 0; }
static int id_up(int i) { return (cmids[i].state == UP || cmids[i].state == OVER) && cmids[i].peer != NONE && !cmids[i].left && cmids[i].id->qp; }

/* An answer that is on its way is waited for: what comes of a client and a server that part then is not defined. */
static int id_quiet(int i)
{
    const struct cmid *id = &cmids[i];
    if (id->state == FREE || id->state == ACCEPTED) return 0;
    return !(id->state == CONNECTING && id->peer != NONE && cmids[id->peer].state == ACCEPTED);
}
static int id_may_go(int i) { return id_quiet(i) && !cmids[i].held; }
static int id_late(int i) { return id_quiet(i) && cmids[i].held; }
static int id_moves(int i)
{
    return cmids[i].state != FREE && !cmids[i].held && !(cmids[i].state == LISTENER && events_of(i));
}

void create_id(const struct step *s)
{
    int c = pick(s->a, CHANNELS, chan_usable), i = pick(0, IDS, id_free);
    if (c == NONE || i == NONE || free_ids() <= requests_waiting() + 1) return;
    cmids[i] = (struct cmid){.state = NEW, .chan = c, .peer = NONE};
    say("id %d on channel %d: %d", i, c, rdma_create_id(chans[c].ch, &cmids[i].id, (void *)(long)(i + 1), RDMA_PS_TCP));
}

/* The peer of a connection hears of its end; see c-tests/null-kernel/ucma.c, or cm.c. */
static void leave(int i)
{
    struct cmid *id = &cmids[i], *peer = id->peer == NONE ? NULL : &cmids[id->peer];
    id->left = 1;
    if (!peer) return;
    if (peer->leaving) {
        peer->leaving = 0;
        peer->state = OVER;
        expect(id->peer, RDMA_CM_EVENT_DISCONNECTED, 0, NONE);
    } else if (id->state == UP && !id->leaving) {
        id->leaving = 1;
        peer->state = OVER;
        expect(id->peer, RDMA_CM_EVENT_DISCONNECTED, 0, NONE);
    }
}

static void refused(int client)
{
    if (cmids[client].state != CONNECTING) return;
    cmids[client].state = OVER;
    cmids[client].peer = NONE;
    expect(client, RDMA_CM_EVENT_REJECTED, 28, NONE);
}

static void forget_events(int i)
{
    struct chan *c = &chans[cmids[i].chan];
    int refusals = 0;
    for (int at = 0; at < c->count;)
        if (c->waits[at].id == i) {
            struct pending p = c->waits[at];
            forget_pending(cmids[i].chan, at);
            if (p.client == NONE) continue;
            refused(p.client);
            if (refusals++) chans[cmids[p.client].chan].mixed = 1;
        } else {
            at++;
        }
}

/* What follows for others when this one goes. */
static void goes(int i)
{
    struct cmid *id = &cmids[i];
    if (id->state == REQUEST && id->peer != NONE) refused(id->peer);
    if (id->state == UP || id->state == OVER) leave(i);
    forget_events(i);
    for (int c = 0; c < CHANNELS; c++)
        for (int at = 0; at < chans[c].count; at++)
            if (chans[c].waits[at].client == i) chans[c].waits[at].client = NONE;
    if (id->peer != NONE && cmids[id->peer].peer == i) cmids[id->peer].peer = NONE;
    *id = (struct cmid){.state = FREE, .peer = NONE};
}

void destroy_slot(int i)
{
    struct rdma_cm_id *id = cmids[i].id;
    if (id->qp) rdma_destroy_qp(id);
    int done = rdma_destroy_id(id);
    goes(i);
    say("id %d destroyed: %d", i, done);
    settle_events();
}

void destroy_id(const struct step *s)
{
    int i = pick(s->a, IDS, id_may_go);
    if (i != NONE) destroy_slot(i);
}

static void *ack_soon(void *slot)
{
    usleep(10000);
    ack_all((long)slot);
    return NULL;
}

/* Its destruction waits until another thread has acked. */
void destroy_late(const struct step *s)
{
    int i = pick(s->a, IDS, id_late);
    pthread_t thread;
    if (i == NONE) return;
    struct rdma_cm_id *id = cmids[i].id;
    if (id->qp) rdma_destroy_qp(id);
    MUST(!pthread_create(&thread, NULL, ack_soon, (void *)(long)i));
    int done = rdma_destroy_id(id), held = cmids[i].held;
    pthread_join(thread, NULL);
    goes(i);
    say("id %d destroyed: %d, unacked %d", i, done, held);
    settle_events();
}

void bind_id(const struct step *s)
{
    int i = pick(s->a, IDS, id_new);
    if (i == NONE) return;
    cmids[i].port = s->b % 3 ? lab_port() + ports++ : 0;
    struct sockaddr_in to = cm_addr(s->c % 8 ? lab_addr() : "192.0.2.1", cmids[i].port);
    int done = rdma_bind_addr(cmids[i].id, (struct sockaddr *)&to);
    say("id %d bound to %s port: %d %s", i, cmids[i].port ? "a" : "any", done, done ? errno_name(errno) : "");
    if (!done) cmids[i].state = BOUND;
}

static int port_of(int i) { return ntohs(rdma_get_src_port(cmids[i].id)); }

void listen_id(const struct step *s)
{
    int i = pick(s->a, IDS, id_bound);
    if (i == NONE) return;
    cmids[i].backlog = 1 + s->b % 8;
    say("id %d listens for %d: %d", i, cmids[i].backlog, rdma_listen(cmids[i].id, cmids[i].backlog));
    cmids[i].state = LISTENER;
}

/* The way to a listener at once: most programs have one. */
void serve(const struct step *s)
{
    int c = pick(s->a, CHANNELS, chan_usable), i = pick(0, IDS, id_free);
    if (c == NONE || i == NONE || free_ids() <= requests_waiting() + 4) return;
    for (int other = 0, n = 0; other < IDS; other++)
        if (id_listens(other) && ++n == 2) return;
    struct sockaddr_in to = cm_addr(lab_addr(), 0);
    cmids[i] = (struct cmid){.state = LISTENER, .chan = c, .peer = NONE, .backlog = 1 + s->b % 8};
    MUST(!rdma_create_id(chans[c].ch, &cmids[i].id, (void *)(long)(i + 1), RDMA_PS_TCP));
    MUST(!rdma_bind_addr(cmids[i].id, (struct sockaddr *)&to) && !rdma_listen(cmids[i].id, cmids[i].backlog));
    say("id %d on channel %d listens for %d", i, c, cmids[i].backlog);
}

/* To a listener, or to a port where nobody listens. */
void resolve_id(const struct step *s)
{
    int i = pick(s->a, IDS, id_unresolved), to = s->c % 10 ? pick(s->b, IDS, id_listens) : NONE;
    if (i == NONE) return;
    struct sockaddr_in dst = cm_addr(lab_addr(), to == NONE ? lab_port() - 1 : port_of(to));
    cmids[i].port = to;
    int done = rdma_resolve_addr(cmids[i].id, NULL, (struct sockaddr *)&dst, 5000);
    say("id %d resolves, for id %d: %d", i, to, done);
    if (done) return;
    cmids[i].state = RESOLVING;
    expect(i, RDMA_CM_EVENT_ADDR_RESOLVED, 0, NONE);
    settle_events();
}

void route_id(const struct step *s)
{
    int i = pick(s->a, IDS, id_address);
    if (i == NONE) return;
    int done = rdma_resolve_route(cmids[i].id, 5000);
    say("id %d resolves its route: %d", i, done);
    if (done) return;
    cmids[i].state = ROUTING;
    expect(i, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NONE);
    settle_events();
}

static int make_qp(struct rdma_cm_id *id, int own)
{
    if (!pd) MUST((pd = ibv_alloc_pd(id->verbs)) && (cq = ibv_create_cq(id->verbs, 256, NULL, NULL, 0)));
    struct ibv_qp_init_attr attr = {.send_cq = own ? cq : NULL, .recv_cq = own ? cq : NULL, .cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
    return rdma_create_qp(id, own ? pd : NULL, &attr);
}

void connect_id(const struct step *s)
{
    int i = pick(s->a, IDS, id_route);
    if (i == NONE || free_ids() <= requests_waiting() + 1) return;
    int to = cmids[i].port;
    if (to != NONE && cmids[to].state != LISTENER) to = NONE;
    if (to != NONE && ntohs(rdma_get_dst_port(cmids[i].id)) != port_of(to)) to = NONE;
    if (to != NONE && events_of(to) >= cmids[to].backlog) return;
    uint8_t data = i + 1;
    struct rdma_conn_param p = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7,
        .private_data = &data, .private_data_len = 1};
    int made = cmids[i].id->qp ? 0 : make_qp(cmids[i].id, s->b % 3), done = rdma_connect(cmids[i].id, &p);
    say("id %d connects to id %d: %d %d", i, to, made, done);
    if (done) return;
    cmids[i].state = CONNECTING;
    cmids[i].peer = NONE;
    if (to == NONE) expect(i, RDMA_CM_EVENT_REJECTED, 8, NONE);
    else expect(to, RDMA_CM_EVENT_CONNECT_REQUEST, 0, i);
    settle_events();
}

void accept_id(const struct step *s)
{
    int i = pick(s->a, IDS, id_request);
    if (i == NONE) return;
    struct rdma_conn_param p = {.responder_resources = 1, .initiator_depth = 1, .rnr_retry_count = 7};
    int made = make_qp(cmids[i].id, s->b % 3), done = rdma_accept(cmids[i].id, &p);
    say("id %d accepts id %d: %d %d", i, cmids[i].peer, made, done);
    if (done) return;
    cmids[i].state = ACCEPTED;
    expect(cmids[i].peer, RDMA_CM_EVENT_ESTABLISHED, 0, NONE);
    settle_events();
}

/* Its client may have gone. */
void refuse_id(const struct step *s)
{
    int i = pick(s->a, IDS, id_asked);
    if (i == NONE) return;
    int done = rdma_reject(cmids[i].id, "no", 2);
    say("id %d refuses id %d: %d %s", i, cmids[i].peer, done, done ? errno_name(errno) : "");
    if (cmids[i].peer != NONE) refused(cmids[i].peer);
    cmids[i].peer = NONE;
    cmids[i].state = OVER;
    settle_events();
}

void disconnect_id(const struct step *s)
{
    int i = pick(s->a, IDS, id_up);
    if (i == NONE) return;
    say("id %d disconnects: %d", i, rdma_disconnect(cmids[i].id));
    leave(i);
    settle_events();
}

void take_event(const struct step *s)
{
    int c = pick(s->a, CHANNELS, chan_waits_in_order);
    if (c == NONE) return;
    wait_for(c, s->b);
    take_one(c, s->c % 4 == 0);
}

void take_all(const struct step *s)
{
    int c = pick(s->a, CHANNELS, chan_waits);
    if (c != NONE) take_everything(c);
}

void ack_id(const struct step *s)
{
    int i = pick(s->a, IDS, id_held);
    if (i == NONE) return;
    say("id %d: %d acked", i, cmids[i].held);
    ack_all(i);
}

static void moved(int i, int from, int to)
{
    struct chan *f = &chans[from], *t = &chans[to];
    cmids[i].chan = to;
    for (int at = 0, left = f->count; left > 0; left--)
        if (f->waits[at].id == i) {
            if (from != to && t->count == PENDING) give_up("the model is full");
            struct pending one = f->waits[at];
            int mixed = f->mixed;
            forget_pending(from, at);
            t->waits[t->count++] = one;
            t->unsure = 1;
            /* Behind what waits there, for the kernel; but nobody promises an order among ids then. */
            if (mixed || t->count > 1) t->mixed = 1;
        } else {
            at++;
        }
}

/* Also to the channel where it is. */
void migrate_id(const struct step *s)
{
    int i = pick(s->a, IDS, id_moves), to = pick(s->b, CHANNELS, chan_usable);
    if (i == NONE || to == NONE) return;
    int from = cmids[i].chan;
    /* A limit of cmshim: such a channel may be one that it has to leave alone, and then poll does not show what it had read ahead. */
    if (from != to && events_of(i) && chans[to].seen && !number_of("RANDOM_ALL", 0)) return;
    say("id %d from channel %d to %d: %d", i, from, to, rdma_migrate_id(cmids[i].id, chans[to].ch));
    moved(i, from, to);
}

/* To no channel, where calls wait for their event, and to another. */
void migrate_away(const struct step *s)
{
    int i = pick(s->a, IDS, id_address), to = pick(s->b, CHANNELS, chan_usable);
    if (i == NONE || to == NONE || cmids[i].held || events_of(i)) return;
    int away = rdma_migrate_id(cmids[i].id, NULL), done = rdma_resolve_route(cmids[i].id, 5000);
    int kept = cmids[i].id->event ? (int)cmids[i].id->event->event : NONE, back = rdma_migrate_id(cmids[i].id, chans[to].ch);
    say("id %d waits for its route: %d %d %s, goes to channel %d: %d", i, away, done, kept == NONE ? "-" : rdma_event_str(kept), to, back);
    cmids[i].chan = to;
    cmids[i].state = ROUTE;
}

/* Calls that the kernel or librdmacm has to refuse. */
void wrong_call(const struct step *s)
{
    struct sockaddr_in to = cm_addr(lab_addr(), lab_port() - 1);
    int i = pick(s->a, IDS, s->b % 3 == 0 ? id_route : s->b % 3 == 1 ? id_new : id_listens), done;
    if (i == NONE) return;
    errno = 0;
    if (s->b % 3 == 0) done = rdma_resolve_addr(cmids[i].id, NULL, (struct sockaddr *)&to, 5000);
    else if (s->b % 3 == 1) done = rdma_reject(cmids[i].id, NULL, 0);
    else done = rdma_bind_addr(cmids[i].id, (struct sockaddr *)&to);
    say("id %d in state %d, a call that is refused: %d %s", i, cmids[i].state, done, errno_name(errno));
}
