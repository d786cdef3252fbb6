/* parts: block nonblock async    Many events with one call of the library's own API, and the same taken one by one
 * where there is no library. */
#include "../../include/cmshim.h"
#include "events.h"
#include "verbs.h"
#include <dlfcn.h>

enum { IDS = 20, MOST = 32 };
static __typeof__(&cmshim_get_cm_events) own_cm;
static __typeof__(&cmshim_get_async_events) own_async;

static int taken_cm(struct rdma_event_channel *ch, struct rdma_cm_event **events, int max, int ms)
{
    int n = 0;
    if (own_cm) return own_cm(ch, events, max, ms);
    while (n < max && cm_ready(ch, n ? 0 : ms) && !rdma_get_cm_event(ch, &events[n])) n++;
    return n;
}

static int taken_async(struct ibv_context *context, struct ibv_async_event *events, int max, int ms)
{
    struct pollfd p = {.fd = context->async_fd, .events = POLLIN};
    int n = 0;
    if (own_async) return own_async(context, events, max, ms);
    while (n < max && poll(&p, 1, n ? 0 : ms) == 1 && !ibv_get_async_event(context, &events[n])) n++;
    return n;
}

static void on_alarm(int number) { (void)number; }

static void cm(int nonblock)
{
    struct rdma_event_channel *ch = new_channel(nonblock);
    struct rdma_cm_id *ids[IDS];
    struct rdma_cm_event *events[MOST];
    for (long i = 0; i < IDS; i++) ids[i] = resolving(ch, i);
    settle();
    TRY(taken_cm(ch, events, 3, SOON));
    TRY(taken_cm(ch, events + 3, MOST - 3, SOON));
    int right = 0;
    for (long i = 0; i < IDS; i++) right += (long)events[i]->id->context == i && events[i]->event == RDMA_CM_EVENT_ADDR_RESOLVED;
    say("in order %d, readable %d", right, readable(ch->fd));
    for (int i = IDS - 1; i >= 0; i--) MUST(!rdma_ack_cm_event(events[i])); /* in any order */
    TRY(taken_cm(ch, events, MOST, 0));
    TRY(taken_cm(ch, events, MOST, 30));
    if (own_cm) { /* its errors: printed only when they are not as documented */
        errno = 0;
        if (own_cm(ch, events, 0, 0) != -1 || errno != EINVAL) say("max 0: errno %s", errno_name(errno));
        struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART}, old;
        sigaction(SIGUSR1, &action, &old);
        pid_t child = fork();
        if (!child) {
            let_pass(100);
            kill(getppid(), SIGUSR1);
            _exit(0);
        }
        errno = 0;
        if (own_cm(ch, events, MOST, SOON) != -1 || errno != EINTR) say("interrupted: errno %s", errno_name(errno));
        waitpid(child, NULL, 0);
    }
    for (int i = 0; i < IDS; i++) rdma_destroy_id(ids[i]);
    rdma_destroy_event_channel(ch);
}

static void async(void)
{
    struct ibv_context *context = verbs_open();
    struct ibv_async_event events[4];
    TRY(taken_async(context, events, 4, 0));
    TRY(taken_async(context, events, 4, 30));
    struct ibv_cq *cq = verbs_overrun(context);
    int n = TRY(taken_async(context, events, 4, SOON));
    for (int i = 0; i < n; i++) {
        say("%s", ibv_event_type_str(events[i].event_type));
        ibv_ack_async_event(&events[i]);
    }
    TRY(ibv_destroy_cq(cq));
    ibv_close_device(context);
}

static void part(const char *name)
{
    if (is(name, "async")) async();
    else cm(is(name, "nonblock"));
}

int main(int argc, char **argv)
{
    *(void **)&own_cm = dlsym(RTLD_DEFAULT, "cmshim_get_cm_events");
    *(void **)&own_async = dlsym(RTLD_DEFAULT, "cmshim_get_async_events");
    return play_parts(argc, argv, part);
}
