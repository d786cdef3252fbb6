/* What both sides wrote down has to fit together. */
#include "soak.h"

static int lost, doubled, told;

static void tell(unsigned client, unsigned n, const struct page *p, const char *what)
{
    if (told++ < 20) say("connection %u of client %u, kind %d: outcome %d, the server saw %d: %s", n, client, p->kind, p->outcome, p->server, what);
}

static void look_at(unsigned client, unsigned n)
{
    const struct page *p = page_of(client, n);
    int saw = p->server;
    const char *what = NULL;
    if (p->outcome == UNKNOWN || p->outcome == STARTED) what = "it has no end";
    else if (p->outcome == WRONG) what = "not as it has to be";
    else if (saw & SAW_WRONG) what = "not as it has to be for the server";
    else if (p->outcome == AS_MEANT && p->kind == BY_POLICY && saw) what = "it was to be refused before the server";
    else if (p->outcome == AS_MEANT && (p->kind == CLEAN || p->kind == REFUSED) && !(saw & SAW_REQUEST)) what = "its request was lost";
    else if (p->outcome == AS_MEANT && p->kind == CLEAN && !(saw & SAW_END)) what = "its end was lost";
    if (saw & SAW_TWICE) doubled++;
    if (!what) return;
    lost++;
    tell(client, n, p, what);
}

int check(void)
{
    unsigned outcomes[OUTCOMES] = {0}, kinds[KINDS_OF] = {0};
    for (unsigned c = 0; c < CLIENTS; c++)
        for (unsigned n = 0; n < book->each; n++) {
            const struct page *p = page_of(c, n);
            look_at(c, n);
            outcomes[p->outcome % OUTCOMES]++;
            kinds[p->kind % KINDS_OF]++;
        }
    say("clean %u, refused by program %u, by policy %u, aborted %u, half open %u; as meant %u, restarted under them %u, killed %u, late %u",
        kinds[CLEAN], kinds[REFUSED], kinds[BY_POLICY], kinds[ABORTED], kinds[HALF_OPEN], outcomes[AS_MEANT], outcomes[RESTARTED],
        outcomes[KILLED], outcomes[LATE]);
    say("server restarted %u times, clients killed %u times; RSS grew by %ld KiB (server), %ld KiB (client)",
        atomic_load(&book->restarts), atomic_load(&book->clients_killed), atomic_load(&book->rss_growth),
        atomic_load(&book->rss_growth_client));
    say("%u looks at processes without a connection: %u have anything left", atomic_load(&book->looks), atomic_load(&book->too_much));
    say("%u connections: %d lost or wrong, %d doubled", CLIENTS * book->each, lost, doubled);
    int flat = atomic_load(&book->rss_growth) < 1024 && atomic_load(&book->rss_growth_client) < 1024;
    return lost || doubled || atomic_load(&book->server_wrong) || atomic_load(&book->too_much) || !atomic_load(&book->quiet) || !flat || !outcomes[AS_MEANT] || !atomic_load(&book->restarts);
}
