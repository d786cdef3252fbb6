/* covers: rdma_resolve_addrinfo
 * In librdmacm since rdma-core 56 only: looked up at run time. */
#include "cm.h"
#include <dlfcn.h>

int main(void)
{
    int (*resolve)(struct rdma_cm_id *, const char *, const char *, const struct rdma_addrinfo *);
    struct rdma_event_channel *ch = TRY_PTR(rdma_create_event_channel());
    struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP, .ai_flags = RAI_NUMERICHOST};
    struct rdma_cm_id *id;
    void *library = dlopen("librdmacm.so.1", RTLD_LAZY);
    /* What the installed library has decides, not what a preload exports. */
    if (!library || !dlsym(library, "rdma_resolve_addrinfo")) {
        say("this librdmacm has no rdma_resolve_addrinfo");
        return 0;
    }
    *(void **)&resolve = dlsym(RTLD_DEFAULT, "rdma_resolve_addrinfo");
    MUST(resolve && !rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
    TRY(resolve(id, NULL, NULL, &hints));
    TRY(resolve(id, lab_addr(), "18515", &hints));
    cm_next("id", ch, NULL);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(ch);
    return 0;
}
