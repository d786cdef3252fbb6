/* parts: block nonblock    A child inherits a channel with unread events: the kernel refuses it everything there,
 * a new channel of its own works, and the parent goes on as if nothing were. */
#include "events.h"

static struct rdma_event_channel *ch;
static struct rdma_cm_id *ids[8];

static void inherited(void)
{
    struct rdma_cm_event *ev;
    struct rdma_cm_id *id;
    say("child: readable %d", readable(ch->fd));
    TRY(rdma_get_cm_event(ch, &ev));
    TRY(rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
    TRY(rdma_destroy_id(ids[5]));
    rdma_destroy_event_channel(ch);
}

static void own(const char *who)
{
    struct rdma_event_channel *mine = new_channel(1);
    struct rdma_cm_id *some[3];
    for (int i = 0; i < 3; i++) some[i] = resolving(mine, i);
    settle();
    for (int i = 0; i < 4; i++) say("%s, new channel: took %ld", who, take(mine));
    for (int i = 0; i < 3; i++) rdma_destroy_id(some[i]);
    rdma_destroy_event_channel(mine);
}

static void ended(const char *who, pid_t pid)
{
    int status;
    MUST(waitpid(pid, &status, 0) == pid);
    say("%s ended %d", who, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

static void child(void)
{
    inherited();
    own("child");
    struct rdma_event_channel *mine = ch = new_channel(1);
    ids[5] = resolving(ch, 0);
    settle();
    pid_t pid = fork();
    if (!pid) {
        inherited();
        own("grandchild");
        _exit(8);
    }
    ended("grandchild", pid);
    say("child: took %ld", take(mine));
    _exit(7);
}

static void part(const char *name)
{
    ch = new_channel(is(name, "nonblock"));
    for (int i = 0; i < 6; i++) ids[i] = resolving(ch, i);
    settle();
    say("parent: took %ld", take(ch));
    pid_t pid = fork();
    if (!pid) child();
    ended("child", pid);
    for (int i = 1; i < 6; i++) say("parent: took %ld", take(ch));
    say("parent: readable %d", readable(ch->fd));
    ids[6] = resolving(ch, 6);
    settle();
    say("parent: took %ld", take(ch));
    own("parent");
    for (int i = 0; i < 7; i++) rdma_destroy_id(ids[i]);
    rdma_destroy_event_channel(ch);
}

int main(int argc, char **argv)
{
    return play_parts(argc, argv, part);
}
