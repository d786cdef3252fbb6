/* The program's own check takes longer than tenant.check_ms, on a channel that cmshim's thread may not write to: the thread began with other
 * credentials than those that the channel was opened with (`ib_safe_file_access`). The client is refused all the same, as by a bare
 * server that thinks as long, and the server can end. On the null kernel. */
#include "../../include/cmshim.h"
#include "cm.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/prctl.h>

static struct rdma_event_channel *clients;
static struct rdma_conn_param param = {.qp_num = 1};
static int asked;

static int think(const struct cmshim_access_request *request, void *unused)
{
    (void)request;
    (void)unused;
    asked++;
    cm_ready(clients, slowed(2000)); /* until the client is refused; tenant.check_ms is 100 */
    return 0;
}

/* A server on a channel of its own, and a client whose request it refuses. */
static void server(const char *name, int port)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id *listener, *client;
    struct rdma_cm_event *ev;
    char number[16];
    MUST(ch);
    fcntl(ch->fd, F_SETFL, O_NONBLOCK);
    snprintf(number, sizeof number, "%d", port);
    setenv("LAB_PORT", number, 1);
    listener = cm_listen(ch, 4);
    client = cm_routed(clients, RDMA_PS_TCP);
    MUST(!rdma_connect(client, &param));
    MUST(cm_ready(ch, SOON));
    if (!rdma_get_cm_event(ch, &ev)) {
        struct rdma_cm_id *request = ev->id;
        think(NULL, NULL);
        rdma_ack_cm_event(ev);
        MUST(!rdma_reject(request, NULL, 0) && !rdma_destroy_id(request));
    }
    say("%s: asked %d", name, asked);
    cm_next("client", clients, NULL);
    rdma_destroy_id(client);
    TRY(rdma_destroy_id(listener));
    rdma_destroy_event_channel(ch);
}

int main(void)
{
    __typeof__(&cmshim_set_access_check) set_check;
    MUST(dlsym(RTLD_DEFAULT, "null_kernel"));
    end_if_hung(20);
    *(void **)&set_check = dlsym(RTLD_DEFAULT, "cmshim_set_access_check");
    if (set_check) set_check(think, NULL);
    MUST((clients = rdma_create_event_channel()));
    server("first", 19001); /* cmshim's thread begins here */
    prctl(PR_SET_KEEPCAPS, 1); /* new credentials for this thread alone */
    MUST((clients = rdma_create_event_channel()));
    server("second", 19002);
    return 0;
}
