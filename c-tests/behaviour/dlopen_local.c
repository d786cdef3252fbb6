/* usage: dlopen_local direct|plugin|deepbind PLUGIN.so    This program is not linked to librdmacm.
 * direct: opens it RTLD_LOCAL and takes the calls from the handle, where no preload is on the way.
 * plugin, deepbind: opens an object of its own that is linked to librdmacm. */
#include "cm.h"
#include <dlfcn.h>

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    int direct = !strcmp(argv[1], "direct"), flags = RTLD_NOW | RTLD_LOCAL;
    if (!strcmp(argv[1], "deepbind")) flags |= RTLD_DEEPBIND;
    void *handle = dlopen(direct ? "librdmacm.so.1" : argv[2], flags);
    if (!handle) {
        say("dlopen failed");
        return 1;
    }
    if (!direct) {
        int (*use)(void);
        *(void **)&use = dlsym(handle, "plugin_use");
        int result = use ? use() : -1;
        say("plugin: %d", result);
        say("closed: %d", dlclose(handle));
        return result;
    }
    struct rdma_event_channel *(*create)(void);
    void (*destroy)(struct rdma_event_channel *);
    int (*create_id)(struct rdma_event_channel *, struct rdma_cm_id **, void *, enum rdma_port_space);
    int (*resolve)(struct rdma_cm_id *, struct sockaddr *, struct sockaddr *, int);
    int (*get)(struct rdma_event_channel *, struct rdma_cm_event **);
    int (*ack)(struct rdma_cm_event *);
    int (*destroy_id)(struct rdma_cm_id *);
    *(void **)&create = dlsym(handle, "rdma_create_event_channel");
    *(void **)&destroy = dlsym(handle, "rdma_destroy_event_channel");
    *(void **)&create_id = dlsym(handle, "rdma_create_id");
    *(void **)&resolve = dlsym(handle, "rdma_resolve_addr");
    *(void **)&get = dlsym(handle, "rdma_get_cm_event");
    *(void **)&ack = dlsym(handle, "rdma_ack_cm_event");
    *(void **)&destroy_id = dlsym(handle, "rdma_destroy_id");
    struct sockaddr_in here = cm_addr(lab_addr(), lab_port());
    struct rdma_event_channel *ch = TRY_PTR(create());
    struct rdma_cm_event *ev;
    struct rdma_cm_id *id;
    MUST(ch);
    TRY(create_id(ch, &id, NULL, RDMA_PS_TCP));
    TRY(resolve(id, NULL, (struct sockaddr *)&here, 2000));
    TRY(get(ch, &ev));
    say("event %d status %d", ev->event, ev->status);
    TRY(ack(ev));
    TRY(destroy_id(id));
    destroy(ch);
    return 0;
}
