/* A preload beneath the shim that makes one call fail or wait.
 * INJECT="FUNCTION:N:ERRNO"      the N-th call of FUNCTION fails with that error number (N = 0: every call)
 * INJECT="FUNCTION:N:sleep=MS"   it waits first, and is then made
 * INJECT_THREAD=NAME             only calls of threads with this name count
 * The exports carry the versions of the real ones (inject.map), since a versioned look-up skips others.
 * All arguments of these functions are pointers and integers, so six registers stand for all of them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum kind { MINUS_ONE, POSITIVE_ERRNO, NULL_POINTER };

static int here(void)
{
    const char *want = getenv("INJECT_THREAD");
    char name[16] = "";
    return !want || (!prctl(PR_GET_NAME, name) && !strcmp(name, want));
}

/* 0: make the call. Otherwise the error number to fail with. */
static int verdict(const char *name, int *calls)
{
    const char *want = getenv("INJECT");
    char function[64];
    int n, number, ms;
    if (!here() || !want || sscanf(want, "%63[^:]:%d:", function, &n) != 2 || strcmp(function, name)) return 0;
    int now = __atomic_add_fetch(calls, 1, __ATOMIC_RELAXED);
    if (n && now != n) return 0;
    const char *what = strrchr(want, ':') + 1;
    if (sscanf(what, "sleep=%d", &ms) == 1) {
        usleep(ms * 1000);
        return 0;
    }
    return sscanf(what, "%d", &number) == 1 ? number : EIO;
}

static void *real(const char *name, const char *version)
{
    const char *library = name[0] == 'i' ? "libibverbs.so.1" : "librdmacm.so.1";
    void *f = dlvsym(RTLD_NEXT, name, version);
    if (!f) f = dlvsym(dlopen(library, RTLD_LAZY), name, version);
    if (!f) abort();
    return f;
}

#define INJECTED(name, version, kind) \
    long name(long a, long b, long c, long d, long e, long f) \
    { \
        static int calls; \
        static long (*next)(long, long, long, long, long, long); \
        int number = verdict(#name, &calls); \
        if (number) { \
            errno = number; \
            return kind == MINUS_ONE ? -1 : kind == NULL_POINTER ? 0 : number; \
        } \
        if (!next) next = real(#name, version); \
        return next(a, b, c, d, e, f); \
    }

INJECTED(ibv_modify_qp, "IBVERBS_1.1", POSITIVE_ERRNO)
INJECTED(ibv_create_qp, "IBVERBS_1.1", NULL_POINTER)
INJECTED(ibv_destroy_qp, "IBVERBS_1.1", POSITIVE_ERRNO)
INJECTED(ibv_create_cq, "IBVERBS_1.1", NULL_POINTER)
INJECTED(ibv_alloc_pd, "IBVERBS_1.1", NULL_POINTER)
INJECTED(ibv_reg_mr, "IBVERBS_1.1", NULL_POINTER)
INJECTED(ibv_open_device, "IBVERBS_1.1", NULL_POINTER)
INJECTED(rdma_connect, "RDMACM_1.0", MINUS_ONE)
INJECTED(rdma_accept, "RDMACM_1.0", MINUS_ONE)
INJECTED(rdma_resolve_addr, "RDMACM_1.0", MINUS_ONE)
INJECTED(rdma_resolve_route, "RDMACM_1.0", MINUS_ONE)
INJECTED(rdma_listen, "RDMACM_1.0", MINUS_ONE)
INJECTED(rdma_create_event_channel, "RDMACM_1.0", NULL_POINTER)
