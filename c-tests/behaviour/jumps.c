/* A signal handler leaves by siglongjmp, again and again, wherever it comes: also out of the first call of a function.
 * Only calls that fail at once, so that a jump leaves nothing of librdmacm's own behind. */
#include "cm.h"
#include <fcntl.h>
#include <setjmp.h>
#include <sys/time.h>

static sigjmp_buf back;
static volatile sig_atomic_t armed;

static void jump(int unused)
{
    (void)unused;
    if (armed) siglongjmp(back, 1);
}

static void tick(long us)
{
    struct itimerval timer = {{0, us}, {0, us}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

int main(void)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id *id;
    struct sockaddr_storage odd = {.ss_family = AF_UNIX};
    volatile int rounds = 0;
    MUST(ch && !fcntl(ch->fd, F_SETFL, O_NONBLOCK) && !rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
    signal(SIGALRM, jump);
    sigsetjmp(back, 1);
    armed = 1;
    tick(700);
    while (rounds++ < 1500) {
        rdma_notify(id, 99);
        rdma_bind_addr(id, (struct sockaddr *)&odd);
        rdma_resolve_addr(id, NULL, (struct sockaddr *)&odd, 100);
        rdma_join_multicast(id, (struct sockaddr *)&odd, NULL);
        rdma_leave_multicast(id, (struct sockaddr *)&odd);
        rdma_establish(id);
        rdma_set_option(id, 99, 99, NULL, 0);
    }
    armed = 0;
    tick(0);
    say("no harm: %d", rdma_destroy_id(id));
    rdma_destroy_event_channel(ch);
    id = cm_routed(ch = rdma_create_event_channel(), RDMA_PS_TCP);
    MUST(!cm_qp(id) && !rdma_connect(id, NULL));
    cm_next("client", ch, NULL); /* nobody listens */
    cm_drop_id(id);
    rdma_destroy_event_channel(ch);
    return 0;
}
