/* The library's own calls: cmshim_version, cmshim_active, cmshim_explain (cmshim_pool_warm has pool/warm.c). Looked up at run time, so that the same
 * program runs bare, where there are none; the header gives the types. */
#include "../../include/cmshim.h"
#include "cm.h"
#include <dlfcn.h>

int main(void)
{
    __typeof__(&cmshim_version) version;
    __typeof__(&cmshim_active) active;
    __typeof__(&cmshim_explain) explain;
    char text[1024] = "", cut[16];
    *(void **)&version = dlsym(RTLD_DEFAULT, "cmshim_version");
    *(void **)&active = dlsym(RTLD_DEFAULT, "cmshim_active");
    *(void **)&explain = dlsym(RTLD_DEFAULT, "cmshim_explain");
    if (!version || !active || !explain) {
        say("no cmshim");
        return 3;
    }
    say("version %s", version());
    say("active %d", active());
    size_t length = explain(RDMA_CM_EVENT_REJECTED, 8, CMSHIM_TRANSPORT_ROCE, text, sizeof text);
    say("length right %d", length == strlen(text) && length == explain(RDMA_CM_EVENT_REJECTED, 8, CMSHIM_TRANSPORT_ROCE, NULL, 0));
    say("%s", text);
    memset(cut, 'x', sizeof cut);
    say("cut %d, ended %d", explain(RDMA_CM_EVENT_REJECTED, 8, CMSHIM_TRANSPORT_ROCE, cut, sizeof cut) == length,
        strlen(cut) < sizeof cut);
    say("unknown event explained %d", explain(99, -99999, CMSHIM_TRANSPORT_UNKNOWN, text, sizeof text) > 0);
    /* Real calls through the library: still active, and errno untouched by its own calls. */
    struct rdma_event_channel *ch = rdma_create_event_channel();
    errno = UNTOUCHED;
    say("active %d, errno %s", active(), errno_name(errno));
    if (ch) rdma_destroy_event_channel(ch);
    return 0;
}
