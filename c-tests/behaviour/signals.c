/* usage: signals norestart|restart|longjmp    SIGALRM while a thread waits in rdma_get_cm_event: without SA_RESTART it
 * fails with EINTR, with it the wait goes on until an event comes; and a handler may leave by siglongjmp. */
#include "cm.h"
#include <setjmp.h>

static sigjmp_buf out;
static int jump;

static void on_alarm(int sig)
{
    (void)sig;
    say("handler");
    if (jump) siglongjmp(out, 1);
}

static void *later(void *id)
{
    struct sockaddr_in here = cm_addr(lab_addr(), lab_port());
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    let_pass(1800);
    MUST(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&here, SOON));
    return NULL;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "norestart";
    struct sigaction act = {.sa_handler = on_alarm, .sa_flags = strcmp(mode, "norestart") ? SA_RESTART : 0};
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id *id;
    pthread_t thread;
    MUST(ch && !rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
    jump = !strcmp(mode, "longjmp");
    sigaction(SIGALRM, &act, NULL);
    pthread_create(&thread, NULL, later, id);
    alarm(slowed(1000) / 1000);
    for (int i = 0; i < 3; i++) {
        if (sigsetjmp(out, 1)) {
            say("jumped out");
            jump = 0;
        }
        if (cm_next("waiting", ch, NULL) != -1) break;
    }
    pthread_join(thread, NULL);
    MUST(!rdma_resolve_route(id, SOON));
    cm_next("after", ch, NULL);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(ch);
    return 0;
}
