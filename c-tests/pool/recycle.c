/* Connections one after another, whose queue pairs may be used again. Each sends one message and leaves its completion
 * where it is; the next one looks whether it finds completions under its own number before it has sent anything.
 * usage: recycle data|kept|stale PAUSE_MS
 *        kept: at the end nothing is destroyed but the queue pairs, so that those which wait do so until the exit
 *        stale: a connection that claims the number of a used-again queue pair stands in the way of that one */
#include "pool.h"

enum { ROUNDS = 8, MOST = 40, TRIAL = 3 }; /* after round 3 the pool has begun, and so has the trial */

static struct rdma_event_channel *sc, *cc;
static struct rdma_cm_id *listener;
static struct ibv_pd *pd;
static struct ibv_cq *ours, *theirs;
static struct ibv_mr *mr;
static char buffer[64];
static int earlier;
static struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7};

static void make(struct rdma_cm_id *id, struct ibv_cq *cq)
{
    struct ibv_qp_init_attr attr = verbs_attr(cq);
    MUST(!rdma_create_qp(id, pd, &attr));
}

static int await(struct rdma_event_channel *ch, struct rdma_cm_id **id, int *status)
{
    for (;;) {
        struct rdma_cm_event *event;
        MUST(!rdma_get_cm_event(ch, &event));
        int got = event->event;
        if (id) *id = event->id;
        if (status) *status = event->status;
        rdma_ack_cm_event(event);
        if (got != RDMA_CM_EVENT_TIMEWAIT_EXIT) return got;
    }
}

static struct rdma_cm_id *accepted(void)
{
    struct rdma_cm_id *server;
    MUST(await(sc, &server, NULL) == RDMA_CM_EVENT_CONNECT_REQUEST);
    make(server, theirs);
    MUST(!rdma_accept(server, &param));
    return server;
}

/* Completions that lie there under the number of a connection that has sent nothing. */
static int of_earlier_lives(struct ibv_qp *qp)
{
    struct ibv_wc wc;
    int found = 0;
    while (ibv_poll_cq(ours, 1, &wc) > 0) found += wc.qp_num == qp->qp_num;
    return found;
}

static void message(struct rdma_cm_id *client, struct rdma_cm_id *server, int round)
{
    struct ibv_wc wc;
    snprintf(buffer, 32, "message %d", round);
    MUST(!rdma_post_recv(server, (void *)(intptr_t)round, buffer + 32, 32, mr));
    MUST(!rdma_post_send(client, (void *)(intptr_t)round, buffer, 32, mr, IBV_SEND_SIGNALED));
    int n = poll_for(theirs, &wc, 2000);
    say("%d: received %d, status %d, own %d, text '%s'", round, n, wc.status, (int)wc.wr_id == round, buffer + 32);
}

static void end(struct rdma_cm_id *client, struct rdma_cm_id *server)
{
    MUST(!rdma_disconnect(client));
    MUST(await(sc, NULL, NULL) == RDMA_CM_EVENT_DISCONNECTED);
    MUST(!rdma_disconnect(server));
    MUST(await(cc, NULL, NULL) == RDMA_CM_EVENT_DISCONNECTED);
    struct ibv_wc wc;
    while (ibv_poll_cq(theirs, 1, &wc) > 0) {}
    cm_drop_id(client);
    cm_drop_id(server);
}

static struct rdma_cm_id *client_with_qp(void)
{
    struct rdma_cm_id *client = cm_routed(cc, RDMA_PS_TCP);
    make(client, ours);
    return client;
}

static void connection(struct rdma_cm_id *client, int round)
{
    MUST(!rdma_connect(client, &param));
    struct rdma_cm_id *server = accepted();
    MUST(await(cc, NULL, NULL) == RDMA_CM_EVENT_ESTABLISHED && await(sc, NULL, NULL) == RDMA_CM_EVENT_ESTABLISHED);
    earlier += of_earlier_lives(client->qp);
    message(client, server, round);
    let_pass(10); /* its completion is there */
    end(client, server);
}

/* A preloaded program (CMSHIM_LOG_FILE is set) waits here until its log has the text of TRIAL_SAYS: the trial of the device runs in
 * another thread, and before its end nothing is used again. */
static void await_trial(void)
{
    const char *log = getenv("CMSHIM_LOG_FILE"), *text = getenv("TRIAL_SAYS");
    if (!log || !text) return;
    for (int left = within(20000); left > 0; left -= 50) {
        static char all[1 << 16];
        FILE *file = fopen(log, "r");
        size_t n = file ? fread(all, 1, sizeof all - 1, file) : 0;
        if (file) fclose(file);
        all[n] = 0;
        if (strstr(all, text)) return;
        usleep(50000);
    }
    say("the log never said '%s'", text);
}

/* The peer's kernel believes that this number is connected. */
static void in_the_way(uint32_t qp_num)
{
    struct rdma_cm_id *fake = cm_routed(cc, RDMA_PS_TCP);
    struct rdma_conn_param claim = param;
    claim.qp_num = qp_num;
    MUST(!rdma_connect(fake, &claim));
    accepted();
    MUST(await(cc, NULL, NULL) == RDMA_CM_EVENT_CONNECT_RESPONSE && !rdma_establish(fake));
    MUST(await(sc, NULL, NULL) == RDMA_CM_EVENT_ESTABLISHED);
}

static void stale(int pause)
{
    uint32_t seen[MOST], refused = 0;
    int came_back = 0;
    for (int round = 0; round < MOST; round++) {
        struct rdma_cm_id *client = client_with_qp();
        seen[round] = client->qp->qp_num;
        int again = 0, status;
        for (int i = 0; i < round; i++) again |= seen[i] == seen[round];
        if (again && !refused) {
            refused = seen[round];
            in_the_way(refused);
            MUST(!rdma_connect(client, &param));
            for (int i = 0; i < 2; i++) { /* what stood in the way learns that it is stale, too */
                int event = await(cc, NULL, &status);
                if (event != RDMA_CM_EVENT_DISCONNECTED) say("client: %s %d", rdma_event_str(event), status);
            }
            cm_drop_id(client);
            let_pass(pause);
            /* Whoever gets one now does not get that one. */
            struct rdma_cm_id *next[3];
            for (int i = 0; i < 3; i++) next[i] = client_with_qp(), came_back += next[i]->qp->qp_num == refused;
            say("taken out: %d", !came_back);
            for (int i = 0; i < 3; i++) cm_drop_id(next[i]);
            return;
        }
        connection(client, round);
        if (round == TRIAL) await_trial();
        let_pass(pause);
    }
    say("no queue pair was used again");
}

int main(int argc, char **argv)
{
    int pause = argc > 2 ? atoi(argv[2]) : 0;
    MUST(argc > 2 && (sc = rdma_create_event_channel()) && (cc = rdma_create_event_channel()));
    listener = cm_listen(sc, 16);
    MUST((pd = ibv_alloc_pd(listener->verbs)));
    MUST((ours = ibv_create_cq(listener->verbs, 64, NULL, NULL, 0)));
    MUST((theirs = ibv_create_cq(listener->verbs, 64, NULL, NULL, 0)));
    MUST((mr = ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE)));
    if (!strcmp(argv[1], "stale")) {
        stale(pause);
        return 0;
    }
    for (int round = 0; round < ROUNDS; round++) {
        connection(client_with_qp(), round);
        if (round == TRIAL) await_trial();
        let_pass(pause);
    }
    say("completions of an earlier connection: %d", earlier);
    if (!strcmp(argv[1], "kept")) return 0;
    TRY(ibv_dereg_mr(mr));
    TRY(ibv_destroy_cq(ours));
    TRY(ibv_destroy_cq(theirs));
    TRY(ibv_dealloc_pd(pd));
    rdma_destroy_id(listener);
    rdma_destroy_event_channel(sc);
    rdma_destroy_event_channel(cc);
    return 0;
}
