/* The device goes away under a connection. usage: removal DEVICE   (an rxe device that carries LAB_ADDR) */
#include "cm.h"

int main(int argc, char **argv)
{
    char command[128];
    if (argc < 2) return 2;
    struct cm_pair p = cm_connected();
    say("connected on %s", ibv_get_device_name(p.client->verbs->device));
    snprintf(command, sizeof command, "LD_PRELOAD= rdma link delete %s", argv[1]);
    /* The kernel waits until the ids are gone, so the command runs beside. */
    pid_t pid = fork();
    if (!pid) _exit(system(command) ? 1 : 0);
    for (int seen = 0; !seen;) seen = cm_next("client", p.cc, NULL) == RDMA_CM_EVENT_DEVICE_REMOVAL;
    cm_drop_id(p.client);
    cm_drop_id(p.server);
    cm_drop_id(p.listener);
    int status = 0;
    waitpid(pid, &status, 0);
    say("removed: %d", WEXITSTATUS(status));
    return 0;
}
