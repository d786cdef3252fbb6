/* usage: channels NUMBER [LIMIT FILE]    Very many channels at once, each with an id that resolved an address. With LIMIT
 * the process may have only that many descriptors: how far it came is written to FILE. */
#include "events.h"
#include <sys/resource.h>

struct one {
    struct rdma_event_channel *ch;
    struct rdma_cm_id *id;
};

static int open_one(struct one *one, int number)
{
    errno = 0;
    one->ch = rdma_create_event_channel();
    if (!one->ch) {
        say("no more channels: errno %s", errno_name(errno));
        return 0;
    }
    if (number % 2) set_nonblock(one->ch->fd, 1);
    one->id = resolving(one->ch, number);
    return 1;
}

static void write_number(const char *path, int n)
{
    FILE *f = fopen(path, "w");
    MUST(f);
    fprintf(f, "%d\n", n);
    fclose(f);
}

int main(int argc, char **argv)
{
    int wanted = argc > 1 ? atoi(argv[1]) : 4000, limit = argc > 3 ? atoi(argv[2]) : 3 * wanted + 100, n = 0, right = 0;
    struct rlimit files = {limit, limit};
    struct one *all = calloc(wanted, sizeof *all);
    MUST(all);
    end_if_hung(60);
    settle(); /* opens the device */
    MUST(!setrlimit(RLIMIT_NOFILE, &files));
    while (n < wanted && open_one(&all[n], n)) n++;
    if (n == wanted) say("all channels are open");
    for (int i = 0; i < n; i++) right += cm_ready(all[i].ch, SOON) && take(all[i].ch) == i && !readable(all[i].ch->fd);
    say("all have told their event: %d", right == n);
    for (int i = 0; i < n; i += 2) rdma_destroy_id(all[i].id);
    for (int i = 0; i < n; i++) rdma_destroy_event_channel(all[i].ch);
    if (argc > 3) write_number(argv[3], n);
    struct rdma_event_channel *ch = new_channel(1); /* there is room again */
    struct rdma_cm_id *id = resolving(ch, 7);
    MUST(cm_ready(ch, SOON));
    say("took %ld", take(ch));
    rdma_destroy_id(id);
    rdma_destroy_event_channel(ch);
    return 0;
}
