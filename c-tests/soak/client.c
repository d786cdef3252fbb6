/* A client: some connections at once, each with what has to come of it. All but the first client are killed now and then. */
#include "soak.h"

struct conn {
    struct rdma_cm_id *id;
    struct page *page;
    unsigned number, epoch, kind;
    int step, patience, turns;
    double began;
};

enum { RESOLVING, ROUTING, ASKING, UP, LEAVING };

static struct rdma_event_channel *ch;
static struct conn conns[AT_ONCE];
static unsigned me;
static uint64_t state;

static void finish(struct conn *c, enum outcome outcome)
{
    unsigned epoch = atomic_load(&book->epoch);
    if (outcome == WRONG && (c->epoch % 2 || epoch != c->epoch)) outcome = RESTARTED;
    if (outcome == AS_MEANT && (c->epoch % 2 || epoch != c->epoch)) outcome = RESTARTED; /* the server may not have seen its end */
    atomic_store(&c->page->outcome, outcome);
    cm_drop_id(c->id);
    *c = (struct conn){0};
    atomic_fetch_add(&book->done, 1);
}

static void wrong(struct conn *c, int type, int status)
{
    if (!(c->epoch % 2) && atomic_load(&book->epoch) == c->epoch)
        say("client %u: connection %u of kind %u, step %d: %s %d", me, c->number, c->kind, c->step, rdma_event_str(type), status);
    finish(c, WRONG);
}

static void begin(struct conn *c, unsigned number)
{
    unsigned dice = next_random(&state) % 100;
    enum kind kind = dice < 50 ? CLEAN : dice < 65 ? REFUSED : dice < 80 ? BY_POLICY : dice < 90 ? ABORTED : HALF_OPEN;
    *c = (struct conn){.page = page_of(me, number), .number = number, .epoch = atomic_load(&book->epoch), .kind = kind,
        .patience = next_random(&state) % 4, .began = now()};
    atomic_store(&c->page->kind, kind);
    atomic_store(&c->page->outcome, STARTED);
    struct sockaddr_in to = cm_addr(lab_addr(), lab_port()), from = cm_addr(kind == BY_POLICY ? "10.77.0.102" : "10.77.0.101", 0);
    MUST(!rdma_create_id(ch, &c->id, c, RDMA_PS_TCP));
    MUST(!rdma_resolve_addr(c->id, (struct sockaddr *)&from, (struct sockaddr *)&to, 5000));
}

static void ask(struct conn *c)
{
    struct tag tag = {MAGIC, me, c->kind, 0, c->number};
    struct rdma_conn_param p = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7,
        .private_data = &tag, .private_data_len = sizeof tag};
    make_qp(c->id);
    MUST(c->id->qp && !rdma_connect(c->id, &p));
    c->step = ASKING;
    if (c->kind == ABORTED && !c->patience) finish(c, AS_MEANT);
}

static int is_no(const struct rdma_cm_event *ev)
{
    return ev->param.conn.private_data_len >= 2 && !memcmp(ev->param.conn.private_data, "no", 2);
}

static void on_event(struct conn *c, int type, int status, int no)
{
    if (type == RDMA_CM_EVENT_TIMEWAIT_EXIT) return;
    if (type == RDMA_CM_EVENT_ADDR_RESOLVED && c->step == RESOLVING) {
        c->step = ROUTING;
        MUST(!rdma_resolve_route(c->id, 5000));
    } else if (type == RDMA_CM_EVENT_ROUTE_RESOLVED && c->step == ROUTING) {
        ask(c);
    } else if (c->step == ASKING && type == RDMA_CM_EVENT_ESTABLISHED && (c->kind == CLEAN || c->kind == ABORTED)) {
        c->step = UP;
    } else if (c->step == ASKING && type == RDMA_CM_EVENT_REJECTED && status == 28 &&
               ((c->kind == REFUSED && no) || (c->kind == BY_POLICY && !no))) {
        finish(c, AS_MEANT);
    } else if (c->step == ASKING && c->kind == HALF_OPEN && type == RDMA_CM_EVENT_REJECTED && status == 28) {
        finish(c, LATE);
    } else if (c->step == LEAVING && type == RDMA_CM_EVENT_DISCONNECTED) {
        finish(c, AS_MEANT);
    } else {
        wrong(c, type, status);
    }
}

/* What a connection does by itself, some turns after its last event. */
static void on_turn(struct conn *c)
{
    if (now() - c->began > within(30000) / 1000 && atomic_load(&book->epoch) % 2 == 0) {
        say("client %u: connection %u of kind %u: no end in step %d", me, c->number, c->kind, c->step);
        c->epoch = atomic_load(&book->epoch);
        finish(c, WRONG);
        return;
    }
    if ((c->step != UP && c->step != ASKING) || c->turns++ < c->patience) return;
    if (c->step == ASKING && (c->kind == ABORTED || (c->kind == HALF_OPEN && c->turns > 12))) {
        finish(c, AS_MEANT);
    } else if (c->step == UP && c->kind == ABORTED) {
        finish(c, AS_MEANT);
    } else if (c->step == UP) {
        c->step = LEAVING;
        rdma_disconnect(c->id);
    }
}

static void take_all_events(void)
{
    struct rdma_cm_event *ev;
    while (!rdma_get_cm_event(ch, &ev)) {
        struct conn *c = ev->id->context;
        int type = ev->event, status = ev->status, no = type == RDMA_CM_EVENT_REJECTED && is_no(ev);
        rdma_ack_cm_event(ev);
        on_event(c, type, status, no);
    }
}

static int has_any(void)
{
    for (int i = 0; i < AT_ONCE; i++)
        if (conns[i].page) return 1;
    return 0;
}

/* From this number on; a worker that is to be killed kills itself in the middle of what it does. */
static int work(unsigned from, unsigned die_at)
{
    begin_life();
    ch = new_channel(1);
    int set = epoll_with(ch->fd, EPOLLIN | (me % 2 ? EPOLLET : 0)), busy = 1;
    struct epoll_event got;
    long base = 0;
    char name[32];
    snprintf(name, sizeof name, "client %u", me);
    for (unsigned next = from, pause = from; busy;) {
        busy = 0;
        atomic_fetch_add(&book->client_turns[me], 1);
        if (!server_lives()) {
            say("client %u: the server has ended, and nobody restarts it", me);
            return 1;
        }
        if (next >= die_at && next_random(&state) % 4 == 0) kill(getpid(), SIGKILL);
        for (int i = 0; i < AT_ONCE; i++) {
            if (conns[i].page) on_turn(&conns[i]);
            if (!conns[i].page && next < book->each && next <= pause && atomic_load(&book->epoch) % 2 == 0) begin(&conns[i], next++);
            busy |= conns[i].page != NULL || next < book->each;
        }
        if (next > pause && !has_any()) {
            none_left(name, 0, CHANNEL_FDS);
            pause = next + 40 + next_random(&state) % 80;
        }
        epoll_wait(set, &got, 1, 10);
        take_all_events();
        if (!base && next >= book->each / 10) base = rss_of(getpid());
    }
    if (from == 0) note_most(&book->rss_growth_client, rss_of(getpid()) - base);
    free_qps();
    close(set);
    rdma_destroy_event_channel(ch);
    none_left(name, 0, 0);
    return 0;
}

static unsigned after_a_kill(void)
{
    unsigned next = 0;
    for (unsigned n = 0; n < book->each; n++) {
        struct page *p = page_of(me, n);
        if (p->outcome == UNKNOWN) break;
        if (p->outcome == STARTED) {
            atomic_store(&p->outcome, KILLED);
            atomic_fetch_add(&book->done, 1);
        }
        next = n + 1;
    }
    return next;
}

int run_client(unsigned client)
{
    int status;
    me = client;
    state = book->seed * 1000003 + client * 7919;
    for (unsigned from = 0;;) {
        unsigned life = client ? 100 + next_random(&state) % 200 : ~0u, die_at = from + life;
        if (die_at >= book->each || !client) die_at = ~0u;
        next_random(&state);
        pid_t child = fork();
        MUST(child >= 0);
        if (!child) _exit(work(from, die_at));
        atomic_store(&book->client_pid[client], child);
        status = end_of(child, &book->client_turns[me]);
        from = after_a_kill();
        if (status < 0) {
            say("client %u: it hung", me);
            return 1;
        }
        if (status && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) say("client %u: ended with status %x", me, status);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) return status != 0;
        atomic_fetch_add(&book->clients_killed, 1);
    }
}
