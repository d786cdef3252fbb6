/* The server, and who restarts it. */
#include "soak.h"
#include <sys/prctl.h>

enum { HELD = 24, RESTART_EACH = 1000 };

struct peer { struct page *page; int accepted, established; };

static struct rdma_event_channel *ch;
static struct rdma_cm_id *listener, *held[HELD], **all;
static unsigned holding, ids, room;
static volatile sig_atomic_t over;

static void end(int unused) { (void)unused; over = 1; }

static void wrong(struct page *page, const char *what, int status)
{
    say("server: %s %d of a connection of kind %d, seen %d", what, status, page ? page->kind : -1, page ? page->server : -1);
    atomic_fetch_add(&book->server_wrong, 1);
    if (page) atomic_fetch_or(&page->server, SAW_WRONG);
}

/* The server has each id in a list, for its end. */
static void remember(struct rdma_cm_id *id)
{
    if (ids == room) MUST((all = realloc(all, (room = 2 * room + 64) * sizeof *all)));
    all[ids++] = id;
}

static void drop(struct rdma_cm_id *id)
{
    free(id->context);
    for (unsigned i = 0; i < ids; i++)
        if (all[i] == id) all[i] = all[--ids];
    cm_drop_id(id);
}

static void hold(struct rdma_cm_id *id)
{
    if (holding == HELD) {
        rdma_reject(held[0], "late", 4); /* its client has gone, as a rule */
        drop(held[0]);
        memmove(held, held + 1, --holding * sizeof held[0]);
    }
    held[holding++] = id;
}

static void request(struct rdma_cm_id *id, const struct tag *tag)
{
    struct rdma_conn_param p = {.responder_resources = 1, .initiator_depth = 1, .rnr_retry_count = 7};
    struct page *page = tag && tag->magic == MAGIC ? page_of(tag->client, tag->number) : NULL;
    struct peer *peer = calloc(1, sizeof *peer);
    MUST(peer);
    peer->page = page;
    id->context = peer;
    remember(id);
    if (!page || tag->kind == BY_POLICY) wrong(page, "CONNECT_REQUEST", 0);
    else if (atomic_fetch_or(&page->server, SAW_REQUEST) & SAW_REQUEST) {
        wrong(page, "a second CONNECT_REQUEST", 0);
        atomic_fetch_or(&page->server, SAW_TWICE);
    }
    if (tag && tag->kind == HALF_OPEN) {
        hold(id);
    } else if (tag && tag->kind == REFUSED) {
        rdma_reject(id, "no", 2);
        drop(id);
    } else {
        make_qp(id);
        if (!id->qp || rdma_accept(id, &p)) drop(id); /* the client has gone */
        else peer->accepted = 1;
    }
}

static void established(struct rdma_cm_id *id)
{
    struct peer *peer = id->context;
    if (peer->established++) wrong(peer->page, "a second ESTABLISHED", 0);
    atomic_fetch_or(&peer->page->server, SAW_ESTABLISHED);
}

static void ended(struct rdma_cm_id *id, int type, int status)
{
    struct peer *peer = id->context;
    if (!peer->accepted) wrong(peer->page, rdma_event_str(type), status);
    /* An end that is told of before the beginning is the network's doing: the disconnect overtook. */
    if (type != RDMA_CM_EVENT_DISCONNECTED && peer->page->kind != ABORTED && peer->page->outcome == AS_MEANT)
        wrong(peer->page, rdma_event_str(type), status);
    if (atomic_fetch_or(&peer->page->server, SAW_END) & SAW_END) wrong(peer->page, "a second end", status);
    rdma_disconnect(id);
    drop(id);
}

static void take_all_events(void)
{
    struct rdma_cm_event *ev;
    while (!rdma_get_cm_event(ch, &ev)) {
        struct rdma_cm_id *id = ev->id;
        int type = ev->event, status = ev->status;
        struct tag tag = {0};
        if (type == RDMA_CM_EVENT_CONNECT_REQUEST && ev->param.conn.private_data_len >= sizeof tag)
            memcpy(&tag, ev->param.conn.private_data, sizeof tag);
        rdma_ack_cm_event(ev);
        if (type == RDMA_CM_EVENT_CONNECT_REQUEST) request(id, &tag);
        else if (type == RDMA_CM_EVENT_ESTABLISHED) established(id);
        else if (type != RDMA_CM_EVENT_TIMEWAIT_EXIT) ended(id, type, status);
    }
}

static int serve(void)
{
    signal(SIGTERM, end);
    begin_life();
    ch = new_channel(1);
    listener = cm_listen(ch, 64);
    atomic_fetch_add(&book->epoch, 1); /* even: up */
    int set = epoll_with(ch->fd, EPOLLIN);
    struct epoll_event got;
    while (!over) {
        atomic_fetch_add(&book->server_turns, 1);
        epoll_wait(set, &got, 1, 200);
        take_all_events();
        while (holding && atomic_load(&book->ended)) drop(held[--holding]);
        atomic_store(&book->server_ids, ids);
        if (ids || !atomic_load(&book->settled) || atomic_load(&book->quiet)) continue;
        none_left("server", 1, CHANNEL_FDS);
        atomic_store(&book->quiet, 1);
    }
    rdma_destroy_id(listener);
    while (ids) drop(all[ids - 1]);
    free_qps();
    close(set);
    rdma_destroy_event_channel(ch);
    none_left("server, at its end", 0, 0);
    return 0;
}

/* It neither ends by itself nor hangs. */
static void still_serves(pid_t child, struct watch *watch)
{
    int status, hung = hangs(watch, &book->server_turns);
    pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) say("server: ended by itself with status %x", status);
    else if (hung) say("server: it hung");
    if (ended == child || hung) _exit(1);
    usleep(10000);
}

static pid_t start(void)
{
    pid_t child = fork();
    MUST(child >= 0);
    if (!child) {
        MUST(!prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
        _exit(serve());
    }
    struct watch watch = {0};
    atomic_store(&book->server_pid, child);
    while (atomic_load(&book->epoch) % 2) still_serves(child, &watch);
    return child;
}

static unsigned period(uint64_t *state)
{
    unsigned total = CLIENTS * book->each, least = total < 4 * RESTART_EACH ? total / 4 : total / 20 > RESTART_EACH ? total / 20 : RESTART_EACH;
    return least + next_random(state) % (least / 2 + 1);
}

/* Restarted at random moments, by SIGTERM and by SIGKILL in turn; the last one lives until SIGTERM comes to the supervisor. */
int run_server(void)
{
    uint64_t state = book->seed * 31 + 7;
    hold_book();
    atomic_store(&book->epoch, 1);
    struct watch watch = {0};
    pid_t child = start();
    signal(SIGTERM, end);
    unsigned since = 0, until = period(&state), n = 0, last;
    long base = 0;
    int status = 0;
    say("server: up");
    for (;;) {
        still_serves(child, &watch);
        unsigned done = atomic_load(&book->done);
        if (!base && done - since >= until / 10) base = rss_of(child);
        last = over || atomic_load(&book->ended);
        if (!last && done - since < until) continue;
        atomic_store(&book->settled, last);
        if (last && !over) continue; /* it is looked at from outside before it ends */
        if (base) note_most(&book->rss_growth, rss_of(child) - base);
        atomic_fetch_add(&book->epoch, 1);
        kill(child, !last && n++ % 2 ? SIGKILL : SIGTERM);
        if ((status = end_of(child, &book->server_turns)) < 0) say("server: its end hung");
        else if (WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status) != SIGKILL) say("server: ended with status %x", status);
        if (status < 0) return 1;
        if (last) return status != 0;
        atomic_fetch_add(&book->restarts, 1);
        over = 0;
        child = start();
        since = atomic_load(&book->done), until = period(&state), base = 0, watch = (struct watch){0};
    }
}
