/* parts: level edge    A server and 20 clients on one channel, driven by libevent. */
#include "crowd.h"
#include <event2/event.h>

static struct event_base *base;
static int edge;

static void on_readable(evutil_socket_t fd, short what, void *crowd)
{
    (void)fd;
    MUST(what & EV_READ);
    while (crowd_take(crowd) && edge) {}
    if (crowd_done(crowd)) event_base_loopbreak(base);
}

static void part(const char *name)
{
    edge = is(name, "edge");
    struct crowd c = crowd_start(20);
    MUST((base = event_base_new()));
    struct event *event = event_new(base, c.ch->fd, EV_READ | EV_PERSIST | (edge ? EV_ET : 0), on_readable, &c);
    MUST(event && !event_add(event, NULL));
    MUST(!event_base_dispatch(base));
    event_free(event);
    event_base_free(base);
    crowd_end(&c);
}

int main(int argc, char **argv)
{
    return play_parts(argc, argv, part);
}
