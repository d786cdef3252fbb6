/* rdma_create_ep and rdma_get_request: a synchronous listener with requests waiting, one of them never taken. */
#include "events.h"

enum { N = 4 };
struct client { struct rdma_cm_id *id; pthread_t thread; int failed; };
static struct client clients[N + 1];
static int connecting;

static struct rdma_cm_id *endpoint(int passive)
{
    struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP, .ai_flags = passive ? RAI_PASSIVE : 0}, *to;
    struct ibv_qp_init_attr attr = {.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
    struct rdma_cm_id *id;
    char port[16];
    snprintf(port, sizeof port, "%d", lab_port());
    MUST(!rdma_getaddrinfo(lab_addr(), port, &hints, &to));
    MUST(!rdma_create_ep(&id, to, NULL, &attr));
    rdma_freeaddrinfo(to);
    return id;
}

static void *run_client(void *which)
{
    struct client *c = which;
    __atomic_add_fetch(&connecting, 1, __ATOMIC_RELEASE);
    errno = 0;
    c->failed = rdma_connect(c->id, NULL) ? errno : 0;
    if (!c->failed) MUST(!rdma_disconnect(c->id));
    rdma_destroy_ep(c->id);
    return NULL;
}

static void start(struct client *c)
{
    c->id = endpoint(0);
    pthread_create(&c->thread, NULL, run_client, c);
}

static void end(struct client *c)
{
    pthread_join(c->thread, NULL);
    say("client: %s", c->failed ? errno_name(c->failed) : "connected");
}

static struct rdma_cm_id *serve(struct rdma_cm_id *listener)
{
    struct rdma_cm_id *id;
    int got = TRY(rdma_get_request(listener, &id));
    if (got) return NULL;
    say("the request's event is kept: %s, own channel: %d", rdma_event_str(id->event->event), id->channel != listener->channel);
    TRY(rdma_accept(id, NULL));
    return id;
}

int main(void)
{
    struct rdma_cm_id *listener = endpoint(1), *ids[N], *never;
    end_if_hung(20);
    MUST(!rdma_listen(listener, 8));
    for (int i = 0; i < N; i++) start(&clients[i]);
    while (__atomic_load_n(&connecting, __ATOMIC_ACQUIRE) < N) usleep(1000);
    let_pass(50);
    await_requests(); /* all are waiting now */
    for (int i = 0; i < N; i++) ids[i] = serve(listener);
    for (int i = 0; i < N; i++) MUST(!rdma_disconnect(ids[i]));
    for (int i = 0; i < N; i++) end(&clients[i]);
    for (int i = 0; i < N; i++) rdma_destroy_ep(ids[i]);
    set_nonblock(listener->channel->fd, 1);
    TRY(rdma_get_request(listener, &never));
    start(&clients[N]);
    MUST(cm_ready(listener->channel, SOON));
    rdma_destroy_ep(listener); /* with a request unread */
    end(&clients[N]);
    say("kernel ids %d", kernel_ids());
    return 0;
}
