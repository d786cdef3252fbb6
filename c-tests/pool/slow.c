/* A preload beneath the shim: a device library which holds a lock of its own while it creates a queue pair, and one thread
 * that comes back late from closing a device.
 * The exports carry the versions of the real ones (slow.map), since a versioned look-up skips others. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *next(const char *name)
{
    void *f = dlvsym(RTLD_NEXT, name, "IBVERBS_1.1");
    if (!f) abort();
    return f;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct ibv_qp *(*real)(struct ibv_pd *, struct ibv_qp_init_attr *) = next("ibv_create_qp");
    pthread_mutex_lock(&lock);
    usleep(5000);
    struct ibv_qp *qp = real(pd, attr);
    pthread_mutex_unlock(&lock);
    return qp;
}

/* The program sees that the device is closed, and says when its thread may come back; 10 s at most. */
volatile int slow_closed, slow_go_on;

int ibv_close_device(struct ibv_context *context)
{
    int (*real)(struct ibv_context *) = next("ibv_close_device");
    int rc = real(context);
    slow_closed = 1;
    for (int i = 0; i < 10000 && !slow_go_on; i++) usleep(1000);
    return rc;
}
