/* parts: block poll    Eight threads take events from one channel: each is handed out exactly once. */
#include "events.h"

enum { THREADS = 8, IDS = 160 };
static struct rdma_event_channel *ch;
static struct rdma_cm_id *ids[IDS];
static int polling, claimed, taken, seen[IDS][2];

/* The next event, or NULL when all have been taken. On a blocking channel each wait is for one event that will come. */
static struct rdma_cm_event *next(void)
{
    struct rdma_cm_event *ev;
    if (!polling) {
        if (__atomic_fetch_add(&claimed, 1, __ATOMIC_RELAXED) >= 2 * IDS) return NULL;
        MUST(!rdma_get_cm_event(ch, &ev));
        return ev;
    }
    while (__atomic_load_n(&taken, __ATOMIC_RELAXED) < 2 * IDS) {
        if (!cm_ready(ch, 20)) continue;
        errno = 0;
        if (!rdma_get_cm_event(ch, &ev)) return ev;
        if (errno != EAGAIN) say("rdma_get_cm_event errno %s", errno_name(errno));
    }
    return NULL;
}

static void *work(void *unused)
{
    for (struct rdma_cm_event *ev; (ev = next());) {
        struct rdma_cm_id *id = ev->id;
        int route = ev->event == RDMA_CM_EVENT_ROUTE_RESOLVED;
        if (ev->status) say("%s %d", rdma_event_str(ev->event), ev->status);
        __atomic_add_fetch(&seen[(long)id->context][route], 1, __ATOMIC_RELAXED);
        rdma_ack_cm_event(ev);
        __atomic_add_fetch(&taken, 1, __ATOMIC_RELAXED);
        if (!route) MUST(!rdma_resolve_route(id, SOON));
    }
    return unused;
}

static void part(const char *name)
{
    pthread_t threads[THREADS];
    int once = 0;
    polling = is(name, "poll");
    claimed = taken = 0;
    memset(seen, 0, sizeof seen);
    ch = new_channel(polling);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < IDS; i++) ids[i] = resolving(ch, i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < IDS; i++) once += (seen[i][0] == 1) + (seen[i][1] == 1);
    say("taken %d, handed out once %d of %d, more to read: %d", taken, once, 2 * IDS, readable(ch->fd));
    for (int i = 0; i < IDS; i++) MUST(!rdma_destroy_id(ids[i]));
    rdma_destroy_event_channel(ch);
}

int main(int argc, char **argv)
{
    return play_parts(argc, argv, part);
}
