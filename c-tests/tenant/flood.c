/* A non-blocking server that gets no event, or under a policy only requests that are refused (flood_kernel.c): its calls
 * come back, another thread can destroy an id of the channel, and SIGTERM ends it. usage: flood [edge] */
#include "cm.h"
#include <fcntl.h>
#include <sys/epoll.h>

static volatile sig_atomic_t over;
static struct rdma_cm_id *other;

static void end(int unused)
{
    (void)unused;
    over = 1;
}

static void *interrupt(void *unused)
{
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, NULL); /* it is for the server's thread */
    usleep(300000);
    MUST(!rdma_destroy_id(other));
    say("the other id is destroyed");
    kill(getpid(), SIGTERM);
    return unused;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = end};
    struct rdma_event_channel *ch;
    struct rdma_cm_event *ev;
    struct epoll_event ready;
    pthread_t thread;
    int edge = argc > 1 && !strcmp(argv[1], "edge"), set = epoll_create1(0), others = 0;
    end_if_hung(6);
    sigaction(SIGTERM, &action, NULL);
    MUST((ch = rdma_create_event_channel()));
    fcntl(ch->fd, F_SETFL, O_NONBLOCK);
    MUST(!rdma_create_id(ch, &other, NULL, RDMA_PS_TCP));
    struct rdma_cm_id *listener = cm_listen(ch, 8);
    struct epoll_event event = {.events = EPOLLIN | (edge ? EPOLLET : 0)};
    MUST(!epoll_ctl(set, EPOLL_CTL_ADD, ch->fd, &event));
    MUST(!pthread_create(&thread, NULL, interrupt, NULL));
    while (!over) {
        others += !rdma_get_cm_event(ch, &ev) || errno != EAGAIN;
        epoll_wait(set, &ready, 1, 1);
    }
    pthread_join(thread, NULL);
    say("ended by SIGTERM, other outcomes than EAGAIN: %d", others);
    MUST(!rdma_destroy_id(listener));
    rdma_destroy_event_channel(ch);
    return 0;
}
