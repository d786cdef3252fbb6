/* Queue pairs whose completion queues and channels librdmacm makes: all that can be seen of a set is the same bare and
 * from the pool, descriptor numbers included.
 * usage: bundles ids|data|closed|few|room|share|chroot|last */
#include "pool.h"
#include <setjmp.h>
#include <fcntl.h>
#include <sys/resource.h>

enum { ROUNDS = 10 };

static struct rdma_event_channel *channel;

/* The lowest free descriptor, and the one after it. */
static void lowest(int fds[2])
{
    fds[0] = dup(0);
    fds[1] = dup(0);
    close(fds[0]);
    close(fds[1]);
}

static int describe_set(int number, struct rdma_cm_id *id, struct ibv_qp_init_attr attr)
{
    struct ibv_qp_init_attr asked = attr;
    struct ibv_qp_attr state = {0};
    struct ibv_qp_init_attr init;
    int want[2];
    lowest(want);
    int rc = rdma_create_qp(id, NULL, &attr);
    if (rc) {
        say("%d: rdma_create_qp = %d, errno %s", number, rc, errno_name(errno));
        return rc;
    }
    MUST(!ibv_query_qp(id->qp, &state, IBV_QP_STATE, &init));
    say("%d: descriptors as expected %d %d, close-on-exec %d %d, blocking %d, cqe %d %d, state %d, caps %u %u %u %u %u", number,
        id->recv_cq_channel->fd == want[0], id->send_cq_channel->fd == want[1],
        fcntl(id->recv_cq_channel->fd, F_GETFD), fcntl(id->send_cq_channel->fd, F_GETFD),
        !(fcntl(id->recv_cq_channel->fd, F_GETFL) & O_NONBLOCK), id->recv_cq->cqe, id->send_cq->cqe, state.qp_state,
        attr.cap.max_send_wr, attr.cap.max_recv_wr, attr.cap.max_send_sge, attr.cap.max_recv_sge, attr.cap.max_inline_data);
    say("%d: contexts %d %d %d, queues %d %d %d %d, channels %d %d, counters %u %u %u", number,
        id->recv_cq->cq_context == id, id->send_cq->cq_context == id, id->qp->qp_context == asked.qp_context,
        id->qp->send_cq == id->send_cq, id->qp->recv_cq == id->recv_cq, attr.send_cq == id->send_cq,
        attr.recv_cq == id->recv_cq, id->recv_cq->channel == id->recv_cq_channel, id->send_cq->channel == id->send_cq_channel,
        id->recv_cq->comp_events_completed, id->send_cq->async_events_completed, id->qp->events_completed);
    return 0;
}

static struct ibv_qp_init_attr attributes(void *context)
{
    return (struct ibv_qp_init_attr){.qp_context = context, .cap = {8, 12, 1, 1, 0}, .qp_type = IBV_QPT_RC};
}

/* librdmacm gave up its own protection domain with the last id: nothing may stand on it. */
static void last_id_gone(void)
{
    say_kernel_has("the last id is gone");
}

/* Several alive at once, and one after another. Their destruction is librdmacm's, or the program's piece by piece. */
static void ids(void)
{
    struct rdma_cm_id *id[ROUNDS];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < ROUNDS; i++) {
            id[i] = cm_routed(channel, RDMA_PS_TCP);
            describe_set(i, id[i], attributes(&id[i]));
            if (i % 2) let_fill();
        }
        for (int i = 0; i < ROUNDS; i++) {
            if (id[i]->qp && i % 3) {
                rdma_destroy_qp(id[i]);
            } else if (id[i]->qp) {
                TRY(ibv_destroy_cq(id[i]->recv_cq)); /* busy */
                TRY(ibv_destroy_comp_channel(id[i]->recv_cq_channel)); /* busy */
                rdma_destroy_qp(id[i]);
            }
            rdma_destroy_id(id[i]);
        }
        let_fill();
    }
    /* The device, librdmacm's own, and this channel. What is there for the moment only (a line of the log is written through a
     * descriptor, the keeper gives back) is waited for. */
    int low[2], least = 1 << 20;
    for (int i = 0; i < 300 && least > channel->fd + 3; i++) {
        lowest(low);
        if (low[0] < least) least = low[0];
        usleep(10000);
    }
    say("descriptors left over: %d", least - channel->fd);
    last_id_gone();
}

static sigjmp_buf out;
static void crashed(int signal) { siglongjmp(out, signal); }

/* No completion queue at all, and no rdma_create_qp: the device's library reads a null pointer. */
static void no_queues(struct ibv_pd *pd)
{
    signal(SIGSEGV, crashed);
    struct ibv_qp_init_attr attr = attributes(NULL);
    if (sigsetjmp(out, 1)) say("no queues: crashed");
    else say("no queues: %s", ibv_create_qp(pd, &attr) ? "made" : "none");
    signal(SIGSEGV, SIG_DFL);
}

/* Completions arrive on the id's own channels. */
static void data(void)
{
    static char buffer[64];
    struct rdma_cm_id *kept = cm_routed(channel, RDMA_PS_TCP); /* so that the protection domain stays */
    for (int i = 0; i < 6; i++) {
        struct cm_pair p = cm_connected();
        struct ibv_mr *in = rdma_reg_msgs(p.server, buffer, 32), *out = rdma_reg_msgs(p.client, buffer + 32, 32);
        struct ibv_wc wc;
        void *context;
        struct ibv_cq *cq;
        MUST(in && out && !ibv_req_notify_cq(p.server->recv_cq, 0));
        snprintf(buffer + 32, 32, "message %d", i);
        MUST(!rdma_post_recv(p.server, &p, buffer, 32, in));
        MUST(!rdma_post_send(p.client, &i, buffer + 32, 32, out, IBV_SEND_SIGNALED));
        MUST(rdma_get_send_comp(p.client, &wc) == 1);
        say("%d: sent, status %d, context %d", i, wc.status, wc.wr_id == (uintptr_t)&i);
        MUST(!ibv_get_cq_event(p.server->recv_cq_channel, &cq, &context));
        ibv_ack_cq_events(cq, 1);
        MUST(ibv_poll_cq(cq, 1, &wc) == 1);
        say("%d: received '%s', status %d, own %d, more %d", i, buffer, wc.status, cq == p.server->recv_cq && context == p.server,
            ibv_poll_cq(cq, 1, &wc));
        rdma_dereg_mr(in);
        rdma_dereg_mr(out);
        rdma_disconnect(p.client);
        cm_expect(p.sc, RDMA_CM_EVENT_DISCONNECTED);
        cm_close(&p);
        let_fill();
    }
    no_queues(kept->pd);
    cm_drop_id(kept);
    last_id_gone();
}

/* The program closes descriptors that it never opened, and opens files of its own there. */
static void closed(void)
{
    struct rdma_cm_id *kept = cm_routed(channel, RDMA_PS_TCP); /* so that the protection domain stays */
    int pipes[2];
    MUST(!pipe(pipes));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < ROUNDS; i++) {
            struct rdma_cm_id *id = cm_routed(channel, RDMA_PS_TCP);
            describe_set(i, id, attributes(id));
            cm_drop_id(id);
            if (i == 5) {
                let_fill();
                for (int fd = 400; fd < 5000; fd++)
                    if (fd != pipes[0] && fd != pipes[1] && !close(fd)) dup2(pipes[1], fd);
            }
        }
        let_fill();
    }
    cm_drop_id(kept);
    last_id_gone();
    MUST(write(pipes[1], "x", 1) == 1);
    for (int fd = 400; fd < 5000; fd++) close(fd);
}

/* Hardly any descriptor is left: what works bare works. */
static void few(void)
{
    struct rdma_cm_id *id[ROUNDS];
    int low[2];
    for (int i = 0; i < ROUNDS; i++) id[i] = cm_routed(channel, RDMA_PS_TCP);
    lowest(low);
    struct rlimit limit = {low[0] + 7, low[0] + 7};
    MUST(!setrlimit(RLIMIT_NOFILE, &limit));
    for (int round = 0; round < 4; round++) {
        int made = 0;
        for (int i = 0; i < ROUNDS; i++) {
            struct ibv_qp_init_attr attr = attributes(NULL);
            int rc = rdma_create_qp(id[i], NULL, &attr);
            if (rc) say("%d: errno %s", i, errno_name(errno));
            made += !rc;
            let_fill();
        }
        say("made %d", made);
        for (int i = 0; i < ROUNDS; i++)
            if (id[i]->qp) rdma_destroy_qp(id[i]);
    }
    for (int i = 0; i < ROUNDS; i++) rdma_destroy_id(id[i]);
    last_id_gone();
}

static void come_and_go(int times)
{
    for (int i = 0; i < times; i++) {
        struct rdma_cm_id *id = cm_routed(channel, RDMA_PS_TCP);
        struct ibv_qp_init_attr attr = attributes(NULL);
        MUST(!rdma_create_qp(id, NULL, &attr));
        cm_drop_id(id);
        let_fill();
    }
}

static int descriptors(void)
{
    int open = 0;
    for (int fd = 0; fd < 5000; fd++) open += fcntl(fd, F_GETFD) >= 0;
    return open;
}

/* The limit of descriptors is low, and sets were needed by the handful. The protection domain stays with the id. */
static struct rdma_cm_id *with_few_descriptors(rlim_t most)
{
    struct rlimit limit = {most, most};
    MUST(!setrlimit(RLIMIT_NOFILE, &limit));
    struct rdma_cm_id *kept = cm_routed(channel, RDMA_PS_TCP), *id[ROUNDS];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < ROUNDS; i++) MUST(!cm_qp(id[i] = cm_routed(channel, RDMA_PS_TCP)));
        for (int i = 0; i < ROUNDS; i++) cm_drop_id(id[i]);
        let_fill();
    }
    return kept;
}

/* Nearly all descriptors that the process may have are the program's. */
static void share(void)
{
    struct rdma_cm_id *kept = with_few_descriptors(64);
    int opened = 0;
    while (dup(0) >= 0) opened++;
    say("seven eighths are the program's: %d", opened + channel->fd >= 48);
    cm_drop_id(kept);
}

/* Descriptors cannot be looked at in /proc any more. */
static void *unseen(void *from)
{
    struct rdma_cm_id *kept = cm_routed(channel, RDMA_PS_TCP); /* so that the protection domain stays */
    come_and_go(6);
    int before = descriptors();
    MUST(!from || (!chdir(from) && !chroot(".")));
    come_and_go(16);
    int more = descriptors() - before;
    say("descriptors grew by more than a few: %d", more > 12);
    cm_drop_id(kept);
    return NULL;
}

/* The main thread is gone, and with it what /proc/self shows. */
static void *last(void *main)
{
    pthread_join(*(pthread_t *)main, NULL);
    unseen(NULL);
    exit(0);
}

/* Sets lie ready, each with two descriptors, and the program needs all that it may have. */
static void room(void)
{
    struct rdma_cm_id *kept = with_few_descriptors(96);
    come_and_go(2); /* so that some lie ready now, however slow the machine */
    int opened = 0;
    struct rdma_event_channel *more, *latest = NULL;
    while ((more = rdma_create_event_channel())) {
        latest = more;
        opened++;
    }
    say("channels opened: %d, then %s", opened, errno_name(errno));
    MUST(latest);
    rdma_destroy_event_channel(latest); /* for the log's last line */
    cm_drop_id(kept);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    MUST((channel = rdma_create_event_channel()));
    if (!strcmp(what, "ids")) ids();
    else if (!strcmp(what, "data")) data();
    else if (!strcmp(what, "closed")) closed();
    else if (!strcmp(what, "few")) few();
    else if (!strcmp(what, "room")) room();
    else if (!strcmp(what, "share")) share();
    else if (!strcmp(what, "chroot")) unseen("/sys/kernel");
    else if (!strcmp(what, "last")) {
        static pthread_t self, other;
        self = pthread_self();
        MUST(!pthread_create(&other, NULL, last, &self));
        pthread_exit(NULL);
    } else return 2;
    rdma_destroy_event_channel(channel);
    return 0;
}
