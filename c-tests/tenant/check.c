/* A server with a check of its own (cmshim_set_access_check), which does what the request's private data says:
 *   allow, refuse        replace   has itself replaced by a check that refuses, and allows
 *   block                answers after CHECK_BLOCKS_MS             errno   spoils errno, allows
 *   jump                 leaves by siglongjmp        cancel   its thread cancels itself (a new one serves then)
 *   call                 makes RDMA calls of its own, and allows
 *   throw                leaves by an exception, as the object that THROWN names throws one
 * usage: check ADDR PORT [nonblock]     until SIGTERM; "unset" as private data takes the check away */
#include "../../include/cmshim.h"
#include "events.h"
#include "tenant.h"
#include <dlfcn.h>
#include <setjmp.h>

static struct rdma_event_channel *ch;
static struct rdma_cm_id *listener;
static struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1};
static __typeof__(&cmshim_set_access_check) set_check;
static volatile sig_atomic_t over;
static sigjmp_buf back;
static int (*caught)(int (*)(void));
static void (*thrown)(int);
static int user = 7;
enum { THROWN = 77 };

static void end(int unused)
{
    struct sigaction again = {.sa_handler = end};
    (void)unused;
    over = 1;
    sigaction(SIGALRM, &again, NULL);
    alarm(1);
}

static int refuse(const struct cmshim_access_request *request, void *unused)
{
    (void)unused;
    say("the other check is asked about '%.20s'", (const char *)request->private_data);
    return 1;
}

static int check(const struct cmshim_access_request *request, void *mine)
{
    const char *data = request->private_data;
    char peer[64], local[64], port[16];
    getnameinfo(request->peer, sizeof(struct sockaddr_storage), peer, sizeof peer, NULL, 0, NI_NUMERICHOST);
    getnameinfo(request->local, sizeof(struct sockaddr_storage), local, sizeof local, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    say("asked: '%.20s' from %s to %s, right port %d, tenant %s, data %d bytes, P_Key %#x, size right %d, user %d", data, peer, local,
        atoi(port) == ntohs(rdma_get_src_port(listener)), request->tenant ? request->tenant : "none", request->private_data_len,
        request->pkey, request->size >= sizeof *request, *(int *)mine);
    if (!strcmp(data, "refuse")) return 1;
    if (!strcmp(data, "jump")) siglongjmp(back, 1);
    if (!strcmp(data, "throw")) thrown(THROWN);
    if (!strcmp(data, "errno")) errno = ENOTTY;
    if (!strcmp(data, "replace")) MUST(!set_check(refuse, NULL));
    if (!strcmp(data, "cancel")) {
        pthread_cancel(pthread_self());
        pthread_testcancel();
    }
    if (!strcmp(data, "call")) settle();
    if (!strcmp(data, "block")) {
        usleep(1000 * number_of("CHECK_BLOCKS_MS", 1500));
        say("the check answers, too late, and the data is still there: '%.20s'", data);
    }
    return 0;
}

static struct rdma_cm_event *taken;

static int take_it(void) { return rdma_get_cm_event(ch, &taken); }

static void take_one(void)
{
    static int done; /* a cancelled thread may not come by what catches in Rust */
    errno = UNTOUCHED;
    int rc = done ? take_it() : caught(take_it);
    if (rc == THROWN) {
        say("thrown");
        done = 1;
        return;
    }
    if (rc) {
        if (errno != EAGAIN && errno != EINTR) say("rdma_get_cm_event errno %s", errno_name(errno));
        return;
    }
    if (errno != UNTOUCHED) say("errno %s after a success", errno_name(errno));
    struct rdma_cm_event *ev = taken;
    struct rdma_cm_id *id = ev->id;
    int type = ev->event;
    char data[24] = "";
    if (ev->param.conn.private_data) snprintf(data, sizeof data, "%s", (const char *)ev->param.conn.private_data);
    rdma_ack_cm_event(ev);
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
        say("the program sees '%s'", data);
        if (!strcmp(data, "unset")) set_check(NULL, NULL);
        MUST(!cm_qp(id));
        if (rdma_accept(id, &param)) cm_drop_id(id);
    } else if (type != RDMA_CM_EVENT_ESTABLISHED && type != RDMA_CM_EVENT_TIMEWAIT_EXIT) {
        rdma_disconnect(id);
        cm_drop_id(id);
    }
}

static void signals(int how)
{
    sigset_t some;
    sigemptyset(&some);
    sigaddset(&some, SIGTERM);
    sigaddset(&some, SIGALRM);
    pthread_sigmask(how, &some, NULL);
}

static void *serve(void *set)
{
    signals(SIG_UNBLOCK); /* not to the thread that only waits for this one */
    if (sigsetjmp(back, 1)) say("jumped");
    while (!over) {
        struct epoll_event ready;
        if (*(int *)set >= 0 && epoll_wait(*(int *)set, &ready, 1, 200) < 1) continue;
        take_one();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = end};
    pthread_t thread;
    void *result;
    if (argc < 3) return 2;
    *(void **)&set_check = dlsym(RTLD_DEFAULT, "cmshim_set_access_check");
    MUST(set_check);
    void *thrower = dlopen(getenv("THROWN"), RTLD_NOW);
    MUST(thrower);
    *(void **)&caught = dlsym(thrower, "caught");
    *(void **)&thrown = dlsym(thrower, "thrown");
    MUST(caught && thrown);
    sigaction(SIGTERM, &action, NULL);
    signals(SIG_BLOCK);
    end_if_hung(60);
    struct sockaddr_storage sa = any_addr(argv[1], atoi(argv[2]));
    int set = -1;
    MUST((ch = rdma_create_event_channel()));
    if (argc > 3) {
        set_nonblock(ch->fd, 1);
        set = epoll_with(ch->fd, EPOLLIN);
    }
    MUST(!rdma_create_id(ch, &listener, NULL, RDMA_PS_TCP) && !rdma_bind_addr(listener, (struct sockaddr *)&sa));
    say("set: %d", set_check(check, &user));
    MUST(!rdma_listen(listener, 16));
    say("server: listening");
    do {
        MUST(!pthread_create(&thread, NULL, serve, &set) && !pthread_join(thread, &result));
        if (result == PTHREAD_CANCELED) say("cancelled");
    } while (!over);
    signal(SIGALRM, SIG_DFL);
    signals(SIG_UNBLOCK);
    end_if_hung(20);
    int ids = kernel_ids();
    rdma_destroy_id(listener);
    say("listener gone, kernel ids %d", ids);
    rdma_destroy_event_channel(ch);
    return 0;
}
