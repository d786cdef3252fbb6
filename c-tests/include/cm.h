/* Helpers shared by the C test programs. Everything a program prints is deterministic: no times,
 * no pointers, no numbers that the kernel chose, so that a bare and a preloaded run can be compared. */
#ifndef CM_TEST_H
#define CM_TEST_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELPER static __attribute__((unused))
#define SOON within(5000) /* ms in which an event that is under way is there */
#define UNTOUCHED 123 /* errno before each call: shows whether the call left it alone */

HELPER int number_of(const char *variable, int otherwise)
{
    const char *value = getenv(variable);
    int n = value ? atoi(value) : 0;
    return n > 0 ? n : otherwise;
}

/* The ms that this guest needs now for what takes so many in an idle one. */
HELPER int slowed(int ms) { return (long)ms * number_of("LAB_SLOWNESS", 100) / 100; }

/* How many ms may pass for what takes so many in an idle guest: include/patience.sh says why, and sets the variables. */
HELPER int within(int ms)
{
    return slowed(ms) * number_of("LAB_PATIENCE", 5);
}

/* Gives others the time for what takes so many ms in an idle guest, where they tell nobody that it is done. */
HELPER void let_pass(int ms) { usleep(1000 * slowed(ms)); }

/* Ends a program that hangs by SIGALRM, which its exit status shows. */
HELPER void end_if_hung(unsigned seconds) { alarm(within(1000 * seconds) / 1000); }

/* One line to stdout at once, so that lines survive whatever comes next. */
HELPER __attribute__((format(printf, 1, 2))) void say(const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    if (n > (int)sizeof line - 2) n = sizeof line - 2;
    line[n++] = '\n';
    if (write(1, line, n) != n) _exit(97);
}

HELPER const char *errno_name(int e)
{
    const char *name = e == UNTOUCHED ? "untouched" : strerrorname_np(e);
    return name ? name : "unknown";
}

/* Make a call with a known errno; print what it returned and what it left in errno. */
#define TRY(call) ({ errno = UNTOUCHED; int r_ = (call); int e_ = errno; \
    say("%s = %d, errno %s", #call, r_, errno_name(e_)); errno = e_; r_; })
#define TRY_PTR(call) ({ errno = UNTOUCHED; __typeof__(call) r_ = (call); int e_ = errno; \
    say("%s = %s, errno %s", #call, r_ ? "set" : "NULL", errno_name(e_)); errno = e_; r_; })
/* The same for a step that has to work; the program ends if it does not. */
#define MUST(cond) do { errno = 0; if (!(cond)) { \
    say("line %d: %s failed, errno %s", __LINE__, #cond, errno_name(errno)); _exit(98); } } while (0)

HELPER const char *lab_addr(void)
{
    const char *a = getenv("LAB_ADDR");
    return a ? a : "10.77.0.1";
}

HELPER int lab_port(void)
{
    const char *p = getenv("LAB_PORT");
    return p ? atoi(p) : 18515;
}

HELPER struct sockaddr_in cm_addr(const char *ip, int port)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, ip, &sa.sin_addr);
    return sa;
}

/* Wait until an event can be had; 0 when it cannot within the time. */
HELPER int cm_ready(struct rdma_event_channel *ch, int ms)
{
    struct pollfd p = {.fd = ch->fd, .events = POLLIN};
    return poll(&p, 1, ms) == 1;
}

/* Take the next event, print it, ack it. Returns its type, or -1. *id is set when asked for. */
HELPER int cm_next(const char *who, struct rdma_event_channel *ch, struct rdma_cm_id **id)
{
    struct rdma_cm_event *ev;
    if (rdma_get_cm_event(ch, &ev)) {
        say("%s: rdma_get_cm_event errno %s", who, errno_name(errno));
        return -1;
    }
    int type = ev->event;
    if (id) *id = ev->id;
    say("%s: %s %d", who, rdma_event_str(ev->event), ev->status);
    rdma_ack_cm_event(ev);
    return type;
}

/* An RC queue pair on the id's default protection domain. */
HELPER int cm_qp(struct rdma_cm_id *id)
{
    struct ibv_qp_init_attr attr = {.cap = {8, 8, 1, 1, 0}, .qp_type = IBV_QPT_RC};
    return rdma_create_qp(id, NULL, &attr);
}

/* Both ends of one connection in one thread: every step is taken by hand, so the order is fixed. */
struct cm_pair {
    struct rdma_event_channel *sc, *cc;
    struct rdma_cm_id *listener, *server, *client;
    struct rdma_conn_param param;
};

HELPER struct rdma_cm_id *cm_listen(struct rdma_event_channel *ch, int backlog)
{
    struct rdma_cm_id *id;
    struct sockaddr_in sa = cm_addr(lab_addr(), lab_port());
    MUST(rdma_create_id(ch, &id, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_bind_addr(id, (struct sockaddr *)&sa) == 0);
    MUST(rdma_listen(id, backlog) == 0);
    return id;
}

/* A client id with its route resolved. */
HELPER struct rdma_cm_id *cm_routed(struct rdma_event_channel *ch, enum rdma_port_space ps)
{
    struct rdma_cm_id *id;
    struct rdma_cm_event *ev;
    struct sockaddr_in sa = cm_addr(lab_addr(), lab_port());
    MUST(rdma_create_id(ch, &id, NULL, ps) == 0);
    MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)&sa, SOON) == 0);
    MUST(rdma_get_cm_event(ch, &ev) == 0 && ev->event == RDMA_CM_EVENT_ADDR_RESOLVED);
    rdma_ack_cm_event(ev);
    MUST(rdma_resolve_route(id, SOON) == 0);
    MUST(rdma_get_cm_event(ch, &ev) == 0 && ev->event == RDMA_CM_EVENT_ROUTE_RESOLVED);
    rdma_ack_cm_event(ev);
    return id;
}

/* Up to the point where the server holds the request and both ends have a queue pair. */
HELPER struct cm_pair cm_request(void)
{
    struct cm_pair p = {.param = {.responder_resources = 1, .initiator_depth = 1,
                                  .retry_count = 7, .rnr_retry_count = 7}};
    struct rdma_cm_event *ev;
    MUST((p.sc = rdma_create_event_channel()));
    MUST((p.cc = rdma_create_event_channel()));
    p.listener = cm_listen(p.sc, 8);
    p.client = cm_routed(p.cc, RDMA_PS_TCP);
    MUST(cm_qp(p.client) == 0);
    MUST(rdma_connect(p.client, &p.param) == 0);
    MUST(rdma_get_cm_event(p.sc, &ev) == 0 && ev->event == RDMA_CM_EVENT_CONNECT_REQUEST);
    p.server = ev->id;
    rdma_ack_cm_event(ev);
    MUST(cm_qp(p.server) == 0);
    return p;
}

HELPER void cm_expect(struct rdma_event_channel *ch, enum rdma_cm_event_type want)
{
    struct rdma_cm_event *ev;
    MUST(rdma_get_cm_event(ch, &ev) == 0);
    if (ev->event != want) say("expected %s, got %s %d", rdma_event_str(want), rdma_event_str(ev->event), ev->status);
    rdma_ack_cm_event(ev);
}

HELPER struct cm_pair cm_connected(void)
{
    struct cm_pair p = cm_request();
    MUST(rdma_accept(p.server, &p.param) == 0);
    cm_expect(p.cc, RDMA_CM_EVENT_ESTABLISHED);
    cm_expect(p.sc, RDMA_CM_EVENT_ESTABLISHED);
    return p;
}

HELPER void cm_drop_id(struct rdma_cm_id *id)
{
    if (!id) return;
    if (id->qp) rdma_destroy_qp(id);
    MUST(!rdma_destroy_id(id));
}

HELPER void cm_close(struct cm_pair *p)
{
    cm_drop_id(p->client);
    cm_drop_id(p->server);
    cm_drop_id(p->listener);
    rdma_destroy_event_channel(p->cc);
    rdma_destroy_event_channel(p->sc);
}

#endif
