/* usage: fork child|both    RDMA in the child only; or in the parent first, then in the child on an inherited and a
 * new channel (the kernel refuses the inherited one: other credentials), then in the parent again. */
#include "cm.h"

static void resolve(const char *who, struct rdma_event_channel *ch)
{
    struct sockaddr_in here = cm_addr(lab_addr(), lab_port());
    struct rdma_cm_id *id;
    if (rdma_create_id(ch, &id, NULL, RDMA_PS_TCP)) {
        say("%s: rdma_create_id errno %s", who, errno_name(errno));
        return;
    }
    if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&here, SOON))
        say("%s: rdma_resolve_addr errno %s", who, errno_name(errno));
    else
        cm_next(who, ch, NULL);
    rdma_destroy_id(id);
}

static void fresh(const char *who)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    MUST(ch);
    resolve(who, ch);
    rdma_destroy_event_channel(ch);
}

int main(int argc, char **argv)
{
    int both = argc > 1 && !strcmp(argv[1], "both"), status = 0;
    struct rdma_event_channel *inherited = NULL;
    if (both) {
        inherited = rdma_create_event_channel();
        resolve("parent", inherited);
    }
    pid_t pid = fork();
    if (!pid) {
        if (both) resolve("child, inherited channel", inherited);
        fresh("child, new channel");
        _exit(7);
    }
    waitpid(pid, &status, 0);
    say("child exit status %d", WEXITSTATUS(status));
    if (both) resolve("parent again", inherited);
    return 0;
}
