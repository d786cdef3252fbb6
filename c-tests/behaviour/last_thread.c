/* The main thread ends early by pthread_exit: the process ends with the last thread of the program, status 0. */
#include "cm.h"

static void *work(void *unused)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    MUST(ch);
    struct rdma_cm_id *id = cm_routed(ch, RDMA_PS_TCP);
    MUST(!cm_qp(id) && !rdma_connect(id, NULL));
    cm_next("thread", ch, NULL); /* nobody listens */
    cm_drop_id(id);
    rdma_destroy_event_channel(ch);
    return unused;
}

static void after_all(void)
{
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    say("exit handler, SIGTERM blocked: %d", sigismember(&blocked, SIGTERM));
}

int main(void)
{
    pthread_t thread;
    end_if_hung(30); /* a process that stays ends by this */
    MUST(!atexit(after_all));
    MUST(!pthread_create(&thread, NULL, work, NULL));
    pthread_detach(thread);
    pthread_exit(NULL);
}
