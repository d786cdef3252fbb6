/* Random programs: a sequence of legal calls, made from a seed, played against a model of what has to come of it.
 *
 * A step picks its objects among those it is legal for, so a sequence stays legal when steps are left out of it. All that is printed follows
 * from the steps: where the kernel leaves an order open, it is sorted, and what it leaves open is not printed. */
#ifndef RANDOM_H
#define RANDOM_H
#include "events.h"
#include <setjmp.h>
#include <stdint.h>

enum { CHANNELS = 4, IDS = 14, SETS = 3, COPIES = 3, PENDING = 64, NONE = -1 };

enum state { FREE, NEW, BOUND, RESOLVING, ADDRESS, ROUTING, ROUTE, CONNECTING, REQUEST, ACCEPTED, UP, OVER, LISTENER };

struct pending {
    int id, type, status;
    int client; /* of a connect request: who asked; NONE when it has gone */
};

struct chan {
    struct rdma_event_channel *ch;
    int nonblock, old_cred, seen; /* seen: it was copied, or put into an epoll set */
    int count, mixed; /* mixed: the order of what waits is not defined */
    int unsure; /* events came by migration, of which the kernel tells no epoll set */
    struct pending waits[PENDING];
};

struct cmid {
    enum state state;
    struct rdma_cm_id *id;
    int chan, peer, port, backlog, leaving, left, age, held;
    struct rdma_cm_event *unacked[4];
};

struct item { /* of an epoll set: a channel, by its descriptor or a copy of it, or another set */
    int used, chan, fd, flags, due, armed, set;
};

struct set {
    int fd;
    struct item items[CHANNELS + COPIES + SETS];
};

struct copy { int fd, chan; };
struct step { int kind; unsigned a, b, c; };

extern struct chan chans[CHANNELS];
extern struct cmid cmids[IDS];
extern struct set sets[SETS];
extern struct copy copies[COPIES];
extern int on_null_kernel;

/* main.c */
void give_up(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* model.c: choosing, and what has to come */
typedef int test(int slot);
int pick(unsigned from, int slots, test *fits);
int free_ids(void);
int requests_waiting(void);
int events_of(int id);
int channel_used(int chan);
void expect(int id, int type, int status, int client);
void forget_pending(int chan, int at);
int chan_usable(int c);
int chan_open(int c);
int chan_closed(int c);
int chan_waits(int c);
int chan_waits_in_order(int c);
int chan_empty(int c);
int chan_empty_blocking(int c);
void settle_events(void);
void settle_begin(void);

/* take.c */
void take_one(int chan, int hold);
void take_everything(int chan);
void take_into(int chan, struct rdma_cm_event *event, char *line, size_t size, int hold);
void wait_for(int chan, unsigned way);
void ack_all(int id);
struct rdma_cm_event *get_event(int chan);

/* Kinds of steps: each says what it did, or nothing when it is not legal now. */
typedef void play(const struct step *s);
/* channels.c */
play open_channel, close_channel, change_flags, look_empty, copy_channel, drop_copy, open_set, add_to_set, take_from_set, wait_at_set, close_set, number;
/* ids.c */
play create_id, destroy_id, bind_id, resolve_id, route_id, connect_id, listen_id, take_event, take_all, accept_id, refuse_id, disconnect_id, ack_id,
    migrate_id, wrong_call, migrate_away, destroy_late, serve;
/* life.c */
play fork_child, cancel_reader, jump_away, interrupt, restart_reader, two_readers, change_cred, fill_descriptors, late_poll;
void destroy_slot(int slot);
#endif
