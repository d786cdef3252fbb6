/* A preload beneath the shim that makes up one asynchronous event: of the queue pair that was created last, which is one
 * that lies ready, or with STRANGE=fatal of the device. Its acknowledgement ends here, as the kernel knows nothing of it.
 * With STRANGE=changed there is none of that, but a creation changes more of its attributes than the capabilities. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

static struct ibv_qp *last;
static int told, acked;

static int is(const char *kind)
{
    const char *wanted = getenv("STRANGE");
    return wanted && !strcmp(wanted, kind);
}

static enum ibv_event_type made_up(void)
{
    return is("fatal") ? IBV_EVENT_DEVICE_FATAL : IBV_EVENT_QP_FATAL;
}

static void *next(const char *name)
{
    void *f = dlvsym(RTLD_NEXT, name, "IBVERBS_1.1");
    if (!f) abort();
    return f;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    struct ibv_qp *(*real)(struct ibv_pd *, struct ibv_qp_init_attr *) = next("ibv_create_qp");
    last = real(pd, attr);
    if (last && is("changed")) attr->sq_sig_all = 1;
    return last;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
    int (*real)(struct ibv_context *, struct ibv_async_event *) = next("ibv_get_async_event");
    if (told || is("changed")) return real(context, event);
    told = 1;
    event->event_type = made_up();
    event->element.qp = last;
    return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    void (*real)(struct ibv_async_event *) = next("ibv_ack_async_event");
    if (event->event_type == made_up() && !acked++) return;
    real(event);
}
