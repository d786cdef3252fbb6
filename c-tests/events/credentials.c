/* parts: later before thread, each with -nonblock, too; dropped    The kernel takes commands on a channel only from a thread with
 * the very credentials that opened it. A channel is opened after this thread has got new ones, or before; by a thread with its own;
 * and one is used after root's privileges were given up. */
#include "events.h"
#include <sys/prctl.h>
#include <sys/wait.h>

static int nonblocking;

/* Credentials of this thread's own from here on, equal to those before. */
static void new_credentials(void)
{
    MUST(!prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
}

static void *use(void *context)
{
    struct rdma_event_channel *ch;
    struct rdma_cm_id *ids[3];
    if (context) new_credentials();
    ch = new_channel(nonblocking);
    for (int i = 0; i < 3; i++) {
        ids[i] = resolving(ch, i);
        say("readable %d", cm_ready(ch, SOON));
        say("took %ld", take(ch));
        say("readable %d", readable(ch->fd));
    }
    for (int i = 0; i < 3; i++) MUST(!rdma_resolve_route(ids[i], 5000));
    for (int i = 0; i < 3; i++) {
        int can = cm_ready(ch, SOON);
        say("readable %d, took %d", can, take(ch) >= 0);
    }
    for (int i = 0; i < 3; i++) TRY(rdma_destroy_id(ids[i]));
    rdma_destroy_event_channel(ch);
    return NULL;
}

/* Nothing waits in the channel, and nothing is waited for. */
static void opened_before(void)
{
    struct rdma_event_channel *ch = new_channel(nonblocking);
    struct rdma_cm_id *id = resolving(ch, 0), *other;
    say("readable %d", cm_ready(ch, SOON));
    say("took %ld", take(ch));
    new_credentials();
    take(ch);
    say("readable %d", readable(ch->fd));
    TRY(rdma_create_id(ch, &other, NULL, RDMA_PS_TCP));
    TRY(rdma_destroy_id(id));
    rdma_destroy_event_channel(ch);
}

static void by_thread(void)
{
    pthread_t thread;
    MUST(!pthread_create(&thread, NULL, use, "its own"));
    pthread_join(thread, NULL);
}

/* A request comes when the listener's process has other credentials. */
static void dropped(void)
{
    int go[2];
    char byte = 0;
    MUST(!pipe(go));
    pid_t child = fork();
    if (!child) {
        struct rdma_conn_param p = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7};
        if (read(go[0], &byte, 1) != 1) _exit(1);
        struct rdma_cm_id *id = cm_routed(new_channel(0), RDMA_PS_TCP);
        MUST(!cm_qp(id) && !rdma_connect(id, &p));
        pause();
    }
    struct rdma_event_channel *ch = new_channel(1);
    cm_listen(ch, 4);
    MUST(!setgid(65534) && !setuid(65534));
    MUST(write(go[1], &byte, 1) == 1);
    say("readable %d", cm_ready(ch, SOON));
    take(ch);
    take(ch);
    say("readable %d", readable(ch->fd));
    kill(child, SIGKILL);
    _exit(0); /* nothing can be destroyed any more */
}

static void part(const char *name)
{
    nonblocking = is(name, "nonblock");
    if (is(name, "later")) {
        new_credentials();
        use(NULL);
    }
    if (is(name, "before")) opened_before();
    if (is(name, "thread")) by_thread();
    if (is(name, "dropped")) dropped();
}

int main(int argc, char **argv)
{
    return play_parts(argc, argv, part);
}
