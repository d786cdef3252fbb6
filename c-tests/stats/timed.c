/* Both ends of some connections in one thread, each step timed by the program's own clock: what the statistics say
 * has to agree. usage: timed CYCLES
 * Prints "calls NAME COUNT", and "phase NAME COUNT LEAST MOST": between these two the median lies, in nanoseconds, however slow the
 * machine is. What the library measures begins and ends inside of the calls, so each time has two clocks around it. */
#include "cm.h"
#include <time.h>

enum phase { RESOLVE_ADDR, RESOLVE_ROUTE, CONNECT, REQUEST_TO_ACCEPT, ACCEPT_TO_ESTABLISHED, DISCONNECT, EVENT_HOLD, DESTROY, PHASES };
static const char *const names[PHASES] = {
    "resolve_addr", "resolve_route", "connect", "request_to_accept", "accept_to_established", "disconnect", "event_hold", "destroy",
};
enum { MOST = 1000 };
static long long values[2][PHASES][MOST]; /* the least, the most */
static int counts[PHASES];
/* Pauses that make a phase long enough to be told from what the calls around it take. */
enum { THINK_US = 30000, HOLD_US = 10000 };

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* A call: what is measured begins or ends in it. */
struct call {
    long long before, after;
};
#define CALL(made) ({ struct call c_ = {.before = now()}; MUST((made) == 0); c_.after = now(); c_; })

static void between(enum phase phase, struct call from, struct call to)
{
    MUST(counts[phase] < MOST);
    values[0][phase][counts[phase]] = to.before - from.after;
    values[1][phase][counts[phase]++] = to.after - from.before;
}

static int smaller(const void *a, const void *b)
{
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

static long long median(enum phase phase, int most)
{
    long long *all = values[most][phase];
    qsort(all, counts[phase], sizeof *all, smaller);
    if (!counts[phase]) return 0;
    /* The statistics count two more destroys, of the listener and of librdmacm's own id. */
    return all[(counts[phase] - 1) / 2 + (phase == DESTROY && most)];
}

/* Take an event, hold it, ack it; the call that handed it over. The pause makes the least of each time more than nothing. */
static struct call take(struct rdma_event_channel *ch, enum rdma_cm_event_type want, struct rdma_cm_id **id)
{
    struct rdma_cm_event *ev;
    usleep(HOLD_US / 4);
    struct call got = CALL(rdma_get_cm_event(ch, &ev));
    MUST(ev->event == want);
    if (id) *id = ev->id;
    usleep(HOLD_US);
    between(EVENT_HOLD, got, CALL(rdma_ack_cm_event(ev)));
    return got;
}

static void drop(struct rdma_cm_id *id)
{
    rdma_destroy_qp(id);
    struct call whole = CALL(rdma_destroy_id(id));
    between(DESTROY, (struct call){whole.before, whole.after}, (struct call){whole.after, whole.after});
}

static void cycle(struct rdma_event_channel *sc, struct rdma_event_channel *cc)
{
    struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7};
    struct sockaddr_in sa = cm_addr(lab_addr(), lab_port());
    struct rdma_cm_id *client, *server;
    MUST(rdma_create_id(cc, &client, NULL, RDMA_PS_TCP) == 0);
    struct call at = CALL(rdma_resolve_addr(client, NULL, (struct sockaddr *)&sa, SOON));
    between(RESOLVE_ADDR, at, take(cc, RDMA_CM_EVENT_ADDR_RESOLVED, NULL));
    at = CALL(rdma_resolve_route(client, SOON));
    between(RESOLVE_ROUTE, at, take(cc, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL));
    MUST(cm_qp(client) == 0);
    struct call connect = CALL(rdma_connect(client, &param));
    struct call request = take(sc, RDMA_CM_EVENT_CONNECT_REQUEST, &server);
    MUST(cm_qp(server) == 0);
    usleep(THINK_US);
    struct call accept = CALL(rdma_accept(server, &param));
    between(REQUEST_TO_ACCEPT, request, accept);
    between(CONNECT, connect, take(cc, RDMA_CM_EVENT_ESTABLISHED, NULL));
    between(ACCEPT_TO_ESTABLISHED, accept, take(sc, RDMA_CM_EVENT_ESTABLISHED, NULL));
    at = CALL(rdma_disconnect(client));
    take(sc, RDMA_CM_EVENT_DISCONNECTED, NULL);
    MUST(rdma_disconnect(server) == 0); /* its answer is what ends the client's */
    between(DISCONNECT, at, take(cc, RDMA_CM_EVENT_DISCONNECTED, NULL));
    drop(client);
    drop(server);
}

int main(int argc, char **argv)
{
    int cycles = argc > 1 ? atoi(argv[1]) : 5;
    struct rdma_event_channel *sc, *cc;
    MUST((sc = rdma_create_event_channel()));
    MUST((cc = rdma_create_event_channel()));
    struct rdma_cm_id *listener = cm_listen(sc, 8);
    for (int i = 0; i < cycles; i++) cycle(sc, cc);
    MUST(rdma_destroy_id(listener) == 0);
    for (int p = 0; p < PHASES; p++) say("phase %s %d %lld %lld", names[p], counts[p], median(p, 0), median(p, 1));
    say("calls rdma_create_id %d", cycles + 1);
    say("calls rdma_connect %d", cycles);
    say("calls rdma_accept %d", cycles);
    say("calls rdma_disconnect %d", 2 * cycles);
    say("calls rdma_destroy_id %d", 2 * cycles + 1);
    say("calls rdma_get_cm_event %d", 7 * cycles);
    say("calls rdma_ack_cm_event %d", 7 * cycles);
    return 0;
}
