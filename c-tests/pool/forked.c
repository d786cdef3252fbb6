/* Forked while queue pairs lie ready: child and parent see what they see bare.
 * usage: forked apart    the child makes its own and uses what it inherited, and the parent goes on
 *        forked daemon   the parent is gone, and the child destroys what it inherited */
#include "pool.h"

enum { KEPT = 3, ROUNDS = 6 };

struct set {
    struct ibv_context *ctx;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
};

static struct set make(struct ibv_context *ctx)
{
    struct set s = {ctx, ibv_alloc_pd(ctx), ibv_create_cq(ctx, 64, NULL, NULL, 0)};
    MUST(s.pd && s.cq);
    return s;
}

static struct ibv_qp *create(struct set s)
{
    struct ibv_qp_init_attr attr = verbs_attr(s.cq);
    return ibv_create_qp(s.pd, &attr);
}

/* Created, usable, destroyed. */
static void go_on(const char *who, struct set s)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct ibv_qp *qp = create(s);
        int init = qp ? to_init(qp) : -1;
        say("%s %d: %s, to INIT %d, destroyed %d", who, i, qp ? "made" : "none", init, qp ? ibv_destroy_qp(qp) : -1);
        let_fill();
    }
}

static void apart(struct set s)
{
    int status;
    pid_t pid = fork();
    MUST(pid >= 0);
    if (!pid) {
        TRY(ibv_destroy_cq(s.cq)); /* busy: the parent's own stand on it */
        TRY(ibv_dealloc_pd(s.pd));
        go_on("child, inherited", s);
        struct set mixed = make(s.ctx), own = make(verbs_open());
        go_on("child, inherited device", mixed);
        go_on("child, own", own);
        TRY(ibv_destroy_cq(mixed.cq));
        TRY(ibv_dealloc_pd(mixed.pd));
        TRY(ibv_destroy_cq(own.cq));
        TRY(ibv_dealloc_pd(own.pd));
        TRY(ibv_close_device(own.ctx));
        exit(7);
    }
    for (int i = 0; i < ROUNDS; i++) { /* beside the child */
        struct ibv_qp *qp = create(s);
        MUST(qp && !to_init(qp) && !ibv_destroy_qp(qp));
        let_fill();
    }
    MUST(waitpid(pid, &status, 0) == pid);
    say("child exit status %d", WEXITSTATUS(status));
    go_on("parent again", s);
}

/* The child of a parent that is gone. */
static void orphan(struct set s, struct ibv_qp **kept)
{
    pid_t parent = getpid(), pid = fork();
    MUST(pid >= 0);
    if (pid) _exit(0);
    while (getppid() == parent) usleep(1000);
    go_on("orphan", s);
    for (int i = 0; i < KEPT; i++) TRY(ibv_destroy_qp(kept[i]));
    TRY(ibv_destroy_cq(s.cq));
    TRY(ibv_dealloc_pd(s.pd));
    TRY(ibv_close_device(s.ctx));
}

static void with_ready_ones(int daemon)
{
    struct set s = make(verbs_open());
    struct ibv_qp *kept[KEPT];
    for (int i = 0; i < KEPT; i++) {
        MUST((kept[i] = create(s)));
        let_fill();
    }
    let_fill();
    if (daemon) {
        orphan(s, kept);
        return;
    }
    apart(s);
    for (int i = 0; i < KEPT; i++) TRY(ibv_destroy_qp(kept[i]));
    TRY(ibv_destroy_cq(s.cq));
    TRY(ibv_dealloc_pd(s.pd));
    say_kernel_has("all destroyed");
    TRY(ibv_close_device(s.ctx));
}

int main(int argc, char **argv)
{
    int ends[2];
    char byte;
    if (argc < 2 || strcmp(argv[1], "daemon")) {
        with_ready_ones(0);
        return 0;
    }
    MUST(!pipe(ends));
    if (!fork()) {
        close(ends[0]);
        with_ready_ones(1);
        return 0;
    }
    close(ends[1]);
    MUST(!read(ends[0], &byte, 1)); /* until the last of them is gone */
    return 0;
}
