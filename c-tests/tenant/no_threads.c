/* A preload beneath the shim: the first NO_THREADS threads that it starts cannot be started (EAGAIN), as at a limit of
 * processes. Threads of the program and of other libraries are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int of_the_shim(void *address)
{
    Dl_info info;
    return dladdr(address, &info) && info.dli_fname && strstr(info.dli_fname, "cmshim");
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument)
{
    static int calls;
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
    const char *fail = getenv("NO_THREADS");
    if (!real) abort();
    if (fail && of_the_shim((void *)start) && __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) <= atoi(fail)) return EAGAIN;
    return real(thread, attr, start, argument);
}
