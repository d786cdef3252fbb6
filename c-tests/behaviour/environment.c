/* A program whose threads may change the environment at any time: nobody else may look into it once main runs (setenv
 * frees what getenv reads). Says whether an object that was preloaded did; what libraries of RDMA do is their business. */
#include "cm.h"
#include <dlfcn.h>

extern char **environ;
static int running, asked;

char *getenv(const char *name)
{
    Dl_info info;
    size_t n = strlen(name);
    void *caller = __builtin_return_address(0);
    if (running && dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "cmshim")) {
        asked++;
        say("asked for %s", name);
    }
    for (char **at = environ; at && *at; at++)
        if (!strncmp(*at, name, n) && (*at)[n] == '=') return *at + n + 1;
    return NULL;
}

int main(void)
{
    end_if_hung(20);
    setenv("CMSHIM_LOG_LEVEL", "off", 1); /* too late */
    running = 1;
    struct cm_pair p = cm_connected();
    MUST(!rdma_disconnect(p.client));
    cm_expect(p.sc, RDMA_CM_EVENT_DISCONNECTED);
    MUST(!rdma_disconnect(p.server));
    cm_expect(p.cc, RDMA_CM_EVENT_DISCONNECTED);
    cm_close(&p);
    p.cc = rdma_create_event_channel();
    MUST(!rdma_create_id(p.cc, &p.client, NULL, RDMA_PS_TCP));
    struct sockaddr_in nobody = cm_addr("198.51.100.1", 1);
    TRY(rdma_bind_addr(p.client, (struct sockaddr *)&nobody)); /* a line is written for this */
    MUST(!rdma_destroy_id(p.client));
    rdma_destroy_event_channel(p.cc);
    say("asked %d times", asked);
    return 0;
}
