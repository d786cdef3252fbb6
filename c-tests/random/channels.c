/* Steps with channels, their descriptors, and epoll sets. */
#include "random.h"
#include <sys/ioctl.h>

enum { ITEMS = sizeof sets[0].items / sizeof sets[0].items[0] };

static int set_open(int s) { return sets[s].fd > 0; }
static int set_closed(int s) { return sets[s].fd <= 0; }
static int copy_there(int k) { return copies[k].fd > 0; }
static int copy_free(int k) { return copies[k].fd <= 0; }

static int in_a_set(int fd)
{
    for (int s = 0; s < SETS; s++)
        for (int i = 0; i < ITEMS; i++)
            if (set_open(s) && sets[s].items[i].used && sets[s].items[i].fd == fd) return 1;
    return 0;
}

static int may_close(int c)
{
    for (int k = 0; k < COPIES; k++)
        if (copies[k].fd > 0 && copies[k].chan == c) return 0;
    return chans[c].ch && !channel_used(c);
}

void open_channel(const struct step *s)
{
    int c = pick(s->a, CHANNELS, chan_closed);
    if (c == NONE) return;
    chans[c] = (struct chan){.ch = rdma_create_event_channel(), .nonblock = s->b % 2};
    if (!chans[c].ch) give_up("channel %d: errno %s", c, errno_name(errno));
    if (chans[c].nonblock) set_nonblock(chans[c].ch->fd, 1);
    say("channel %d, %s", c, chans[c].nonblock ? "non-blocking" : "blocking");
}

/* It goes out of the epoll sets by itself. */
void close_channel(const struct step *s)
{
    int c = pick(s->a, CHANNELS, may_close);
    if (c == NONE) return;
    rdma_destroy_event_channel(chans[c].ch);
    for (int set = 0; set < SETS; set++)
        for (int i = 0; i < ITEMS; i++)
            if (sets[set].items[i].set == NONE && sets[set].items[i].chan == c) sets[set].items[i].used = 0;
    chans[c] = (struct chan){0};
    say("channel %d closed", c);
}

void change_flags(const struct step *s)
{
    int c = pick(s->a, CHANNELS, chan_usable), on = s->b % 3 > 0;
    if (c == NONE) return;
    int fd = chans[c].ch->fd, done = 0;
    if (s->c % 2) done = ioctl(fd, FIONBIO, &on);
    else set_nonblock(fd, on);
    chans[c].nonblock = on;
    say("channel %d %s: %d, %d", c, on ? "non-blocking" : "blocking", done, (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
}

/* Nothing is there: nothing may be said to be there. */
void look_empty(const struct step *s)
{
    int c = pick(s->a, CHANNELS, chan_empty);
    struct rdma_cm_event *ev;
    if (c == NONE) return;
    errno = 0;
    int done = chans[c].nonblock ? rdma_get_cm_event(chans[c].ch, &ev) : 0;
    say("channel %d is empty: %s%s", c, chans[c].nonblock ? (done ? errno_name(errno) : "an event") : "blocks",
        on_null_kernel && readable(chans[c].ch->fd) ? ", readable" : "");
    if (!done && chans[c].nonblock && ev->event != RDMA_CM_EVENT_TIMEWAIT_EXIT) give_up("an event that was not to come");
    if (!done && chans[c].nonblock) rdma_ack_cm_event(ev);
}

/* The next descriptor has the number that it always has. A thread of cmshim's opens files for moments, as any thread of the program could: the
 * lowest number of several tries counts. One that is left open for good is in all of them. */
static int next_number(int least)
{
    enum { TRIES = 25 };
    int lowest = 1 << 30;
    for (int i = 0; i < TRIES; i++) {
        int fd = least ? fcntl(0, F_DUPFD, least) : open("/dev/null", O_RDONLY | O_CLOEXEC);
        close(fd);
        if (fd < lowest) lowest = fd;
        usleep(1000);
    }
    return lowest;
}

static int copy_of(int fd, unsigned how)
{
    return how % 4 == 0 ? dup(fd) : how % 4 == 1 ? fcntl(fd, F_DUPFD_CLOEXEC, 20) : fcntl(fd, F_DUPFD, 20);
}

/* At that number, too. */
static int copy_at_its_number(int fd, unsigned how)
{
    int number = next_number(how % 4 ? 20 : 0), copy = copy_of(fd, how);
    for (int tries = 0; copy > number && tries < 1000; tries++) {
        close(copy);
        usleep(1000);
        copy = copy_of(fd, how);
    }
    return copy;
}

void copy_channel(const struct step *s)
{
    int c = pick(s->a, CHANNELS, chan_usable), k = pick(s->b, COPIES, s->c % 4 == 3 ? copy_there : copy_free);
    if (c == NONE || k == NONE) return;
    int fd = chans[c].ch->fd, over = copies[k].fd;
    if (over > 0) {
        if (in_a_set(over)) return;
        copies[k].fd = dup2(fd, over);
    } else {
        copies[k].fd = copy_at_its_number(fd, s->c);
    }
    copies[k].chan = c;
    chans[c].seen = 1;
    say("copy %d of channel %d: %d%s", k, c, copies[k].fd, over > 0 ? ", over another" : "");
    if (chans[c].count) say("copy %d readable: %d", k, cm_ready(&(struct rdma_event_channel){copies[k].fd}, SOON));
}

void drop_copy(const struct step *s)
{
    int k = pick(s->a, COPIES, copy_there);
    if (k == NONE || in_a_set(copies[k].fd)) return;
    say("copy %d closed: %d", k, close(copies[k].fd));
    copies[k].fd = 0;
}

void open_set(const struct step *s)
{
    int n = pick(s->a, SETS, set_closed);
    if (n == NONE) return;
    sets[n] = (struct set){.fd = epoll_create1(EPOLL_CLOEXEC)};
    say("set %d", n);
}

static int nested(int n)
{
    for (int i = 0; i < ITEMS; i++)
        if (sets[n].items[i].used && sets[n].items[i].set != NONE) return 1;
    return 0;
}

static struct item *free_item(int n)
{
    for (int i = 0; i < ITEMS; i++)
        if (!sets[n].items[i].used) return &sets[n].items[i];
    return NULL;
}

static void add(int n, struct item item, const char *what, int number)
{
    struct item *at = free_item(n);
    if (!at) return;
    for (int i = 0; i < ITEMS; i++)
        if (sets[n].items[i].used && sets[n].items[i].fd == item.fd) return;
    struct epoll_event e = {.events = EPOLLIN | item.flags, .data.u64 = at - sets[n].items};
    errno = 0;
    int done = epoll_ctl(sets[n].fd, EPOLL_CTL_ADD, item.fd, &e);
    say("set %d takes %s %d, flags %x: %d %s", n, what, number, (unsigned)item.flags, done, done ? errno_name(errno) : "");
    if (!done) *at = item;
    if (item.chan != NONE) chans[item.chan].seen = 1;
}

void add_to_set(const struct step *s)
{
    static const int flags[] = {0, 0, EPOLLET, EPOLLONESHOT, EPOLLEXCLUSIVE, EPOLLEXCLUSIVE};
    int n = pick(s->a, SETS, set_open);
    if (n == NONE) return;
    if (s->b % 8 == 0) { /* a set in a set */
        int inner = n + 1;
        if (inner < SETS && set_open(inner) && !nested(inner)) add(n, (struct item){1, NONE, sets[inner].fd, 0, 0, 1, inner}, "set", inner);
        return;
    }
    int k = s->b % 8 == 1 ? pick(s->b, COPIES, copy_there) : NONE;
    int c = k == NONE ? pick(s->b / 8, CHANNELS, chan_usable) : copies[k].chan;
    if (c == NONE) return;
    struct item item = {1, c, k == NONE ? chans[c].ch->fd : copies[k].fd, flags[s->c % 6], chans[c].count > 0, 1, NONE};
    add(n, item, k == NONE ? "channel" : "copy", k == NONE ? c : k);
}

void take_from_set(const struct step *s)
{
    int n = pick(s->a, SETS, set_open), i = s->b % ITEMS;
    if (n == NONE || !sets[n].items[i].used) return;
    say("set %d gives back item %d: %d", n, i, epoll_ctl(sets[n].fd, EPOLL_CTL_DEL, sets[n].items[i].fd, NULL));
    sets[n].items[i].used = 0;
}

/* Has it to be told of? 0 no, 1 yes, NONE: not defined, or it may be told once more than needed. */
static int has_to(const struct item *item)
{
    if (item->set != NONE) {
        int any = 0;
        for (int i = 0; i < ITEMS; i++) {
            const struct item *inner = &sets[item->set].items[i];
            if (!inner->used) continue;
            int has = has_to(inner);
            if (has == NONE) return NONE;
            any |= has;
        }
        return any;
    }
    const struct chan *c = &chans[item->chan];
    if (c->unsure || !item->armed) return item->armed ? NONE : 0;
    if (item->flags & EPOLLET) return item->due && c->count ? 1 : NONE;
    return c->count > 0;
}

static void told(struct item *item)
{
    item->due = 0;
    if (item->flags & EPOLLONESHOT) item->armed = 0;
}

/* What is on its way is waited for: a set tells of it at once, then. */
static void until_there(int n)
{
    for (int i = 0; i < ITEMS; i++) {
        const struct item *item = &sets[n].items[i];
        if (item->used && item->set != NONE) until_there(item->set);
        else if (item->used && chans[item->chan].count) wait_for(item->chan, 1);
    }
}

/* Does a set still have to tell of something? `until_there` sees that a channel is readable, which an older event may make it. The edge of a newer
 * one comes as soon as the thread that reads events has read it (events.mode = "thread", or a policy). */
static int lacks(int n, const int *seen)
{
    for (int i = 0; i < ITEMS; i++)
        if (sets[n].items[i].used && has_to(&sets[n].items[i]) == 1 && !seen[i]) return 1;
    return 0;
}

void wait_at_set(const struct step *s)
{
    int n = pick(s->a, SETS, set_open), seen[ITEMS] = {0}, count;
    struct epoll_event got[ITEMS];
    char line[200] = "";
    if (n == NONE) return;
    until_there(n);
    for (int left = within(500);; left--) {
        do count = epoll_wait(sets[n].fd, got, ITEMS, 0);
        while (count < 0 && errno == EINTR);
        for (int i = 0; i < count; i++) seen[got[i].data.u64] |= got[i].events;
        if (!left || !lacks(n, seen)) break;
        usleep(1000);
    }
    for (int i = 0; i < ITEMS; i++) {
        struct item *item = &sets[n].items[i];
        if (!item->used) continue;
        int has = has_to(item), end = strlen(line);
        if (has != NONE) snprintf(line + end, sizeof line - end, " %d:%x", i, (unsigned)seen[i]);
        if (has != NONE && on_null_kernel && (has != 0) != (seen[i] != 0))
            snprintf(line + end, sizeof line - end, " %d:%x (model: %d)", i, (unsigned)seen[i], has);
        if (seen[i]) told(item);
    }
    say("set %d tells%s", n, line);
}

void close_set(const struct step *s)
{
    int n = pick(s->a, SETS, set_open);
    if (n == NONE) return;
    for (int outer = 0; outer < SETS; outer++)
        for (int i = 0; i < ITEMS; i++)
            if (sets[outer].items[i].used && sets[outer].items[i].set == n) sets[outer].items[i].used = 0;
    say("set %d closed: %d", n, close(sets[n].fd));
    sets[n] = (struct set){0};
}

void number(const struct step *s) { say("the next descriptor: %d", next_number(s->a % 2 ? 0 : 40)); }
