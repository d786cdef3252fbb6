/* usage: stderr datafile FILE|full|broken|wake    What stands at descriptor 2 when a connection fails: a file of the
 * program's own, a full pipe that nobody reads, a pipe without a reader, a pipe by which the program wakes itself. */
#include "cm.h"
#include <fcntl.h>

static int wake = -1;

static void occupy(const char *mode, const char *file)
{
    int ends[2], fd;
    char junk[4096] = {0};
    close(2);
    if (!strcmp(mode, "datafile")) {
        MUST(open(file, O_RDWR | O_CREAT | O_TRUNC, 0600) == 2);
        MUST(write(2, "data\n", 5) == 5);
        return;
    }
    MUST(pipe(ends) == 0);
    /* The lowest free number was 2, so one end stands there: make it the writing one. */
    fd = fcntl(ends[0], F_DUPFD, 10);
    MUST(dup2(ends[1], 2) == 2);
    if (ends[1] != 2) close(ends[1]);
    if (!strcmp(mode, "wake")) {
        wake = fd;
        return;
    }
    if (!strcmp(mode, "broken")) {
        close(fd);
        return;
    }
    MUST(!fcntl(2, F_SETFL, O_NONBLOCK));
    while (write(2, junk, sizeof junk) > 0) {}
    MUST(!fcntl(2, F_SETFL, 0));
}

int main(int argc, char **argv)
{
    char text[256] = "";
    if (argc < 2) return 2;
    const char *file = argc > 2 ? argv[2] : "";
    occupy(argv[1], file);
    end_if_hung(20); /* a hang ends as a signal, which the exit status shows */
    for (int i = 0; i < 3; i++) {
        struct rdma_event_channel *ch = rdma_create_event_channel();
        MUST(ch);
        struct rdma_cm_id *id = cm_routed(ch, RDMA_PS_TCP);
        MUST(!cm_qp(id) && !rdma_connect(id, NULL));
        cm_next("client", ch, NULL);
        cm_drop_id(id);
        rdma_destroy_event_channel(ch);
    }
    if (wake >= 0) {
        struct pollfd p = {.fd = wake, .events = POLLIN};
        say("woken: %d", poll(&p, 1, 0));
    }
    if (*file) {
        MUST(pread(2, text, sizeof text - 1, 0) >= 0);
        say("file: %s", text);
    }
    return 0;
}
