/* A server and its clients in one process, beside a policy file that changes: alone FILE STEP…
 *   put=TEXT         the file becomes this, by rename ('|' stands for a new line)
 *   write=TEXT       …in place     append=TEXT     dribble=MS: a thread goes on writing empty lines meanwhile
 *   wait=MS
 *   accepted, refused   clients connect one after the other until one is; how often does not matter
 *   always=accepted:MS  for so long each one is (or always=refused:MS)
 * The server waits by poll in a thread of its own, or with SYNC in the environment in rdma_get_request
 * (SYNC=destroy: it ends its connections by rdma_destroy_ep alone). */
#include "cm.h"
#include <fcntl.h>
#include <time.h>

static struct rdma_event_channel *ch;
static struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1};
static const char *file;
static int requests;

static void *serve(void *unused)
{
    for (;;) {
        struct pollfd p = {.fd = ch->fd, .events = POLLIN};
        struct rdma_cm_event *ev;
        poll(&p, 1, -1);
        if (rdma_get_cm_event(ch, &ev)) continue;
        struct rdma_cm_id *id = ev->id;
        enum rdma_cm_event_type type = ev->event;
        rdma_ack_cm_event(ev);
        if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
            __atomic_add_fetch(&requests, 1, __ATOMIC_RELAXED);
            if (cm_qp(id) || rdma_accept(id, &param)) cm_drop_id(id);
        } else if (type == RDMA_CM_EVENT_DISCONNECTED || type == RDMA_CM_EVENT_CONNECT_ERROR) {
            rdma_disconnect(id);
            cm_drop_id(id);
        }
    }
    return unused;
}

/* rdma_create_ep and rdma_get_request */
static void *serve_endpoint(void *listener)
{
    struct rdma_cm_id *id;
    for (;;) {
        if (rdma_get_request(listener, &id)) continue;
        __atomic_add_fetch(&requests, 1, __ATOMIC_RELAXED);
        if (!rdma_accept(id, &param) && strcmp(getenv("SYNC"), "destroy")) rdma_disconnect(id);
        rdma_destroy_ep(id);
    }
    return NULL;
}

static struct rdma_cm_id *endpoint(void)
{
    struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP, .ai_flags = RAI_PASSIVE | RAI_NUMERICHOST}, *info;
    struct ibv_qp_init_attr attr = {.cap = {8, 8, 1, 1, 0}, .qp_type = IBV_QPT_RC};
    struct rdma_cm_id *id;
    char port[16];
    snprintf(port, sizeof port, "%d", lab_port());
    MUST(!rdma_getaddrinfo((char *)lab_addr(), port, &hints, &info) && !rdma_create_ep(&id, info, NULL, &attr) && !rdma_listen(id, 8));
    rdma_freeaddrinfo(info);
    return id;
}

/* One client; true if it was accepted. */
static int connect_once(void)
{
    struct rdma_event_channel *mine = rdma_create_event_channel();
    struct rdma_cm_event *ev;
    MUST(mine);
    struct rdma_cm_id *id = cm_routed(mine, RDMA_PS_TCP);
    MUST(!cm_qp(id) && !rdma_connect(id, &param) && !rdma_get_cm_event(mine, &ev));
    int type = ev->event, status = ev->status;
    rdma_ack_cm_event(ev);
    if (type == RDMA_CM_EVENT_ESTABLISHED) {
        rdma_disconnect(id);
        cm_expect(mine, RDMA_CM_EVENT_DISCONNECTED);
    } else if (type != RDMA_CM_EVENT_REJECTED || status != 28) {
        say("client: %s %d", rdma_event_str(type), status);
    }
    cm_drop_id(id);
    rdma_destroy_event_channel(mine);
    return type == RDMA_CM_EVENT_ESTABLISHED;
}

static void put(const char *path, const char *mode, const char *text)
{
    FILE *to = fopen(path, mode);
    MUST(to);
    for (; *text; text++) putc(*text == '|' ? '\n' : *text, to);
    MUST(!fclose(to));
}

static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000L + t.tv_nsec / 1000000;
}

static void *dribble(void *ms)
{
    for (long until = now_ms() + (long)ms; now_ms() < until; usleep(20000)) put(file, "a", "|");
    return NULL;
}

static void step(const char *what)
{
    pthread_t writer;
    const char *value = strchr(what, '=');
    char other[200];
    if (!strncmp(what, "put=", 4)) {
        snprintf(other, sizeof other, "%s.new", file);
        put(other, "w", value + 1);
        usleep(20000); /* the kernel's clock of files goes on in steps */
        MUST(!rename(other, file));
    } else if (!strncmp(what, "write=", 6)) {
        put(file, "w", value + 1);
    } else if (!strncmp(what, "append=", 7)) {
        put(file, "a", value + 1);
    } else if (!strncmp(what, "dribble=", 8)) {
        MUST(!pthread_create(&writer, NULL, dribble, (void *)atol(value + 1)));
    } else if (!strncmp(what, "wait=", 5)) {
        usleep(atoi(value + 1) * 1000);
    } else if (!strncmp(what, "always=", 7)) {
        long until = now_ms() + atoi(strchr(value, ':') + 1);
        int accepted = value[1] == 'a', others = 0;
        do others += connect_once() != accepted;
        while (now_ms() < until);
        say("%.*s: %s", (int)(strchr(value, ':') - value - 1), value + 1, others ? "NOT always" : "always");
    } else {
        while (connect_once() != !strcmp(what, "accepted")) usleep(50000);
        say("%s", what);
    }
}

int main(int argc, char **argv)
{
    pthread_t thread;
    struct rdma_cm_id *listener;
    MUST(argc > 2);
    file = argv[1];
    end_if_hung(30);
    if (getenv("SYNC")) {
        listener = endpoint();
        MUST(!pthread_create(&thread, NULL, serve_endpoint, listener));
    } else {
        MUST((ch = rdma_create_event_channel()));
        fcntl(ch->fd, F_SETFL, O_NONBLOCK);
        cm_listen(ch, 8);
        MUST(!pthread_create(&thread, NULL, serve, NULL));
    }
    for (int i = 2; i < argc; i++) step(argv[i]);
    _exit(0);
}
