/* Duplicates of channel->fd in poll, select and epoll tell the same as the descriptor itself. With events left, an
 * edge-triggered set may be woken once more than bare, when they are read ahead: not shown. */
#include "events.h"

enum { COPIES = 4 };
static struct rdma_event_channel *ch;
static int fds[COPIES], sets[COPIES + 1];

static int left;

static void show(const char *when)
{
    char line[128];
    int n = snprintf(line, sizeof line, "%s: readable", when);
    for (int i = 0; i < COPIES; i++) n += snprintf(line + n, sizeof line - n, " %d", fds[i] < 0 ? -1 : readable(fds[i]));
    n += snprintf(line + n, sizeof line - n, ", wakes");
    for (int i = 0; i <= COPIES; i++) {
        int woken = wakes(sets[i]);
        n += snprintf(line + n, sizeof line - n, " %d", left && i == 3 ? 0 : woken);
    }
    say("%s", line);
}

int main(void)
{
    struct rdma_cm_id *ids[4];
    struct epoll_event e = {.events = EPOLLIN};
    ch = new_channel(1);
    fds[0] = dup(ch->fd);
    fds[1] = fcntl(ch->fd, F_DUPFD, 100);
    fds[2] = fcntl(ch->fd, F_DUPFD_CLOEXEC, 200);
    fds[3] = dup2(ch->fd, 50);
    for (int i = 0; i < COPIES; i++) {
        MUST(fds[i] >= 0);
        sets[i] = epoll_with(fds[i], EPOLLIN | (i == 3 ? EPOLLET : 0));
    }
    sets[COPIES] = epoll_with(ch->fd, EPOLLIN); /* both in one set */
    MUST(!epoll_ctl(sets[COPIES], EPOLL_CTL_ADD, fds[0], &e));
    say("F_DUPFD %d, F_DUPFD_CLOEXEC %d, dup2 %d", fds[1], fds[2], fds[3]);
    show("empty");
    for (int i = 0; i < 3; i++) ids[i] = resolving(ch, i);
    settle();
    show("three");
    say("took %ld", take(ch));
    left = 1;
    show("two");
    close(fds[0]); /* its entry in the sets lives as long as the description */
    fds[0] = -1;
    show("a copy closed");
    left = 0;
    say("took %ld", take(ch));
    say("took %ld", take(ch));
    show("none");
    ids[3] = resolving(ch, 3);
    settle();
    show("one");
    say("took %ld", take(ch));
    show("none");
    for (int i = 0; i < 4; i++) rdma_destroy_id(ids[i]);
    for (int i = 1; i < COPIES; i++) close(fds[i]);
    rdma_destroy_event_channel(ch);
    return 0;
}
