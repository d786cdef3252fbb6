/* What happens at a bad moment (with slow.so beneath).
 * usage: moments fork    the keeper is in the middle of a creation
 *        moments twin    a child that no atfork handler saw goes on with its parent's objects
 *        moments close   a device is opened at the address of one whose ibv_close_device has not returned yet */
#include "pool.h"
#include <dlfcn.h>
#include <sys/syscall.h>

struct objects {
    struct ibv_context *ctx;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
};

static struct objects objects(struct ibv_device *device)
{
    struct objects o = {.ctx = ibv_open_device(device)};
    MUST(o.ctx && (o.pd = ibv_alloc_pd(o.ctx)) && (o.cq = ibv_create_cq(o.ctx, 64, NULL, NULL, 0)));
    return o;
}

static void one(struct objects *o)
{
    struct ibv_qp_init_attr attr = verbs_attr(o->cq);
    struct ibv_qp *qp = ibv_create_qp(o->pd, &attr);
    MUST(qp && !ibv_destroy_qp(qp));
}

/* A child uses a device of its own. */
static void forks(struct ibv_device *device)
{
    struct objects mine = objects(device);
    int status, hung = 0;
    for (int i = 0; i < 12; i++) {
        one(&mine);
        usleep(i * 1000);
        pid_t child = fork();
        if (!child) {
            end_if_hung(10);
            struct objects own = objects(device);
            one(&own);
            _exit(0);
        }
        MUST(waitpid(child, &status, 0) == child);
        hung += status != 0;
    }
    say("children that did not end well: %d", hung);
}

static struct ibv_qp *another(struct objects *o)
{
    struct ibv_qp_init_attr attr = verbs_attr(o->cq);
    struct ibv_qp *qp = ibv_create_qp(o->pd, &attr);
    MUST(qp);
    return qp;
}

static void twin(struct ibv_device *device)
{
    struct objects o = objects(device);
    uint32_t number;
    int pipes[2], twice = 0;
    MUST(!pipe(pipes));
    for (int i = 0; i < 4; i++) {
        another(&o);
        let_fill();
    }
    pid_t child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (!child) {
        number = another(&o)->qp_num;
        MUST(write(pipes[1], &number, sizeof number) == sizeof number);
        pause();
    }
    MUST(read(pipes[0], &number, sizeof number) == sizeof number);
    for (int i = 0; i < 12; i++) twice += another(&o)->qp_num == number;
    kill(child, SIGKILL);
    say("the child's queue pair is the parent's, too: %d", twice);
}

static void *closer(void *ctx)
{
    MUST(!ibv_close_device(ctx));
    return NULL;
}

static void closes(struct ibv_device *device)
{
    struct ibv_context *before = ibv_open_device(device);
    volatile int *closed = dlsym(RTLD_DEFAULT, "slow_closed"), *go_on = dlsym(RTLD_DEFAULT, "slow_go_on");
    pthread_t thread;
    MUST(before && closed && go_on && !pthread_create(&thread, NULL, closer, before));
    while (!*closed) usleep(1000);
    struct objects after = objects(device);
    *go_on = 1;
    pthread_join(thread, NULL);
    for (int i = 0; i < 6; i++) {
        one(&after);
        let_fill();
    }
    TRY(ibv_destroy_cq(after.cq));
    TRY(ibv_dealloc_pd(after.pd));
}

int main(int argc, char **argv)
{
    struct ibv_device *device = verbs_device();
    if (argc > 1 && !strcmp(argv[1], "fork")) forks(device);
    else if (argc > 1 && !strcmp(argv[1], "twin")) twin(device);
    else closes(device);
    return 0;
}
