/* A server that waits in one way for connects, and says at its end what it was woken for.
 * usage: server block|poll|epoll|edge|sync|fork OPTION...     until SIGTERM
 *   at=ADDR,PORT      listens there (again for more; sync: one only)
 *   then=accept|reject|ignore|destroy   what it does with a request; close: it destroys its listeners, with what they
 *                     have not read, and listens again
 *   deny=ADDR         rejects requests of this peer itself
 *   kind=rc|own       queue pairs of librdmacm or of its own
 *   migrate=1         an accepted connection moves to a second channel, which a thread of its own reads
 *   class=1           says the traffic class of each connection
 *   quiet=1           sums only     backlog=N
 *   fork: a child has the server; the parent waits for it */
#include "events.h"
#include "tenant.h"

static struct rdma_event_channel *ch, *worker;
static struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1};
static struct rdma_cm_id *listeners[16];
static const char *then, *deny;
static char **options;
static int quiet, own, classes, migrates, listening, backlog, seen[16], woken, empty;
static volatile sig_atomic_t over;
static pthread_t reader;
/* Held while an id moves. An event of it may be read meanwhile, but whoever destroys it then does so on the old channel, and in vain. */
static pthread_mutex_t moving = PTHREAD_MUTEX_INITIALIZER;
static pid_t child;

/* Comes again, in case that it came just before a call that waits. */
static void end(int unused)
{
    (void)unused;
    over = 1;
    if (child > 0) kill(child, SIGTERM);
    struct sigaction again = {.sa_handler = end};
    sigaction(SIGALRM, &again, NULL);
    alarm(1);
}

static void listen_all(void);

static const char *short_name(int type) { return rdma_event_str(type) + strlen("RDMA_CM_EVENT_"); }

static int denied(struct rdma_cm_id *id)
{
    char peer[64];
    return deny && !getnameinfo(rdma_get_peer_addr(id), sizeof(struct sockaddr_storage), peer, sizeof peer, NULL, 0, NI_NUMERICHOST) &&
           !strcmp(peer, deny);
}

static void answer(struct rdma_cm_id *id)
{
    if (!strcmp(then, "reject") || denied(id)) {
        MUST(!rdma_reject(id, "busy", 4));
        rdma_destroy_id(id);
    } else if (!strcmp(then, "destroy")) {
        rdma_destroy_id(id);
    } else if (!strcmp(then, "close")) {
        for (int i = 0; i < listening; i++) rdma_destroy_id(listeners[i]);
        rdma_destroy_id(id);
        listen_all();
    } else if (strcmp(then, "ignore")) {
        int failed = 0;
        if (own) {
            struct ibv_qp *qp = own_qp(id);
            id->context = qp;
            MUST(!own_step(id, qp, IBV_QPS_RTR) && !own_step(id, qp, IBV_QPS_RTS));
            param.qp_num = qp->qp_num;
        } else {
            failed = cm_qp(id);
        }
        if (failed || rdma_accept(id, &param)) { /* the peer has gone */
            cm_drop_id(id);
            return;
        }
        if (!migrates) return;
        pthread_mutex_lock(&moving);
        MUST(!rdma_migrate_id(id, worker));
        pthread_mutex_unlock(&moving);
    }
}

static struct ibv_qp *pair_of(struct rdma_cm_id *id) { return own ? id->context : id->qp; }

/* False when there was none. */
static int take_one(struct rdma_event_channel *from)
{
    struct rdma_cm_event *ev;
    if (rdma_get_cm_event(from, &ev)) {
        if (errno != EAGAIN && errno != EINTR) say("server: rdma_get_cm_event errno %s", errno_name(errno));
        return 0;
    }
    struct rdma_cm_id *id = ev->id;
    int type = ev->event;
    rdma_ack_cm_event(ev);
    pthread_mutex_lock(&moving);
    pthread_mutex_unlock(&moving);
    __atomic_add_fetch(&seen[type & 15], 1, __ATOMIC_RELAXED);
    if (!quiet) say("server: %s", short_name(type));
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
        answer(id);
    } else if (type == RDMA_CM_EVENT_ESTABLISHED) {
        if (classes) say("server: traffic class %d", class_of(pair_of(id)));
    } else if (type != RDMA_CM_EVENT_TIMEWAIT_EXIT) {
        rdma_disconnect(id);
        if (own && id->context) own_gone(id->context);
        cm_drop_id(id);
    }
    return 1;
}

static void *read_worker(void *unused)
{
    while (!over) {
        struct pollfd p = {.fd = worker->fd, .events = POLLIN};
        if (poll(&p, 1, 200) == 1) take_one(worker);
    }
    return unused;
}

static void serve(const char *way)
{
    struct epoll_event ready;
    int edge = !strcmp(way, "edge"), set = -1, n;
    if (strcmp(way, "block")) set_nonblock(ch->fd, 1);
    if (edge || !strcmp(way, "epoll")) set = epoll_with(ch->fd, EPOLLIN | (edge ? EPOLLET : 0));
    while (!over) {
        struct pollfd p = {.fd = ch->fd, .events = POLLIN};
        if (!strcmp(way, "block")) {
            woken += take_one(ch);
            continue;
        }
        n = set < 0 ? poll(&p, 1, -1) : epoll_wait(set, &ready, 1, -1);
        if (n < 0) continue; /* a signal */
        woken++;
        int got = 0;
        while (take_one(ch)) {
            got++;
            if (!edge) break;
        }
        empty += !got;
    }
    if (set >= 0) close(set);
}

static void listen_all(void)
{
    listening = 0;
    for (char **at = options; *at; at++) {
        char text[80], *comma;
        if (strncmp(*at, "at=", 3)) continue;
        snprintf(text, sizeof text, "%s", *at + 3);
        MUST((comma = strchr(text, ',')) && listening < 16);
        *comma = 0;
        struct sockaddr_storage sa = any_addr(text, atoi(comma + 1));
        MUST(!rdma_create_id(ch, &listeners[listening], NULL, RDMA_PS_TCP));
        MUST(!rdma_bind_addr(listeners[listening], (struct sockaddr *)&sa) && !rdma_listen(listeners[listening], backlog));
        listening++;
    }
}

/* rdma_create_ep and rdma_get_request: one connection after the other. */
static void serve_endpoints(const char *at)
{
    struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP, .ai_flags = RAI_PASSIVE | RAI_NUMERICHOST}, *info;
    struct ibv_qp_init_attr attr = {.cap = {8, 8, 1, 1, 0}, .qp_type = IBV_QPT_RC};
    struct rdma_cm_id *id;
    char text[80], *comma;
    MUST(at);
    snprintf(text, sizeof text, "%s", at);
    MUST((comma = strchr(text, ',')));
    *comma = 0;
    MUST(!rdma_getaddrinfo(text, comma + 1, &hints, &info) && !rdma_create_ep(&listeners[0], info, NULL, &attr));
    MUST(!rdma_listen(listeners[0], backlog));
    listening = 1;
    say("server: listening %d", listening);
    while (!over) {
        if (rdma_get_request(listeners[0], &id)) {
            if (errno != EINTR) say("server: rdma_get_request errno %s", errno_name(errno));
            continue;
        }
        woken++;
        seen[RDMA_CM_EVENT_CONNECT_REQUEST]++;
        if (!quiet) say("server: CONNECT_REQUEST");
        if (!strcmp(then, "reject")) {
            MUST(!rdma_reject(id, "busy", 4));
        } else if (!rdma_accept(id, &param)) {
            seen[RDMA_CM_EVENT_ESTABLISHED]++;
            if (!quiet) say("server: ESTABLISHED");
            if (classes) say("server: traffic class %d", class_of(id->qp));
            rdma_disconnect(id); /* waits for DISCONNECTED, too */
        }
        rdma_destroy_ep(id);
    }
    rdma_freeaddrinfo(info);
}

static void sum_up(const char *way)
{
    signal(SIGALRM, SIG_DFL);
    end_if_hung(30);
    if (!strcmp(way, "sync")) {
        rdma_destroy_ep(listeners[0]);
    } else {
        for (int i = 0; i < listening; i++) rdma_destroy_id(listeners[i]);
    }
    say("server: listeners gone");
    for (int type = 0; type < 16; type++)
        if (seen[type] && type != RDMA_CM_EVENT_TIMEWAIT_EXIT) say("server: %d times %s", seen[type], short_name(type));
    if (quiet) say("server: woken %d times, for nothing %d times", woken, empty);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = end};
    if (argc < 3) return 2;
    const char *way = argv[1];
    then = option(argv + 2, "then", "accept");
    deny = option(argv + 2, "deny", NULL);
    quiet = atoi(option(argv + 2, "quiet", "0"));
    options = argv + 2;
    backlog = atoi(option(argv + 2, "backlog", "64"));
    own = !strcmp(option(argv + 2, "kind", "rc"), "own");
    classes = atoi(option(argv + 2, "class", "0"));
    migrates = atoi(option(argv + 2, "migrate", "0"));
    sigaction(SIGTERM, &action, NULL);
    end_if_hung(150);
    if (!strcmp(way, "sync")) {
        serve_endpoints(option(argv + 2, "at", NULL));
        sum_up(way);
        return 0;
    }
    if (!strcmp(way, "fork")) {
        MUST((ch = rdma_create_event_channel())); /* the parent uses it, too */
        way = "epoll";
        if ((child = fork())) {
            int status;
            while (waitpid(child, &status, 0) < 0) {}
            return !WIFEXITED(status) || WEXITSTATUS(status);
        }
    }
    MUST((ch = rdma_create_event_channel()) && (!migrates || (worker = rdma_create_event_channel())));
    if (migrates) MUST(!pthread_create(&reader, NULL, read_worker, NULL));
    listen_all();
    say("server: listening %d", listening);
    serve(way);
    if (migrates) pthread_join(reader, NULL);
    sum_up(way);
    rdma_destroy_event_channel(ch);
    return 0;
}
