/* A non-blocking server that waits edge by edge has come to the last of many connect requests that waited before it first looked,
 * whether it takes them (bare) or its own check refuses them and calls come back in between. On the null kernel. */
#include "../../include/cmshim.h"
#include "cm.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/epoll.h>

enum { CLIENTS = 200 };
static int came;

static int refuse(const struct cmshim_access_request *request, void *unused)
{
    (void)request;
    (void)unused;
    came++;
    return 1;
}

int main(void)
{
    struct rdma_event_channel *ch, *clients;
    struct rdma_conn_param param = {.qp_num = 1};
    struct rdma_cm_event *ev;
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    __typeof__(&cmshim_set_access_check) set_check;
    int set = epoll_create1(0);
    MUST(dlsym(RTLD_DEFAULT, "null_kernel"));
    *(void **)&set_check = dlsym(RTLD_DEFAULT, "cmshim_set_access_check");
    if (set_check) set_check(refuse, NULL);
    MUST((ch = rdma_create_event_channel()) && (clients = rdma_create_event_channel()));
    fcntl(ch->fd, F_SETFL, O_NONBLOCK);
    cm_listen(ch, 2 * CLIENTS);
    MUST(!epoll_ctl(set, EPOLL_CTL_ADD, ch->fd, &event));
    for (int i = 0; i < CLIENTS; i++) MUST(!rdma_connect(cm_routed(clients, RDMA_PS_TCP), &param));
    while (came < CLIENTS && epoll_wait(set, &event, 1, SOON) == 1)
        while (!rdma_get_cm_event(ch, &ev)) {
            came++;
            rdma_ack_cm_event(ev);
        }
    say("%d of %d requests, then errno %s", came, CLIENTS, errno_name(errno));
    return came != CLIENTS;
}
