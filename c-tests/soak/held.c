/* What a process holds while it has no connection, and at its end. */
#include "soak.h"
#include "left.h"

static const char *const names[KERNEL_HAS] = {"cm_id", "qp", "cq", "pd", "mr"}; /* as rdma resource says */

struct held {
    int of[KERNEL_HAS], seats, connections, spares, fds;
};

/* All that a command says. */
static void said(const char *command, char *to, size_t size)
{
    char line[256];
    snprintf(line, sizeof line, "unset LD_PRELOAD; exec %s", command);
    FILE *from = popen(line, "r");
    MUST(from);
    size_t got = fread(to, 1, size - 1, from);
    to[got] = 0;
    pclose(from);
}

static int times(const char *text, const char *what)
{
    int found = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what)) found++;
    return found;
}

static int sum(const char *text, const char *key)
{
    int all = 0;
    for (const char *at = text; (at = strstr(at, key));) all += atoi(at += strlen(key));
    return all;
}

static void ask_kernel(int has[KERNEL_HAS])
{
    static char text[1 << 18];
    char command[64], pid[32];
    if (null_kernel_has(getpid(), has)) return;
    snprintf(pid, sizeof pid, " pid %d ", getpid());
    for (int kind = 0; kind < KERNEL_HAS; kind++) {
        snprintf(command, sizeof command, "rdma resource show %s", names[kind]);
        said(command, text, sizeof text);
        has[kind] = times(text, pid);
    }
}

static void look(struct held *h)
{
    static char text[1 << 18];
    char command[64];
    *h = (struct held){.fds = fds()};
    snprintf(command, sizeof command, "\"$CMSHIM\" stat %d --json", getpid());
    said(command, text, sizeof text);
    h->spares = sum(text, "\"pool_idle\":") + sum(text, "\"pool_quarantined\":");
    h->connections = sum(text, "\"connections_open\":");
    if (getenv("CMSHIM_TENANT_POLICY")) {
        snprintf(command, sizeof command, "\"$CMSHIM\" policy show %d --json", getpid());
        said(command, text, sizeof text);
        MUST(strstr(text, "\"live\":"));
        h->seats = sum(text, "\"live\":");
    }
    ask_kernel(h->of);
}

/* Spares of the pool are its own, and so is what they stand on: two queues at most, with a channel each. */
static const char *too_much(const struct held *h, const struct held *may)
{
    int spares = may->spares ? h->spares : 0;
    int more[KERNEL_HAS] = {[HAS_QPS] = spares, [HAS_CQS] = 2 * spares};
    for (int kind = 0; kind < KERNEL_HAS; kind++)
        if (h->of[kind] > may->of[kind] + more[kind]) return names[kind];
    if (h->seats) return "seat";
    if (h->connections) return "connection in the statistics";
    if (h->fds > may->fds + 2 * spares) return "descriptor";
    return NULL;
}

static int fds_before;

/* Opens what stays open for a process's whole life: librdmacm's devices, and what cmshim has since the first events. */
void begin_life(void)
{
    struct rdma_event_channel *channel = new_channel(1);
    struct rdma_cm_id *ids[] = {resolving(channel, 0), resolving(channel, 1)};
    settle();
    for (int i = 0; i < 2; i++) MUST(cm_ready(channel, SOON) && take(channel) >= 0);
    for (int i = 0; i < 2; i++) rdma_destroy_id(ids[i]);
    rdma_destroy_event_channel(channel);
    fds_before = fds();
}

/* Waits until it is so, since the pool works in the background: nothing but what the program itself has. librdmacm has a
 * protection domain of its own as long as an id is bound to the device. */
void none_left(const char *who, int own_ids, int own_fds)
{
    int own = own_objects();
    struct held h, may = {.of = {own_ids, 0, own, own + (own_ids > 0), own}, .spares = own, .fds = fds_before + own_fds};
    const char *what;
    double limit = now() + within(5000) / 1000;
    for (look(&h); (what = too_much(&h, &may)) && now() < limit; look(&h)) usleep(20000);
    atomic_fetch_add(&book->looks, 1);
    if (!what) return;
    atomic_fetch_add(&book->too_much, 1);
    say("%s: a %s too much: cm_id %d, qp %d, cq %d, pd %d, mr %d, seats %d, connections %d, spares %d, descriptors %d of %d", who, what, h.of[HAS_IDS],
        h.of[HAS_QPS], h.of[HAS_CQS], h.of[HAS_PDS], h.of[HAS_MRS], h.seats, h.connections, h.spares, h.fds, may.fds);
}
